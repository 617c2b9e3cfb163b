/* SPDX-License-Identifier: MIT */
#include <float.h>
#include <math.h>

#include <criterion/criterion.h>

#include "sim/workload/training/element.h"

static const ncclDataType_t types[] = { ncclFloat32, ncclBfloat16, ncclFloat16, ncclFloat8e4m3 };

enum { TYPES = sizeof(types) / sizeof(*types) };

Test(element, bits_are_those_of_the_formats)
{
	static const struct {
		ncclDataType_t type;
		float value;
		uint32_t bits;
	} known[] = {
		{ ncclFloat32, -1.5f, 0xbfc00000 }, { ncclBfloat16, -1.5f, 0xbfc0 },  { ncclFloat16, -1.5f, 0xbe00 },
		{ ncclFloat8e4m3, -1.5f, 0xbc },    { ncclFloat16, 65504, 0x7bff },   { ncclFloat16, 32768, 0x7800 },
		{ ncclFloat8e4m3, 448, 0x7e },	    { ncclFloat8e4m3, 15, 0x57 },     { ncclFloat16, 65536, 0x7c00 },
		{ ncclFloat16, -INFINITY, 0xfc00 }, { ncclBfloat16, INFINITY, 0x7f80 }, { ncclFloat32, 0, 0 },
		{ ncclFloat32, FLT_MAX, 0x7f7fffff }, { ncclBfloat16, 0x1.fep127f, 0x7f7f },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		cr_expect_eq(element_bits(known[i].type, known[i].value), known[i].bits, "%g: %x", known[i].value,
			     element_bits(known[i].type, known[i].value));
}

Test(element, what_is_written_is_read)
{
	static const float values[] = { 0, 1, -3, 15, 0.25f, 240 };
	uint32_t data[4];

	for (size_t type = 0; type < TYPES; type++)
		for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
			element_write(types[type], data, 2, values[i]);
			cr_expect(element_is(types[type], data, 2, values[i]));
			cr_expect_not(element_is(types[type], data, 2, 2 * values[i] + 1));
		}
}

Test(element, nan_and_inf_are_not_finite_and_the_largest_number_is)
{
	uint32_t data[4] = { 0 }, largest;

	for (size_t type = 0; type < TYPES; type++) {
		element_write(types[type], data, 2, NAN);
		cr_expect(element_is(types[type], data, 2, NAN));
		cr_expect_not(element_is(types[type], data, 2, 1));
		cr_expect_not(element_all_finite(types[type], data, 3));
		cr_expect(element_all_finite(types[type], data, 2));
		element_write(types[type], data, 2, -INFINITY);
		cr_expect_not(element_all_finite(types[type], data, 3));
		largest = element_largest_bits(types[type]);
		cr_expect(element_all_finite(types[type], &largest, 1));
	}
}

Test(element, other_types_have_no_size)
{
	cr_expect_eq(element_size(ncclInt64), 0);
	cr_expect_eq(element_size(ncclUint8), 0);
}
