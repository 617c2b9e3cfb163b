/* SPDX-License-Identifier: MIT */
/* How far a long work is: one line on a terminal at standard error, which is written over. It appears when the work
 * takes longer than a fifth of a second. One thread; a NULL progress shows nothing. */
#ifndef CONSOLE_CLI_PROGRESS_H
#define CONSOLE_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed at first. */
struct progress {
	char before[48]; /* "run 3 of 20: ": the caller's, in front of what is done */
	char what[144];  /* "reading 256 black boxes" */
	bool silent;   /* nothing is shown: standard output is the same terminal, and shows by itself how far it is */
	bool shown;    /* there is a line on the terminal */
	uint64_t last_ns;
};

/* A part of the work begins: doing "reading", things "black box" or whatever its plural is made of by -s or -es. */
void progress_begin(struct progress *progress, const char *doing, size_t count, const char *things);
/* So much of it is done; in any unit. */
void progress_show(struct progress *progress, uint64_t done, uint64_t all);
/* Takes the line away: before anything else is written to the terminal. */
void progress_end(struct progress *progress);

#endif
