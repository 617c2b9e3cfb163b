/* SPDX-License-Identifier: MIT */
#include "sim/workload/model/schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PIPELINE_RANKS_MAX = 64 };

static const struct schedule_kind *const kinds[] = { &schedule_1f1b, &schedule_gpipe, &schedule_interleaved,
						     &schedule_zbv };

const struct schedule_kind *schedule_kind_find(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i]->name, name))
			return kinds[i];
	return NULL;
}

int schedule_append(struct action_list *list, enum action_kind kind, int stage, int microbatch)
{
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : 64;
		struct action *items = realloc(list->items, room * sizeof(*items));

		if (!items)
			return -ENOMEM;
		list->items = items;
		list->room = room;
	}
	list->items[list->count++] = (struct action){ kind, stage, microbatch };
	return 0;
}

int schedule_rank_of_stage(const struct schedule *schedule, int stage)
{
	return schedule->kind->rank_of_stage(schedule, stage);
}

static bool is_backward(enum action_kind kind)
{
	return kind == ACTION_B || kind == ACTION_I;
}

/* The stage that an action hands its result to; its own when it keeps it. */
static int receiver_of(const struct schedule *schedule, const struct action *action)
{
	if (action->kind == ACTION_F && action->stage + 1 < schedule->stages)
		return action->stage + 1;
	if (is_backward(action->kind) && action->stage > 0)
		return action->stage - 1;
	return action->stage;
}

/* Whether `list` up to here leaves what a forward (or backward) of this stage and micro-batch made, or received. */
static bool has(const struct action_list *list, bool backward, enum action_kind received, int from_stage, int stage,
		int microbatch)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct action *action = &list->items[i];
		bool made = backward ? is_backward(action->kind) : action->kind == ACTION_F;

		if (action->microbatch != microbatch)
			continue;
		if ((made && action->stage == from_stage) || (action->kind == received && action->stage == stage))
			return true;
	}
	return false;
}

static bool is_ready(const struct schedule *schedule, const struct action_list *list, const struct action *action)
{
	int stage = action->stage;

	if (action->kind == ACTION_F && stage > 0)
		return has(list, false, ACTION_RECV_F, stage - 1, stage, action->microbatch);
	if (is_backward(action->kind) && stage + 1 < schedule->stages)
		return has(list, true, ACTION_RECV_B, stage + 1, stage, action->microbatch);
	return true;
}

static int append_exchange(struct schedule *schedule, int rank, const struct action *action)
{
	bool forward = action->kind == ACTION_F;
	int stage = receiver_of(schedule, action), receiver = schedule_rank_of_stage(schedule, stage);

	if (receiver == rank)
		return 0;
	int err = schedule_append(&schedule->lists[rank], forward ? ACTION_SEND_F : ACTION_SEND_B, action->stage,
				  action->microbatch);
	return err ? err : schedule_append(&schedule->lists[receiver], forward ? ACTION_RECV_F : ACTION_RECV_B, stage,
					   action->microbatch);
}

struct runner {
	size_t next;	       /* of its list of computation */
	int busy_until;
	struct action running; /* valid while busy */
	bool busy;
};

/* What ends now is handed on. Returns 0 or -ENOMEM. */
static int end_actions(struct schedule *schedule, struct runner *runners, int now)
{
	int err = 0;

	for (int rank = 0; rank < schedule->ranks && !err; rank++) {
		struct runner *runner = &runners[rank];

		if (!runner->busy || runner->busy_until > now)
			continue;
		runner->busy = false;
		err = append_exchange(schedule, rank, &runner->running);
	}
	return err;
}

