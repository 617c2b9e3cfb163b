/* SPDX-License-Identifier: MIT */
/*
 * The table of recorded communicators. A communicator's place in the table is given to another one when all 1024 are
 * taken: the generation, which is part of the context that NCCL keeps, distinguishes a stale context from the new
 * owner's.
 */
#ifndef PLUGIN_RECORDING_COMMUNICATOR_H
#define PLUGIN_RECORDING_COMMUNICATOR_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>

#include "plugin/cost/sampling.h"
#include "plugin/gpu/progress.h"
#include "plugin/recording/communicator_init.h"
#include "plugin/recording/peer_counts.h"

struct recording;
struct scan_device;

/* The private part of one communicator; the public part is its entry in the box. */
struct communicator {
	_Alignas(64) struct rw_communicator *entry;
	struct progress_counters counters;
	struct scan_device *scan; /* NULL: its buffers are not scanned */
	uint32_t index;
	/* What NCCL keeps for it, stored last when a new owner takes the place. While there is none, or it has been
	 * finalized: a number that is the context of no place. */
	_Atomic uintptr_t context;
	uint32_t generation;   /* number of this place's owner, from 1 */
	_Atomic uint32_t mark; /* differs between all communicators, also between owners of one place; never 0 */
	uint64_t number;       /* of the communicator in this process, from 1 */
	uint64_t created_ns;
	int32_t rank, nranks;            /* nranks 0: not known */
	uint32_t abi;                    /* of the profiler interface that reports it; 0: only the interposer does */
	_Atomic bool launches_elsewhere; /* non-blocking, as the interposer knows: NCCL launches on its own threads */
	_Atomic bool launches_here;      /* blocking, as the interposer or its launches show: before the call returns */
	/* as the interposer knows. Neither this nor launches_elsewhere: it does not know */
	_Atomic bool blocks;
	/* Before ABI v5: the interposer has seen a call on it. All its calls are operations of the interposer's
	 * then. */
	_Atomic bool called;
	/* What NCCL answered last when the program asked it, seen by the interposer, or what NCCL's thread showed to
	 * the drain (plugin/drain/group_thread.h). 0: never. */
	_Atomic uint64_t in_progress_ns; /* time at which it had answered that it is still at work for a call */
	_Atomic uint64_t settled_ns;     /* time at which it was asked, and then answered that it is not */
	_Atomic bool ended;
	_Atomic bool known;     /* its identity is: id, name, rank */
	_Atomic bool leased;    /* its network waits are recorded; written by the plugin's thread */
	bool samples;           /* some of its operations, not all, have GPU progress or are scanned */
	_Atomic uint32_t alternate; /* low bits of its next ticket if one other claim comes before it */
	_Atomic(int *) mask;    /* NCCL's event mask; NULL: none, or not asked yet */
	_Atomic uint32_t plans; /* launched so far, with GPU progress or without */
	_Atomic uint32_t follow_group; /* the last API group with an operation that has GPU progress */
	/* Progress numbers, which the GPU writes; a new owner of the place goes on counting. */
	_Atomic uint64_t numbered;  /* the last one given */
	_Atomic uint64_t finishing; /* the last one whose `done` write is in its stream */
	_Atomic uint64_t sequence[RW_FUNCTION_COUNT];    /* calls so far */
	_Atomic uint64_t unannounced[RW_FUNCTION_COUNT]; /* calls so far that only the interposer saw */
	_Atomic uint64_t captured[RW_FUNCTION_COUNT];    /* captured calls so far */
	_Atomic(struct peer_counts *) p2p; /* NULL: no memory, or the communicator has ended */
	struct sampling_row row;
};

/* Indexed at every callback, which a size of few bits makes shorter. */
static_assert(sizeof(struct communicator) == 9 * 64, "see tests/bench/run instructions");

/* What the driver reports of a new communicator's device, queried before the communicator has a place in the table. */
struct communicator_device {
	struct rw_device device;
	bool has_device;             /* false: the driver does not report it */
	struct progress_counters counters; /* for place 0 of the table */
	struct scan_device *scan;    /* NULL: its buffers are not scanned */
};

/* Enters a communicator into the box: in a free place, or in that of the communicator that ended first and of which
 * nothing is in flight. NULL when there is none (counted). One whose identity is not known yet is shown to readers when
 * it is. Any thread; takes a lock. */
struct communicator *communicator_add(struct recording *recording, const struct communicator_init *init,
				      const struct communicator_device *device);
/* On the path of a collective: fills in what init did not report, once. False: it is not known now either. */
bool communicator_fill_identity(struct communicator *communicator, const struct communicator_identity *identity);
/* Size and own rank as the interposer knows them, where NCCL's profiler interface does not report them. */
void communicator_fill_place(struct communicator *communicator, int32_t nranks, int32_t rank);
/* From now on its splits are counted: the interposer knows which communicator the program's handle is. */
void communicator_count_splits(struct communicator *communicator);
/* All its ranks have come to the split in which this process was. */
void communicator_split(struct communicator *communicator);
/* As in its entry: 0 not counted. */
static inline uint64_t communicator_splits(const struct communicator *communicator)
{
	return atomic_load_explicit(&communicator->entry->splits, memory_order_relaxed);
}
/* The communicator takes no more events; the plugin's thread gives its unfinished operations up. Idempotent. Any
 * thread; takes a lock that is never held across a call of the driver. */
void communicator_end(struct recording *recording, struct communicator *communicator);

/* Between the two no communicator is added or ended, and NCCL, which waits for our finalize of those it has, stays
 * loaded. False: not now, another thread has the lock. */
bool communicators_hold(void);
void communicators_release(void);

static inline bool communicator_know(struct communicator *communicator, const struct communicator_identity *identity)
{
	return atomic_load_explicit(&communicator->known, memory_order_relaxed) ||
	       communicator_fill_identity(communicator, identity);
}

/* What NCCL answered, when asked at that time, about the calls of a communicator that does not block. */
void communicator_answered(struct communicator *communicator, bool in_progress, uint64_t asked_ns);
/* It is not known any more whether NCCL is at work for a call. */
void communicator_not_answered(struct communicator *communicator);

/* Which captured call of this function (p2p: with this peer) this one is, from 0; UINT64_MAX: the peer is not known.
 * Once per call. Wait-free. */
uint64_t communicator_count_captured(struct communicator *communicator, uint8_t function, int32_t peer);

/* A number that leads to another place, whose context is another one. Only the first place could mistake its 0 for
 * NCCL's NULL. */
static inline void communicator_have_no_context(struct communicator *communicator)
{
	atomic_store_explicit(&communicator->context, communicator->index + 1, memory_order_relaxed);
}

static inline uint32_t communicator_mark(const struct communicator *communicator)
{
	return atomic_load_explicit(&communicator->mark, memory_order_relaxed);
}

#endif
