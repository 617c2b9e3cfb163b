/* SPDX-License-Identifier: MIT */
/*
 * What "in place" means, as nccl.h defines it for each function: the buffers are the same, or where one is larger, the
 * rank's own part of the larger buffer is the smaller one. Pure.
 */
#ifndef PLUGIN_IN_PLACE_H
#define PLUGIN_IN_PLACE_H

#include <stdbool.h>
#include <stdint.h>

struct in_place_call {
	uint8_t function; /* enum rw_function */
	int32_t root, rank;
	uint64_t send, recv; /* addresses, 0 = none */
	uint64_t bytes;      /* of one rank's part */
};

bool in_place(const struct in_place_call *call);

#endif
