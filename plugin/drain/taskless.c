/* SPDX-License-Identifier: MIT */
#include "plugin/drain/taskless.h"

enum {
	/* of the group's return, where NCCL is through with the call; else it may take minutes */
	TASK_WITHIN_NS = 1000000000,
};

/* Tickets are in the order of the calls of a communicator, whichever threads make them: a program must order these
 * itself. */
static void keep_newest(struct taskless_newest *newest, uint64_t ticket, uint32_t group)
{
	if (ticket > newest->ticket)
		*newest = (struct taskless_newest){ ticket, group };
}

static bool is_later(const struct taskless_newest *newest, uint64_t ticket, uint32_t group)
{
	return newest->ticket > ticket && newest->group != group;
}

void taskless_called(struct taskless *taskless, const struct glimpse *op, uint64_t ticket)
{
	keep_newest(&taskless->called[op->comm], ticket, op->group);
}

void taskless_launched(struct taskless *taskless, struct recording *recording, const struct glimpse *op,
		       uint64_t ticket)
{
	/* A communicator that blocks launches on its callers' threads, one that does not never. */
	if (op->launch_tid == op->api_tid)
		atomic_store_explicit(&recording->communicators[op->comm].launches_here, true, memory_order_relaxed);
	if (op->group)
		keep_newest(&taskless->launched[op->comm], ticket, op->group);
}

struct taskless_later taskless_later(const struct taskless *taskless, const struct recording *recording, uint16_t comm,
				     uint64_t ticket, uint32_t group)
{
	return (struct taskless_later){
		.launched = is_later(&taskless->launched[comm], ticket, group),
		.called = is_later(&taskless->called[comm], ticket, group),
		.ended = atomic_load_explicit(&recording->communicators[comm].ended, memory_order_acquire),
	};
}

/* Has NCCL done for the call what it will? When nobody knows, it may connect for minutes. */
static bool is_through(const struct communicator *communicator, const struct glimpse *op,
		       const struct taskless_later *later)
{
	return later->called || atomic_load_explicit(&communicator->launches_here, memory_order_relaxed) ||
	       atomic_load_explicit(&communicator->settled_ns, memory_order_relaxed) > op->return_ns;
}

enum rw_untracked taskless_why(const struct recording *recording, const struct glimpse *op,
			       const struct taskless_later *later, uint64_t now)
{
	bool returned = (op->known & RW_KNOWN_RETURN) || !op->group;
	bool silent = (op->known & RW_KNOWN_RETURN) && now > op->return_ns + TASK_WITHIN_NS;

	if (later->ended)
		return RW_UNTRACKED_FINALIZE;
	if (!returned ||
	    (!later->launched && !(silent && is_through(&recording->communicators[op->comm], op, later))))
		return RW_UNTRACKED_NONE;
	/* Since 2.29.2 NCCL sends broadcasts through a task that has no events. */
	if (op->function == RW_FUNCTION_BROADCAST && recording->nccl_version >= 22902)
		return RW_UNTRACKED_BROADCAST;
	return RW_UNTRACKED_NO_TASK;
}

static bool is_in_progress(const struct communicator *communicator, const struct glimpse *op)
{
	uint64_t said_ns = atomic_load_explicit(&communicator->in_progress_ns, memory_order_relaxed);

	return said_ns >= op->return_ns &&
	       said_ns > atomic_load_explicit(&communicator->settled_ns, memory_order_relaxed);
}

void taskless_note_inside(struct recording *recording, const struct glimpse *op, uint64_t ticket)
{
	bool returned = op->known & RW_KNOWN_RETURN;
	uint32_t flag = returned ? RW_FLAG_IN_PROGRESS : RW_FLAG_ENTERED;
	bool inside = returned ? is_in_progress(&recording->communicators[op->comm], op)
			       : recording_in_group_end(recording, op->group);
	bool noted = op->flags & flag;

	if (!op->group || inside == noted || (noted && !returned))
		return;
	struct rw_operation *slot = box_slot(&recording->box, ticket);
	if (slot && inside)
		atomic_fetch_or_explicit(&slot->flags, flag, memory_order_relaxed);
	else if (slot)
		atomic_fetch_and_explicit(&slot->flags, ~flag, memory_order_relaxed);
}
