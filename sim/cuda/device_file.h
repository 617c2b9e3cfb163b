/* SPDX-License-Identifier: MIT */
/*
 * What stands for /dev/nvidiaN in a process: a FIFO of that name in a directory "dev" of a directory of our own under
 * TMPDIR or /tmp, opened and removed at once. NVIDIA's driver wakes whoever polls its descriptor from an interrupt; here
 * the stream's thread writes a byte.
 */
#ifndef SIM_CUDA_DEVICE_FILE_H
#define SIM_CUDA_DEVICE_FILE_H

#include <cuda.h>

struct device_file {
	CUdevice device;
	int fd;
	struct device_file *next;         /* of the same thread */
	struct device_file *next_watcher; /* of the same stream; under its lock */
};

/* The calling thread's descriptor of the device, opened on first use and closed when the thread ends. NULL: it cannot
 * be opened here. */
struct device_file *device_file_of_thread(CUdevice device);
/* Makes it readable; any thread. */
void device_file_ring(const struct device_file *file);
/* Not readable any more. */
void device_file_clear(const struct device_file *file);

#endif
