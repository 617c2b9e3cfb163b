/* SPDX-License-Identifier: MIT */
/* The devices of the stand-in: SIM_CUDA_DEVICES of them (default 8) a host, the same on every run; the process sees
 * those of CUDA_VISIBLE_DEVICES. */
#ifndef SIM_CUDA_DEVICES_DEVICE_H
#define SIM_CUDA_DEVICES_DEVICE_H

#include <cuda.h>

#define DEVICES_MAX            64
#define DEVICE_DRIVER_VERSION  13000
#define DEVICE_MEMORY_BYTES    (16ull << 30)
#define DEVICE_MULTIPROCESSORS 132 /* as on an H200 */

/* Finds the devices, at the first cuInit. CUDA_ERROR_NO_DEVICE: the process sees none. */
CUresult device_init(void);
/* CUDA_ERROR_NOT_INITIALIZED before cuInit and, as on a GPU, in a child forked after it. */
CUresult device_ready(void);
/* Also checks that the ordinal exists. */
CUresult device_check(CUdevice device);
/* How many the host has, whatever the process sees; after cuInit. */
int device_host_count(void);
/* The N of /dev/nvidiaN. */
int device_minor(CUdevice device);

#endif
