/* SPDX-License-Identifier: MIT */
#include "console/report/inits.h"

#include <stdlib.h>

#include "finding/rank_list.h"

enum { LIST = 256, MISSING = 1024 };

static bool waits(const struct replay_process *process, uint64_t id)
{
	const struct rw_init *init = &replay_header(process)->init;

	return init->since_ns && init->id == id;
}

static bool is_first(const struct replay *replay, size_t process)
{
	for (size_t i = 0; i < process; i++)
		if (waits(&replay->processes[i], replay_header(&replay->processes[process])->init.id))
			return false;
	return true;
}

static void print_ranks(FILE *out, const char *label, const int32_t *ranks, size_t count)
{
	char list[LIST];

	fprintf(out, "    %-8srank%s %s\n", label, count > 1 ? "s" : "",
		rank_list_text(list, sizeof(list), ranks, count));
}

static bool is_among(const int32_t *ranks, size_t count, int32_t rank)
{
	for (size_t i = 0; i < count; i++)
		if (ranks[i] == rank)
			return true;
	return false;
}

/* Who has come to this init on no machine on which others wait in it; 0: nobody, or more than fit. */
static size_t find_missing(const struct replay *replay, uint64_t id, int32_t missing[MISSING])
{
	size_t named = 0;
	bool any = false;

	for (size_t i = 0; i < replay->machine_count; i++) {
		int32_t here[MISSING];
		size_t count = analysis_init_missing(replay->machines[i].analysis, id, here, MISSING), kept = 0;

		if (!count)
			continue;
		if (count == MISSING)
			return 0;
		for (size_t k = 0; k < (any ? named : count); k++)
			if (!any || is_among(here, count, missing[k]))
				missing[kept++] = any ? missing[k] : here[k];
		named = kept;
		any = true;
	}
	return named;
}

static int by_rank(const void *a, const void *b)
{
	const int32_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

static const char *call_name(const struct rw_init *init)
{
	switch (init->call) {
	case RW_INIT_CALL_GROW:
	case RW_INIT_CALL_JOIN:
		return "ncclCommGrow";
	case RW_INIT_CALL_DESTROY:
		return "ncclCommDestroy";
	case RW_INIT_CALL_SUSPEND:
		return "ncclCommSuspend";
	case RW_INIT_CALL_RESUME:
		return "ncclCommResume";
	default:
		return init->parent ? "ncclCommSplit" : "ncclCommInitRank";
	}
}

/* One that ended in it, while the others live and wait, is missing. */
static void print_waiting(FILE *out, const struct replay *replay, const struct rw_init *init)
{
	int32_t *waiting = calloc(replay->count, sizeof(*waiting)), missing[MISSING];
	size_t named = find_missing(replay, init->id, missing), come = 0, count = 0;

	for (size_t i = 0; waiting && i < replay->count; i++) {
		if (!waits(&replay->processes[i], init->id) || is_among(missing, named, replay->processes[i].rank))
			continue;
		come++;
		if (replay->processes[i].rank >= 0)
			waiting[count++] = replay->processes[i].rank;
	}
	if (count)
		qsort(waiting, count, sizeof(*waiting), by_rank);
	fprintf(out, "  %s of %d ranks: %zu seen in it\n", call_name(init), init->nranks, come);
	if (count)
		print_ranks(out, "joined", waiting, count);
	if (named && named + come == (size_t)init->nranks)
		print_ranks(out, "missing", missing, named);
	free(waiting);
}

bool inits_any(const struct replay *replay)
{
	bool any = false;

	for (size_t i = 0; i < replay->count; i++) {
		const struct rw_init *init = &replay_header(&replay->processes[i])->init;
		any |= init->since_ns && init->call != RW_INIT_CALL_DESTROY;
	}
	return any;
}

size_t inits_print(FILE *out, const struct replay *replay)
{
	size_t printed = 0;

	for (size_t i = 0; i < replay->count; i++) {
		const struct rw_init *init = &replay_header(&replay->processes[i])->init;

		if (!init->since_ns || !is_first(replay, i))
			continue;
		print_waiting(out, replay, init);
		printed++;
	}
	return printed;
}
