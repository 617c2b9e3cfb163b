/* SPDX-License-Identifier: MIT */
/* Why the ranks of a host are late: the cause that those of them have of whom one was seen, or that their causes
 * differ. What a GPU does explains its own rank only: it is the host's cause where it is that of most of its ranks, and
 * else of none. */
#ifndef ANALYSIS_REPORT_HOST_CAUSE_H
#define ANALYSIS_REPORT_HOST_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/explain/cause.h"
#include "analysis/report/record.h"

enum { HOST_CAUSE_TEXT = 64 };

/* Of some of a host's ranks: the cause that was seen best, and whose it is, as an index into job.ranks. */
struct host_cause_best {
	struct cause cause;
	uint32_t rank, ranks;
};

struct host_cause {
	struct host_cause_best by_gpu, otherwise; /* of the ranks that are late by their GPU, and of all others */
	/* of the rank whose cause was seen best; of class unknown where none was seen, or where they differ … */
	struct cause cause;
	uint32_t rank;      /* … and this rank, as an index into job.ranks; the first rank where the class is unknown */
	uint32_t ranks, known; /* ranks, and those whose cause is the one that is taken */
	bool left_out;         /* what by_gpu says: it is that of too few ranks */
	bool certain, differ;
	struct {
		uint32_t ranks;
		bool certain; /* of one rank at least */
		int32_t first; /* world rank */
		char text[HOST_CAUSE_TEXT];
	} classes[RW_CAUSE_COUNT];
};

/* The class that stands for all that tell one story: that a thread runs while it has a CPU and waits for one else is
 * one. */
enum rw_cause_class host_cause_story(enum rw_cause_class class_);
/* Is it something of the rank's own GPU? */
bool host_cause_is_of_gpu(enum rw_cause_class class_);
/* Are so many of a host's ranks, late by their GPUs, too few for the host to be? */
static inline bool host_cause_is_of_few(uint32_t by_gpu, uint32_t ranks)
{
	return by_gpu * 2 <= ranks;
}
/* Adds one more late rank of the host to *host, which is all 0 before the first. */
void host_cause_add(struct host_cause *host, const struct job *job, uint32_t rank, const struct cause *cause);
/* To be called once, after the last rank: what the causes together say. */
void host_cause_end(struct host_cause *host);
/* Writes the cause into the record of the finding, with what it leaves open. A host of one rank has the cause of that
 * rank. */
void host_cause_set(struct record *record, const struct intern *intern, const struct job *job,
		    const struct host_cause *host);

#endif
