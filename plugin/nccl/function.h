/* SPDX-License-Identifier: MIT */
/* What several of NCCL's functions have in common. Pure. */
#ifndef PLUGIN_NCCL_FUNCTION_H
#define PLUGIN_NCCL_FUNCTION_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/operation.h>

/* Sends and receives: between two ranks, numbered by peer and not by communicator. function: enum rw_function. */
static inline bool function_is_p2p(uint8_t function)
{
	return function == RW_FUNCTION_SEND || function == RW_FUNCTION_RECV || function == RW_FUNCTION_SEND_RECV;
}

#endif
