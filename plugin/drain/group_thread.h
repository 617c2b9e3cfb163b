/* SPDX-License-Identifier: MIT */
/*
 * The thread on which NCCL works for a group of calls whose communicators do not block. NCCL makes it inside the end of
 * the outermost group, and it lives exactly as long as the group is unfinished (groupLaunchNonBlocking() in NCCL's
 * group.cc). So while it lives, ncclCommGetAsyncError() answers ncclInProgress, also where no interposer sees that
 * answer. Of the drain's thread.
 *
 * It has no name of its own, and spins while it connects. It is known by two things: it was made between the call and
 * the call's return, and it began where the thread began that made the communicator (plugin/guest/thread_start.h),
 * which for one that does not block is a thread of this kind. Where threads that are older than the communicator began
 * there too, or where several such threads end one by one, it is not known which one is meant, and nothing is said.
 */
#ifndef PLUGIN_DRAIN_GROUP_THREAD_H
#define PLUGIN_DRAIN_GROUP_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/drain/taskless.h"
#include "plugin/recording/recording.h"

enum { GROUP_THREAD_MATES = 4 };

struct group_threads {
	/* By communicator, of its newest group: while NCCL works on one it takes no other. */
	struct group_thread {
		uint64_t next_ns; /* nothing is read before */
		uint32_t group;
		uint8_t walks;   /* over all threads, so far */
		uint8_t count;   /* threads found; 0: not found */
		struct group_thread_mate {
			uint32_t tid;
			uint64_t born; /* distinguishes it from a later owner of the number */
		} mates[GROUP_THREAD_MATES]; /* that or those it makes for several communicators */
	} of[RW_BOX_COMMS];
	/* The one walk that is under way. */
	struct group_search {
		bool on;
		bool common; /* threads older than the communicator began there, too */
		uint16_t comm;
		uint64_t created, called, returned; /* in ticks, as task_born() */
		int64_t at;
		struct group_thread found;
	} search;
};

/* An operation without a task: once it has returned, is NCCL at work on it? Notes what the thread shows as an answer of
 * NCCL's (communicator_answered()), at once or after some polls. */
void group_threads_ask(struct group_threads *threads, struct recording *recording, const struct glimpse *op,
		       uint64_t now);
/* Goes on with the walk, a few threads at a time. */
void group_threads_poll(struct group_threads *threads, struct recording *recording, uint64_t now);

#endif
