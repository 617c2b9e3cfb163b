/* SPDX-License-Identifier: MIT */
/*
 * In which order each rank calls the collectives of communicators that span hosts: a hash of all calls so far, behind calls whose number
 * is a multiple of 2^shift, so that members on all hosts are marked at the same places. Only of a rank of which every call was seen: a
 * mark waits until the black box's own count of calls has shown for a while that none is missing. docs/messages.md, "Order".
 */
#ifndef ANALYSIS_NODE_ORDERS_H
#define ANALYSIS_NODE_ORDERS_H

#include "analysis/node/outbox.h"
#include "analysis/node/roster.h"

/* From one mark to the next. */
#define ORDERS_SHORT_NS 8000000000u
#define ORDERS_LONG_NS  32000000000u
enum {
	ORDERS_LOOKS = 8, /* at the box in a row, none of which shows a call that was not seen */
	ORDERS_SHIFT_MAX = 40,
};

/* Behind each reading of the black boxes. */
void orders_tick(struct roster *roster, const struct job *job, struct outbox *outbox, uint64_t now_ns);
/* Of one that has called nothing since the box was read last; hash 0: not known. */
struct call_mark orders_now(const struct communicator *communicator, uint32_t member);

#endif
