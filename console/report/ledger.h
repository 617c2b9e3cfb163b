/* SPDX-License-Identifier: MIT */
/*
 * Across jobs: which host or GPU was named in how many of the jobs in which it took part, and how likely that is if
 * each job had named its hosts by lot. One thread.
 */
#ifndef CONSOLE_REPORT_LEDGER_H
#define CONSOLE_REPORT_LEDGER_H

#include <stddef.h>

#include "console/replay/replay.h"

enum ledger_sort { LEDGER_HOST, LEDGER_GPU, LEDGER_SORTS };

/* What a finding says of who it names. */
enum ledger_fault {
	LEDGER_LATE, /* straggler, slowdown */
	LEDGER_LAST, /* hang, gone: the others waited for it in the end */
	LEDGER_BAD,  /* values, or what its GPU reports */
	LEDGER_FAULTS,
};

#define LEDGER_CHANCE 0.01 /* that any of them is said to stand out although none does */

struct ledger_entry {
	char *name;
	char *host;                    /* of a GPU, where it was last seen; of a host its name */
	unsigned named[LEDGER_FAULTS]; /* jobs */
	unsigned jobs, named_in;       /* in which it took part; was named for anything */
	double *shares;                /* by job: named ones of all that took part */
	double expected;               /* jobs in which it would be named by lot, on average */
	double chance;                 /* of as many or more, among all of its sort */
};

/* Zeroed = empty. */
struct ledger {
	struct ledger_entry *entries[LEDGER_SORTS];
	size_t counts[LEDGER_SORTS];
	unsigned jobs;
	size_t ranks;        /* that left a black box, of all jobs together */
	int64_t ranks_total; /* that there were; -1: of some job it is not known */
};

/* Adds a run: who took part comes from its boxes, who was named from its findings from warning up that single somebody
 * out. 0 or -ENOMEM. */
int ledger_add(struct ledger *ledger, const struct replay *replay);
/* The same from what is known of a job: `entries` take part (of one sort), those with a bit of faults were named.
 * Public for tests. 0 or -ENOMEM. */
struct ledger_part {
	const char *name, *host;
	unsigned faults; /* bits of enum ledger_fault */
};
int ledger_add_parts(struct ledger *ledger, enum ledger_sort sort, const struct ledger_part *parts, size_t count);
/* After the last: chances, corrected for many (Holm), the smallest first. 0 or -ENOMEM. */
int ledger_judge(struct ledger *ledger);
void ledger_free(struct ledger *ledger);

#endif
