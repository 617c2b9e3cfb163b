/* SPDX-License-Identifier: MIT */
/* Does a GPU's memory grow, or did it only warm up? */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "analysis/gpu_course.h"

static const int64_t gib = INT64_C(1) << 30, mib = 1 << 20;
static const uint64_t second = 1000000000;

/* Bytes in use at each half second; seed: what it varies by. */
typedef int64_t shape(int at, int of, unsigned *seed);

static struct gpu_course_verdict play(shape *used, int readings)
{
	struct gpu_course *course = calloc(1, sizeof(*course));
	unsigned seed = 4711;

	for (int i = 0; i < readings; i++)
		gpu_course_note(course, second + (uint64_t)i * second / 2, used(i, readings, &seed), 80 * gib);
	struct gpu_course_verdict verdict = gpu_course_judge(course, 0);

	free(course);
	return verdict;
}

static int64_t warm_up(int at, int of, unsigned *seed)
{
	(void)of, (void)seed;
	return at < 4 ? 15 * gib : 21 * gib + 205 * mib;
}

static int64_t at_once(int at, int of, unsigned *seed)
{
	(void)of, (void)seed;
	return at < 1 ? 15 * gib : 21 * gib;
}

static int64_t leak(int at, int of, unsigned *seed)
{
	(void)of;
	return 10 * gib + at * 100 * mib + (int64_t)(rand_r(seed) % 40) * mib;
}

/* A cache that fills ever more slowly. */
static int64_t saturating(int at, int of, unsigned *seed)
{
	(void)seed;
	return 10 * gib + 20 * gib * at / (at + of / 8 + 1);
}

static int64_t noise(int at, int of, unsigned *seed)
{
	(void)at, (void)of;
	return 30 * gib + (int64_t)(rand_r(seed) % 8192) * mib;
}

/* Evaluation now and then. */
static int64_t comes_and_goes(int at, int of, unsigned *seed)
{
	(void)of, (void)seed;
	return (at / 20 % 2 ? 40 : 30) * gib;
}

static int64_t late_step(int at, int of, unsigned *seed)
{
	(void)seed;
	return (at < of * 9 / 10 ? 30 : 36) * gib;
}

Test(gpu_course, one_that_stays_after_its_first_steps_has_warmed_up)
{
	for (int readings = 40; readings <= 4000; readings *= 10) {
		struct gpu_course_verdict verdict = play(warm_up, readings);

		cr_expect_eq(verdict.course, ANALYSIS_MEMORY_FLAT, "%d readings: %d", readings, verdict.course);
		if (readings <= 2 * GPU_COURSE_BINS) /* later the first bins are long */
			cr_expect_eq(verdict.grown, 6 * gib + 205 * mib);
		cr_expect_eq(verdict.used, 21 * gib + 205 * mib);
	}
}

Test(gpu_course, growth_within_the_first_second_counts)
{
	cr_expect_eq(play(at_once, 60).grown, 6 * gib);
}

Test(gpu_course, one_that_grows_does_so_at_its_rate)
{
	for (int readings = 40; readings <= 640; readings *= 2) {
		struct gpu_course_verdict verdict = play(leak, readings);

		cr_assert_eq(verdict.course, ANALYSIS_MEMORY_GROWS, "%d readings: %d", readings, verdict.course);
		cr_expect_float_eq(verdict.bytes_per_s, 200.0 * (double)mib, 10.0 * (double)mib, "%d readings: %f MiB a second", readings,
				   verdict.bytes_per_s / (double)mib);
	}
}

Test(gpu_course, of_anything_else_nothing_is_said)
{
	shape *const shapes[] = { saturating, noise, comes_and_goes, late_step };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		for (int readings = 40; readings <= 2560; readings *= 2) {
			struct gpu_course_verdict verdict = play(shapes[i], readings);

			cr_expect_neq(verdict.course, ANALYSIS_MEMORY_GROWS, "shape %zu, %d readings", i, readings);
			if (shapes[i] == noise || shapes[i] == late_step)
				cr_expect_eq(verdict.course, ANALYSIS_MEMORY_UNKNOWN, "shape %zu, %d readings", i, readings);
		}
	cr_expect_eq(play(leak, 2 * GPU_COURSE_LEAST - 2).course, ANALYSIS_MEMORY_UNKNOWN, "too few to say");
}

static int64_t loads_a_model(int at, int of, unsigned *seed)
{
	return at < 30 ? at * gib / 2 : warm_up(at - 30, of, seed);
}

Test(gpu_course, what_was_before_the_job_s_first_operation_does_not_count)
{
	struct gpu_course course = { 0 };

	for (int i = 0; i < 120; i++)
		gpu_course_note(&course, second + (uint64_t)i * second / 2, loads_a_model(i, 120, NULL), 80 * gib);
	cr_expect_eq(gpu_course_judge(&course, 16 * second).grown, 6 * gib + 205 * mib);
	cr_expect_gt(gpu_course_judge(&course, 0).grown, 20 * gib);
}

Test(gpu_course, unknown_readings_are_not_noted)
{
	struct gpu_course course = { 0 };

	gpu_course_note(&course, second, -1, 80 * gib);
	gpu_course_note(&course, second, gib, -1);
	gpu_course_note(&course, second, gib, 0);
	cr_expect_eq(course.count, 0);
	gpu_course_note(&course, second, 0, 1);
	cr_expect_eq(course.count, 1, "nothing in use is a reading");
}

