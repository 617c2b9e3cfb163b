/* SPDX-License-Identifier: MIT */
/* The "kernel" of a plan: runs on the stream's thread, waits for the other ranks and moves the data. */
#ifndef SIM_NCCL_DATA_KERNEL_H
#define SIM_NCCL_DATA_KERNEL_H

#include <cpu_module.h>

/* For cuModuleLoadData; its one kernel takes a struct plan * and drops it at the end. */
extern const struct cpu_module_image kernel_image;
#define KERNEL_NAME "ncclDevKernel_Generic"

#endif
