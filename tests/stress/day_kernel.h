/* SPDX-License-Identifier: MIT */
/*
 * The kernel's own records of what the processes of a day's job wait for, in place of ebpf/probes.c: each process has
 * one thread that is asked about, of its own number. One thread.
 */
#ifndef TESTS_STRESS_DAY_KERNEL_H
#define TESTS_STRESS_DAY_KERNEL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* What has been asked and refused so far. */
struct day_kernel_counts {
	unsigned watched; /* now */
	uint64_t records, looks, refusals;
};

/* Call it before anything else at that time. */
void day_kernel_set_time(uint64_t now_ns);
/* Until then it has no memory for another process. */
void day_kernel_refuse(uint64_t until_ns);
/* The process is there, and its thread is in futex(2); or is not any more. At most 64 at a time. */
void day_kernel_begin(pid_t pid);
void day_kernel_end(pid_t pid, int exit_status);
/* Its thread has been in write(2) on the file of day_host.h from then on; since_ns 0: only until until_ns, and is in
 * futex(2) again. */
void day_kernel_set_writing(pid_t pid, uint64_t since_ns, uint64_t until_ns);
/* Its thread waited for its thread `pid` + 1, in sum so long, in waits too short for a record each. */
void day_kernel_add_short(pid_t pid, uint64_t start_ns, uint64_t end_ns, uint64_t blocked_ns);
/* So many events are lost. */
void day_kernel_lose(uint64_t events);
void day_kernel_count(struct day_kernel_counts *counts);

#endif
