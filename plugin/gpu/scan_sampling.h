/* SPDX-License-Identifier: MIT */
/*
 * Which operations are scanned when not all are: decided from what all ranks know alike, never from this one's load.
 * One in `every`, a power of two: the sets nest, so ranks that sample differently still share the sparser set. Pure.
 */
#ifndef PLUGIN_GPU_SCAN_SAMPLING_H
#define PLUGIN_GPU_SCAN_SAMPLING_H

#include <stdbool.h>
#include <stdint.h>

/* What names an operation on all its ranks. A send and its receive have the same name: function SEND, sender and
 * receiver in `ranks`. */
struct scan_name {
	uint64_t communicator; /* id, equal on all ranks */
	uint64_t sequence;
	uint64_t ranks; /* sender << 32 | receiver; collectives: 0 */
	uint8_t function;
};

/* every: a power of two; 0 = none is. */
bool scan_sampled(const struct scan_name *name, uint32_t every);

#endif
