/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "identity/decimal.h"

static uint64_t value;

Test(decimal, a_whole_number_ends_where_its_digits_end)
{
	cr_expect_str_eq(decimal_whole("128M", UINT64_MAX, &value), "M");
	cr_expect_eq(value, 128);
	cr_expect_str_eq(decimal_whole("1.5", UINT64_MAX, &value), ".5", "a fraction is no part of it");
}

Test(decimal, nothing_but_digits_begins_a_number)
{
	static const char *const none[] = { "", " 1", "-1", "+1", "x1", ".5" };

	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		cr_expect_null(decimal_whole(none[i], UINT64_MAX, &value), "%s", none[i]);
		cr_expect_null(decimal_read(none[i], 2, UINT64_MAX, &value), "%s", none[i]);
	}
}

Test(decimal, what_is_too_large_is_refused_to_the_last_digit)
{
	cr_expect_not_null(decimal_whole("2147483647", INT32_MAX, &value));
	cr_expect_eq(value, INT32_MAX);
	cr_expect_null(decimal_whole("2147483648", INT32_MAX, &value));
	cr_expect_not_null(decimal_whole("18446744073709551615", UINT64_MAX, &value));
	cr_expect_eq(value, UINT64_MAX);
	cr_expect_null(decimal_whole("18446744073709551616", UINT64_MAX, &value));
	cr_expect_null(decimal_whole("99999999999999999999999", UINT64_MAX, &value));
}

Test(decimal, places_are_digits_behind_the_point)
{
	cr_expect_str_eq(decimal_read("0.25", 4, 1000000, &value), "");
	cr_expect_eq(value, 2500);
	cr_expect_str_eq(decimal_read("7.999s", 1, 1000, &value), "s");
	cr_expect_eq(value, 79, "further places are cut off");
	cr_expect_null(decimal_read("101", 1, 1000, &value));
}
