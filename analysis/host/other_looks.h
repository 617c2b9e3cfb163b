/* SPDX-License-Identifier: MIT */
/* How processes were seen that are no ranks of the job and that threads of one rank wait for: the latest looks, and
 * what those of some windows say together. Where they come from: docs/host-evidence.md, "Processes that a rank waits
 * for". */
#ifndef ANALYSIS_HOST_OTHER_LOOKS_H
#define ANALYSIS_HOST_OTHER_LOOKS_H

#include "analysis/analysis.h"
#include "analysis/numbers/intern.h"

enum { OTHER_LOOKS = 256 };
/* What is reported was seen so often at least, and in more than this share of the looks: one look is a moment. */
enum { OTHER_LOOKS_LEAST = 3 };
#define OTHER_LOOKS_SHARE 0.5

struct other_look {
	uint64_t at_ns, cpu_ns, run_queue_ns; /* as in struct analysis_other */
	int32_t pid, system_call;
	uint32_t tid, waiting_tid;
	intern_id name, path;
	char state;
	bool is_child, held_at_fork;
};

struct other_looks {
	uint64_t count; /* ever; number i is at i % OTHER_LOOKS */
	struct other_look looks[OTHER_LOOKS];
};

/* *looks: made with the first; the owner's, for free(). 0 or -ENOMEM. */
int other_looks_add(struct other_looks **looks, struct intern *intern, const struct analysis_other *seen);
/* The latest look at process `pid`; NULL: none is kept. looks NULL: none yet. */
const struct other_look *other_looks_latest(const struct other_looks *looks, int32_t pid);

struct cause_window;
/* Did process `pid` wait, in most looks within the windows, for a lock that was held when it was forked? looks NULL:
 * none yet. */
bool other_looks_held_at_fork(const struct other_looks *looks, int32_t pid, const struct cause_window *windows,
			      uint32_t count);
/* The process that thread waiting_tid of the rank waited for in nearly all looks of the windows that showed it waiting
 * for one; 0: none, too few looks, or several processes. looks NULL: none yet. */
int32_t other_looks_awaited(const struct other_looks *looks, uint32_t waiting_tid, const struct cause_window *windows,
			    uint32_t count);
/* What process `pid` did within the windows, as a clause with the process as its subject: "computes", "is in read(2) on
 * /data/part-3". "" where too few looks, or none that agree, show it. looks NULL: none yet. */
void other_looks_describe(const struct other_looks *looks, const struct intern *intern, int32_t pid,
			  const struct cause_window *windows, uint32_t count, char *text, size_t room);

#endif
