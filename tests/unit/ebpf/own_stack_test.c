/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "ebpf/own_stack.h"

/* Where the kernel saves the user's registers: at the far end, with some room behind them. */
enum { REGISTERS = 0x150 };

Test(own_stack, all_of_it_counts_whatever_its_size_is)
{
	static const __u64 sizes[] = { 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10 };
	const __u64 lowest = 0xffff800012340000;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		__u64 registers = lowest + sizes[i] - REGISTERS;

		/* A tracepoint runs near the end where the stack begins: beyond 16 KiB on a stack of 64. */
		cr_expect(own_stack_holds(lowest, registers, registers - 1024), "%llu", sizes[i]);
		cr_expect(own_stack_holds(lowest, registers, lowest + 256), "%llu", sizes[i]);
		cr_expect_not(own_stack_holds(lowest, registers, lowest - 8), "%llu", sizes[i]);
		cr_expect_not(own_stack_holds(lowest, registers, lowest + sizes[i] + 8), "%llu", sizes[i]);
	}
}

Test(own_stack, an_interrupts_stack_is_another)
{
	cr_expect_not(own_stack_holds(0xffffc90000100000, 0xffffc90000103f58, 0xffffc90000008ff0));
	cr_expect_not(own_stack_holds(0xffffc90000100000, 0xffffc90000103f58, 0xffffffff82a00ff0));
}
