/* SPDX-License-Identifier: MIT */
/*
 * What "in place" means, as nccl.h defines it for each function: the buffers are the same, or where one is larger, the
 * rank's own part of the larger buffer is the smaller one. Pure.
 */
#ifndef PLUGIN_NCCL_IN_PLACE_H
#define PLUGIN_NCCL_IN_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/operation.h>

struct in_place_call {
	uint8_t function; /* enum rw_function */
	int32_t root, rank;
	uint64_t send, recv; /* addresses, 0 = none */
	uint64_t bytes;      /* of one rank's part */
};

/* Has it a larger buffer, of which the smaller one can be a part? */
static inline bool in_place_has_parts(uint8_t function)
{
	return function == RW_FUNCTION_ALL_GATHER || function == RW_FUNCTION_REDUCE_SCATTER ||
	       function == RW_FUNCTION_GATHER || function == RW_FUNCTION_SCATTER;
}

static inline bool in_place(const struct in_place_call *call)
{
	uint64_t own = (uint64_t)call->rank * call->bytes;
	bool at_root = call->root == call->rank;

	if (!call->send || !call->recv)
		return false;
	switch (call->function) {
	case RW_FUNCTION_ALL_GATHER:
		return call->send == call->recv + own;
	case RW_FUNCTION_REDUCE_SCATTER:
		return call->recv == call->send + own;
	case RW_FUNCTION_GATHER: /* elsewhere there is no result, and its address means nothing */
		return at_root && call->send == call->recv + own;
	case RW_FUNCTION_SCATTER: /* elsewhere there is no input */
		return at_root && call->recv == call->send + own;
	default:
		return call->send == call->recv;
	}
}

#endif
