/* SPDX-License-Identifier: MIT */
/*
 * Reports in which order each rank calls the collectives of communicators that span hosts. A mark is a hash of all
 * calls so far, taken after each call whose number is a multiple of 2^shift, so that members on all hosts have marks at
 * the same positions.
 *
 * Only ranks of which every call was seen have marks. A mark waits until the black box's own count of calls has shown
 * for a while that none is missing. docs/messages.md, "Order".
 */
#ifndef ANALYSIS_NODE_ORDERS_H
#define ANALYSIS_NODE_ORDERS_H

#include "analysis/node/outbox.h"
#include "analysis/node/roster.h"

/* Shortest and longest time from one mark to the next. */
#define ORDERS_SHORT_NS 8000000000u
#define ORDERS_LONG_NS  32000000000u
#define ORDERS_AGAIN_NS 4000000000u /* after which a mark is sent a second time, where there is no newer one */
enum {
	ORDERS_LOOKS = 8, /* readings of the box in a row that must show no unseen call */
	ORDERS_SHIFT_MAX = 40,
};

/* Queues marks that are due. Call it after each reading of the black boxes. */
void orders_tick(struct roster *roster, const struct job *job, struct outbox *outbox, uint64_t now_ns);
/* Answers a RW_MESSAGE_ASK_CALLS about one of this host's ranks. */
void orders_answer(const struct job *job, const struct rw_message *message, struct outbox *outbox);
/* The present mark of a member that has called nothing since the last reading of its box; hash 0: not known. */
struct call_mark orders_now(const struct communicator *communicator, uint32_t member);

#endif
