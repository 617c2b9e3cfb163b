/* SPDX-License-Identifier: MIT */
/* The scan kernel of rankwatch's plugin on the CPU: the contract of plugin/scan/scan_kernel.h, with as many blocks as
 * the launch has, one after the other. Reads the segments' bytes and nothing else. */
#ifndef SIM_CUDA_KERNELS_SCAN_TWIN_H
#define SIM_CUDA_KERNELS_SCAN_TWIN_H

#include <cpu_module.h>

void rankwatch_scan__cpu(void **params, const struct cpu_launch *launch);

#endif
