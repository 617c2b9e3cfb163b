/* SPDX-License-Identifier: MIT */
#include "plugin/operation.h"

#include "plugin/dtype.h"
#include "plugin/in_place.h"
#include "plugin/scanning.h"

enum {
	MATCH_MAX = 64, /* operations of a group that a task is compared with; the walk is on a collective's path */
};

/*
 * The task and the group's return are the last that NCCL's threads write, in either order: a non-blocking communicator
 * launches after the return. Whoever comes second, by the word that both go through, ends the host's part.
 */
static void finish_host(struct rw_operation *slot, uint64_t ticket, uint32_t known, uint32_t other)
{
	/* Acquire and release: the other's fields come before the slot is free. Release also for readers, as
	 * box_known(). */
	uint32_t before = atomic_fetch_or_explicit(&slot->known, known, memory_order_acq_rel);

	if (!other || (before & other))
		box_release(slot, ticket, RW_OWNER_HOST);
}

void operation_return(struct recording *recording, const struct operation_group *group, uint64_t now)
{
	uint64_t ticket = group->newest;

	while (ticket) {
		struct rw_operation *slot = box_slot(&recording->box, ticket);

		if (!slot)
			break; /* given up and overwritten; those before it are older still */
		uint64_t previous = recording->previous[(ticket - 1) & recording->box.ring_mask];
		slot->return_ns = now;
		finish_host(slot, ticket, RW_KNOWN_RETURN, RW_KNOWN_TASK);
		ticket = previous;
	}
}

static bool is_p2p(uint8_t function)
{
	return function == RW_FUNCTION_SEND || function == RW_FUNCTION_RECV || function == RW_FUNCTION_SEND_RECV;
}

/* Calls that NCCL announces, and those that only the interposer sees. */
struct numbering {
	_Atomic uint64_t *sequence; /* by function */
	uint32_t flags;
};

static uint64_t publish_call(struct recording *recording, struct communicator *communicator,
			     const struct recorder_call *call, struct operation_group *group, struct numbering numbering,
			     uint32_t tid, uint32_t pending)
{
	uint8_t function = call->function % RW_FUNCTION_COUNT;
	bool p2p = is_p2p(function);
	uint64_t ticket, sequence = 0;

	if (!p2p)
		sequence = atomic_fetch_add_explicit(&numbering.sequence[function], 1, memory_order_relaxed);
	struct rw_operation *slot = box_claim(&recording->box, pending, &ticket);
	if (!slot)
		return 0;
	slot->comm = (uint16_t)communicator->index;
	slot->function = function;
	slot->dtype = call->dtype;
	slot->count = call->count;
	slot->stream = call->stream;
	slot->api_tid = tid;
	slot->group = group->number;
	slot->api_ns = recording_clock();
	if (!p2p) { /* p2p: both come with the task */
		slot->sequence = sequence;
		slot->root_or_peer = call->root;
	}
	recording->previous[(ticket - 1) & recording->box.ring_mask] = group->newest;
	group->newest = ticket;
	/* Relaxed: nobody reads the slot before box_publish(). */
	if (numbering.flags)
		atomic_store_explicit(&slot->flags, numbering.flags, memory_order_relaxed);
	atomic_store_explicit(&slot->known, RW_KNOWN_IDENT | RW_KNOWN_API, memory_order_relaxed);
	box_publish(slot, ticket);
	return ticket;
}

uint64_t operation_call(struct recording *recording, struct communicator *communicator,
			const struct recorder_call *call, struct operation_group *group, uint32_t tid, uint32_t pending)
{
	const struct numbering announced = { communicator->sequence, 0 };

	return publish_call(recording, communicator, call, group, announced, tid, pending);
}

uint64_t operation_unannounced_call(struct recording *recording, struct communicator *communicator,
				    const struct recorder_call *call, struct operation_group *group, uint32_t tid)
{
	const struct numbering unannounced = { communicator->unannounced, RW_FLAG_UNANNOUNCED };

	return publish_call(recording, communicator, call, group, unannounced, tid, RW_OWNER_HOST);
}

static bool is_in_place(const struct communicator *communicator, const struct rw_operation *slot)
{
	/* Where only a task names the type (ABI v4), it counts bytes for AllGather. */
	uint64_t size = slot->dtype == RW_DTYPE_UNKNOWN ? 1 : dtype_size(slot->dtype);

	return in_place(&(struct in_place_call){
	    .function = slot->function,
	    .root = slot->root_or_peer,
	    .rank = communicator->rank,
	    .send = slot->send_address,
	    .recv = slot->recv_address,
	    .bytes = slot->count * size,
	});
}

