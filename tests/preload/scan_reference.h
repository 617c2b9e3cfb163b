/* SPDX-License-Identifier: MIT */
/* What a scan of these bytes must say, computed element by element and word by word. */
#ifndef TESTS_PRELOAD_SCAN_REFERENCE_H
#define TESTS_PRELOAD_SCAN_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>

struct rw_scan scan_reference(const void *bytes, uint64_t elements, uint8_t dtype);
bool scan_reference_equal(const struct rw_scan *a, const struct rw_scan *b);
size_t scan_reference_size(uint8_t dtype); /* of an element */
/* Bits of an element that is not a number (or infinite, where the type has that), for fault injection. */
void scan_reference_spoil(void *bytes, uint64_t index, uint8_t dtype);

#endif
