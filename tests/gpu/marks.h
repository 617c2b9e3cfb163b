/* SPDX-License-Identifier: MIT */
/* What it costs to see an operation's start and end on the GPU, by several methods that take turns, so that all see the
 * same machine; on an idle GPU and on one that something like a matrix product fills. */
#ifndef TESTS_GPU_MARKS_H
#define TESTS_GPU_MARKS_H

#include <stdbool.h>

#include "device.h"

enum { MARKS_SAMPLES = 400 };

enum marks_method { MARKS_NOTHING, MARKS_MEMORY, MARKS_PLUGIN, MARKS_EVENTS, MARKS_STAMPS, MARKS_METHODS };

struct marks {
	const struct device *device;
	CUstream stream, filler;
	CUevent timed[2], plain[2];
	CUdeviceptr words;
	int repeat; /* operations between two looks at the clock */
	/* Of this operation. */
	double host_ns[MARKS_METHODS][MARKS_SAMPLES], stream_us[MARKS_METHODS][MARKS_SAMPLES];
	size_t count;
	unsigned int unfilled; /* samples that outlived the filling kernel */
};

typedef void marks_operation(void *argument);

void marks_open(struct marks *marks, const struct device *device, CUstream stream, int repeat);
/* Before the first turn of an operation: each method once, which is not counted. */
void marks_begin(struct marks *marks, marks_operation *operation, void *argument);
void marks_turn(struct marks *marks, bool filled, marks_operation *operation, void *argument);
static inline bool marks_are_full(const struct marks *marks)
{
	return marks->count == MARKS_SAMPLES;
}
/* One JSON line for each method; `around` tells what the marks stood around. */
void marks_print(struct marks *marks, const char *around, int ranks, bool filled);

#endif
