/* SPDX-License-Identifier: MIT */
/* What a thread of another process waits for in poll(2): its array of descriptors lies in its own memory. */
#ifndef COLLECTOR_SOURCES_WAITS_POLLED_H
#define COLLECTOR_SOURCES_WAITS_POLLED_H

#include <stdint.h>
#include <sys/types.h>

/* The first descriptor of the array at this address in the process's memory (process_fd: /proc/PID); -1 when it cannot
 * be read. */
int polled_descriptor(int process_fd, uint64_t address);
/* Of a thread that is in poll(2) now; -1 when it is not, or cannot be seen. */
int polled_by_thread(const char *proc_root, pid_t pid, uint32_t tid);

#endif
