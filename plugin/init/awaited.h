/* SPDX-License-Identifier: MIT */
/*
 * The call that makes a communicator, in which this process may wait for other ranks: the box shows it from its begin
 * until it is known that all of them have come (struct rw_init). One such call at a time is shown. Any thread; not on
 * the path of a collective. The lock is held for a few instructions, and for neither NCCL nor the driver.
 */
#ifndef PLUGIN_INIT_AWAITED_H
#define PLUGIN_INIT_AWAITED_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/recording/communicator.h"

struct awaited {
	/* equal on all ranks that are awaited; 0: nothing is shown, and what follows ignores the call */
	uint64_t id;
	enum rw_init_call call;
	int32_t nranks, rank; /* how many are awaited, and the place of this one */
	struct communicator *parent; /* of a split, whose ranks are awaited; else NULL */
	uint32_t mark;               /* of the parent, which can be another one by the time of the end */
};

/* The call begins. Makes the box if there is none. */
void awaited_begin(const struct awaited *awaited);
/* The call has returned. met: with success, so all have come. */
void awaited_end(const struct awaited *awaited, bool met);
/* It has returned, and NCCL goes on with it on a thread of its own. asked: the communicator of which the program asks
 * how far NCCL is. */
void awaited_goes_on(const struct awaited *awaited, const void *asked);
/* NCCL has answered of this communicator that it is not at work any more, or the communicator is ended. Takes the lock
 * only if that ends the call that is shown. */
void awaited_answered(const void *asked);
/* NCCL reports a new communicator of which this process has that rank: all its ranks have met. nranks < 1: it does not
 * say how many they are. */
void awaited_met(int32_t nranks, int32_t rank);

#endif