/* Each idle rank begins its next action if what that needs is there. Returns how many ranks are busy, or -ENOMEM. */
static int begin_actions(struct schedule *schedule, const struct action_list *compute, struct runner *runners, int now)
{
	static const int durations[ACTION_KINDS] = { [ACTION_F] = 1, [ACTION_B] = 2, [ACTION_I] = 1, [ACTION_W] = 1 };
	int busy = 0;

	for (int rank = 0; rank < schedule->ranks; rank++) {
		struct runner *runner = &runners[rank];
		const struct action *action = &compute[rank].items[runner->next];
		bool begins = !runner->busy && runner->next < compute[rank].count &&
			      is_ready(schedule, &schedule->lists[rank], action);

		if (begins && schedule_append(&schedule->lists[rank], action->kind, action->stage, action->microbatch))
			return -ENOMEM;
		if (begins) {
			*runner = (struct runner){ .next = runner->next + 1, .running = *action, .busy = true,
						   .busy_until = now + durations[action->kind] };
		}
		busy += runner->busy;
	}
	return busy;
}

/* Plays the lists of computation against each other, noting sends and receives as they come up. -EINVAL: they wait for
 * each other. */
static int add_exchanges(struct schedule *schedule, const struct action_list *compute)
{
	struct runner runners[PIPELINE_RANKS_MAX] = { 0 };
	int busy = 1, err = 0;

	for (int now = 0; busy > 0 && !err; now++) {
		err = end_actions(schedule, runners, now);
		if (!err)
			busy = begin_actions(schedule, compute, runners, now);
	}
	for (int rank = 0; rank < schedule->ranks && !err && !busy; rank++)
		if (runners[rank].next < compute[rank].count)
			err = -EINVAL;
	return err ? err : busy;
}

static void free_lists(struct action_list *lists, int count)
{
	for (int i = 0; lists && i < count; i++)
		free(lists[i].items);
	free(lists);
}

typedef int (*compute_fn)(const struct schedule *schedule, const void *from, int rank, struct action_list *list);

static int make(struct schedule *schedule, compute_fn compute_rank, const void *from)
{
	struct action_list *compute = calloc(schedule->ranks, sizeof(*compute));
	int err = compute && schedule->lists ? 0 : -ENOMEM;

	for (int rank = 0; rank < schedule->ranks && !err; rank++)
		err = compute_rank(schedule, from, rank, &compute[rank]);
	if (!err)
		err = add_exchanges(schedule, compute);
	free_lists(compute, schedule->ranks);
	return err;
}

static int compute_by_kind(const struct schedule *schedule, const void *from, int rank, struct action_list *list)
{
	(void)from;
	return schedule->kind->compute(schedule, rank, list);
}

int schedule_make(struct schedule *schedule, const struct schedule_kind *kind, int ranks, int stages_per_rank,
		  int microbatches)
{
	int each = stages_per_rank ? stages_per_rank : kind->stages_per_rank;

	*schedule = (struct schedule){ .kind = kind, .ranks = ranks, .stages_per_rank = each, .stages = ranks * each,
				       .microbatches = microbatches };
	if (ranks < 1 || ranks > PIPELINE_RANKS_MAX || microbatches < 1 || each < kind->stages_per_rank ||
	    (each > kind->stages_per_rank && !kind->more_stages))
		return -EINVAL;
	schedule->lists = calloc(ranks, sizeof(*schedule->lists));
	return make(schedule, compute_by_kind, NULL);
}

static int compute_forward(const struct schedule *schedule, const void *from, int rank, struct action_list *list)
{
	const struct action_list *all = &((const struct schedule *)from)->lists[rank];
	int err = 0;

	(void)schedule;
	for (size_t i = 0; i < all->count && !err; i++)
		if (all->items[i].kind == ACTION_F)
			err = schedule_append(list, ACTION_F, all->items[i].stage, all->items[i].microbatch);
	return err;
}

int schedule_make_forward(struct schedule *schedule, const struct schedule *training)
{
	*schedule = *training;
	schedule->lists = calloc(schedule->ranks, sizeof(*schedule->lists));
	return make(schedule, compute_forward, training);
}

void schedule_close(struct schedule *schedule)
{
	free_lists(schedule->lists, schedule->ranks);
	schedule->lists = NULL;
}
