/* SPDX-License-Identifier: MIT */
/*
 * KernelCh: what the progress thread watches of a plan's kernel, one operation for each channel of a task, and for
 * sends and receives one for each direction. Operations are kept as NCCL keeps those of its proxies: those of one
 * connection one behind the other, and the plugin's handle in a slot that is used again and never cleared.
 */
#ifndef SIM_NCCL_PROFILER_CHANNEL_OP_H
#define SIM_NCCL_PROFILER_CHANNEL_OP_H

#include "sim/nccl/launch/plan.h"

struct channel_op {
	struct channel_op *next;   /* in a list that was made, and among the active ones */
	struct channel_op *behind; /* of the same connection */
	struct plan *plan;         /* a reference */
	struct task *task;
	uint8_t channel;
	int part; /* of the task's channels */
	bool receives, started;
	unsigned int order; /* among what was posted; equal for those of one batch of works */
	struct channel_slot *slot;
};

/* The progress thread's. */
struct channel_ops;

/* Whether any task of the plan has operations. */
bool channel_ops_are_wanted(const struct plan *plan);
/* On the launching thread, in NCCL's order; each holds the plan. NULL: none, or out of memory. */
struct channel_op *channel_ops_of(struct plan *plan);
void channel_ops_drop(struct channel_op *list);

/* NULL: out of memory. */
struct channel_ops *channel_ops_new(void);
/* Accepts NULL, and operations that have not reported all. */
void channel_ops_free(struct channel_ops *ops);
/* Takes one over. */
void channel_ops_add(struct channel_ops *ops, struct channel_op *op);
bool channel_ops_are_active(const struct channel_ops *ops);
/* Looks at each active one once. True: something was reported. */
bool channel_ops_advance(struct channel_ops *ops);

#endif
