/* SPDX-License-Identifier: MIT */
/*
 * Finds ranks that have made different collective calls than most while all ranks still make progress. It compares
 * ranks of several hosts by the hashes of their first calls, up to equal positions. A rank of which some calls were not
 * seen is never named: no hash of it is sent. Of ranks that wait in different calls (analysis/job/stand.h) it finds the
 * first call in which they differ. docs/messages.md, "Order".
 */
#ifndef ANALYSIS_JOB_ORDER_H
#define ANALYSIS_JOB_ORDER_H

#include "analysis/report/findings.h"
#include "analysis/job/world.h"

#define ORDER_SETTLE_NS                                                                                                \
	5000000000u /* waits this long for the hashes of the other members, and for findings of the hosts themselves   \
		     */
#define ORDER_LOOK_NS   1000000000u
#define ORDER_UNSURE_NS                                                                                                \
	60000000000u /* waits this long while no hash has a majority: hashes of a later position may decide */
enum { ORDER_SEARCHES = 64 /* communicators on which the call that differs is searched at the same time */ };

/* Since when the members have not made the same calls, so that they wait for calls that do not meet, and who seems to
 * be late may not be. It is so where a finding says it, of the job or of a member's host, that is not inconclusive, and
 * while it is being judged. UINT64_MAX: it is not so. */
uint64_t order_parted_since(const struct world *world, const struct world_comm *comm, const struct findings *findings,
			    uint64_t now_ns);
/* Begins to search for the first call in which two ranks differ that wait in different calls, unless a search goes on
 * there, or it is not known how many calls they have made. */
void order_search(struct world *world, struct world_comm *comm, uint32_t usual, uint32_t odd, uint64_t now_ns);
/* Whether such a search goes on. */
bool order_is_searching(const struct world_comm *comm);
/* Writes what a search has found about these ranks, which left the common calls. False: none has found anything between
 * one of them and another rank. */
bool order_set_call(struct record *record, const struct world_comm *comm, const uint32_t *odd, uint32_t count);
/* The ranks no longer wait so. */
void order_end_search(struct world_comm *comm);
/* Reports findings. Call it at each tick of the job half. */
void order_tick(struct world *world, struct findings *findings, uint64_t now_ns);

#endif
