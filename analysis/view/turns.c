/* SPDX-License-Identifier: MIT */
#include "analysis/view/turns.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/report/cause_text.h"
#include "analysis/model.h"

/* What the ranks for which they waited most often are late by, as far as it is known. */
struct causes {
	struct cause of[TURNS_CAUSES];
	uint32_t count;
};

static int by_times(const void *left, const void *right)
{
	const struct turn *a = left, *b = right;

	if (a->times != b->times)
		return a->times < b->times ? 1 : -1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* The ranks that others waited for; returns how many. */
static uint32_t find_turns(const struct account *account, struct turn *turns)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < account->rank_count; i++) {
		struct turn *turn = &turns[count];

		*turn = (struct turn){ .rank = i };
		turn->times = account_late_steps(account, &account->ranks[i], &turn->waits_ns);
		count += turn->times != 0;
	}
	return count;
}

/* The largest share that a rank has where each has its turn. */
static double most_of_one(uint32_t ranks)
{
	double twice = 2.0 / ranks;

	if (ranks <= 3)
		return TURNS_FEW_MAX;
	return twice > TURNS_ONE_MAX ? twice : TURNS_ONE_MAX;
}

static bool has_each_its_turn(const struct turn *turns, uint32_t count, uint32_t ranks, uint64_t waits_ns)
{
	if (count < 2 || (count < TURNS_RANKS_MIN && 2 * count < ranks))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if ((double)turns[i].waits_ns > most_of_one(ranks) * (double)waits_ns)
			return false;
	return true;
}

bool turns_go_round(struct turn *turns, uint32_t count, uint32_t ranks, double all_ns, struct analysis_turns *told)
{
	uint32_t times = 0;
	uint64_t waits_ns = 0;

	*told = (struct analysis_turns){ .cause_class = RW_CAUSE_UNKNOWN };
	for (uint32_t i = 0; i < count; i++) {
		times += turns[i].times;
		waits_ns += turns[i].waits_ns;
	}
	double share = all_ns > 0 ? (double)waits_ns / all_ns : 0;
	if (share < TURNS_SHARE_MIN || times < TURNS_MIN || !has_each_its_turn(turns, count, ranks, waits_ns))
		return false;
	qsort(turns, count, sizeof(*turns), by_times);
	told->times = times;
	told->share = share;
	told->each_ms = (double)waits_ns / (ranks - 1) / times / 1e6;
	told->rank_count = count;
	return true;
}

static void find_causes(const struct analysis *analysis, const struct turn *turns, uint32_t count,
			struct causes *causes)
{
	for (causes->count = 0; causes->count < count && causes->count < TURNS_CAUSES; causes->count++) {
		uint32_t index = turns[causes->count].rank;
		const struct account_rank *rank = &analysis->account.ranks[index];
		uint32_t windows = rank->window_count < CAUSE_WINDOWS ? rank->window_count : CAUSE_WINDOWS;
		struct cause *cause = &causes->of[causes->count];

		*cause = (struct cause){ .class_ = RW_CAUSE_UNKNOWN };
		if (windows)
			cause_find(&analysis->intern, analysis->job.ranks[index].process, rank->window_tid,
				   rank->windows, windows, cause);
	}
}

/* The class of more than half of those of which one is known. */
static void choose_class(const struct causes *causes, struct analysis_turns *told)
{
	uint32_t of_class[RW_CAUSE_COUNT] = { 0 };

	for (uint32_t i = 0; i < causes->count; i++)
		of_class[causes->of[i].class_]++;
	told->seen = causes->count - of_class[RW_CAUSE_UNKNOWN];
	for (int class_ = RW_CAUSE_UNKNOWN + 1; class_ < RW_CAUSE_COUNT; class_++) {
		if (of_class[class_] * 2 <= told->seen)
			continue;
		told->cause_class = (enum rw_cause_class)class_;
		told->caused = of_class[class_];
	}
}

/* Their function, where it is one; those of which none is known do not count. */
static void find_function(const struct intern *intern, const struct causes *causes, struct analysis_turns *told)
{
	const struct python_looks_place *place = NULL;

	for (uint32_t i = 0; i < causes->count; i++) {
		const struct python_looks_answer *python = &causes->of[i].python;

		if (causes->of[i].class_ != told->cause_class || !python->seen || !python->place.function)
			continue;
		if (place && (place->function != python->place.function || place->file != python->place.file))
			return;
		place = &python->place;
	}
	if (!place)
		return;
	snprintf(told->function, sizeof(told->function), "%s", intern_text(intern, place->function));
	snprintf(told->file, sizeof(told->file), "%s", intern_text(intern, place->file));
	told->line = place->line;
}

/* Those of one class may have different words: the first, of the rank that was waited for most often, stands for all.
 */
static void tell_cause(const struct analysis *analysis, const struct turn *turns, const struct causes *causes,
		       struct analysis_turns *told)
{
	bool any = false;

	choose_class(causes, told);
	for (uint32_t i = 0; told->caused && i < causes->count; i++) {
		const struct cause *cause = &causes->of[i];

		if (cause->class_ != told->cause_class)
			continue;
		if (!any)
			cause_text(told->cause, sizeof(told->cause), cause, analysis->job.ranks[turns[i].rank].process);
		any = true;
		told->likely |= cause->inferred != NULL;
		told->collecting += cause->python.collecting != 0;
	}
	if (any)
		find_function(&analysis->intern, causes, told);
}

static enum rw_late_kind late_by(const struct account *account, const struct turn *turns, uint32_t count)
{
	uint64_t host_ns = 0, device_ns = 0;

	for (uint32_t i = 0; i < count; i++) {
		host_ns += account->ranks[turns[i].rank].host_ns;
		device_ns += account->ranks[turns[i].rank].device_ns;
	}
	return !host_ns && !device_ns ? RW_LATE_NONE : host_ns >= device_ns ? RW_LATE_HOST : RW_LATE_DEVICE;
}

static void tell(const struct analysis *analysis, const struct turn *turns, uint32_t count, struct analysis_turns *told)
{
	told->of_steps = account_steps(&analysis->account);
	for (uint32_t i = 0; i < count && i < ANALYSIS_TURNS; i++) {
		told->ranks[i].rank = analysis->job.ranks[turns[i].rank].world;
		told->ranks[i].times = turns[i].times;
	}
	told->by = late_by(&analysis->account, turns, count);
	struct causes *causes = told->by == RW_LATE_HOST ? malloc(sizeof(*causes)) : NULL;

	if (!causes)
		return;
	find_causes(analysis, turns, count, causes);
	tell_cause(analysis, turns, causes, told);
	free(causes);
}

void turns_tell(const struct analysis *analysis, double all_ns, struct analysis_turns *told)
{
	const struct account *account = &analysis->account;
	struct turn *turns = calloc(account->rank_count + 1, sizeof(*turns));
	uint32_t count = turns ? find_turns(account, turns) : 0;

	if (turns_go_round(turns, count, account->rank_count, all_ns, told))
		tell(analysis, turns, count, told);
	free(turns);
}
