/* SPDX-License-Identifier: MIT */
/* Sequences of callbacks, as recorded or as read from a table; the table's head says how its lines are written. */
#ifndef TEST_SIM_SEQUENCE_TABLE_H
#define TEST_SIM_SEQUENCE_TABLE_H

#include <stdbool.h>

#define SEQUENCE_LINES 512

struct sequence_line {
	char thread[24]; /* and communicator */
	char text[160];
	bool anywhere; /* "?": or, for a state of ProxyCtrl, not at all */
};

struct sequence {
	int count;
	struct sequence_line lines[SEQUENCE_LINES];
};

void sequence_add(struct sequence *sequence, const struct sequence_line *line);
/* False: the file has no such phase. */
bool sequence_read(struct sequence *sequence, const char *file, const char *phase);
bool sequence_is(const struct sequence *recorded, const struct sequence *expected);
/* Both, on stderr, thread by thread. */
void sequence_show(const struct sequence *recorded, const struct sequence *expected, const char *phase);

#endif
