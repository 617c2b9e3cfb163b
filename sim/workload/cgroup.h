/* SPDX-License-Identifier: MIT */
/*
 * A control group of this process's own, below the one it is in (version 1) or beside it (version 2, whose inner groups
 * hold no processes). Its name holds the pid: groups of processes that have ended are removed by cgroup_tidy().
 */
#ifndef WORKLOAD_CGROUP_H
#define WORKLOAD_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

struct cgroup {
	char path[512];
	bool v2;
	bool thread; /* holds single threads and not the process */
};

/* All: 0 or -errno; controller is "cpu" or "memory". */

/* Could a process make one? If not, the reason in one line. */
int cgroup_check(const char *controller, char *reason, size_t size);
/* thread: for the calling thread alone. path is set also on failure, as far as it was found. */
int cgroup_make(struct cgroup *group, const char *controller, bool thread);
/* Moves the process, or the calling thread, into it. */
int cgroup_enter(const struct cgroup *group);

/* CPU time of the whole group in each 100 ms. */
int cgroup_limit_cpu(const struct cgroup *group, unsigned int us);
/* Memory, and how much more may lie in swap. */
int cgroup_limit_memory(const struct cgroup *group, size_t bytes, size_t swap_bytes);

/* Removes the groups of this controller that processes which have ended left here. */
void cgroup_tidy(const char *controller);

#endif
