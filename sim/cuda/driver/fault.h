/* SPDX-License-Identifier: MIT */
/* SIM_CUDA_FAULTS: which driver calls fail, block or come late. The grammar is in docs/stand-in.md. */
#ifndef SIM_CUDA_DRIVER_FAULT_H
#define SIM_CUDA_DRIVER_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda.h>

/* False: the text is wrong, which has been said on stderr, and no rule holds. Reads it on first use. */
bool fault_rules_are_right(void);
/* Before the call with this number in calls[]: sleeps, blocks for ever, or returns the error to fail with. */
CUresult fault_apply(size_t number);

#endif
