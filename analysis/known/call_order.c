/* SPDX-License-Identifier: MIT */
#include "analysis/known/call_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_point_to_point(uint8_t function)
{
	return function == RW_FUNCTION_SEND || function == RW_FUNCTION_RECV || function == RW_FUNCTION_SEND_RECV;
}

uint64_t call_bytes(const struct call *call)
{
	static const uint8_t sizes[RW_DTYPE_COUNT] = {
		[RW_DTYPE_INT8] = 1,    [RW_DTYPE_UINT8] = 1,    [RW_DTYPE_INT32] = 4,       [RW_DTYPE_UINT32] = 4,
		[RW_DTYPE_INT64] = 8,   [RW_DTYPE_UINT64] = 8,   [RW_DTYPE_FLOAT16] = 2,     [RW_DTYPE_FLOAT32] = 4,
		[RW_DTYPE_FLOAT64] = 8, [RW_DTYPE_BFLOAT16] = 2, [RW_DTYPE_FLOAT8_E4M3] = 1, [RW_DTYPE_FLOAT8_E5M2] = 1,
	};

	return call->count * sizes[call->dtype % RW_DTYPE_COUNT];
}

bool call_is_same(const struct call *left, const struct call *right)
{
	if (left->function != right->function || (call_has_root(left) && left->root != right->root))
		return false;
	if (left->function == RW_FUNCTION_ALL_GATHER || left->function == RW_FUNCTION_BROADCAST)
		return call_bytes(left) == call_bytes(right);
	return left->count == right->count && left->dtype == right->dtype;
}

static struct caller *get_caller(struct call_order *order, uint32_t member)
{
	if (member >= order->room) {
		uint32_t room = order->room ? order->room : 8;
		while (room <= member)
			room *= 2;
		struct caller *callers = realloc(order->callers, room * sizeof(*callers));
		if (!callers)
			return NULL;
		memset(callers + order->room, 0, (room - order->room) * sizeof(*callers));
		for (uint32_t i = order->room; i < room; i++)
			callers[i].sure_from = UINT64_MAX;
		order->callers = callers;
		order->room = room;
	}
	return &order->callers[member];
}

const struct caller *call_order_caller(const struct call_order *order, uint32_t member)
{
	return member < order->room && order->callers[member].known ? &order->callers[member] : NULL;
}

/* Calls of somebody were not seen, since nobody knows when: what was concluded from places so far may be wrong. */
static void start_again(struct call_order *order)
{
	for (uint32_t i = 0; i < order->room; i++) {
		if (order->callers[i].calls > order->compared_from)
			order->compared_from = order->callers[i].calls;
		order->callers[i].parted.known = false;
		order->callers[i].since_count = 0;
	}
	order->parted = false;
	memset(order->first, 0, sizeof(order->first));
}

static uint32_t counter_of(const struct call *call)
{
	return call->function + (call->unannounced ? RW_FUNCTION_COUNT : 0);
}
static_assert(CALL_ORDER_COUNTERS <= 32, "a bit for each in caller.functions");

/* Of what call_is_same() compares. */
uint64_t call_hash(uint64_t hash, const struct call *call)
{
	bool moves_bytes = call->function == RW_FUNCTION_ALL_GATHER || call->function == RW_FUNCTION_BROADCAST;
	const uint64_t parts[] = {
		call->function,
		call_has_root(call) ? (uint32_t)call->root : 0,
		moves_bytes ? call_bytes(call) : call->count,
		moves_bytes ? 0 : call->dtype,
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		hash = (hash ^ parts[i]) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
	}
	return hash ? hash : 1;
}

static void keep(struct call_order *order, struct caller *caller, const struct call *call)
{
	const struct past_call past = { .count = call->count, .root = call_has_root(call) ? call->root : -1,
					.function = call->function, .dtype = call->dtype };

	if (caller->own) {
		call_history_add(caller->own, caller->now.calls, &past);
		return;
	}
	if (call_history_add(&order->history, caller->now.calls, &past))
		return;
	caller->own = calloc(1, sizeof(*caller->own));
	if (!caller->own) {
		caller->seen_whole = false; /* the shared history is not this member's any more */
		return;
	}
	call_history_copy(&order->history, caller->now.calls, caller->own);
	call_history_add(caller->own, caller->now.calls, &past);
}

/* Members on other hosts may know announced calls alone. */
static void mark(struct call_order *order, struct caller *caller, const struct call *call)
{
	if (call->unannounced)
		return;
	if (order->keeps && caller->seen_whole)
		keep(order, caller, call);
	caller->now.hash = call_hash(caller->now.hash, call);
	caller->now.calls++;
	if (!(caller->now.calls & ((UINT64_C(1) << caller->mark_shift) - 1)))
		caller->mark = caller->now;
}

void call_order_mark_at(struct call_order *order, uint32_t member, uint8_t shift)
{
	if (member < order->room)
		order->callers[member].mark_shift = shift;
}

const struct call_history *call_order_history(const struct call_order *order, uint32_t member)
{
	const struct call_history *own = order->callers[member].own;

	return own ? own : &order->history;
}

uint64_t call_order_sequence(const struct call_order *order, uint32_t member, uint64_t place)
{
	const struct caller *caller = &order->callers[member];
	const struct call_history *history = call_order_history(order, member);
	uint8_t function = call_history_at(history, place)->function;
	uint64_t sequence = caller->next[function];

	for (uint64_t at = place; at < caller->now.calls; at++)
		sequence -= call_history_at(history, at)->function == function;
	return sequence;
}

