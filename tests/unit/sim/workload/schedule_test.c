/* SPDX-License-Identifier: MIT */
/* The pipeline schedules against the papers: dependencies, the order of exchanges, bubbles, activations alive. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "sim/workload/model/schedule.h"

enum { RANKS = 4, STAGES_MAX = 64, BATCHES_MAX = 32 };

/* An abstract pipeline: equal actions, exchanges that take no time, sends that wait for their receiver. */
struct play {
	const struct schedule *schedule;
	int f, b, i, w; /* durations */
	int done[ACTION_KINDS][STAGES_MAX][BATCHES_MAX]; /* when it ended; -1 not yet */
	int free_at[STAGES_MAX];
	size_t next[STAGES_MAX];
};

static struct schedule made(const struct schedule_kind *kind, int ranks, int stages, int microbatches)
{
	struct schedule schedule;

	cr_assert_eq(schedule_make(&schedule, kind, ranks, stages, microbatches), 0, "%s %d %d %d", kind->name, ranks,
		     stages, microbatches);
	return schedule;
}

static int end_of(const struct play *play, enum action_kind kind, int stage, int microbatch)
{
	return stage < 0 || stage >= play->schedule->stages ? 0 : play->done[kind][stage][microbatch];
}

static int later(int a, int b)
{
	return a > b ? a : b;
}

static int backward_end(const struct play *play, int stage, int microbatch)
{
	return later(end_of(play, ACTION_B, stage, microbatch), end_of(play, ACTION_I, stage, microbatch));
}

static int local_or_received(const struct play *play, const struct action *action, int from, enum action_kind received,
			     int made_at)
{
	const struct schedule *schedule = play->schedule;

	if (from < 0 || from >= schedule->stages)
		return 0;
	if (schedule_rank_of_stage(schedule, from) == schedule_rank_of_stage(schedule, action->stage))
		return made_at;
	return end_of(play, received, action->stage, action->microbatch);
}

/* When what the action needs is there; -1 not yet. Exchanges look at their other half. */
static int needs(const struct play *play, const struct action *action)
{
	int stage = action->stage, microbatch = action->microbatch;
	int own_f;

	switch (action->kind) {
	case ACTION_F:
		return local_or_received(play, action, stage - 1, ACTION_RECV_F,
					 end_of(play, ACTION_F, stage - 1, microbatch));
	case ACTION_B:
	case ACTION_I:
		own_f = end_of(play, ACTION_F, stage, microbatch);
		if (own_f < 0)
			return -1;
		int given = local_or_received(play, action, stage + 1, ACTION_RECV_B,
					      backward_end(play, stage + 1, microbatch));
		return given < 0 ? -1 : later(own_f, given);
	case ACTION_W:
		return end_of(play, ACTION_I, stage, microbatch);
	case ACTION_SEND_F:
		return end_of(play, ACTION_F, stage, microbatch);
	case ACTION_SEND_B:
		return backward_end(play, stage, microbatch);
	case ACTION_RECV_F:
		return end_of(play, ACTION_F, stage - 1, microbatch);
	case ACTION_RECV_B:
		return backward_end(play, stage + 1, microbatch);
	default:
		return -1;
	}
}

static bool step(struct play *play, int rank)
{
	const struct action_list *list = &play->schedule->lists[rank];
	const int durations[ACTION_KINDS] = { play->f, play->b, play->i, play->w };

	if (play->next[rank] == list->count)
		return false;
	const struct action *action = &list->items[play->next[rank]];
	int ready = needs(play, action);
	if (ready < 0)
		return false;
	int *done = &play->done[action->kind][action->stage][action->microbatch];
	cr_assert_eq(*done, -1, "an action is there twice");
	/* Exchanges run beside the computation: they do not keep the rank. */
	*done = action->kind >= ACTION_SEND_F ? ready
					      : later(ready, play->free_at[rank]) + durations[action->kind];
	if (action->kind < ACTION_SEND_F)
		play->free_at[rank] = *done;
	play->next[rank]++;
	return true;
}

/* Plays it to the end; every rank's dependencies are met, or this fails. Returns when the last rank ends. */
static int play_all(struct play *play, const struct schedule *schedule, int f, int b, int i, int w)
{
	int end = 0;
	bool moved = true;

	*play = (struct play){ .schedule = schedule, .f = f, .b = b, .i = i, .w = w };
	for (int kind = 0; kind < ACTION_KINDS; kind++)
		for (int stage = 0; stage < STAGES_MAX; stage++)
			for (int batch = 0; batch < BATCHES_MAX; batch++)
				play->done[kind][stage][batch] = -1;
	while (moved) {
		moved = false;
		for (int rank = 0; rank < schedule->ranks; rank++)
			while (step(play, rank))
				moved = true;
	}
	for (int rank = 0; rank < schedule->ranks; rank++) {
		cr_assert_eq(play->next[rank], schedule->lists[rank].count, "%s: rank %d waits for ever",
			     schedule->kind->name, rank);
		end = later(end, play->free_at[rank]);
	}
	return end;
}

static int count(const struct schedule *schedule, int rank, enum action_kind kind)
{
	int found = 0;

	for (size_t i = 0; i < schedule->lists[rank].count; i++)
		found += schedule->lists[rank].items[i].kind == kind;
	return found;
}

/* Most micro-batches whose forward is done and whose backward is not, over the rank's stages. */
static int most_alive(const struct schedule *schedule, int rank)
{
	int alive = 0, most = 0;

	for (size_t i = 0; i < schedule->lists[rank].count; i++) {
		enum action_kind kind = schedule->lists[rank].items[i].kind;

		alive += (kind == ACTION_F) - (kind == ACTION_B || kind == ACTION_W);
		most = later(most, alive);
	}
	return most;
}

