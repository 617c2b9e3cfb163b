/* SPDX-License-Identifier: MIT */
/* Which NaN ends the process, and which do not. */
#include <criterion/criterion.h>

#include "plugin/scanning/on_nan.h"

#define SECOND UINT64_C(1000000000)

static struct on_nan on_nan;
static uint64_t now;

/* The next operation; its input is one buffer of 1000 elements, which were all clean so far. */
static struct on_nan_scan next(void)
{
	static uint64_t ticket;

	ticket++;
	return (struct on_nan_scan){ .ticket = ticket, .buffer = 0x1234, .elements = 1000,
				     .is_input = true, .is_before = true };
}

static struct on_nan_scan next_with_nan(void)
{
	struct on_nan_scan scan = next();

	scan.nan = 1;
	scan.first_bad = 17;
	return scan;
}

static struct on_nan_scan next_output(uint32_t nan, uint32_t inf)
{
	struct on_nan_scan scan = next();

	scan.is_input = scan.is_before = false;
	scan.is_output = true;
	scan.nan = nan;
	scan.inf = inf;
	return scan;
}

static void take(struct on_nan_scan scan)
{
	on_nan_take(&on_nan, &scan, now += SECOND / 1000);
}

static bool ends(void)
{
	return on_nan_ends(&on_nan, false, now);
}

static void setup(void)
{
	take(next());
	take(next_output(0, 0));
}

TestSuite(on_nan, .init = setup);

Test(on_nan, one_that_this_rank_brings_in_itself_ends_it)
{
	cr_expect_not(ends());
	take(next_with_nan());
	cr_expect(ends());
}

Test(on_nan, the_operations_own_result_and_later_ones_are_no_reason_against_it)
{
	take(next_with_nan());
	take(next_output(1, 0));
	take(next_with_nan());
	cr_expect(ends());
}

Test(on_nan, scans_that_are_out_are_waited_for_a_second)
{
	take(next_with_nan());
	cr_expect_not(on_nan_ends(&on_nan, true, now + SECOND - 1));
	cr_expect(on_nan_ends(&on_nan, true, now + SECOND));
	cr_expect(on_nan_ends(&on_nan, false, now));
}

Test(on_nan, one_in_a_result_does_not)
{
	take(next_output(1, 0));
	cr_expect_not(ends());
	take(next_with_nan());
	cr_expect_not(ends(), "nor one that comes after it: another rank sent it");
	cr_expect_not_null(on_nan.doubt);
}

Test(on_nan, a_result_before_it_that_comes_later_counts)
{
	struct on_nan_scan output = next_output(1, 0);

	take(next_with_nan());
	take(output);
	cr_expect_not(ends());
}

Test(on_nan, one_seen_behind_its_operation_does_not)
{
	struct on_nan_scan scan = next_with_nan();

	scan.is_before = false;
	take(scan);
	cr_expect_not(ends());
}

Test(on_nan, none_does_where_there_are_infinities)
{
	struct on_nan_scan scan = next_with_nan();

	scan.inf = 1;
	take(scan);
	cr_expect_not(ends(), "in the same buffer");
	take(next());
	take(next_with_nan());
	cr_expect_not(ends(), "in another one before");
}

Test(on_nan, none_does_where_an_infinity_comes_while_scans_are_out)
{
	struct on_nan_scan other = next();

	other.inf = 1;
	other.buffer = 0x777;
	take(next_with_nan());
	take(other);
	cr_expect_not(ends());
}

Test(on_nan, none_does_in_a_job_with_fp16)
{
	struct on_nan_scan scan = next();

	scan.is_half = true;
	take(scan);
	take(next_with_nan());
	cr_expect_not(ends());
}

Test(on_nan, none_does_among_the_first_operations)
{
	struct on_nan_scan scan = next_with_nan();

	scan.is_first = true;
	take(scan);
	cr_expect_not(ends());
	take(next_with_nan());
	cr_expect_not(ends(), "what was there from the start is padding");
}

Test(on_nan, none_does_in_a_buffer_that_is_seen_for_the_first_time)
{
	struct on_nan_scan scan = next_with_nan();

	scan.buffer = 0x9999;
	take(scan);
	cr_expect_not(ends());
	scan = next_with_nan();
	scan.buffer = 0x9999;
	take(scan);
	cr_expect_not(ends());
}

Test(on_nan, none_does_that_fills_the_end_of_its_buffer)
{
	struct on_nan_scan scan = next_with_nan();

	scan.first_bad = 990;
	scan.nan = 10;
	take(scan);
	cr_expect_not(ends());
}

Test(on_nan, a_buffer_that_is_nothing_but_nan_does)
{
	struct on_nan_scan scan = next_with_nan();

	scan.first_bad = 0;
	scan.nan = 1000;
	take(scan);
	cr_expect(ends());
}

Test(on_nan, more_buffers_than_are_remembered_are_as_if_never_seen)
{
	for (uint64_t i = 0; i < 4 * ON_NAN_INPUTS; i++) {
		struct on_nan_scan scan = next();

		scan.buffer = 2 * (i * 11 + 1);
		take(scan);
	}
	struct on_nan_scan scan = next_with_nan();
	scan.buffer = 2 * ((4 * ON_NAN_INPUTS - 1) * UINT64_C(11) + 1);
	take(scan);
	cr_expect_not(ends());
	take(next_with_nan());
	cr_expect(ends(), "those that are stay");
}
