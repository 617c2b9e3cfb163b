/* SPDX-License-Identifier: MIT */
#ifndef SIM_CUDA_KERNELS_MODULE_H
#define SIM_CUDA_KERNELS_MODULE_H

#include <cpu_module.h>

struct CUfunc_st {
	struct cpu_module_kernel kernel;
	CUcontext context;   /* that it was loaded in */
	unsigned int resets; /* of that context, before */
};

/* Reads the next ".entry" of PTX text after *at: its name (into name, size bytes) and parameter sizes; finds its CPU
 * twin in the process. CUDA_ERROR_NOT_FOUND: no twin; *at becomes NULL when there is no further entry. */
CUresult ptx_next_entry(const char **at, char *name, size_t size, struct cpu_module_kernel *kernel);

#endif
