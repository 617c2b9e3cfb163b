/* SPDX-License-Identifier: MIT */
/*
 * Which recorded communicator an ncclComm_t is. NCCL's profiler interface names communicators by their id and the
 * program by a pointer; they are brought together when a wrapper has seen the communicator being made, and only where
 * that is certain. A communicator that no profiler interface reports is entered into the box here, with an id of ours.
 */
#ifndef PLUGIN_PRELOAD_MEMBERSHIP_H
#define PLUGIN_PRELOAD_MEMBERSHIP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "plugin/nccl/nccl.h"
#include "plugin/preload/caller.h"
#include "plugin/recording/communicator.h"

/* What is known of a communicator from the call that makes it. */
struct creation {
	nccl_comm *comm; /* where NCCL puts it */
	const struct caller *caller;
	uint64_t id;          /* ours; equal on all ranks */
	int32_t nranks, rank; /* -1: ask NCCL */
	bool blocking;
	char name[64];
	uint64_t before;                   /* recorded communicators before it */
	struct communicator *communicator; /* NULL: not known (yet) */
};

struct membership {
	_Atomic(nccl_comm) comm;
	_Atomic(struct communicator *) communicator; /* NULL: the profiler interface has it for itself, or nobody */
	uint32_t mark;                         /* of that communicator, while this membership lasts */
	uint32_t use;                          /* of this place in the table, counted */
	_Atomic bool settled;
	struct creation creation;
	_Atomic uint32_t children; /* splits and shrinks so far */
};

/* NULL: not one that a wrapper has seen being made. Wait-free, any thread. */
struct membership *membership_find(nccl_comm comm);
/* The communicator behind it, NULL: none. At its first use it may have to be found: then not wait-free. */
struct communicator *membership_communicator(struct membership *membership);

/* The same as far as it was found before; does not search it. Wait-free. */
struct communicator *membership_known(const struct membership *membership);

/* NCCL has made the communicator, or is about to (non-blocking). */
void membership_add(const struct creation *creation);
/* Before NCCL frees it. The communicator that is to be ended afterwards, because nobody else does, or NULL. */
struct communicator *membership_remove(nccl_comm comm);

#endif
