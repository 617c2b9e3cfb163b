/* SPDX-License-Identifier: MIT */
#ifndef SIM_NCCL_CALLS_EXPORT_H
#define SIM_NCCL_CALLS_EXPORT_H

#include <nccl.h>

/* Behind the definition of pnccl##name: gives it its weak public name, as NCCL's library has it. */
#define EXPORT_WEAK(name)                                                                                              \
	extern __typeof__(pnccl##name) nccl##name __attribute__((weak, alias("pnccl" #name), visibility("default")))

#endif
