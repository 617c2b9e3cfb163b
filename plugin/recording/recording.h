/* SPDX-License-Identifier: MIT */
/*
 * The one recording of this process: its black box and what belongs to it, made at the first communicator with more
 * than one rank and never taken down (NCCL may drop the library under our feet; it is linked with -z nodelete).
 */
#ifndef PLUGIN_RECORDING_RECORDING_H
#define PLUGIN_RECORDING_RECORDING_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>

#include "blackbox/writer.h"
#include "plugin/cost/budget.h"
#include "plugin/cost/sampling.h"
#include "plugin/cost/scan_share.h"
#include "plugin/gpu/progress.h"
#include "plugin/guest/config.h"
#include "plugin/network/waits.h"
#include "plugin/operations/kernel.h"
#include "plugin/operations/recorder.h"
#include "plugin/recording/peer_counts.h"
#include "plugin/scan/scanner.h"

/*
 * One communicator, private part. Its place in the table is given out again when all 1024 are taken: the generation,
 * which is part of NCCL's context, tells a stale context from the new owner's.
 */
struct communicator {
	struct rw_communicator *entry; /* public part, in the box */
	struct progress_words words;
	struct scan_device *scan; /* NULL: its buffers are not scanned */
	uint32_t index;
	/* NCCL's, stored last when a new owner moves in. Ended, or none yet: what can be no context of this place. */
	_Atomic uintptr_t context;
	uint32_t generation;         /* of owners of this place, from 1 */
	_Atomic uint32_t mark;       /* tells communicators apart, earlier owners of the same place too; never 0 */
	uint64_t birth;              /* number of the communicator in this process, from 1 */
	uint64_t born_ns;
	int32_t rank, nranks;            /* nranks 0: not known */
	uint32_t abi;                    /* that NCCL tells us of it by; 0: the interposer alone */
	_Atomic bool launches_elsewhere; /* non-blocking, as the interposer knows: not on the calling threads */
	_Atomic bool launches_here;      /* blocking, as the interposer or its launches show: before the call returns */
	/* What NCCL answered last, by the interposer: 0 never. */
	_Atomic uint64_t in_progress_ns; /* when it had said that it is still at work for a call */
	_Atomic uint64_t settled_ns;     /* when it was asked, and said that it is not */
	_Atomic bool ended;
	_Atomic bool known;     /* identity: id, name, rank */
	_Atomic bool leased;    /* network detail, by the drain */
	bool samples;           /* its operations have GPU progress or are scanned, not all of them */
	_Atomic(int *) mask;    /* NCCL's activation mask; NULL none */
	_Atomic uint32_t plans; /* launched so far, followed by the GPU words or not */
	_Atomic uint32_t follow_group; /* the last API group with an operation that has GPU progress */
	/* Numbers that the GPU writes; they go on from one owner of the place to the next. */
	_Atomic uint64_t numbered;  /* the last one given */
	_Atomic uint64_t finishing; /* the last one whose end is in its stream */
	_Atomic uint64_t sequence[RW_FUNCTION_COUNT];
	_Atomic uint64_t unannounced[RW_FUNCTION_COUNT]; /* the same of calls that only the interposer sees */
	_Atomic uint64_t captured[RW_FUNCTION_COUNT]; /* calls so far */
	_Atomic(struct peer_counts *) p2p;            /* NULL: no memory, or it has ended */
	struct sampling_row row;
};

/* Indexed at every callback, which a size of few bits makes shorter. */
static_assert(sizeof(struct communicator) == 9 * 64, "see tests/bench/run instructions");

/* What has been done about results. The drain thread's. */
struct scanning_policy {
	uint64_t told_ns;  /* last line about a NaN */
	uint64_t abort_ns; /* 0 = not */
	bool told_end;     /* that scanning has been turned off */
};

enum { RECORDING_GROUP_ENDS = 64 };

struct recording {
	struct box_writer box;
	struct config config;
	struct progress progress;
	struct scanner scanner;
	struct budget budget; /* the drain thread's */
	struct scan_share share;   /* the drain thread's */
	struct scanning_policy policy;
	struct communicator communicators[RW_BOX_COMMS];
	_Atomic uint32_t groups; /* number of the newest API group */
	/* By number, as many as there is room for: groups whose end was called. For the drain, which looks while they
	 * are in it. */
	_Atomic uint32_t group_ends[RECORDING_GROUP_ENDS];
	_Atomic uint32_t living; /* communicators not yet ended */
	_Atomic uint64_t births; /* communicators so far */
	/* By slot: ticket of the operation before this one in its API group, 0 = first. Belongs to the group's thread.
	 */
	uint64_t *previous;
	struct kernel *kernels; /* by slot; NULL without RANKWATCH_KERNELCH */
	struct waits waits;
	int32_t largest;        /* communicator so far */
	uint32_t nccl_version;
};

