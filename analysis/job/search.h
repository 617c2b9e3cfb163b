/* SPDX-License-Identifier: MIT */
/*
 * Searches the first call in which two ranks of a communicator differ whose hashes of their calls differ
 * (analysis/job/order.h), or that wait in different calls. It asks the hosts of both for hashes of ever shorter
 * stretches, then for the calls, and in the end for those that follow, which show what the ranks did otherwise
 * (analysis/known/alignment.h). docs/messages.md, "Order".
 */
#ifndef ANALYSIS_JOB_SEARCH_H
#define ANALYSIS_JOB_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/message.h>

#include "analysis/known/call_order.h"

#define SEARCH_AGAIN_NS 1000000000u  /* after which an ask that has not been answered is sent again */
#define SEARCH_FOR_NS   25000000000u /* after which the search is given up */
#define SEARCH_FOLLOW_NS 3000000000u /* after which the calls that follow are not waited for */

enum search_state {
	SEARCH_RUNS,
	SEARCH_FOLLOWS, /* the call is found; the calls that follow it are asked for */
	SEARCH_FOUND,
	SEARCH_GIVEN_UP,
};

/* The last call of a stretch, as a rank's host reports it. */
struct search_answer {
	uint64_t hash; /* 0: not reported */
	struct call call;
};

struct search_side {
	uint32_t rank; /* world rank */
	uint64_t asked_ns; /* when its host was last asked about the present stretches; 0: not yet */
	struct search_answer answers[RW_CALLED_MAX];
	bool answered; /* about the present stretches */
};

struct search {
	struct search_side sides[2];
	/* The ranks' first `from` calls are equal, and their first `until` calls are not. Once found, call `from`, from
	 * 0 on, is the first that differs, and the answers are the calls from there on. */
	uint64_t from, until;
	uint64_t begun_ns, found_ns, most; /* most: of the ranks' first calls, as many were to be searched */
	enum search_state state;
	uint8_t shift; /* stretches of 2^shift calls are compared */
};

/* Begins a search between two ranks. from < until. Where their first `until` calls turn out to be equal it is given
 * up. */
void search_begin(struct search *search, uint32_t rank, uint32_t other, uint64_t from, uint64_t until, uint64_t now_ns);
/* Takes a RW_MESSAGE_CALLED of a rank. False: it is no answer to what is asked. */
bool search_take(struct search *search, uint32_t rank, const struct rw_message *message);
/* Compares what has been answered. Call it at each tick. */
void search_tick(struct search *search, uint64_t now_ns);
/* Whether the host of this side is to be asked now: fills `ask`, and notes that it is asked. */
bool search_asks(struct search *search, struct search_side *side, uint64_t comm, struct rw_message_ask_calls *ask,
		 uint64_t now_ns);
/* Where the ranks' first different call was found: those of this rank, which is one of the two, from that one on.
 * calls: room for RW_CALLED_MAX. Returns how many are known, at least 1. */
uint32_t search_calls(const struct search *search, uint32_t rank, struct call *calls);

#endif
