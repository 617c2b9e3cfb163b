/* SPDX-License-Identifier: MIT */
/*
 * Calls that NCCL has announced and for which it has sent no task yet: will one come, and where is the call meanwhile?
 * docs/black-box.md, "Before the task", says what a reader makes of it. An operation is given up (untracked) when a
 * later call of its communicator was launched, or a second after RETURN if there is a later call on the communicator,
 * or NCCL is known to have finished. Of the drain's thread.
 */
#ifndef PLUGIN_DRAIN_TASKLESS_H
#define PLUGIN_DRAIN_TASKLESS_H

#include "plugin/recording/recording.h"

/* What the drain reads of a slot. */
struct glimpse {
	uint64_t api_ns, return_ns, progress;
	uint32_t known, flags, group, api_tid, launch_tid;
	uint16_t comm;
	uint8_t function;
};

/* By communicator. */
struct taskless {
	struct taskless_newest {
		uint64_t ticket; /* 0: none yet */
		uint32_t group;  /* API group of that operation */
	} launched[RW_BOX_COMMS], /* whose task came on its launching thread */
	    called[RW_BOX_COMMS];
};

void taskless_called(struct taskless *taskless, const struct glimpse *op, uint64_t ticket);
void taskless_launched(struct taskless *taskless, struct recording *recording, const struct glimpse *op,
		       uint64_t ticket);

/* What followed a call. */
struct taskless_later {
	bool launched; /* another group, since */
	bool called;   /* so, too: NCCL takes no call on a communicator that is still at work for an earlier one */
	bool ended;
};

/* To be called before the call's `known` is read: a later operation's launch, or the end, comes after this one's task
 * if it had one. */
struct taskless_later taskless_later(const struct taskless *taskless, const struct recording *recording, uint16_t comm,
				     uint64_t ticket, uint32_t group);
/* Will no task come any more? NONE: it may. */
enum rw_untracked taskless_why(const struct recording *recording, const struct glimpse *op,
			       const struct taskless_later *later, uint64_t now);
/* Writes into the box that the call was seen inside NCCL, when it was, as no later event would show it; and after its
 * return, when it is not any more. */
void taskless_note_inside(struct recording *recording, const struct glimpse *op, uint64_t ticket);

#endif
