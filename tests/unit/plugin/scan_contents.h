/* SPDX-License-Identifier: MIT */
/* Random buffers to be scanned; the same ones on every run. */
#ifndef TESTS_UNIT_PLUGIN_SCAN_CONTENTS_H
#define TESTS_UNIT_PLUGIN_SCAN_CONTENTS_H

#include <stdint.h>

uint64_t scan_any_number(void);
uint64_t scan_below(uint64_t limit);
uint8_t scan_any_dtype(void);

/* Elements of one kind: anything; finite; finite and a few that are not; small and zero; nothing finite; all alike. */
void scan_fill(unsigned char *at, uint64_t elements, uint8_t dtype);

#endif
