/* SPDX-License-Identifier: MIT */
/*
 * Before profiler ABI v5 nobody reports NCCL's launches. The interposer takes for them the time of the real call, or of
 * the outermost ncclGroupEnd, in which NCCL launches all calls of the group: one launch per communicator, the
 * communicator's share of the group. Shares are linked by the thread that makes the group. Private to
 * plugin/operations/; on the path of a collective.
 */
#ifndef PLUGIN_OPERATIONS_SHARE_H
#define PLUGIN_OPERATIONS_SHARE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/operations/launch.h"
#include "plugin/recording/recording.h"

/* The thread's group and its shares. */
struct shares {
	uint32_t group;
	uint16_t first; /* index + 1 of a communicator, 0 = none */
	bool launched;  /* NCCL has reported a task, or a call is captured */
};

/* A call of the group on that stream. */
void share_join(struct shares *shares, const struct communicator *communicator, uint64_t stream);
/* No GPU progress: other launches of the communicator, whose time is not known, have it. */
void share_is_not_followed(const struct communicator *communicator);
void shares_are_not_followed(const struct shares *shares);
/* The group has a captured call of the communicator: its tasks are no operations. */
void share_note_captured(const struct shares *shares, const struct communicator *communicator);
/* Has the group a call of the communicator, captured or not? */
bool share_is_in(const struct shares *shares, const struct communicator *communicator);
/* Once the launches have begun; lives until the communicator's next group. */
const struct operation_launch *share_launch(const struct communicator *communicator);

/* Around the real function. Communicators that do not block launch elsewhere, and are left out. */
void shares_begin_launches(struct recording *recording, const struct shares *shares, uint32_t tid);
void shares_end_launches(struct recording *recording, const struct shares *shares);

#endif
