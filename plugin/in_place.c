/* SPDX-License-Identifier: MIT */
#include "plugin/in_place.h"

#include <rankwatch/operation.h>

bool in_place(const struct in_place_call *call)
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
