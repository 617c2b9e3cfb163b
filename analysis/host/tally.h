/* SPDX-License-Identifier: MIT */
/* How one thread spent given windows of time, by class and by what it was doing, from evidence of one level and kind.
 */
#ifndef ANALYSIS_HOST_TALLY_H
#define ANALYSIS_HOST_TALLY_H

#include "analysis/explain/cause.h"
#include "analysis/host/wait_class.h"

enum {
	TALLY_GROUPS = 24,
};

struct tally_group {
	struct wait_class class_;
	const struct evidence_piece *longest; /* stands for the group: path, stack, waker */
	uint64_t longest_ns, ns;
};

struct tally {
	struct tally_group groups[TALLY_GROUPS];
	uint32_t group_count;
	uint64_t by_class[RW_CAUSE_COUNT];
	/* Of samples only: the part of a class's time in which the thread did not run between two samples, the part
	 * between two samples in which it may have run, and how many samples ended such a part. */
	uint64_t same_wait_ns[RW_CAUSE_COUNT], between_ns[RW_CAUSE_COUNT];
	uint32_t between_count[RW_CAUSE_COUNT];
	uint64_t window_ns, explained_ns;
	enum rw_level level;
	bool sampled;
};

enum {
	TALLY_SAMPLES = 2,    /* that end a time between two samples: three samples in a row, or two times two */
	TALLY_SHOWN_PART = 3, /* one part in so many of a class's time must lie between samples */
};

/* The best evidence there is about the thread: of the highest level that explains half of the windows, else of the one
 * that explains most. */
void tally_best(const struct intern *intern, const struct evidence *evidence, uint32_t tid,
		const struct cause_window *windows, uint32_t window_count, struct tally *tally);
/* Most time first; NULL when there is none. */
const struct tally_group *tally_group_of(const struct tally *tally, enum rw_cause_class class_);
/* The same, of those whose waits a thread of the process ended. */
const struct tally_group *tally_group_woken(const struct tally *tally, enum rw_cause_class class_);
enum rw_cause_class tally_class(const struct tally *tally);
/* Do samples show what the thread did for at least a third of this class's time, or are they so few or far apart that
 * most of it is assumed? Always true of evidence that is not sampled. */
bool tally_shows(const struct tally *tally, enum rw_cause_class class_);
/* Time that [from, to] shares with the windows. */
uint64_t tally_overlap(const struct cause_window *windows, uint32_t window_count, uint64_t from_ns, uint64_t to_ns);
/* How much of the time that the piece shares with the windows its thread was blocked: a sum of short waits covers more
 * time than they lasted. */
uint64_t tally_blocked(const struct evidence_piece *piece, uint64_t shared_ns);

#endif
