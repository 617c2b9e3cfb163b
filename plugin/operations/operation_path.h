/* SPDX-License-Identifier: MIT */
/*
 * The insides of operation_call(), operation_sample(), operation_task() and operation_return(), which the recorder
 * inlines: the calls were a tenth of the path. For operation.c and recorder.c.
 */
#ifndef PLUGIN_OPERATIONS_OPERATION_PATH_H
#define PLUGIN_OPERATIONS_OPERATION_PATH_H

#include "plugin/guest/clock.h"
#include "plugin/nccl/dtype.h"
#include "plugin/nccl/function.h"
#include "plugin/nccl/in_place.h"
#include "plugin/operations/call.h"
#include "plugin/operations/kernel.h"
#include "plugin/operations/operation.h"
#include "plugin/scanning/scanning.h"

/*
 * The task and the group's return are the last that NCCL's threads write, in either order: a non-blocking communicator
 * launches after the return. Whoever comes second, which both learn from `known`, ends the host's part.
 */
static inline void operation_finish_host(struct rw_operation *slot, uint64_t ticket, uint32_t known, uint32_t other)
{
	/* Acquire and release: the other's fields come before the slot is free. Release also for readers, as
	 * box_known(). */
	uint32_t before = atomic_fetch_or_explicit(&slot->known, known, memory_order_acq_rel);

	if (!other || (before & other))
		box_release(slot, ticket, RW_OWNER_HOST);
}

static inline __attribute__((always_inline)) void
operation_path_return(struct recording *recording, const struct operation_group *group, uint64_t now)
{
	uint64_t ticket = group->newest;

	while (ticket) {
		struct rw_operation *slot = box_slot(&recording->box, ticket);

		if (!slot)
			break; /* given up and overwritten; those before it are older still */
		uint64_t previous = group_before(recording, group, ticket);
		slot->return_ns = now;
		operation_finish_host(slot, ticket, RW_KNOWN_RETURN, RW_KNOWN_TASK);
		ticket = previous;
	}
}

/* Calls that NCCL announces, and those that only the interposer sees. */
struct operation_numbering {
	_Atomic uint64_t *sequence; /* by function */
	uint32_t flags;
};

/* NULL, and ticket 0: there is no free slot. */
static inline __attribute__((always_inline)) struct rw_operation *
operation_publish(struct recording *recording, struct communicator *communicator, const struct reported_call *call,
		  struct operation_group *group, struct operation_numbering numbering, uint32_t tid, uint32_t pending,
		  uint64_t *published)
{
	uint8_t function = call->function % RW_FUNCTION_COUNT;
	bool p2p = function_is_p2p(function);
	uint64_t ticket, sequence = 0;

	*published = 0;

	if (!p2p)
		sequence = atomic_fetch_add_explicit(&numbering.sequence[function], 1, memory_order_relaxed);
	struct rw_operation *slot = box_claim(&recording->box, pending, &ticket);
	if (!slot)
		return NULL;
	slot->comm = (uint16_t)communicator->index;
	slot->function = function;
	slot->dtype = call->dtype;
	slot->count = call->count;
	slot->stream = call->stream;
	slot->api_tid = tid;
	slot->group = group->number;
	if (!p2p) { /* p2p: both come with the task */
		slot->sequence = sequence;
		slot->root_or_peer = call->root;
	}
	slot->api_ns = clock_ns(); /* after what would have to be kept across the call */
	group_join(recording, group, ticket);
	/* Relaxed: nobody reads the slot before box_publish(). */
	if (numbering.flags)
		atomic_store_explicit(&slot->flags, numbering.flags, memory_order_relaxed);
	atomic_store_explicit(&slot->known, RW_KNOWN_IDENT | RW_KNOWN_API, memory_order_relaxed);
	box_publish(slot, ticket);
	*published = ticket;
	return slot;
}

static inline __attribute__((always_inline)) struct rw_operation *
operation_path_call(struct recording *recording, struct communicator *communicator, const struct reported_call *call,
		    struct operation_group *group, uint32_t tid, uint32_t pending, uint32_t flags, uint64_t *ticket)
{
	const struct operation_numbering announced = { communicator->sequence, flags };

	return operation_publish(recording, communicator, call, group, announced, tid, pending, ticket);
}

