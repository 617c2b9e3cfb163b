/* SPDX-License-Identifier: MIT */
/* What shows from one reading of a GPU to the next, and what the values at a place of the step usually are. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "analysis/host/gpu_trend.h"
#include "analysis/known/usual.h"

#define SECOND UINT64_C(1000000000)

static struct gpu *gpu;

static void begin(void)
{
	gpu = calloc(1, sizeof(*gpu));
	cr_assert(gpu);
	gpu->now = (struct analysis_gpu_state){
		.clock_reasons = -1, .memory_used = -1, .memory_total = -1, .nvlink_errors = -1
	};
}

static void end(void)
{
	free(gpu);
}

TestSuite(gpu_trend, .init = begin, .fini = end);

static void use(uint64_t second, int64_t used)
{
	gpu->now.at_ns = second * SECOND;
	gpu->now.memory_used = used;
	gpu->now.memory_total = 1000;
	gpu_trend_account(gpu);
}

Test(gpu_trend, a_full_gpu_whose_memory_falls_had_its_caches_freed)
{
	use(10, 950);
	use(11, 960);
	use(12, 941);
	cr_expect_eq(gpu_trend_drops(gpu, 12 * SECOND), 0, "19 of 1000 below the most");
	use(13, 940);
	cr_expect_eq(gpu_trend_drops(gpu, 13 * SECOND), 1, "20 of 1000");
	use(14, 800);
	cr_expect_eq(gpu_trend_drops(gpu, 14 * SECOND), 1, "it was not full in between");
	use(15, 949);
	use(16, 800);
	cr_expect_eq(gpu_trend_drops(gpu, 16 * SECOND), 1, "949 of 1000 are not full");
	use(17, 950);
	use(18, 900);
	cr_expect_eq(gpu_trend_drops(gpu, 18 * SECOND), 2);
	cr_expect_eq(gpu_trend_drops(gpu, (13 + 60) * SECOND), 2);
	cr_expect_eq(gpu_trend_drops(gpu, (13 + 60) * SECOND + 1), 1, "a minute later it counts no more");
	cr_expect_eq(gpu_trend_drops(gpu, (18 + 60) * SECOND + 1), 0);
}

Test(gpu_trend, of_many_falls_the_latest_are_kept)
{
	for (uint64_t i = 0; i < GPU_DROPS + 3; i++) {
		use(10 + 2 * i, 990);
		use(11 + 2 * i, 500);
	}
	cr_expect_eq(gpu_trend_drops(gpu, 40 * SECOND), GPU_DROPS);
	cr_expect_eq(gpu_trend_drops(gpu, (11 + 6 + 60) * SECOND), GPU_DROPS);
	cr_expect_eq(gpu_trend_drops(gpu, (11 + 6 + 60) * SECOND + 1), GPU_DROPS - 1);
}

Test(gpu_trend, memory_that_nvml_does_not_tell_is_neither_full_nor_free)
{
	use(10, 990);
	gpu->now.memory_total = 0;
	gpu->now.memory_used = 0;
	gpu_trend_account(gpu);
	gpu->now.memory_used = -1;
	gpu->now.memory_total = 1000;
	gpu_trend_account(gpu);
	cr_expect_eq(gpu_trend_drops(gpu, 10 * SECOND), 0);
	use(11, 0);
	cr_expect_eq(gpu_trend_drops(gpu, 11 * SECOND), 1, "nothing in use is a reading");
}

static uint64_t slow_since(uint64_t second, int64_t reasons)
{
	gpu->now.at_ns = second * SECOND;
	gpu->now.clock_reasons = reasons;
	gpu_trend_account(gpu);
	return gpu->slow_since_ns / SECOND;
}

Test(gpu_trend, held_back_without_a_break_since_the_first_reading_that_says_so)
{
	cr_expect_eq(slow_since(10, 0), 0);
	cr_expect_eq(slow_since(11, ANALYSIS_CLOCK_HW_THERMAL), 11);
	cr_expect_eq(slow_since(12, ANALYSIS_CLOCK_SW_THERMAL | ANALYSIS_CLOCK_POWER_CAP), 11);
	cr_expect_eq(slow_since(13, ANALYSIS_CLOCK_POWER_CAP), 0, "a power cap is usual under load");
	cr_expect_eq(slow_since(14, ANALYSIS_CLOCK_HW_POWER_BRAKE), 14);
	cr_expect_eq(slow_since(15, -1), 0, "not known");
	cr_expect_eq(slow_since(16, ANALYSIS_CLOCK_HW_SLOWDOWN), 16);
	cr_expect_eq(slow_since(17, ANALYSIS_CLOCK_IDLE), 0);
}

static int64_t errors_before(uint64_t second, int64_t errors)
{
	gpu->now.at_ns = second * SECOND;
	gpu->now.nvlink_errors = errors;
	gpu_trend_account(gpu);
	return gpu->nvlink_before;
}

Test(gpu_trend, nvlink_errors_are_compared_with_those_a_minute_ago)
{
	cr_expect_eq(errors_before(10, 7), 7);
	cr_expect_eq(errors_before(20, 9), 7);
	cr_expect_eq(errors_before(69, 9), 7);
	cr_expect_eq(errors_before(70, 12), 12, "a minute is over");
	cr_expect_eq(errors_before(80, 12), 12);
	cr_expect_eq(errors_before(81, 11), 11, "the driver was loaded anew");
	cr_expect_eq(errors_before(82, -1), 11, "not known");
	cr_expect_eq(gpu->nvlink_before_ns, 81 * SECOND);
}

Test(gpu_trend, reasons_are_named_and_the_general_one_only_alone)
{
	static const struct {
		uint32_t reasons;
		const char *text;
	} cases[] = {
		{ 0, "no reason given" },
		{ ANALYSIS_CLOCK_HW_THERMAL | ANALYSIS_CLOCK_HW_SLOWDOWN, "hardware thermal slowdown" },
		{ ANALYSIS_CLOCK_HW_POWER_BRAKE | ANALYSIS_CLOCK_HW_SLOWDOWN, "power brake" },
		{ ANALYSIS_CLOCK_SW_THERMAL | ANALYSIS_CLOCK_HW_SLOWDOWN, "thermal slowdown by the driver, hardware slowdown" },
		{ ANALYSIS_CLOCK_POWER_CAP, "power cap" },
		{ ANALYSIS_CLOCK_APPLICATION | ANALYSIS_CLOCK_SYNC_BOOST, "clocks set by hand, sync boost" },
	};
	char text[96], small[8];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect_str_eq(gpu_trend_reasons(text, sizeof(text), cases[i].reasons), cases[i].text);
	cr_expect_str_eq(gpu_trend_reasons(small, sizeof(small), UINT32_MAX), "hardwar", "as much as there is room for");
}

static struct rw_scan scan(uint32_t nan, uint32_t inf, uint64_t first_bad)
{
	return (struct rw_scan){ .nan = nan, .inf = inf, .first_bad = first_bad };
}

Test(usual, a_place_that_was_bad_from_the_start_covers_up_to_twice_as_much)
{
	struct usual usual = { .from_start = true };
	struct rw_scan ten = scan(4, 6, 32), twenty = scan(10, 10, 32), more = scan(10, 11, 32),
		       earlier = scan(4, 6, 31), later = scan(4, 6, 33);

	usual_widen(&usual, &ten);
	usual_widen(&usual, &ten);
	cr_expect_not(usual_covers(&usual, &ten), "twice may be chance");
	usual_widen(&usual, &ten);
	cr_expect(usual_covers(&usual, &ten));
	cr_expect(usual_covers(&usual, &twenty));
	cr_expect_not(usual_covers(&usual, &more));
	cr_expect(usual_covers(&usual, &later));
	cr_expect_not(usual_covers(&usual, &earlier), "it always began at the same element");
	usual_widen(&usual, &later);
	cr_expect(usual_covers(&usual, &earlier), "it did not");
	usual.from_start = false;
	cr_expect_not(usual_covers(&usual, &ten));
}

Test(usual, nan_where_only_infinite_ones_were_is_new)
{
	struct usual usual = { .from_start = true };
	struct rw_scan infinite = scan(0, 5, 0), one_nan = scan(1, 4, 0);

	for (int i = 0; i < USUAL_BAD_MIN; i++)
		usual_widen(&usual, &infinite);
	cr_expect(usual_covers(&usual, &infinite));
	cr_expect_not(usual_covers(&usual, &one_nan));
	usual_widen(&usual, &one_nan);
	cr_expect(usual_covers(&usual, &one_nan));
}

Test(usual, what_has_turned_out_to_harm_nothing_is_usual_at_once)
{
	struct usual usual = { 0 };
	struct rw_scan bad = scan(3, 0, 8);

	usual_accept(&usual, &bad);
	cr_expect(usual_covers(&usual, &bad));
	cr_expect(usual.told);
	cr_expect_eq(usual.bad, USUAL_BAD_MIN);
	for (int i = 0; i < 4; i++)
		usual_accept(&usual, &bad);
	cr_expect_eq(usual.bad, USUAL_BAD_MIN + 4);
}
