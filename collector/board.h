/* SPDX-License-Identifier: MIT */
/* The findings that are open now, each as its last line, for those who come later; and how many there have been. */
#ifndef COLLECTOR_BOARD_H
#define COLLECTOR_BOARD_H

#include <stdbool.h>
#include <stddef.h>

#include <rankwatch/finding.h>

struct board_entry {
	char id[24];
	enum rw_severity severity; /* highest so far */
	enum rw_severity told;     /* RW_NOTICE: none who hears only of news knows of it */
	char *line;                /* NULL: closed */
};

struct board {
	struct board_entry *entries; /* every id that was ever seen */
	size_t count, room;
};

/* Takes the finding's line as the newest of its id. 0 or -ENOMEM. */
int board_put(struct board *board, const struct rw_finding *finding, const char *line);
/* Whether those who hear only of news (a finding opens, becomes more severe, closes) should hear of this one, which was put
 * before; they are then taken to know it. Notices are no news. */
bool board_tell(struct board *board, const struct rw_finding *finding);
/* Number of findings so far whose highest severity is this one. */
size_t board_count(const struct board *board, enum rw_severity severity);
/* Number of findings that are over now, and were once warnings or worse. */
size_t board_closed(const struct board *board);
size_t board_open(const struct board *board);
void board_free(struct board *board);

#endif
