/* SPDX-License-Identifier: MIT */
/* Who began a process, and when. World-readable files of /proc only: no right is asked for but for `stack`. Any thread.
 */
#ifndef COLLECTOR_SOURCES_PROCESS_KIN_H
#define COLLECTOR_SOURCES_PROCESS_KIN_H

#include <stdint.h>
#include <sys/types.h>

struct kin {
	pid_t parent;         /* 0: none that this /proc shows */
	uint64_t start_ticks; /* field 22 of /proc/PID/stat: since boot, as sysconf(_SC_CLK_TCK) counts */
	uint32_t threads;     /* how many it has */
	uint64_t stack; /* where its first stack begins: drawn by each exec, and kept by fork; 0: the reading thread may
			   not know */
	char name[16];        /* of its main thread */
};

/* proc_root: "/proc", or a recorded tree. 0, or -ESRCH: there is no such process, or it says something else than
 * processes do. */
int kin_read(const char *proc_root, pid_t pid, struct kin *kin);

#endif
