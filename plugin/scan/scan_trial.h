/* SPDX-License-Identifier: MIT */
/*
 * What the scan kernel must answer at its first launches in a context: buffers whose counts, first index, largest
 * magnitude and digest are known for every kind of type. A GPU, a driver or a compiler that nobody has tried can make
 * the kernel answer wrongly; then it is not believed again.
 *
 * The short buffer: a whole tile that blocks read the fast way, and a rest that they do not. Each type's segment takes
 * all of it, so all have values that are not finite, end their range, are denormal; others begin without alignment.
 * The long buffer: so long that with SCAN_TRIAL_LONG_BLOCKS blocks each goes round its loop for every segment. Each
 * type has such values in its first and its last element, on both sides of borders between tiles, and in the rest.
 */
#ifndef PLUGIN_SCAN_SCAN_TRIAL_H
#define PLUGIN_SCAN_SCAN_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/scan/scan_kernel.h"

enum scan_trial { SCAN_TRIAL_SHORT, SCAN_TRIAL_LONG, SCAN_TRIALS };

enum {
	SCAN_TRIAL_SHORT_BYTES = SCAN_TILE_BYTES + 1005, /* aligned to 16, both of them */
	SCAN_TRIAL_SHORT_SEGMENTS = 16,
	SCAN_TRIAL_LONG_TILES = 20, /* whole ones, of each type's segment */
	SCAN_TRIAL_LONG_BYTES = SCAN_TRIAL_LONG_TILES * SCAN_TILE_BYTES + 7024,
	SCAN_TRIAL_LONG_SEGMENTS = 9,
	SCAN_TRIAL_LONG_BLOCKS = 6,
	SCAN_TRIAL_WORDS = 44, /* of what is wrong, with its final 0 */
};

uint32_t scan_trial_bytes(enum scan_trial trial);
uint32_t scan_trial_segments(enum scan_trial trial);
/* pattern: scan_trial_bytes() of them. */
void scan_trial_fill(enum scan_trial trial, unsigned char *pattern);
/* The i-th segment; address: the buffer's on the device. Without slot and sequence. */
struct scan_segment scan_trial_segment(enum scan_trial trial, uint32_t i, uint64_t address);
/* What `result`, of the i-th segment, has wrong: "bfloat16 NaN 3, not 4", of the long buffer "long bfloat16 ...". Times
 * and sequence are not compared. */
bool scan_trial_is_right(enum scan_trial trial, uint32_t i, const struct scan_result *result,
			 char wrong[SCAN_TRIAL_WORDS]);

#endif
