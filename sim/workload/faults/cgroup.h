/* SPDX-License-Identifier: MIT */
/*
 * A control group below the one that the process is in (version 1) or beside it (version 2, whose inner groups hold no
 * processes). Its name holds the pid of its owner: groups of owners that have ended are removed by cgroup_tidy().
 */
#ifndef SIM_WORKLOAD_FAULTS_CGROUP_H
#define SIM_WORKLOAD_FAULTS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct cgroup {
	char path[512];
	bool v2;
	bool thread; /* holds single threads and not the process */
};

/* All: 0 or -errno; controller is "cpu" or "memory". */

/* Could a process make one? If not, the reason in one line. */
int cgroup_check(const char *controller, char *reason, size_t size);
/* owner: the process in whose name it is made; processes that name the same one share the group. thread: for single
 * threads, not for processes. path is set also on failure, as far as it was found. */
int cgroup_make(struct cgroup *group, const char *controller, pid_t owner, bool thread);
/* Moves the process, or the calling thread, into it. */
int cgroup_enter(const struct cgroup *group);

/* CPU time of the whole group in each period. */
int cgroup_limit_cpu(const struct cgroup *group, unsigned int us, unsigned int period_us);
/* Memory, and how much more may lie in swap. */
int cgroup_limit_memory(const struct cgroup *group, size_t bytes, size_t swap_bytes);

/* Removes the groups of this controller whose owner has ended or is the calling process. */
void cgroup_tidy(const char *controller);

#endif
