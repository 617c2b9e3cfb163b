/* SPDX-License-Identifier: MIT */
/* What a target makes of its input, as one number: replay_corpus compares it with the number that was kept. */
#ifndef TESTS_FUZZ_TOLD_H
#define TESTS_FUZZ_TOLD_H

#include <stddef.h>
#include <stdint.h>

void told(const void *bytes, size_t length);
void told_text(const char *text); /* NULL: as "" */
void told_value(uint64_t value);
/* Of all that was told since the last call. */
uint64_t told_number(void);

#endif
