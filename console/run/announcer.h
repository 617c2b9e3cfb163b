/* SPDX-License-Identifier: MIT */
/* Which findings `rankwatch run` shows, where and how often. */
#ifndef CONSOLE_RUN_ANNOUNCER_H
#define CONSOLE_RUN_ANNOUNCER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

struct announcement;
struct line_sink;

struct announcer {
	FILE *text; /* people read it here; NULL: not */
	bool colour;
	struct line_sink *lines;            /* JSON lines go here as findings change; NULL: nowhere; the owner's */
	struct announcement *announcements; /* by kind and ranks */
	size_t count, room;
};

/* A finding from `warning` up is shown as text at most once a minute for the same kind and ranks, at first when its
 * cause is known or after a moment. Everything else is ignored. */
void announcer_take(struct announcer *announcer, const json_t *finding, uint64_t now_ns);
/* Prints what is due. Call about ten times a second. */
void announcer_tick(struct announcer *announcer, uint64_t now_ns);
/* The job has ended: what was never shown is shown now. Frees; does not close the outputs. */
void announcer_finish(struct announcer *announcer);

#endif