uint64_t operation_captured(struct communicator *communicator, uint8_t function, int32_t peer)
{
	if (!is_p2p(function))
		return atomic_fetch_add_explicit(&communicator->captured[function % RW_FUNCTION_COUNT], 1,
						 memory_order_relaxed);
	return peer_counts_next(atomic_load_explicit(&communicator->p2p, memory_order_relaxed),
				function == RW_FUNCTION_SEND ? PEER_CAPTURED_SENDS : PEER_CAPTURED_RECEIVES, peer);
}

static void record_peer(struct communicator *communicator, struct rw_operation *slot, int32_t peer)
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

static void record_arguments(struct communicator *communicator, struct rw_operation *slot, uint64_t send, uint64_t recv,
			     int32_t peer)
{
	if (is_p2p(slot->function))
		record_peer(communicator, slot, peer);
	slot->send_address = send;
	slot->recv_address = recv;
}

void operation_arguments(struct recording *recording, struct communicator *communicator, uint64_t ticket, uint64_t send,
			 uint64_t recv, int32_t peer)
{
	struct rw_operation *slot = box_slot(&recording->box, ticket);

	if (!slot)
		return;
	record_arguments(communicator, slot, send, recv, peer);
	box_known(slot, RW_KNOWN_CALL);
}

static void record_task(struct communicator *communicator, struct rw_operation *slot, const struct recorder_task *task)
{
	/* Relaxed: the interposer writes on the same thread, before the real call. */
	if (!(atomic_load_explicit(&slot->known, memory_order_relaxed) & RW_KNOWN_CALL))
		record_arguments(communicator, slot, task->send, task->recv, task->peer);
	if (!is_p2p(slot->function) && is_in_place(communicator, slot))
		atomic_fetch_or_explicit(&slot->flags, RW_FLAG_IN_PLACE, memory_order_relaxed);
	slot->nccl_sequence = task->nccl_sequence;
	slot->algorithm = task->algorithm;
	slot->protocol = task->protocol;
	slot->channels = task->channels;
}

/* The slot of a call whose task is still to come, else NULL. Only while HOST is pending is the slot sure to stay. */
static struct rw_operation *find_call(struct recording *recording, const struct communicator *communicator,
				      uint64_t ticket)
{
	struct rw_operation *slot = box_slot(&recording->box, ticket);

	if (!slot)
		return NULL;
	uint32_t owner = atomic_load_explicit(&slot->owner, memory_order_relaxed);
	if ((owner & ~(uint32_t)RW_OWNER_PENDING) != box_owner(ticket, 0) || !(owner & RW_OWNER_HOST))
		return NULL;
	if (atomic_load_explicit(&slot->known, memory_order_relaxed) & RW_KNOWN_TASK)
		return NULL; /* its fields are written once */
	return slot->comm == communicator->index ? slot : NULL;
}

static void record_launch(struct rw_operation *slot, const struct operation_launch *launch)
{
	slot->launch_begin_ns = launch->begin_ns;
	slot->launch_end_ns = launch->end_ns;
	slot->launch_stream = launch->stream;
	slot->launch_tid = launch->tid;
	slot->plan = launch->plan;
	slot->progress = launch->progress;
}

bool operation_task(struct recording *recording, struct communicator *communicator, uint64_t ticket,
		    const struct recorder_task *task, const struct operation_launch *launch)
{
	struct rw_operation *slot = find_call(recording, communicator, ticket);
	uint32_t known = RW_KNOWN_TASK;

	if (!slot)
		return false;
	record_task(communicator, slot, task);
	if (launch) {
		record_launch(slot, launch);
		known |= RW_KNOWN_LAUNCH;
	} else {
		atomic_fetch_or_explicit(&slot->flags, RW_FLAG_HOST_CALLBACK, memory_order_relaxed);
	}
	/* Before anything lets go of the slot. */
	scanning_task(recording, communicator, slot, ticket, launch);
	bool followed = launch && launch->progress;
	if (recording->kernels)
		kernel_expect(&recording->kernels[(ticket - 1) & recording->box.ring_mask], ticket, slot, followed);
	if (!followed)
		box_release(slot, ticket, RW_OWNER_GPU);
	finish_host(slot, ticket, known, slot->group ? RW_KNOWN_RETURN : 0);
	return true;
}

static bool is_same(const struct rw_operation *slot, const struct communicator *communicator,
		    const struct recorder_event *event)
{
	return slot->comm == communicator->index && slot->function == event->call.function &&
	       slot->send_address == event->task.send && slot->recv_address == event->task.recv &&
	       !(atomic_load_explicit(&slot->known, memory_order_relaxed) & RW_KNOWN_TASK);
}

uint64_t operation_find(struct recording *recording, const struct operation_group *group,
			const struct communicator *communicator, const struct recorder_event *event)
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
		ticket = recording->previous[(ticket - 1) & recording->box.ring_mask];
	}
	return ticket ? 0 : found;
}
