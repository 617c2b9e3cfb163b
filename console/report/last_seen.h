/* SPDX-License-Identifier: MIT */
/* What the threads of a process did at its end, by the last of its own samples in the box. */
#ifndef CONSOLE_REPORT_LAST_SEEN_H
#define CONSOLE_REPORT_LAST_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "blackbox/reader.h"

struct last_seen_thread {
	struct analysis_wait wait; /* the newest sample */
	uint64_t since_ns;         /* of the oldest sample without change of place since */
};

struct last_seen {
	struct last_seen_thread *threads; /* the main thread first, then by tid; those of the last second only */
	size_t count;
};

/* 0 or -errno; free in both cases. count 0: the process did not sample itself, because it was not silent. */
int last_seen_read(struct last_seen *seen, const struct box_reader *reader);
void last_seen_free(struct last_seen *seen);

/* Of two samples of one thread: has it sat still in between? */
bool last_seen_stayed(const struct analysis_wait *before, const struct analysis_wait *now);

/* "in fsync(3) on /x/events.out (jbd2_log_wait_commit) for 1.2 s"; text from the job is escaped. Returns text. */
char *last_seen_text(const struct last_seen_thread *thread, char *text, size_t size);

#endif
