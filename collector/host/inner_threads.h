/* SPDX-License-Identifier: MIT */
/*
 * A process in a pid namespace of its own (a container's) knows its threads by other numbers than the kernel's, and its
 * black box has those. What the kernel says of a thread is reported under the number that the process knows it by. One
 * thread of ours.
 */
#ifndef COLLECTOR_HOST_INNER_THREADS_H
#define COLLECTOR_HOST_INNER_THREADS_H

#include <stdint.h>
#include <sys/types.h>

struct inner_threads;

/* *threads: NULL where the process has the numbers that /proc has. 0, -ESRCH: there is no such process, or -ENOMEM. */
int inner_threads_open(struct inner_threads **threads, const char *proc_root, pid_t pid);
void inner_threads_close(struct inner_threads *threads); /* accepts NULL */
/* By what number the process knows its thread tid; 0: it has no such thread now. Asks /proc once a minute and
 * thread. */
uint32_t inner_threads_number(struct inner_threads *threads, uint32_t tid, uint64_t now_ns);

#endif
