/* SPDX-License-Identifier: MIT */
/*
 * Courses of callbacks and calls that are drawn from numbers, and what they leave in this process's black box, word for
 * word. The plugin is linked into the test, with --wrap for its clock, its thread (which does not run: what it sees
 * depends on when it looks) and its driver: that of a GPU that is done at once.
 */
#ifndef TESTS_UNIT_PLUGIN_COURSE_H
#define TESTS_UNIT_PLUGIN_COURSE_H

#include <stdio.h>

#include "plugin/recording/recording.h"

extern struct course {
	uint64_t now_ns;	/* what the plugin's clock says */
	int write_error;	/* of writes into streams */
	int capturing;		/* what the driver says of streams */
	driver_context context; /* the current one */
	unsigned int pushed, popped; /* contexts: the communicators' own, any */
	FILE *out;		/* what is compared */
	char *text;
	size_t size;
} course;

/* Once in a process: the numbers to draw from, and a directory for its box. */
void course_begin(uint64_t seed);
uint32_t course_draw(uint32_t below);
/* A few microseconds. */
void course_pass(void);
/* The box's counters, its communicators, and the operations that changed since the last time. */
void course_show(FILE *out);
/* The same, and the network waits, as a line with the counters' sum and a number that is made of all of it: for long
 * courses. With COURSES_SHOWN=FILE the whole of it lies there. */
void course_number(FILE *out);
/* With courses/NAME.txt, or writes that. */
void course_compare(const char *name);

#endif