Test(gpu_course, a_bin_holds_the_readings_of_less_than_a_second_and_the_most_of_them)
{
	struct gpu_course course = { 0 };

	gpu_course_note(&course, 10 * second, 5, 100);
	gpu_course_note(&course, 10 * second + second / 2, 9, 100);
	gpu_course_note(&course, 11 * second - 1, 7, 100);
	cr_assert_eq(course.count, 1);
	cr_expect_eq(course.bins[0].from_ns, 10 * second);
	cr_expect_eq(course.bins[0].until_ns, 11 * second - 1);
	cr_expect_eq(course.bins[0].first, 5);
	cr_expect_eq(course.bins[0].most, 9);
	gpu_course_note(&course, 11 * second, 8, 100);
	cr_expect_eq(course.count, 2);
}

Test(gpu_course, a_full_series_is_merged_two_by_two)
{
	struct gpu_course course = { 0 };

	for (uint64_t i = 0; i < GPU_COURSE_BINS; i++)
		gpu_course_note(&course, (100 + i) * second, i % 3 ? (int64_t)i : 1000, 2000);
	cr_assert_eq(course.count, GPU_COURSE_BINS);
	gpu_course_note(&course, (100 + GPU_COURSE_BINS) * second, 7, 2000);
	cr_assert_eq(course.count, GPU_COURSE_BINS / 2 + 1);
	cr_expect_eq(course.bin_ns, 2 * second);
	for (uint64_t i = 0; i < GPU_COURSE_BINS / 2; i++) {
		const struct gpu_course_bin *bin = &course.bins[i];
		bool has_peak = 2 * i % 3 == 0 || (2 * i + 1) % 3 == 0;

		cr_expect_eq(bin->from_ns, (100 + 2 * i) * second);
		cr_expect_eq(bin->until_ns, (101 + 2 * i) * second);
		cr_expect_eq(bin->first, 2 * i % 3 ? (int64_t)(2 * i) : 1000);
		cr_expect_eq(bin->most, has_peak ? 1000 : (int64_t)(2 * i + 1));
	}
	gpu_course_note(&course, (102 + GPU_COURSE_BINS) * second - 1, 6, 2000);
	cr_expect_eq(course.count, GPU_COURSE_BINS / 2 + 1, "two seconds long now");
}

/* One reading a second: `low` of them 100 GiB below the others, which differ by `apart` bytes. */
static struct gpu_course_verdict up_and_apart(uint32_t low, uint32_t high, int64_t apart)
{
	struct gpu_course course = { 0 };

	for (uint32_t i = 0; i < low + high; i++)
		gpu_course_note(&course, (1 + i) * second, i < low ? gib : 100 * gib + (i % 2 ? apart : 0), 80 * gib);
	return gpu_course_judge(&course, 0);
}

Test(gpu_course, flat_is_what_stays_within_half_a_percent_for_half_of_the_time)
{
	const int64_t flat = (int64_t)(0.005 * 80 * (double)gib);

	cr_expect_eq(up_and_apart(10, 10, flat).course, ANALYSIS_MEMORY_FLAT);
	cr_expect_neq(up_and_apart(10, 10, flat + 1).course, ANALYSIS_MEMORY_FLAT);
	cr_expect_neq(up_and_apart(11, 10, 0).course, ANALYSIS_MEMORY_FLAT, "less than half of the time");
	struct gpu_course_verdict verdict = up_and_apart(8, 8, 0);
	cr_expect_eq(verdict.course, ANALYSIS_MEMORY_FLAT, "sixteen are enough");
	cr_expect_eq(verdict.from_ns, 9 * second);
	cr_expect_eq(verdict.end_ns, 16 * second);
	cr_expect_eq(verdict.grown, 99 * gib);
	cr_expect_eq(verdict.used, 100 * gib);
	cr_expect_eq(up_and_apart(7, 8, 0).course, ANALYSIS_MEMORY_UNKNOWN, "fifteen are not");
}

/* Of a small GPU half a percent would be less than what an allocator takes at a time. */
Test(gpu_course, of_a_small_gpu_sixty_four_mebibytes_are_flat)
{
	for (int64_t over = 0; over < 2; over++) {
		struct gpu_course course = { 0 };

		for (uint32_t i = 0; i < 20; i++)
			gpu_course_note(&course, (1 + i) * second, 100 * mib + (i % 2 ? 64 * mib + over : 0), gib);
		cr_expect_eq(gpu_course_judge(&course, 0).course, over ? ANALYSIS_MEMORY_UNKNOWN : ANALYSIS_MEMORY_FLAT);
	}
}

/* Sixteen readings, one a second, `each` bytes more from one to the next. */
static struct gpu_course_verdict line(int64_t each)
{
	struct gpu_course course = { 0 };

	for (uint32_t i = 0; i < 16; i++)
		gpu_course_note(&course, (1 + i) * second, gib + i * each, gib * 10);
	return gpu_course_judge(&course, 0);
}

Test(gpu_course, growth_is_told_from_twice_what_is_flat_behind_the_first_quarter)
{
	const int64_t flat = 64 * mib, each = (2 * flat + 10) / 11; /* eleven differences between the last twelve */
	struct gpu_course_verdict verdict = line(each);

	cr_expect_eq(verdict.course, ANALYSIS_MEMORY_GROWS);
	cr_expect_float_eq(verdict.bytes_per_s, (double)each, 1e-6);
	cr_expect_eq(verdict.from_ns, 5 * second);
	cr_expect_eq(verdict.end_ns, 16 * second);
	cr_expect_eq(verdict.used, gib + 15 * each);
	cr_expect_eq(line(each - 1).course, ANALYSIS_MEMORY_UNKNOWN);
}
