/* SPDX-License-Identifier: MIT */
/*
 * The threads of a process as /proc shows them now: state, system call, wait channel, run-queue delay and, as root, the
 * kernel stack. Needs no privilege for processes of the same user. Cost: docs/host-evidence.md. One owner thread.
 */
#ifndef COLLECTOR_SOURCES_WAITS_PROC_SOURCE_H
#define COLLECTOR_SOURCES_WAITS_PROC_SOURCE_H

#include "collector/sources/waits/mounts.h"
#include "collector/sources/waits/source.h"

struct proc_source;

struct proc_source_view {
	uint32_t threads;
	uint32_t stopped; /* of them in T or t: all of them means that the process is stopped */
};

/* proc_root: "/proc", or a recorded tree. `mounts` stays the caller's and must live as long. 0 or -errno. */
int proc_source_open(struct proc_source **source, const char *proc_root, struct mounts *mounts);
/* What its samples are worth: RW_LEVEL_ROOT with kernel stacks, else RW_LEVEL_PROC. */
enum rw_level proc_source_level(const struct proc_source *source);
void proc_source_close(struct proc_source *source); /* accepts NULL */

/*
 * One sample (ANALYSIS_WAIT_SAMPLE, end_ns = now_ns) per thread of `pid`, or of thread `tid` alone when it is not 0.
 * Level RW_LEVEL_ROOT when the kernel stack could be read, else RW_LEVEL_PROC. `view` may be NULL.
 * 0, -ESRCH when the process (or `tid`) is gone, or another -errno. Keeps descriptors open for the process.
 */
int proc_source_sample(struct proc_source *source, analysis_process_id process, pid_t pid, uint32_t tid,
		       uint64_t now_ns, source_wait *wait, void *argument, struct proc_source_view *view);
/* The process has ended or is of no more interest: closes what is kept for it. */
void proc_source_forget(struct proc_source *source, pid_t pid);

#endif