/*
 * Moves the caller on by this call and returns the call's place. A sequence that jumps shows that calls were not seen
 * (the reader came late, or the ring was full): until every function that anybody uses has been seen again, calls of it
 * may be hidden, and the place is not sure.
 */
static uint64_t advance(struct call_order *order, struct caller *caller, const struct call *call, bool from_start)
{
	uint32_t counter = counter_of(call);
	uint32_t bit = 1u << counter;

	if (!caller->known)
		caller->seen_whole = from_start;
	bool gap = call->sequence != caller->next[counter];
	caller->calls += call->sequence + 1 - caller->next[counter];
	if (gap) {
		order->lossy |= caller->seen_whole || caller->known & bit;
		caller->seen_whole = false;
		caller->functions = 0;
		start_again(order);
	}
	caller->functions |= bit;
	caller->known |= bit;
	order->functions |= bit;
	caller->next[counter] = call->sequence + 1;
	if (!caller->seen_whole && order->functions & ~caller->functions)
		caller->sure_from = UINT64_MAX;
	else if (caller->sure_from == UINT64_MAX)
		caller->sure_from = caller->calls - 1;
	return caller->calls - 1;
}

/* Without memory, and behind a gap, no more of the member's calls are kept. */
static void keep_since(const struct call_order *order, struct caller *caller, uint64_t place, const struct call *call)
{
	if (place != order->parted_place + caller->since_count || caller->since_count == CALL_ORDER_SINCE)
		return;
	if (!caller->since)
		caller->since = calloc(CALL_ORDER_SINCE, sizeof(*caller->since));
	if (caller->since)
		caller->since[caller->since_count++] = *call;
}

/* What a member has called that was past the place: at each place what the first one called there. */
static void take_over(const struct call_order *order, struct caller *caller)
{
	caller->parted = order->first[order->parted_place % CALL_ORDER_DEPTH].call;
	for (uint64_t place = order->parted_place; place < caller->calls; place++) {
		typeof(order->first[0]) *first = &order->first[place % CALL_ORDER_DEPTH];
		if (first->place != place + 1)
			return;
		keep_since(order, caller, place, &first->call);
	}
}

/* Whoever was past this place had called what the first one called, or the ranks would have parted before. */
static void part(struct call_order *order, uint64_t place, const struct caller *last, uint64_t now_ns)
{
	order->parted = true;
	order->parted_place = place;
	order->parted_ns = now_ns;
	for (uint32_t i = 0; i < order->room; i++)
		if (&order->callers[i] != last && order->callers[i].sure_from <= place &&
		    order->callers[i].calls > place)
			take_over(order, &order->callers[i]);
}

int call_order_note(struct call_order *order, uint32_t member, const struct rw_operation *slot, bool from_start)
{
	const struct call call = {
		.known = true,
		.function = slot->function,
		.dtype = slot->dtype,
		.sequence = slot->sequence,
		.count = slot->count,
		.root = slot->root_or_peer,
		.unannounced = slot->flags & RW_FLAG_UNANNOUNCED,
	};
	struct caller *caller = get_caller(order, member);

	if (!caller)
		return -ENOMEM;
	if (is_point_to_point(slot->function) || (call.unannounced && order->announced_only)) {
		caller->other++;
		return 0;
	}
	uint64_t place = advance(order, caller, &call, from_start);
	mark(order, caller, &call);
	if (order->lossy || caller->sure_from > place || place < order->compared_from)
		return 0;
	typeof(order->first[0]) *first = &order->first[place % CALL_ORDER_DEPTH];
	if (order->parted) {
		if (place == order->parted_place)
			caller->parted = call;
		keep_since(order, caller, place, &call);
	} else if (first->place < place + 1) {
		first->place = place + 1;
		first->call = call;
	} else if (first->place == place + 1 && !call_is_same(&first->call, &call)) {
		part(order, place, caller, slot->api_ns);
		caller->parted = call;
		keep_since(order, caller, place, &call);
	}
	return 0;
}

static void leave_out_unannounced(struct caller *caller)
{
	for (int i = RW_FUNCTION_COUNT; i < CALL_ORDER_COUNTERS; i++) {
		caller->calls -= caller->next[i];
		caller->other += caller->next[i];
		caller->next[i] = 0;
	}
	caller->functions &= (1u << RW_FUNCTION_COUNT) - 1;
	if (caller->sure_from != UINT64_MAX)
		caller->sure_from = caller->calls;
}

void call_order_part_unlike(struct call_order *order, bool alone)
{
	order->lossy |= alone;
	if (order->announced_only)
		return;
	order->announced_only = true;
	order->functions &= (1u << RW_FUNCTION_COUNT) - 1;
	for (uint32_t i = 0; i < order->room; i++)
		leave_out_unannounced(&order->callers[i]);
	order->compared_from = 0;
	start_again(order);
}

void call_order_free(struct call_order *order)
{
	for (uint32_t i = 0; i < order->room; i++) {
		if (order->callers[i].own)
			call_history_free(order->callers[i].own);
		free(order->callers[i].own);
		free(order->callers[i].since);
	}
	free(order->callers);
	call_history_free(&order->history);
	*order = (struct call_order){ 0 };
}
