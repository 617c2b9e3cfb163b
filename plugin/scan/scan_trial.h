/* SPDX-License-Identifier: MIT */
/*
 * What the scan kernel must answer at its first launch in a context: a small buffer whose counts, first index, largest
 * magnitude and digest are known for every kind of type. A GPU, a driver or a compiler that nobody has tried can make
 * the kernel answer wrongly; then it is not believed again.
 *
 * The buffer: a whole tile that blocks read the fast way, and a rest that they do not. Each type's segment takes all of
 * it, so all have values that are not finite, end their range, are denormal; others begin without alignment.
 */
#ifndef PLUGIN_SCAN_SCAN_TRIAL_H
#define PLUGIN_SCAN_SCAN_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/scan/scan_kernel.h"

enum {
	SCAN_TRIAL_BYTES = SCAN_TILE_BYTES + 1005, /* aligned to 16 */
	SCAN_TRIAL_SEGMENTS = 16,
	SCAN_TRIAL_WORDS = 44, /* of what is wrong, with its final 0 */
};

void scan_trial_fill(unsigned char pattern[SCAN_TRIAL_BYTES]);
/* The i-th segment; address: the buffer's on the device. Without slot and sequence. */
struct scan_segment scan_trial_segment(uint32_t i, uint64_t address);
/* What `result`, of the i-th segment, has wrong: "bfloat16 NaN 3, not 4". Times and sequence are not compared. */
bool scan_trial_is_right(uint32_t i, const struct scan_result *result, char wrong[SCAN_TRIAL_WORDS]);

#endif
