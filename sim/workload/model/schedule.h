/* SPDX-License-Identifier: MIT */
/*
 * Pipeline schedules as tables: for each pipeline rank the actions of one step, in order. A kind of schedule gives the
 * computation; sends and receives between ranks are put in by schedule_make(), each pair at once, in the order in
 * which they would come up were B twice as long as the others: so all ranks agree on the order, and whoever waits
 * waits for an earlier one.
 */
#ifndef SIM_WORKLOAD_MODEL_SCHEDULE_H
#define SIM_WORKLOAD_MODEL_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>

enum action_kind {
	ACTION_F,      /* forward */
	ACTION_B,      /* backward: both gradients */
	ACTION_I,      /* gradient of the input alone … */
	ACTION_W,      /* … and, later, of the weights */
	ACTION_SEND_F, /* what F has made, to the next stage */
	ACTION_RECV_F, /* what F of this stage needs */
	ACTION_SEND_B, /* what B or I has made, to the stage before */
	ACTION_RECV_B, /* what B or I of this stage needs */
	ACTION_KINDS
};

struct action {
	enum action_kind kind;
	int stage, microbatch;
};

/* malloc'ed items. */
struct action_list {
	struct action *items;
	size_t count, room;
};

struct schedule;

struct schedule_kind {
	const char *name, *doc;
	int stages_per_rank; /* least */
	bool more_stages;    /* --stages-per-rank may say more */
	int (*rank_of_stage)(const struct schedule *schedule, int stage);
	/* Appends what pipeline rank `rank` computes. 0 or -ENOMEM. */
	int (*compute)(const struct schedule *schedule, int rank, struct action_list *list);
};

struct schedule {
	const struct schedule_kind *kind;
	int ranks, stages_per_rank, stages, microbatches;
	struct action_list *lists; /* by pipeline rank */
};

extern const struct schedule_kind schedule_gpipe, schedule_1f1b, schedule_interleaved, schedule_zbv;

/* NULL when there is none of this name. */
const struct schedule_kind *schedule_kind_find(const char *name);
/* stages_per_rank: 0 for the kind's own. 0, -ENOMEM, or -EINVAL: this many stages per rank are not for this kind, or
 * the micro-batches do not fit it. Close it also after a failure. */
int schedule_make(struct schedule *schedule, const struct schedule_kind *kind, int ranks, int stages_per_rank,
		  int microbatches);
/* The same pipeline with forward actions alone, as evaluation needs it. */
int schedule_make_forward(struct schedule *schedule, const struct schedule *training);
void schedule_close(struct schedule *schedule);

int schedule_rank_of_stage(const struct schedule *schedule, int stage);
/* For the kinds. 0 or -ENOMEM. */
int schedule_append(struct action_list *list, enum action_kind kind, int stage, int microbatch);

#endif
