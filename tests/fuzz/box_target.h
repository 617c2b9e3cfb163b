/* SPDX-License-Identifier: MIT */
/* libFuzzer's entry, called by libFuzzer or by the plain replay of the corpus. */
#ifndef TESTS_FUZZ_BOX_TARGET_H
#define TESTS_FUZZ_BOX_TARGET_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