Test(schedule, every_action_finds_what_it_needs_in_every_schedule)
{
	const struct schedule_kind *kinds[] = { &schedule_gpipe, &schedule_1f1b, &schedule_interleaved, &schedule_zbv };
	struct play *play = malloc(sizeof(*play));

	for (size_t k = 0; k < 4; k++)
		for (int ranks = 1; ranks <= 8; ranks++)
			for (int microbatches = 1; microbatches <= 16; microbatches++) {
				struct schedule schedule;
				int err = schedule_make(&schedule, kinds[k], ranks, 0, microbatches);

				if (err == -EINVAL)
					cr_assert(kinds[k] == &schedule_interleaved && microbatches % ranks);
				else
					play_all(play, &schedule, 1, 2, 1, 1);
				schedule_close(&schedule);
			}
	free(play);
}

Test(schedule, each_stage_runs_each_micro_batch_once_and_exchanges_come_in_pairs)
{
	struct schedule schedule = made(&schedule_zbv, RANKS, 0, 9);
	int sends = 0, receives = 0;

	for (int rank = 0; rank < RANKS; rank++) {
		cr_assert_eq(count(&schedule, rank, ACTION_F), 18);
		cr_assert_eq(count(&schedule, rank, ACTION_I), 18);
		cr_assert_eq(count(&schedule, rank, ACTION_W), 18);
		sends += count(&schedule, rank, ACTION_SEND_F) + count(&schedule, rank, ACTION_SEND_B);
		receives += count(&schedule, rank, ACTION_RECV_F) + count(&schedule, rank, ACTION_RECV_B);
	}
	cr_assert_eq(sends, receives);
	cr_assert_eq(sends, 2 * 6 * 9, "eight stages, seven borders, of which the turn is no exchange");
	schedule_close(&schedule);
}

Test(schedule, gpipe_and_1f1b_have_the_same_bubble_and_1f1b_keeps_fewer_activations)
{
	struct play *play = malloc(sizeof(*play));
	struct schedule gpipe = made(&schedule_gpipe, RANKS, 0, 12), one = made(&schedule_1f1b, RANKS, 0, 12);

	cr_assert_eq(play_all(play, &gpipe, 1, 2, 0, 0), 3 * (12 + RANKS - 1));
	cr_assert_eq(play_all(play, &one, 1, 2, 0, 0), 3 * (12 + RANKS - 1));
	for (int rank = 0; rank < RANKS; rank++) {
		cr_assert_eq(most_alive(&gpipe, rank), 12);
		cr_assert_eq(most_alive(&one, rank), RANKS - rank);
	}
	schedule_close(&gpipe);
	schedule_close(&one);
	free(play);
}

Test(schedule, interleaving_divides_the_bubble_by_the_stages_per_rank)
{
	struct play *play = malloc(sizeof(*play));

	for (int stages = 2; stages <= 4; stages++) {
		struct schedule schedule = made(&schedule_interleaved, RANKS, stages, 8);

		cr_assert_eq(play_all(play, &schedule, 1, 2, 0, 0), 3 * (stages * 8 + RANKS - 1));
		schedule_close(&schedule);
	}
	free(play);
}

Test(schedule, zbv_never_waits_once_it_has_begun_when_all_actions_are_equal)
{
	struct play *play = malloc(sizeof(*play));
	struct schedule schedule = made(&schedule_zbv, RANKS, 0, 12);

	play_all(play, &schedule, 1, 0, 1, 1);
	for (int rank = 0; rank < RANKS; rank++)
		cr_assert_leq(play->free_at[rank], rank + 6 * 12, "rank %d waits", rank);
	schedule_close(&schedule);
	free(play);
}

Test(schedule, zbv_turns_on_the_last_rank_and_ends_on_the_first)
{
	struct schedule schedule = made(&schedule_zbv, RANKS, 0, 7);

	cr_assert_eq(schedule_rank_of_stage(&schedule, RANKS - 1), RANKS - 1);
	cr_assert_eq(schedule_rank_of_stage(&schedule, RANKS), RANKS - 1);
	cr_assert_eq(schedule_rank_of_stage(&schedule, 2 * RANKS - 1), 0);
	cr_assert_eq(most_alive(&schedule, 0), 2 * RANKS, "as much as 1F1B keeps, half the size each");
	schedule_close(&schedule);
}

Test(schedule, evaluation_is_the_forward_part_alone)
{
	struct play *play = malloc(sizeof(*play));
	struct schedule schedule = made(&schedule_zbv, RANKS, 0, 7), forward;

	cr_assert_eq(schedule_make_forward(&forward, &schedule), 0);
	play_all(play, &forward, 1, 2, 1, 1);
	for (int rank = 0; rank < RANKS; rank++) {
		cr_assert_eq(count(&forward, rank, ACTION_F), 14);
		cr_assert_eq(count(&forward, rank, ACTION_SEND_B) + count(&forward, rank, ACTION_I), 0);
	}
	schedule_close(&forward);
	schedule_close(&schedule);
	free(play);
}

Test(schedule, what_does_not_fit_a_schedule_is_refused)
{
	struct schedule schedule;

	cr_assert_eq(schedule_make(&schedule, &schedule_interleaved, 4, 2, 6), -EINVAL);
	schedule_close(&schedule);
	cr_assert_eq(schedule_make(&schedule, &schedule_1f1b, 4, 2, 8), -EINVAL);
	schedule_close(&schedule);
	cr_assert_eq(schedule_make(&schedule, &schedule_zbv, 4, 1, 8), -EINVAL);
	schedule_close(&schedule);
	cr_assert_null(schedule_kind_find("dualpipe"));
}
