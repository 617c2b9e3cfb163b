/* SPDX-License-Identifier: MIT */
/*
 * Which recorded communicator an ncclComm_t is. NCCL's profiler interface names communicators by their id, the program
 * by a pointer. A membership connects the two for a communicator whose creation a wrapper has seen, and only where it
 * is certain which one it is. A communicator that no profiler interface reports is entered into the box here, with an
 * id of ours.
 */
#ifndef PLUGIN_PRELOAD_MEMBERSHIP_H
#define PLUGIN_PRELOAD_MEMBERSHIP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "plugin/guest/try_lock.h"
#include "plugin/init/awaited.h"
#include "plugin/nccl/nccl.h"
#include "plugin/preload/caller.h"
#include "plugin/recording/communicator.h"

/* What is known of a communicator from the call that creates it. */
struct creation {
	nccl_comm *comm; /* where NCCL puts it */
	const struct caller *caller;
	uint64_t id;          /* ours; equal on all ranks */
	int32_t nranks, rank; /* -1: NCCL is queried */
	bool blocking;
	char name[64];
	uint64_t before;                   /* recorded communicators before it */
	nccl_comm parent;                  /* of a split or shrink; else NULL */
	struct awaited awaited;            /* what the box shows while its ranks are awaited */
	struct communicator *communicator; /* NULL: not known (yet) */
};

struct membership {
	_Atomic(nccl_comm) comm;
	_Atomic(struct communicator *) communicator; /* NULL: not recorded, or it is not certain which one it is */
	_Atomic uint32_t mark;                 /* of that communicator, while this membership lasts */
	/* Of the creation. A thread that has found the membership can read it when the place is already another
	 * one's. */
	_Atomic(const struct caller *) caller;
	uint32_t use;                          /* of this place in the table, counted */
	_Atomic bool settled;
	try_lock settling;                     /* a thread finds out which recorded communicator it is */
	struct creation creation;
	_Atomic uint32_t children; /* splits and shrinks so far */
};

/* NULL: no wrapper has seen its creation. Wait-free, any thread. */
struct membership *membership_find(nccl_comm comm);
/* The recorded communicator, NULL: none. At the first use of a communicator it has to be found, which takes a lock for
 * a few instructions and queries NCCL, and the driver where no profiler interface has reported the communicator. What
 * does not return from that holds up the calls on this communicator and no others. Any thread. */
struct communicator *membership_communicator(struct membership *membership);

/* The same if it has been found before, else NULL. Wait-free. */
struct communicator *membership_known(const struct membership *membership);

/* NCCL has answered that it is at work no more for a communicator that does not block: if its profiler interface has
 * reported it, it is found now. Waits for nothing, and does not call the driver. */
void membership_is_made(struct membership *membership);

/* NCCL has created the communicator, or will (non-blocking), and this is its handle. */
void membership_add(const struct creation *creation, nccl_comm comm);
/* Before NCCL frees it. Returns the communicator that the caller has to end afterwards, because no profiler interface
 * reports its end; else NULL. */
struct communicator *membership_remove(nccl_comm comm);

#endif
