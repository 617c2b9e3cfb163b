/* SPDX-License-Identifier: MIT */
/*
 * The one recording of this process: its black box, its communicators and the numbers of its API groups. Made at the
 * first communicator with more than one rank (plugin/init/) and never taken down: NCCL may unload the plugin while
 * other threads are still in it, so it is linked with -z nodelete.
 */
#ifndef PLUGIN_RECORDING_RECORDING_H
#define PLUGIN_RECORDING_RECORDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "blackbox/writer.h"
#include "plugin/cost/cost.h"
#include "plugin/gpu/progress.h"
#include "plugin/guest/config.h"
#include "plugin/guest/thread_start.h"
#include "plugin/recording/communicator.h"
#include "plugin/recording/handle.h"

enum {
	RECORDING_LINE = 64, /* bytes of a cache line */
	RECORDING_LANES = 64,
	/* Of the numbers of groups: 1, which keeps them from being 0, and the lane above it. */
	RECORDING_LANE_SHIFT = 1,
	RECORDING_GROUP_STEP = RECORDING_LANES << RECORDING_LANE_SHIFT,
};

struct recording {
	struct box_writer box;
	struct config config;
	struct progress progress;
	_Atomic uint32_t living;  /* communicators that have not ended */
	_Atomic uint64_t created; /* communicators so far */
	/* By slot: ticket of the operation before this one in its API group, 0 = first. Belongs to the group's thread;
	 * written and read only for groups of several operations (group_before()). */
	uint64_t *previous;
	/* By communicator: where the thread began that made it. Written before it has operations. */
	struct thread_start starts[RW_BOX_COMMS];
	int32_t largest; /* communicator so far, ranks */
	uint32_t nccl_version;
	uint32_t cost_sample; /* one callback in so many is timed */
	_Atomic uint64_t usual_ns; /* struct cost_sums, of all lanes */
	/* Operations with lower numbers are scanned as if all were: RW_SCAN_FIRST, or 0 once the budget has nothing
	 * left for them. */
	_Atomic uint64_t scan_first;
	/* Of small operations in a row one in so many has GPU progress. */
	_Atomic uint32_t small_every;
	/* From here on written at every operation, by threads that shall not slow each other: a cache line each. */
	_Alignas(RECORDING_LINE) struct communicator communicators[RW_BOX_COMMS];
	/* API groups. A thread has the lane of its number: its groups write no line that other threads write, unless
	 * two threads share a lane, which is as right and slower. */
	struct recording_lane {
		_Alignas(RECORDING_LINE) _Atomic uint32_t next; /* number of the lane's next group */
		/* The newest of its groups whose end was called. The plugin's thread reads this while a thread is
		 * still inside such an end. */
		_Atomic uint32_t ending;
		struct cost_sums cost; /* of its threads' callbacks; the plugin's thread adds those of all lanes up */
	} lanes[RECORDING_LANES];
};

/* fork() wipes this page in the child (MADV_WIPEONFORK), which so knows without a system call what it is. */
struct recording_page {
	_Atomic(struct recording *) recording; /* NULL: nothing is recorded here (yet) */
	_Atomic bool alive;                    /* this process made the page */
};

/* Until the page is made: one that stays empty. Both hidden: -fvisibility does not apply to what is defined in another
 * file, and the access through the GOT is one more load. */
extern __attribute__((visibility("hidden"))) struct recording_page recording_no_page;
extern __attribute__((visibility("hidden"))) _Atomic(struct recording_page *) recording_page;

/* NULL in a forked child, which inherits neither the box (MADV_DONTFORK) nor our thread and must touch nothing. */
static inline struct recording *recording_get(void)
{
	struct recording_page *page = atomic_load_explicit(&recording_page, memory_order_relaxed);

	/* Acquire: pairs with the release in recording_begin(). */
	return atomic_load_explicit(&page->recording, memory_order_acquire);
}

/* A forked child of a process that records: it may have inherited locks of ours that nobody will ever release. */
static inline bool recording_is_foreign(void)
{
	/* Acquire: another thread may have made the page just now. */
	struct recording_page *page = atomic_load_explicit(&recording_page, memory_order_acquire);

	return page != &recording_no_page && !atomic_load_explicit(&page->alive, memory_order_relaxed);
}

/* Can this process record? Makes the page at the first call. False in a forked child, and where there is no memory that
 * fork() wipes, which is reported once. Any thread; no lock. */
bool recording_is_possible(void);
/* From now on recording_get() returns it. */
void recording_begin(struct recording *recording);

/* The interposer is at work in this process: set before its first communicator, never taken back. */
void recording_interpose(void);
bool recording_is_interposed(void);

/* NULL: the context is not ours, or its communicator has ended, also when the place has a new owner. One comparison
 * decides: the number holds place and generation. */
static inline struct communicator *recording_find(struct recording *recording, const void *context)
{
	struct communicator *communicator = &recording->communicators[handle_context_index(context) % RW_BOX_COMMS];

	/* Acquire: pairs with the release when a communicator takes the place. */
	return atomic_load_explicit(&communicator->context, memory_order_acquire) == (uintptr_t)context ? communicator
													: NULL;
}

static inline uint32_t recording_lane_of(uint32_t group)
{
	return (group >> RECORDING_LANE_SHIFT) % RECORDING_LANES;
}

/* Once, before there is any group. */
static inline void recording_open_lanes(struct recording *recording)
{
	for (uint32_t lane = 0; lane < RECORDING_LANES; lane++)
		atomic_init(&recording->lanes[lane].next, lane << RECORDING_LANE_SHIFT | 1);
}

/* Number of a new API group of this thread; never 0, which means none. Numbers do not order groups of
 * different threads; after 2^25 groups of a lane they come again. tid: of the thread, 0 = not asked for yet. */
static inline uint32_t recording_new_group(struct recording *recording, uint32_t tid)
{
	/* Relaxed: only the number matters. */
	return atomic_fetch_add_explicit(&recording->lanes[tid % RECORDING_LANES].next, RECORDING_GROUP_STEP,
					 memory_order_relaxed);
}

/* Where the cost of this thread's callbacks is added. tid: as above. */
static inline struct cost_sums *recording_cost(struct recording *recording, uint32_t tid)
{
	return &recording->lanes[tid % RECORDING_LANES].cost;
}

/* Writes what the callbacks of all threads cost so far into the box. Only the plugin's thread calls it. */
void recording_sum_costs(struct recording *recording);

/* The outermost group is ending: what NCCL does before the launch, it does from here on. One store. */
static inline void recording_group_end(struct recording *recording, uint32_t group)
{
	atomic_store_explicit(&recording->lanes[recording_lane_of(group)].ending, group, memory_order_relaxed);
}

static inline bool recording_in_group_end(const struct recording *recording, uint32_t group)
{
	return atomic_load_explicit(&recording->lanes[recording_lane_of(group)].ending, memory_order_relaxed) == group;
}

#endif
