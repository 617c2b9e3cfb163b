/* SPDX-License-Identifier: MIT */
/*
 * Xids in the kernel log, from /dev/kmsg: what it still holds when it is opened, then each line as it comes. Reads
 * only, and never waits. One owner thread.
 */
#ifndef COLLECTOR_SOURCES_KERNEL_LOG_H
#define COLLECTOR_SOURCES_KERNEL_LOG_H

#include "analysis/analysis.h"

struct kernel_log;

typedef void kernel_log_event(void *argument, const struct analysis_gpu_event *event);

/* path: "/dev/kmsg", or a file or FIFO with the same records. 0 or -errno (-EPERM: needs CAP_SYSLOG, or the device is
 * not for this container). */
int kernel_log_open(struct kernel_log **log, const char *path);
void kernel_log_close(struct kernel_log *log); /* accepts NULL */

/* Hands over what has come since. at_ns of a line that came while the log was open is now_ns, of older ones the log's
 * own stamp, which is near CLOCK_MONOTONIC. Number of Xids, or -errno when the log cannot be read any more. */
int kernel_log_poll(struct kernel_log *log, uint64_t now_ns, kernel_log_event *event, void *argument);

#endif
