/* SPDX-License-Identifier: MIT */
#include "analysis/known/identify.h"

#include "analysis/known/call_order.h"
#include "analysis/known/job.h"

struct instance_key identify_key(const struct membership *membership, const struct rw_operation *slot)
{
	struct instance_key key = {
		.communicator = membership->communicator->index,
		.function = slot->function,
		.by_interposer =
		    slot->flags & RW_FLAG_UNANNOUNCED || job_member_of(membership)->process->counts_calls,
		.source = -1,
		.target = -1,
		.sequence = slot->sequence,
	};
	if (identify_is_point_to_point(slot->function)) {
		int32_t own = membership->communicator->members[membership->member].comm_rank;
		bool sends = slot->function == RW_FUNCTION_SEND;
		key.function = RW_FUNCTION_SEND_RECV;
		key.source = sends ? own : slot->root_or_peer;
		key.target = sends ? slot->root_or_peer : own;
		key.by_interposer = false; /* each pair is counted alike by all */
	}
	return key;
}

static int32_t root_of(const struct rw_operation *slot)
{
	const struct call call = { .function = slot->function };

	return call_has_root(&call) ? slot->root_or_peer : -1;
}

void identify_describe(struct instance *instance, const struct rw_operation *slot)
{
	if (!instance->joined) {
		instance->dtype = slot->dtype;
		instance->count = slot->count;
		instance->root_or_peer = root_of(slot);
	}
	identify_detail(instance, slot);
}
