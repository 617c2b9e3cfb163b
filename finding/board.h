/* SPDX-License-Identifier: MIT */
/* The findings that are open now, each as its last line, for those who come later; and how many there have been. */
#ifndef FINDING_BOARD_H
#define FINDING_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rankwatch/finding.h>

struct board_entry {
	char id[24], incident[24];
	enum rw_kind kind;
	enum rw_severity severity; /* highest so far */
	enum rw_severity reported;     /* RW_NOTICE: none who hears only of news knows of it */
	char *line;                /* NULL: closed */
	uint64_t first_seen_ns;    /* 0: nothing was put yet */
};

struct board {
	struct board_entry *entries; /* every id that was ever seen */
	size_t count, room;
	/* Of values: closed, and others came under their ids. The last kind: those that we do not know. */
	size_t ended[RW_CRITICAL + 1], ended_kinds[RW_KIND_COUNT + 1];
};

/* Takes the finding's line as the newest of its id. 0 or -ENOMEM. */
int board_put(struct board *board, const struct rw_finding *finding, const char *line);
/* Whether those who hear only of news should hear of this finding, which was put before; they are then taken to know
 * it. News is that one opens, becomes more severe, or closes; of an incident, that its worst finding does. Notices are
 * no news. */
bool board_report(struct board *board, const struct rw_finding *finding);
/* In all counts values that are bad again after their finding was closed are another finding, although the id is the
 * same. */
/* Number of findings so far whose highest severity is this one. */
size_t board_count(const struct board *board, enum rw_severity severity);
/* Number of findings that are over now, and were once warnings or worse. */
size_t board_closed(const struct board *board);
/* Of one kind, from warning up: never fewer than before. */
size_t board_count_kind(const struct board *board, enum rw_kind kind);
size_t board_open(const struct board *board);
void board_free(struct board *board);

#endif
