/* SPDX-License-Identifier: MIT */
/*
 * The order in which the ranks of one communicator call its collectives. NCCL requires it to be the same on all of them,
 * with the same size, type and root; it checks nothing, hangs or computes nonsense. p2p operations and captured calls are
 * not part of it.
 */
#ifndef ANALYSIS_CALL_ORDER_H
#define ANALYSIS_CALL_ORDER_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>

enum {
	CALL_ORDER_DEPTH = 1024, /* calls that one rank may be ahead of another and still be compared; a power of two */
};

struct call {
	uint64_t sequence, count;
	int32_t root;
	uint8_t function, dtype;
	bool known;
	bool unannounced; /* RW_FLAG_UNANNOUNCED: sequence counts these alone */
};

/* The first so many announced calls of a member, in their order: the same hash where call_is_same() says so of each. */
struct call_mark {
	uint64_t calls, hash;
};

enum { CALL_ORDER_COUNTERS = 2 * RW_FUNCTION_COUNT }; /* announced and unannounced calls of each function */

/* What one member has called. */
struct caller {
	uint64_t next[CALL_ORDER_COUNTERS]; /* sequence that the function's next call has */
	uint64_t calls;                   /* sum of next: place of its next call in the order */
	uint64_t sure_from;               /* since this place every call of it was seen; UINT64_MAX not so now */
	uint64_t other;                   /* p2p and left out calls, for comparison with what its black box announced */
	uint32_t functions;               /* seen since the last gap */
	uint32_t known;                   /* seen at all */
	bool seen_whole;                  /* from its first call on */
	struct call_mark now, mark;       /* for members on other hosts; mark: the latest at a multiple of 2^mark_shift calls … */
	uint8_t mark_shift;               /* … as call_order_mark_at() has said */
	struct call parted;               /* its call at the place where the ranks part */
};

struct call_order {
	struct caller *callers; /* by member */
	uint32_t room;
	uint32_t functions; /* that any member has called */
	struct {
		uint64_t place; /* + 1; 0 = none */
		struct call call;
	} first[CALL_ORDER_DEPTH]; /* what the first member to get there has called */
	uint64_t compared_from; /* places before this are not compared */
	bool announced_only; /* the others are left out: not all ranks tell of them */
	bool lossy; /* calls were lost after the reader had come: nothing is compared any more */
	bool parted;
	uint64_t parted_place, parted_ns; /* first place with different calls, and when the second one was made */
};

/* Notes a call of a member, in the order of its calls. from_start: nothing before the member's first noted call can have
 * been missed. 0 or -ENOMEM. */
int call_order_note(struct call_order *order, uint32_t member, const struct rw_operation *slot, bool from_start);
/* Not all ranks of the communicator have the interposer at work: what NCCL announces is compared from now on. alone:
 * nothing is, for some ranks are known by the interposer alone, in another order. As often as one likes. */
void call_order_part_unlike(struct call_order *order, bool alone);
/* NULL when the member has called nothing yet. */
const struct caller *call_order_caller(const struct call_order *order, uint32_t member);
/* Marks of this member lie behind multiples of 2^shift of its calls from now on. */
void call_order_mark_at(struct call_order *order, uint32_t member, uint8_t shift);
/* NCCL hands out a root for every function; it means something for these only. */
bool call_has_root(const struct call *call);
/* That its count stands for; 0 when the type is not known. */
uint64_t call_bytes(const struct call *call);
/* The same to NCCL: AllGather and Broadcast move bytes, whatever their type is called. */
bool call_is_same(const struct call *left, const struct call *right);
void call_order_free(struct call_order *order);

#endif
