/* SPDX-License-Identifier: MIT */
/* The only kernel of the workload. */
#ifndef SIM_WORKLOAD_TRAINING_COMPUTE_KERNEL_H
#define SIM_WORKLOAD_TRAINING_COMPUTE_KERNEL_H

#define COMPUTE_KERNEL_NAME "workload_compute"

/* PTX text for cuModuleLoadData(). Its one parameter: u64 nanoseconds to run. */
extern const char compute_kernel_ptx[];

struct cpu_launch;
/* What the stand-in's driver runs in place of the PTX; it finds this function by its name. */
void workload_compute__cpu(void **parameters, const struct cpu_launch *launch);

#endif
