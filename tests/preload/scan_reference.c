/* SPDX-License-Identifier: MIT */
#include "tests/preload/scan_reference.h"

#include <string.h>

#include "plugin/scan/scan_kernel.h"
#include "plugin/scan/scan_value.h"

size_t scan_reference_size(uint8_t dtype)
{
	return scan_format_of(dtype).width / 8;
}

static uint64_t element(const void *bytes, uint64_t index, size_t size)
{
	uint64_t bits = 0;

	memcpy(&bits, (const char *)bytes + index * size, size);
	return bits;
}

static void count_values(struct rw_scan *scan, const void *bytes, uint64_t elements, uint8_t dtype)
{
	struct scan_format format = scan_format_of(dtype);

	for (uint64_t i = 0; format.fraction && i < elements; i++) {
		uint64_t magnitude = scan_magnitude(format, element(bytes, i, format.width / 8));
		enum scan_class class = scan_classify(format, magnitude);

		scan->nan += class == SCAN_NAN;
		scan->inf += class == SCAN_INF;
		if (class != SCAN_FINITE && scan->first_bad == SCAN_NO_INDEX)
			scan->first_bad = i;
		if (class == SCAN_FINITE && scan_magnitude_value(format, magnitude) > scan->absmax)
			scan->absmax = scan_magnitude_value(format, magnitude);
		scan->saturated += (uint32_t)scan_is_saturated(format, magnitude);
	}
}

static void digest(struct rw_scan *scan, const void *bytes, uint64_t size)
{
	static const uint64_t factors[] = { SCAN_LANE_FACTOR_0, SCAN_LANE_FACTOR_1, SCAN_LANE_FACTOR_2,
					    SCAN_LANE_FACTOR_3 };

	scan->digest = SCAN_LENGTH_FACTOR * size;
	for (uint64_t i = 0; i * 4 < size; i++) {
		uint32_t word = 0;

		memcpy(&word, (const char *)bytes + i * 4, size - i * 4 < 4 ? size - i * 4 : 4);
		scan->digest += factors[i % 4] * (2 * (i / 4) + 1) * word;
		scan->lane_sum += factors[i % 4] * word;
	}
}

struct rw_scan scan_reference(const void *bytes, uint64_t elements, uint8_t dtype)
{
	struct rw_scan scan = { .first_bad = SCAN_NO_INDEX };

	count_values(&scan, bytes, elements, dtype);
	digest(&scan, bytes, elements * scan_reference_size(dtype));
	return scan;
}

bool scan_reference_equal(const struct rw_scan *a, const struct rw_scan *b)
{
	return a->nan == b->nan && a->inf == b->inf && a->first_bad == b->first_bad && a->absmax == b->absmax &&
	       a->saturated == b->saturated && a->digest == b->digest && a->lane_sum == b->lane_sum;
}

void scan_reference_spoil(void *bytes, uint64_t index, uint8_t dtype)
{
	struct scan_format format = scan_format_of(dtype);

	memcpy((char *)bytes + index * (format.width / 8), &format.nan, format.width / 8);
}
