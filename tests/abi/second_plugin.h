/* SPDX-License-Identifier: MIT */
/* A profiler plugin to be chained behind rankwatch: counts what it gets and knows its own pointers again. */
#ifndef TESTS_ABI_SECOND_PLUGIN_H
#define TESTS_ABI_SECOND_PLUGIN_H

#include <stdint.h>

enum { SECOND_TYPES = 16 };

struct second {
	/* Set by the test, before the call that is to follow it. */
	int wanted_mask;
	int init_result;
	int gives_null; /* contexts and handles */
	/* Counted. Index: bit of the event type. */
	unsigned int inits, finalizes, starts[SECOND_TYPES], stops[SECOND_TYPES], states[SECOND_TYPES];
	unsigned int foreign;    /* pointers that it did not give */
	unsigned int from_group; /* tasks whose parent is a Group */
	uint64_t count;          /* of the last task */
	int *mask;               /* NCCL's, as it was told */
};

extern struct second second;

#endif
