/* SPDX-License-Identifier: MIT */
/*
 * The order in which the ranks of one communicator call its collectives. NCCL requires the same order on all ranks,
 * with the same size, type and root. It does not check this, but hangs or computes wrong results. p2p operations and
 * captured calls are not part of the order.
 */
#ifndef ANALYSIS_KNOWN_CALL_ORDER_H
#define ANALYSIS_KNOWN_CALL_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>

#include "analysis/known/call_history.h"

enum {
	CALL_ORDER_DEPTH = 1024, /* calls that one rank may be ahead of another and still be compared; a power of two */
};

enum { CALL_ORDER_SINCE = 64 /* calls kept of each member behind the place where they differ */ };

struct call {
	uint64_t sequence, count;
	int32_t root;
	uint8_t function, dtype;
	bool known;
	bool unannounced; /* RW_FLAG_UNANNOUNCED: sequence counts only such calls */
};

/* The first `calls` announced calls of a member, in their order. Hashes are equal where call_is_same() is true of each
 * call. */
struct call_mark {
	uint64_t calls, hash;
};

enum { CALL_ORDER_COUNTERS = 2 * RW_FUNCTION_COUNT }; /* announced and unannounced calls of each function */

/* The calls of one member. */
struct caller {
	uint64_t next[CALL_ORDER_COUNTERS]; /* sequence that the function's next call has */
	uint64_t calls;                   /* sum of next: place of its next call in the order */
	uint64_t sure_from;               /* from this place on each of its calls was seen; UINT64_MAX: not so now */
	/* p2p and left out calls, for comparison with the count of calls in its black box */
	uint64_t other;
	uint32_t functions;               /* functions seen since the last gap */
	uint32_t known;                   /* functions seen at all */
	bool seen_whole;                  /* each call was seen, from its first one on */
	/* for members on other hosts; mark: the latest at a multiple of 2^mark_shift calls … */
	struct call_mark now, mark;
	uint8_t mark_shift;               /* … set by call_order_mark_at() */
	/* its announced calls, if it has made another call than the other members on this host; else NULL */
	struct call_history *own;
	struct call parted;               /* its call at the place where the ranks differ */
	/* that one and those that follow it, as many as were seen without a gap; NULL: none */
	struct call *since;
	uint32_t since_count;             /* at most CALL_ORDER_SINCE */
};

struct call_order {
	struct caller *callers; /* by member */
	uint32_t room;
	uint32_t functions; /* functions that any member has called */
	struct {
		uint64_t place; /* + 1; 0 = none */
		struct call call;
	} first[CALL_ORDER_DEPTH]; /* the call of the first member that reached the place */
	uint64_t compared_from; /* places before this are not compared */
	bool announced_only; /* unannounced calls are left out, because not all ranks report them */
	bool lossy; /* calls were lost after the reader started: nothing is compared any more */
	bool keeps; /* the announced calls are kept in `history` */
	struct call_history history;
	bool parted;
	uint64_t parted_place, parted_ns; /* first place with different calls, and when the second one was made */
};

/* Notes a call of a member, in the order of its calls. from_start: no call before the member's first noted call can
 * have been missed. Returns 0 or -ENOMEM. */
int call_order_note(struct call_order *order, uint32_t member, const struct rw_operation *slot, bool from_start);
/* The interposer is not active on all ranks of the communicator: from now on only calls that NCCL announces are
 * compared. alone: nothing is compared, because some ranks are known only by the interposer, in another order. It may
 * be called repeatedly. */
void call_order_part_unlike(struct call_order *order, bool alone);
/* The calls of a member; NULL when it has called nothing yet. */
const struct caller *call_order_caller(const struct call_order *order, uint32_t member);
/* From now on marks of this member are taken after each call whose number is a multiple of 2^shift. */
void call_order_mark_at(struct call_order *order, uint32_t member, uint8_t shift);
/* The hash of some calls and this one behind them. hash: of the calls before it; 0: there are none. */
uint64_t call_hash(uint64_t hash, const struct call *call);
/* The announced calls of a member. The order owns it. */
const struct call_history *call_order_history(const struct call_order *order, uint32_t member);
/* The sequence number of a member's announced call at a place that its history keeps. All calls of the member were
 * seen. */
uint64_t call_order_sequence(const struct call_order *order, uint32_t member, uint64_t place);
/* Whether the function has a root. NCCL reports a root for every function, but only for these it has a meaning. */
static inline bool call_has_root(const struct call *call)
{
	return call->function == RW_FUNCTION_BROADCAST || call->function == RW_FUNCTION_REDUCE ||
	       call->function == RW_FUNCTION_GATHER || call->function == RW_FUNCTION_SCATTER;
}
/* The size of the call's count in bytes; 0 when the type is not known. */
uint64_t call_bytes(const struct call *call);
/* Whether the two calls are the same to NCCL: AllGather and Broadcast move bytes, whatever their type is. */
bool call_is_same(const struct call *left, const struct call *right);
void call_order_free(struct call_order *order);

#endif
