/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/adding_up.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analysis/model.h"

/* From a rank's arrival at an operation to its end. */
struct interval {
	uint64_t from_ns, until_ns;
};

struct intervals {
	struct interval *items;
	size_t count, room;
};

static int by_start(const void *left, const void *right)
{
	const struct interval *a = left, *b = right;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* The account begins with the operation that was known first. */
static void push(struct intervals *intervals, const struct operation *operation, uint64_t from_ns)
{
	if (operation->done_ns < from_ns)
		return;
	if (intervals->count == intervals->room) {
		intervals->room = intervals->room ? intervals->room * 2 : 256;
		intervals->items = realloc(intervals->items, intervals->room * sizeof(*intervals->items));
		if (!intervals->items)
			abort();
	}
	intervals->items[intervals->count++] =
	    (struct interval){ operation->arrival_ns > from_ns ? operation->arrival_ns : from_ns, operation->done_ns };
}

static bool is_waiting(const struct account *account, const struct instance *instance)
{
	for (size_t i = 0; i < account->waiting_count; i++)
		if (account->waiting[i].instance == instance)
			return true;
	return false;
}

static void collect(const struct analysis *analysis, uint32_t rank, struct intervals *intervals)
{
	const uint32_t timed = OPERATION_STARTED | OPERATION_DONE;

	for (const struct instance *at = analysis->instances.finished_last; at; at = at->previous) {
		if (is_waiting(&analysis->account, at))
			continue;
		for (uint32_t i = 0; i < at->communicator->member_count; i++) {
			const struct operation *operation = instance_joined(at, i);
			if (operation && at->communicator->members[i].rank == rank &&
			    (operation->state & timed) == timed &&
			    !(operation->state & (OPERATION_HOST | OPERATION_EXCLUDED)))
				push(intervals, operation, analysis->account.ranks[rank].whole.from_ns);
		}
	}
	if (intervals->count)
		qsort(intervals->items, intervals->count, sizeof(*intervals->items), by_start);
}

static bool agrees(uint64_t a, uint64_t b, uint64_t whole)
{
	uint64_t off = a > b ? a - b : b - a;

	return off <= whole / 1000;
}

static bool adds_up(FILE *out, const struct analysis *analysis, uint32_t index)
{
	const struct account_rank *rank = &analysis->account.ranks[index];
	const struct account_parts *parts = &rank->whole.parts;
	uint64_t inside_ns = 0, until_ns = 0, length_ns = rank->whole.until_ns - rank->whole.from_ns;
	struct intervals intervals = { 0 };

	collect(analysis, index, &intervals);
	uint64_t first_ns = intervals.count ? intervals.items[0].from_ns : 0;
	for (size_t i = 0; i < intervals.count; i++) {
		const struct interval *at = &intervals.items[i];
		uint64_t from_ns = at->from_ns > until_ns ? at->from_ns : until_ns;
		inside_ns += at->until_ns > from_ns ? at->until_ns - from_ns : 0;
		until_ns = at->until_ns > until_ns ? at->until_ns : until_ns;
	}
	free(intervals.items);
	uint64_t counted_ns = parts->wait_ns + parts->transfer_ns, span_ns = until_ns - first_ns;
	/* Behind the last operation with times, the rest is unseen. */
	uint64_t rest_ns = length_ns > span_ns && parts->unseen_ns >= length_ns - span_ns ? length_ns - span_ns : 0;
	bool right = account_sum(parts) == length_ns && agrees(length_ns - rest_ns, span_ns, length_ns) &&
		     counted_ns <= inside_ns;
	if (!right)
		fprintf(out,
			"rank index %u: %" PRIu64 " own + %" PRIu64 " wait + %" PRIu64 " transfer + %" PRIu64
			" unseen, of %" PRIu64 "; counted again %" PRIu64 " inside of %" PRIu64 "\n",
			index, parts->own_ns, parts->wait_ns, parts->transfer_ns, parts->unseen_ns, length_ns,
			inside_ns, span_ns);
	return right;
}

bool adding_up(FILE *out, const struct analysis *analysis, uint32_t *ranks)
{
	bool right = true;

	*ranks = 0;
	for (uint32_t i = 0; i < analysis->account.rank_count; i++) {
		if (!analysis->account.ranks[i].whole.from_ns)
			continue;
		++*ranks;
		right &= adds_up(out, analysis, i);
	}
	return right;
}
