/* SPDX-License-Identifier: MIT */
#include "scan_contents.h"

#include <string.h>

#include "scan_reference.h"

uint64_t scan_any_number(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1d;
}

uint64_t scan_below(uint64_t limit)
{
	return scan_any_number() % limit;
}

uint8_t scan_any_dtype(void)
{
	return scan_dtypes[scan_below(SCAN_DTYPES)];
}

static uint64_t any_bits(uint32_t width, int kind)
{
	const uint64_t any = scan_any_number(), finite = any & ~(UINT64_C(1) << (width - 2));

	switch (kind) {
	case 0:
		return any;
	case 1:
		return finite;
	case 2:
		return scan_below(500) ? finite : any | UINT64_C(0x7f) << (width - 8);
	case 3:
		return any & (UINT64_C(1) << (width - 1) | 3);
	case 4:
		return any | UINT64_C(0x7fff) << (width < 16 ? 0 : width - 16);
	default:
		return UINT64_MAX;
	}
}

void scan_fill(unsigned char *at, uint64_t elements, uint8_t dtype)
{
	const size_t width = reference_width(dtype);
	const int kind = (int)scan_below(6);

	for (uint64_t i = 0; i < elements; i++) {
		const uint64_t bits = any_bits((uint32_t)width * 8, kind);
		memcpy(at + i * width, &bits, width);
	}
}
