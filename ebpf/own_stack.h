/* SPDX-License-Identifier: Dual MIT/GPL */
/* Whether code runs on a task's own kernel stack. Of the kernel's side and of its test: 16 KiB on x86 and on arm64, 64
 * KiB there with pages of that size, twice that in kernels that check their memory. */
#ifndef EBPF_OWN_STACK_H
#define EBPF_OWN_STACK_H

#include <linux/types.h>

/* lowest: of the stack, task_struct.stack. registers: where the task's user registers are saved, above all that runs on
 * it: the kernel itself computes that from its stacks' size. address: of something on the stack in use. */
static inline int own_stack_holds(__u64 lowest, __u64 registers, __u64 address)
{
	return address >= lowest && address < registers;
}

#endif
