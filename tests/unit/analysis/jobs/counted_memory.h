/* SPDX-License-Identifier: MIT */
/*
 * The linker leads a program's allocations here (counted_memory_args in meson.build): blocks that somebody holds are
 * counted, requests that are made inside of what is tested are refused where the test says so, and who writes behind
 * the end of a block ends the program. What is asked for by malloc(3) is not zero. One thread.
 */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_COUNTED_MEMORY_H
#define TESTS_UNIT_ANALYSIS_JOBS_COUNTED_MEMORY_H

#include <stdbool.h>

extern struct counted_memory {
	int inside;                        /* of what is tested: calls that have not returned */
	long blocks;                       /* that somebody holds */
	bool (*refuses)(
	    const void *site); /* asked for each request from inside, with where it comes from; NULL: all is given */
} counted_memory;

#endif
