/* SPDX-License-Identifier: MIT */
/* What a scan must find, worked out slowly and apart from the code under test: values as doubles, one after the other.
 */
#ifndef TESTS_UNIT_PLUGIN_SCAN_REFERENCE_H
#define TESTS_UNIT_PLUGIN_SCAN_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "plugin/scan/scan_kernel.h"

enum { SCAN_DTYPES = 13 };
/* Every type of NCCL, and "not known". */
extern const uint8_t scan_dtypes[SCAN_DTYPES];

size_t reference_width(uint8_t dtype); /* bytes */

/* bits: of a floating type. NaN and infinities as such. */
double reference_value(uint8_t dtype, uint64_t bits);
int reference_is_float(uint8_t dtype);
double reference_end_of_range(uint8_t dtype);

/* Everything but sequence and times. */
void reference_scan(uint8_t dtype, uint8_t flags, const void *at, uint64_t elements, struct scan_result *result);

#endif
