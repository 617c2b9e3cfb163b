/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "plugin/gpu/scan_overlap.h"

enum { COMM = 3, FUNCTION = 7, MIB = 1 << 20 };

static struct scan_overlap overlap;

/* 1 TB/s. */
static void learn_speed(void)
{
	for (int i = 0; i < 100; i++)
		scan_overlap_learn_scan(&overlap, 64 * MIB, 64 * MIB / 1000);
}

static void learn_operations(uint64_t bytes, uint64_t took_us)
{
	for (int i = 0; i < 200; i++)
		scan_overlap_learn_operation(&overlap, COMM, FUNCTION, bytes, took_us * 1000);
}

static bool pays(uint64_t bytes)
{
	return scan_overlap_pays(&overlap, COMM, FUNCTION, bytes, bytes);
}

Test(scan_overlap, nothing_overlaps_before_anything_is_known)
{
	cr_expect_not(scan_overlap_is_possible(&overlap));
	cr_expect_not(pays(64 * MIB));
	learn_speed();
	cr_expect(scan_overlap_is_possible(&overlap));
	cr_expect_not(pays(64 * MIB));
}

Test(scan_overlap, a_scan_may_take_half_as_long_as_the_operation)
{
	learn_speed();
	learn_operations(64 * MIB, 1000);
	cr_expect(pays(64 * MIB), "67 us beside 1000");
	learn_operations(128 * MIB, 200);
	cr_expect_not(pays(128 * MIB), "134 us beside 200");
	learn_operations(64 * MIB, 100);
	cr_expect_not(pays(64 * MIB), "it has become faster");
}

Test(scan_overlap, operations_shorter_than_a_look_never_count_as_long)
{
	learn_speed();
	learn_operations(64 * MIB, 0);
	cr_expect_not(pays(64 * MIB));
}

Test(scan_overlap, with_one_hardware_queue_nothing_overlaps)
{
	overlap.never = true;
	learn_speed();
	learn_operations(64 * MIB, 100000);
	cr_expect_not(scan_overlap_is_possible(&overlap));
	cr_expect_not(pays(64 * MIB));
}