/* What a fork wipes. Until there is such a page: one that stays empty. */
struct recording_page {
	_Atomic(struct recording *) recording; /* NULL: nothing is recorded here (yet) */
	_Atomic bool alive;                    /* this process made the page */
};

/* Hidden: -fvisibility says nothing about what is defined elsewhere, and the way over the GOT is one more load. */
extern __attribute__((visibility("hidden"))) struct recording_page recording_no_page;
extern __attribute__((visibility("hidden"))) _Atomic(struct recording_page *) recording_page;

/* NULL in a forked child. The child inherits neither the box (MADV_DONTFORK) nor our thread: it must touch nothing. */
static inline struct recording *recording_get(void)
{
	struct recording_page *page = atomic_load_explicit(&recording_page, memory_order_relaxed);

	/* Acquire: pairs with the release in recording_open(). */
	return atomic_load_explicit(&page->recording, memory_order_acquire);
}

/* A forked child of a process that records: locks of ours may be held here for ever. */
static inline bool recording_is_foreign(void)
{
	struct recording_page *page = atomic_load_explicit(&recording_page, memory_order_relaxed);

	return page != &recording_no_page && !atomic_load_explicit(&page->alive, memory_order_relaxed);
}

/* Returns the recording, making it when there is none, or NULL: switched off, no place for a box, or a forked child.
 * The caller holds no lock; the device of the communicator is current. */
struct recording *recording_open(const struct recorder_communicator *communicator);

/* This process is about to wait for the other ranks of a communicator of so many: the box, made now if there is none,
 * says so until recording_birth_end(). Touches no device: what else a recording needs, recording_open() makes. Not on the
 * path of a collective. One birth at a time; a second one meanwhile is not noted. */
void recording_birth_begin(uint64_t id, int32_t nranks, int32_t rank);
/* The call for this one has returned, however. */
void recording_birth_end(uint64_t id);

/* Enters a communicator into the box, in a free entry or in that of the communicator that ended first and of which
 * nothing is in flight. NULL when there is none (counted). One whose identity is not known yet shows when it is. */
struct communicator *communicator_add(struct recording *recording, const struct recorder_communicator *communicator);
/* On the path of a collective: fills in what init did not tell, once. False: it is not known now either. */
bool communicator_fill_identity(struct communicator *communicator, const struct recorder_identity *identity);
/* Size and own rank that another than NCCL's profiler interface knows, where that does not tell. */
void communicator_fill_place(struct communicator *communicator, int32_t nranks, int32_t rank);
/* The communicator takes no more events; the drain gives its unfinished operations up. Idempotent. */
void communicator_end(struct recording *recording, struct communicator *communicator);

/* Between the two none begins or ends, and NCCL, which waits for the end of those it has, stays where it is. False: not
 * now, somebody else has them. */
bool communicators_hold(void);
void communicators_let_go(void);

static inline bool communicator_know(struct communicator *communicator, const struct recorder_identity *identity)
{
	return atomic_load_explicit(&communicator->known, memory_order_relaxed) ||
	       communicator_fill_identity(communicator, identity);
}

/* Number of a new API group; never 0, which means none. After 2^32 groups they begin again: numbers are compared with
 * recording_group_is_later(). */
static inline uint32_t recording_new_group(struct recording *recording)
{
	uint32_t before = atomic_fetch_add_explicit(&recording->groups, 1, memory_order_relaxed);

	return before + 1 ? before + 1 : atomic_fetch_add_explicit(&recording->groups, 1, memory_order_relaxed) + 1;
}

/* Of two numbers less than 2^31 groups apart. */
static inline bool recording_group_is_later(uint32_t group, uint32_t than)
{
	return (int32_t)(group - than) > 0;
}

/* The outermost group is ending: what NCCL does before the launch, it does from here on. One store. */
static inline void recording_group_end(struct recording *recording, uint32_t group)
{
	atomic_store_explicit(&recording->group_ends[group % RECORDING_GROUP_ENDS], group, memory_order_relaxed);
}

static inline bool recording_in_group_end(const struct recording *recording, uint32_t group)
{
	return atomic_load_explicit(&recording->group_ends[group % RECORDING_GROUP_ENDS], memory_order_relaxed) == group;
}

/* What NCCL answered, when asked at that time, about the calls of a communicator that does not block. */
void communicator_answered(struct communicator *communicator, bool in_progress, uint64_t asked_ns);

/* A number that leads to another place. Only the first place could mistake its 0 for NCCL's NULL. */
static inline void communicator_have_no_context(struct communicator *communicator)
{
	atomic_store_explicit(&communicator->context, communicator->index + 1, memory_order_relaxed);
}

static inline uint32_t communicator_mark(const struct communicator *communicator)
{
	return atomic_load_explicit(&communicator->mark, memory_order_relaxed);
}

#endif
