/* SPDX-License-Identifier: MIT */
/*
 * What stands for /dev/nvidiaN in a process: a FIFO of that name in a directory "dev" of a directory of our own under
 * TMPDIR or /tmp, opened and removed at once; where it cannot be made, an eventfd. NVIDIA's driver wakes whoever polls
 * its descriptor from an interrupt; here somebody writes to it.
 */
#ifndef SIM_CUDA_DEVICES_DEVICE_FILE_H
#define SIM_CUDA_DEVICES_DEVICE_FILE_H

#include <cuda.h>

/* A descriptor, which is the caller's to close; -1: the process has no more. */
int device_file_open(CUdevice device);
/* Makes it readable; any thread. */
void device_file_ring(int fd);
/* Waits until it is readable, and makes it not readable any more. */
void device_file_wait(int fd);

#endif