static inline bool operation_is_in_place(const struct communicator *communicator, const struct rw_operation *slot)
{
	if (!in_place_has_parts(slot->function))
		return slot->send_address && slot->send_address == slot->recv_address;
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

/* A p2p call: the next number to or from this peer. */
void operation_record_peer(struct communicator *communicator, struct rw_operation *slot, int32_t peer);

static inline void operation_record_arguments(struct communicator *communicator, struct rw_operation *slot,
					      uint64_t send, uint64_t recv, int32_t peer)
{
	if (function_is_p2p(slot->function))
		operation_record_peer(communicator, slot, peer);
	slot->send_address = send;
	slot->recv_address = recv;
}

/* known: before the task. What the interposer knows it has written on the same thread, before the real call. */
static inline void operation_record_task(struct communicator *communicator, struct rw_operation *slot, uint32_t known,
					 const struct reported_task *task)
{
	if (!(known & RW_KNOWN_CALL))
		operation_record_arguments(communicator, slot, task->send, task->recv, task->peer);
	if (!function_is_p2p(slot->function) && operation_is_in_place(communicator, slot))
		atomic_fetch_or_explicit(&slot->flags, RW_FLAG_IN_PLACE, memory_order_relaxed);
	slot->nccl_sequence = task->nccl_sequence;
	slot->algorithm = task->algorithm;
	slot->protocol = task->protocol;
	slot->channels = task->channels;
}

/* The slot of a call whose task is still to come, else NULL; what is known of it. Only while HOST is pending is the
 * slot sure to stay. */
static inline struct rw_operation *operation_find_call(struct recording *recording,
						       const struct communicator *communicator, uint64_t ticket,
						       uint32_t *known)
{
	struct rw_operation *slot = box_slot(&recording->box, ticket);

	if (!slot)
		return NULL;
	uint32_t owner = atomic_load_explicit(&slot->owner, memory_order_relaxed);
	if ((owner & ~(uint32_t)RW_OWNER_PENDING) != box_owner(ticket, 0) || !(owner & RW_OWNER_HOST))
		return NULL;
	*known = atomic_load_explicit(&slot->known, memory_order_relaxed);
	if (*known & RW_KNOWN_TASK)
		return NULL; /* its fields are written once */
	return slot->comm == communicator->index ? slot : NULL;
}

static inline void operation_record_launch(struct rw_operation *slot, const struct operation_launch *launch)
{
	slot->launch_begin_ns = launch->begin_ns;
	slot->launch_end_ns = launch->end_ns;
	slot->launch_stream = launch->stream;
	slot->launch_tid = launch->tid;
	slot->plan = launch->plan;
	slot->progress = launch->progress;
}

static inline __attribute__((always_inline)) bool operation_path_task(struct recording *recording,
								      struct communicator *communicator,
								      uint64_t ticket, const struct reported_task *task,
								      const struct operation_launch *launch)
{
	uint32_t before, known = RW_KNOWN_TASK;
	struct rw_operation *slot = operation_find_call(recording, communicator, ticket, &before);

	if (!slot)
		return false;
	operation_record_task(communicator, slot, before, task);
	if (launch) {
		operation_record_launch(slot, launch);
		known |= RW_KNOWN_LAUNCH;
	} else {
		atomic_fetch_or_explicit(&slot->flags, RW_FLAG_HOST_CALLBACK, memory_order_relaxed);
	}
	/* Before anything releases the slot. */
	if (communicator->scan && !(before & RW_KNOWN_CALL && call_scans_output(communicator, launch)))
		scanning_task(recording, communicator, slot, ticket, launch ? &launch->stream : NULL);
	bool followed = launch && launch->progress;
	if (kernels_are_recorded())
		kernel_expect(kernel_find(ticket), ticket, slot, communicator, followed);
	if (!followed && atomic_load_explicit(&slot->owner, memory_order_relaxed) & RW_OWNER_GPU)
		box_release(slot, ticket, RW_OWNER_GPU);
	operation_finish_host(slot, ticket, known, slot->group ? RW_KNOWN_RETURN : 0);
	return true;
}

static inline void operation_follow(struct communicator *communicator, uint32_t group)
{
	atomic_store_explicit(&communicator->follow_group, group, memory_order_relaxed);
}

/* Whose turn it is when not all are taken: of its kind one in `least` at most. */
void operation_sample_some(struct recording *recording, struct communicator *communicator, struct rw_operation *slot,
			   uint32_t least, uint32_t group);

/* slot: NULL, it has none. */
static inline __attribute__((always_inline)) void operation_path_sample(struct recording *recording,
									struct communicator *communicator,
									const struct reported_call *call,
									struct rw_operation *slot, uint32_t group)
{
	/* By what a send and its receive both know, which is the pair's number, they are sampled once that is known:
	 * for progress too late. */
	if (function_is_p2p(call->function)) {
		operation_follow(communicator, group);
		return;
	}
	/* No element is smaller than a byte: the count of most operations says enough. */
	uint64_t bytes = call->count >= SAMPLING_SMALL_BYTES
				 ? call->count
				 : sampling_bytes(call->function, call->dtype, call->count, communicator->nranks);
	uint32_t least = sampling_least(&communicator->row, bytes);
	const struct rw_box_header *header = recording->box.header;

	if (least > 1 || atomic_load_explicit(&header->scan_every, memory_order_relaxed) > 1 ||
	    atomic_load_explicit(&header->progress_every, memory_order_relaxed) != 1)
		operation_sample_some(recording, communicator, slot, least, group);
	else if (slot && communicator->counters.write)
		operation_follow(communicator, group);
}

#endif
