/* SPDX-License-Identifier: MIT */
/*
 * Kernels of the stand-in driver are CPU functions, called once per launch (not once per thread) by the stream's
 * thread. A program gives them to cuModuleLoadData in one of two forms:
 *
 *  - an image that starts with struct cpu_module_image (below), or
 *  - PTX text: every ".entry NAME" is bound to the function NAME__cpu, which the program exports
 *    (visibility default, linked with -rdynamic / export_dynamic). Parameter sizes come from the .param lines.
 *    As on a GPU, loading it waits until the context is idle. The same PTX runs unchanged on a GPU. Twins that come
 *    with the driver (rankwatch_scan) need no export; a program's own goes before them.
 */
#ifndef SIM_CUDA_CPU_MODULE_H
#define SIM_CUDA_CPU_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>

#define CPU_KERNEL_PARAMS_MAX 16

struct cpu_launch {
	uint32_t grid[3];  /* blocks: x, y, z */
	uint32_t block[3]; /* threads per block: x, y, z */
	uint32_t shared_bytes;
	CUstream stream;
};

/* params[i] points to a copy of the launch's i-th argument. The function may block; it must not call the driver. */
typedef void cpu_kernel(void **params, const struct cpu_launch *launch);

struct cpu_module_kernel {
	const char *name;
	cpu_kernel *run;
	uint32_t params; /* number of arguments, at most CPU_KERNEL_PARAMS_MAX */
	uint32_t param_bytes[CPU_KERNEL_PARAMS_MAX];
	bool together; /* its blocks wait for each other: it begins once all are on the GPU */
};

#define CPU_MODULE_MAGIC "rwcpumod"

/* The kernels must outlive the module. */
struct cpu_module_image {
	char magic[8]; /* CPU_MODULE_MAGIC without its final 0 */
	uint64_t count;
	const struct cpu_module_kernel *kernels;
};

#endif
