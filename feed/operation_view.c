/* SPDX-License-Identifier: MIT */
#include "feed/operation_view.h"

/* In order of time. Bits without a time of their own go with the step that they come with. */
static const struct {
	uint32_t known;
	uint32_t pending; /* who still has to write before it is so far */
	size_t offset;
} steps[] = {
	{ RW_KNOWN_API | RW_KNOWN_CALL | RW_KNOWN_STEP, RW_OWNER_HOST, offsetof(struct rw_operation, api_ns) },
	{ RW_KNOWN_LAUNCH | RW_KNOWN_TASK, RW_OWNER_HOST, offsetof(struct rw_operation, launch_end_ns) },
	{ RW_KNOWN_RETURN, RW_OWNER_HOST, offsetof(struct rw_operation, return_ns) },
	{ RW_KNOWN_STARTED | RW_KNOWN_BEGAN, RW_OWNER_GPU, offsetof(struct rw_operation, started_seen_ns) },
	{ RW_KNOWN_DONE | RW_KNOWN_STAMP | RW_KNOWN_SCAN_IN | RW_KNOWN_SCAN_OUT, RW_OWNER_GPU,
	  offsetof(struct rw_operation, done_seen_ns) },
};

enum { STEPS = sizeof(steps) / sizeof(*steps) };

/* 0 when it was not reached. */
static uint64_t time_of(const struct rw_operation *operation, int step)
{
	return operation->known & steps[step].known ?
		       *(const uint64_t *)((const char *)operation + steps[step].offset) : 0;
}

uint64_t operation_view(struct rw_operation *operation, uint64_t until_ns)
{
	uint64_t next_ns = UINT64_MAX;

	for (int step = 0; step < STEPS; step++) {
		uint64_t at_ns = time_of(operation, step);

		if (at_ns <= until_ns)
			continue;
		operation->known &= ~steps[step].known;
		operation->owner |= steps[step].pending;
		if (at_ns < next_ns && at_ns <= OPERATION_TIME_MAX)
			next_ns = at_ns;
	}
	return next_ns;
}

uint64_t operation_last_ns(const struct rw_operation *operation)
{
	uint64_t last_ns = 0;

	for (int step = 0; step < STEPS; step++)
		if (time_of(operation, step) > last_ns)
			last_ns = time_of(operation, step);
	return last_ns;
}
