/* SPDX-License-Identifier: MIT */
/* The scan kernel for tests/null/null_cuda.c, whose functions have the names of cuda.h and not its types. */
#ifndef TESTS_NULL_KERNEL_H
#define TESTS_NULL_KERNEL_H

void null_kernel(void **arguments, unsigned int blocks);
/* Reads nothing: answers that every buffer is clean, in no time. Not for nodes of graphs. */
void null_kernel_answer(void **arguments);

#endif
