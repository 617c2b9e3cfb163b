/* SPDX-License-Identifier: MIT */
#include "plugin/operations/operation.h"

#include "plugin/operations/operation_path.h"

enum {
	MATCH_MAX = 64, /* operations of a group that a task is compared with; the walk is on a collective's path */
};

void operation_return(struct recording *recording, const struct operation_group *group, uint64_t now)
{
	operation_path_return(recording, group, now);
}

uint64_t operation_call(struct recording *recording, struct communicator *communicator,
			const struct reported_call *call, struct operation_group *group, uint32_t tid, uint32_t pending)
{
	uint64_t ticket;

	operation_path_call(recording, communicator, call, group, tid, pending, rw_operator_flags(call->reduction),
			    &ticket);
	return ticket;
}

uint64_t operation_unannounced_call(struct recording *recording, struct communicator *communicator,
				    const struct reported_call *call, struct operation_group *group, uint32_t tid)
{
	const struct operation_numbering unannounced = { communicator->unannounced,
							 RW_FLAG_UNANNOUNCED | rw_operator_flags(call->reduction) };
	uint64_t ticket;

	operation_publish(recording, communicator, call, group, unannounced, tid, RW_OWNER_HOST, &ticket);
	return ticket;
}

/* One in so many, but of its kind at most one in `least`. */
static uint32_t every_of(const _Atomic uint32_t *every, uint32_t least)
{
	uint32_t now = atomic_load_explicit(every, memory_order_relaxed);

	return now && now < least ? least : now;
}

static uint64_t number_of(const struct communicator *communicator, const struct rw_operation *slot)
{
	return sampling_number(&(struct sampling_name){ .communicator = communicator->entry->id,
							.sequence = slot->sequence,
							.function = slot->function });
}

/* One of its function's first, which is scanned as if the budget turned nothing down. Not inlined: the path of a loop
 * of small operations pays nothing for it. */
static __attribute__((noinline)) bool is_first(const struct recording *recording, uint64_t sequence, uint64_t number,
					       uint32_t least)
{
	return sampling_takes_first(number, sequence,
				    atomic_load_explicit(&recording->scan_first, memory_order_relaxed), least);
}

/* One that is not scanned is flagged and counted, unless none is. least: as above; every: it or more. */
static void sample_scans(struct recording *recording, const struct communicator *communicator,
			 struct rw_operation *slot, uint32_t least, uint32_t every, uint64_t number)
{
	if (!communicator->scan || !every || recording->config.scan == CONFIG_SCAN_ALL ||
	    sampling_takes_number(number, every))
		return;
	if (every > least && is_first(recording, slot->sequence, number, least))
		return;
	atomic_fetch_or_explicit(&slot->flags, RW_FLAG_SAMPLED_OUT, memory_order_relaxed);
	atomic_fetch_add_explicit(&recording->box.header->scan_sampled_out, 1, memory_order_relaxed);
}

/* False: it is not compared. */
static bool sample_progress(const struct recording *recording, struct rw_operation *slot, uint32_t every,
			    uint64_t number)
{
	if (recording->config.gpu_time == CONFIG_GPU_TIME_WATERMARK || sampling_takes_number(number, every))
		return true;
	atomic_fetch_or_explicit(&slot->flags, RW_FLAG_PROGRESS_SAMPLED_OUT, memory_order_relaxed);
	return false;
}

void operation_sample_some(struct recording *recording, struct communicator *communicator, struct rw_operation *slot,
			   uint32_t least, uint32_t group)
{
	struct rw_box_header *header = recording->box.header;

	if (!slot)
		return;
	uint64_t number = number_of(communicator, slot);

	sample_scans(recording, communicator, slot, least, every_of(&header->scan_every, least), number);
	if (!communicator->counters.write)
		return;
	if (least > 1)
		least = atomic_load_explicit(&recording->small_every, memory_order_relaxed);
	if (sample_progress(recording, slot, every_of(&header->progress_every, least), number) ||
	    sampling_after_pause(&communicator->row, slot->api_ns))
		operation_follow(communicator, group);
	else
		atomic_fetch_add_explicit(&header->progress_sampled_out, 1, memory_order_relaxed);
}

void operation_sample(struct recording *recording, struct communicator *communicator, const struct reported_call *call,
		      uint64_t ticket, uint32_t group)
{
	operation_path_sample(recording, communicator, call, box_slot(&recording->box, ticket), group);
}

/* They do not count in the communicator's row: ranks without the interposer do not see them. */
void operation_sample_unannounced(struct recording *recording, struct communicator *communicator,
				  const struct reported_call *call, uint64_t ticket)
{
	struct rw_operation *slot = box_slot(&recording->box, ticket);
	uint64_t bytes = sampling_bytes(call->function, call->dtype, call->count, communicator->nranks);

	uint32_t least = bytes < SAMPLING_SMALL_BYTES ? SAMPLING_SMALL_EVERY : 1;

	if (slot && !function_is_p2p(call->function))
		sample_scans(recording, communicator, slot, least, every_of(&recording->box.header->scan_every, least),
			     number_of(communicator, slot));
}

void operation_record_peer(struct communicator *communicator, struct rw_operation *slot, int32_t peer)
{
	uint64_t sequence = peer_counts_next(atomic_load_explicit(&communicator->p2p, memory_order_relaxed),
					     slot->function == RW_FUNCTION_SEND ? PEER_SENDS : PEER_RECEIVES, peer);

	if (sequence == UINT64_MAX) {
		atomic_fetch_or_explicit(&slot->flags, RW_FLAG_PEER_UNKNOWN, memory_order_relaxed);
		slot->root_or_peer = -1;
		return;
	}
	slot->root_or_peer = peer;
	slot->sequence = sequence;
}

void operation_arguments(struct recording *recording, struct communicator *communicator, uint64_t ticket, uint64_t send,
			 uint64_t recv, int32_t peer)
{
	struct rw_operation *slot = box_slot(&recording->box, ticket);

	if (!slot)
		return;
	operation_record_arguments(communicator, slot, send, recv, peer);
	box_known(slot, RW_KNOWN_CALL);
}

bool operation_task(struct recording *recording, struct communicator *communicator, uint64_t ticket,
		    const struct reported_task *task, const struct operation_launch *launch)
{
	return operation_path_task(recording, communicator, ticket, task, launch);
}

static bool is_same(const struct rw_operation *slot, const struct communicator *communicator,
		    const struct reported_bare_task *event)
{
	return slot->comm == communicator->index && slot->function == event->call.function &&
	       slot->send_address == event->task.send && slot->recv_address == event->task.recv &&
	       !(atomic_load_explicit(&slot->known, memory_order_relaxed) & RW_KNOWN_TASK);
}

uint64_t operation_find(struct recording *recording, const struct operation_group *group,
			const struct communicator *communicator, const struct reported_bare_task *event)
{
	uint64_t ticket = group->newest, found = 0;

	for (int i = 0; i < MATCH_MAX; i++) {
		struct rw_operation *slot = box_slot(&recording->box, ticket);

		if (!slot)
			return found;
		if (is_same(slot, communicator, event)) {
			if (found)
				return 0;
			found = ticket;
		}
		ticket = group_before(recording, group, ticket);
	}
	return ticket ? 0 : found;
}
