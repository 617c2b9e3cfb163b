/* SPDX-License-Identifier: MIT */
/*
 * Waits of watched processes as the kernel reports them through ebpf/view.h, made into evidence: with full path, file
 * system, device, symbol names and process numbers of the caller. One owner thread; callbacks run inside
 * kernel_source_poll() and kernel_source_sample().
 */
#ifndef COLLECTOR_SOURCES_WAITS_KERNEL_SOURCE_H
#define COLLECTOR_SOURCES_WAITS_KERNEL_SOURCE_H

#include <stdbool.h>

#include "collector/sources/waits/mounts.h"
#include "collector/sources/waits/source.h"
#include "ebpf/view.h"

struct kernel_source;

struct kernel_source_events {
	/* Before /proc is asked what a record of the process is about: whose rights count. NULL: the thread's as they
	 * are. */
	void (*choose_rights)(void *argument, analysis_process_id process);
	source_wait *wait;
	/* A watched process has ended; exit_status as in wait(2). It stays watched until kernel_source_unwatch(). */
	void (*ended)(void *argument, analysis_process_id process, int exit_status, uint64_t at_ns);
	void *argument;
};

/* helper: path of rankwatchd's socket, NULL: programs of our own. proc_root: "/proc". `mounts` stays the caller's and
 * must live as long. On failure -errno and a sentence in `why` (at least 256 bytes) as in view_open(): the caller
 * carries on with proc_source. */
int kernel_source_open(struct kernel_source **source, const char *helper, const char *proc_root, struct mounts *mounts,
		       const struct kernel_source_events *events, char *why);
void kernel_source_close(struct kernel_source *source); /* accepts NULL */

/* Whether the programs are rankwatchd's. */
bool kernel_source_is_helpers(const struct kernel_source *source);

/* pid: in the name space of the init process, as is the collector's; pidfd: of the same, -1: none, which the helper
 * does not accept. As view_watch(), why included. */
int kernel_source_watch(struct kernel_source *source, analysis_process_id process, pid_t pid, int pidfd, char *why);
void kernel_source_unwatch(struct kernel_source *source, pid_t pid);

/* Call it 20 times a second. Number of records or -errno; -ENOTCONN: the helper has gone, and nothing is watched until
 * kernel_source_watch() is called again. */
int kernel_source_poll(struct kernel_source *source);
/* A sample of every thread of a watched process, now. 0 or -errno (-ENOENT: not watched). */
int kernel_source_sample(struct kernel_source *source, pid_t pid);

void kernel_source_loss(struct kernel_source *source, struct probes_loss *loss); /* as probes_loss() */
uint64_t kernel_source_own_ns(struct kernel_source *source);                     /* as view_own_ns() */
uint64_t kernel_source_cost_ns(const struct kernel_source *source);              /* as view_cost_ns() */

#endif
