/* SPDX-License-Identifier: MIT */
#ifndef EBPF_DESCRIPTOR_CALLS_H
#define EBPF_DESCRIPTOR_CALLS_H

#include <stdbool.h>

/* Whether the first argument of this system call (number on this machine) is an open file descriptor. Without asking,
 * the 0 of nanosleep(0x7ffe…, 0) or of futex would pass for standard input. */
bool descriptor_call(int system_call);
/* Whether it points to an array of struct pollfd: what the thread waits for is the descriptor of the first. */
bool descriptor_polled(int system_call);

#endif
