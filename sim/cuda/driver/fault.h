/* SPDX-License-Identifier: MIT */
/*
 * SIM_CUDA_FAULTS: which driver calls fail, block or come late.
 *
 *   SIM_CUDA_FAULTS='CALL:ITEM[,ITEM…][;CALL:ITEM…]'
 *   SIM_CUDA_FAULTS='cuLaunchKernelEx:fail=700,after=20,times=1,rank=3;cuMemHostRegister_v2:late=200ms'
 *
 * CALL is an exported name with its version (calls.h); the rule holds however the program found the function, also
 * for the stand-in NCCL's own calls. A rule has at least one of the first three items; rules for one call apply in
 * their order until one fails it. A text that does not have this form makes cuInit fail.
 *
 *   fail=ERROR   returns the error, a name or a number from 1 to 999, and does nothing else
 *   late=TIME    waits this long (us, ms, s) before it does its work
 *   block        never returns
 *   after=N      the first N calls of the process pass
 *   times=N      the rule holds for N calls only
 *   rank=R       only in processes with RANK=R
 */
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
