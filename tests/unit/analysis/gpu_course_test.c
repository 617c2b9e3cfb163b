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
	cr_expect_eq(course.count, 0);
}
