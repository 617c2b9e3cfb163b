/* SPDX-License-Identifier: MIT */
/*
 * Xids and kills by the OOM killer in the kernel log, from /dev/kmsg: what it still holds when it is opened, then each
 * line as it comes. Reads only, and never waits. One owner thread.
 */
#ifndef KERNEL_LOG_KERNEL_LOG_H
#define KERNEL_LOG_KERNEL_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"

struct kernel_log;

typedef void kernel_log_event(void *argument, const struct analysis_gpu_event *event);
typedef void kernel_log_oom(void *argument, int32_t pid, uint64_t at_ns);

/* path: "/dev/kmsg", or a file or FIFO with the same records. 0 or -errno (-EPERM: needs CAP_SYSLOG, or the device is
 * not for this container; -ETIMEDOUT: its file system does not answer). */
int kernel_log_open(struct kernel_log **log, const char *path);
/* Like kernel_log_open(), with path NULL for this machine's own log, /dev/kmsg; in case of an error `why` says which
 * file and what it needs. */
int kernel_log_open_chosen(struct kernel_log **log, const char *path, char *why, size_t room);
/* The same words for an error of a later call. */
void kernel_log_explain(const char *path, int err, char *why, size_t room);
void kernel_log_close(struct kernel_log *log); /* accepts NULL */
/* Whoever wants to hear of the OOM killer, too; before the first poll. pid: as the kernel numbers it. */
void kernel_log_hear_oom(struct kernel_log *log, kernel_log_oom *oom, void *argument);

/* Hands over what has come since. at_ns of a line that came while the log was open is now_ns, of older ones the log's
 * own stamp, which is near CLOCK_MONOTONIC. Number of Xids, or -errno when the log cannot be read any more. */
int kernel_log_poll(struct kernel_log *log, uint64_t now_ns, kernel_log_event *event, void *argument);
/* Hands over all that is there now, each with the log's own stamp. Instead of kernel_log_poll(). 0 or -errno. */
int kernel_log_read_all(struct kernel_log *log, kernel_log_event *event, void *argument);
/* Stamp of the oldest record that was read, where the log has lost what came before; else 0. */
uint64_t kernel_log_begins(const struct kernel_log *log);

#endif
