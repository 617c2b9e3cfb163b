/* SPDX-License-Identifier: MIT */
/*
 * One operation's slot in the black box, from its call to the return of its group. All of it is on the path of a
 * collective: wait-free, no allocation, no system call. What comes later (the GPU's progress, operations without a
 * task) is written by the drain.
 */
#ifndef PLUGIN_OPERATIONS_OPERATION_H
#define PLUGIN_OPERATIONS_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/operations/group.h"
#include "plugin/operations/launch.h"
#include "plugin/operations/reported.h"
#include "plugin/recording/recording.h"

/* Counts a call of the communicator, recorded or not. */
static inline void operation_count_call(struct communicator *communicator)
{
	atomic_fetch_add_explicit(&communicator->entry->api_count, 1, memory_order_relaxed);
}

/* Counts a call that is captured into a CUDA graph, which gets no slot. */
static inline void operation_count_captured(struct recording *recording, struct communicator *communicator)
{
	atomic_fetch_add_explicit(&communicator->entry->captured, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&recording->box.header->untracked[RW_UNTRACKED_CAPTURED], 1, memory_order_relaxed);
}

/* Claims, fills and publishes a slot; the ticket, or 0 when none is free. A p2p call gets sequence and peer later. */
uint64_t operation_call(struct recording *recording, struct communicator *communicator,
			const struct reported_call *call, struct operation_group *group, uint32_t tid,
			uint32_t pending);
/* The same of a call that NCCL announces to nobody and only the interposer sees: counted apart, so that the others have
 * the same numbers on ranks without it. Only the host's part is pending. */
uint64_t operation_unannounced_call(struct recording *recording, struct communicator *communicator,
				    const struct reported_call *call, struct operation_group *group, uint32_t tid);
/*
 * After a call with that ticket, 0 none. Two threads that record at the same time take the slots by turns. A processor
 * fetches the slot behind its last one by itself, but not the one behind that, which its thread will have, and the next
 * call would wait for memory. So it is fetched when the communicator's last two calls were two claims apart. Not
 * whenever they were further apart: if another thread takes the slot after all, it comes from this processor's cache,
 * which takes longer than from memory.
 */
static inline void operation_expect_next(const struct recording *recording, struct communicator *communicator,
					 uint64_t ticket)
{
	bool alternates = atomic_load_explicit(&communicator->alternate, memory_order_relaxed) == (uint32_t)ticket;

	atomic_store_explicit(&communicator->alternate, (uint32_t)ticket + 2, memory_order_relaxed);
	if (__builtin_expect(alternates, 0))
		box_prefetch(&recording->box, ticket - 1 + 2);
}
/*
 * Whether it is the operation's turn to have GPU progress and to be scanned; right after its call, for every call of a
 * communicator that samples. ticket: 0 when it has no slot. group: of the call, whose launches have GPU progress if
 * one of its operations does.
 */
void operation_sample(struct recording *recording, struct communicator *communicator, const struct reported_call *call,
		      uint64_t ticket, uint32_t group);
/* The same of an unannounced call, which has no GPU progress. */
void operation_sample_unannounced(struct recording *recording, struct communicator *communicator,
				  const struct reported_call *call, uint64_t ticket);
/* What only the interposer sees at the call: addresses, and for p2p the peer (else < 0, as is root without one). */
void operation_arguments(struct recording *recording, struct communicator *communicator, uint64_t ticket, uint64_t send,
			 uint64_t recv, int32_t peer);
/* The call's task. launch: NULL = not on this thread. False: this ticket waits for no task of the communicator. */
bool operation_task(struct recording *recording, struct communicator *communicator, uint64_t ticket,
		    const struct reported_task *task, const struct operation_launch *launch);
/* Ticket of the one operation of the group, without a task yet, that the event's task fits; 0 when none does, or more
 * than one, or the group is too long to be searched. On the group's thread. */
uint64_t operation_find(struct recording *recording, const struct operation_group *group,
			const struct communicator *communicator, const struct reported_bare_task *event);
/* The API group returns at this time. */
void operation_return(struct recording *recording, const struct operation_group *group, uint64_t now);

#endif
