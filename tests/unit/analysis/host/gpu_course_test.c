/* SPDX-License-Identifier: MIT */
/* Does a GPU's memory grow, or did it only warm up? */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/host/gpu_course.h"
#include "analysis/model.h"
#include "tests/unit/analysis/jobs/small_job.h"

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
		cr_expect_float_eq(verdict.bytes_per_s, 200.0 * (double)mib, 10.0 * (double)mib,
				   "%d readings: %f MiB a second", readings, verdict.bytes_per_s / (double)mib);
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

/* Bytes in use of each rank's GPU at second 0 to 39 of a job. */
typedef int64_t ranks_shape(int rank, int at);

/* columns: of what is kept of the job's steps. */
static struct analysis_gpu_memory told_with(ranks_shape *used, int64_t total, const struct column *columns,
					    size_t count)
{
	struct analysis_gpu_memory memory;
	struct small_job job;

	small_job_open(&job);
	small_job_start(&job);
	for (int at = 0; at < 40; at++)
		for (int rank = 0; rank < SMALL_JOB_RANKS; rank++) {
			struct analysis_gpu_state state = small_job_state(rank, 1000 + at);

			state.memory_used = used(rank, at);
			state.memory_total = total;
			cr_assert_eq(analysis_add_gpu_state(job.analysis, &state), 0);
		}
	if (count) {
		job.analysis->cells.columns = calloc(count, sizeof(*columns));
		memcpy(job.analysis->cells.columns, columns, count * sizeof(*columns));
		job.analysis->cells.count = job.analysis->cells.room = count;
	}
	analysis_tell_gpu_memory(job.analysis, &memory);
	small_job_close(&job);
	return memory;
}

static struct analysis_gpu_memory told(ranks_shape *used, int64_t total)
{
	return told_with(used, total, NULL, 0);
}

static int64_t last_grows_fastest(int rank, int at)
{
	return 10 * gib + at * (rank + 1) * 100 * mib;
}

static int64_t first_is_nearly_full(int rank, int at)
{
	return rank ? last_grows_fastest(rank, at) : 78 * gib + at * 30 * mib;
}

static int64_t third_warms_up_most(int rank, int at)
{
	return 10 * gib + (at < 4 ? 0 : rank == 2 ? 6 * gib : rank * gib);
}

static int64_t one_warms_up_and_one_grows(int rank, int at)
{
	return rank == 0   ? third_warms_up_most(2, at)
	       : rank == 2 ? last_grows_fastest(2, at)
			   : third_warms_up_most(2, at) + gib;
}

static int64_t a_quarter(int rank, int at)
{
	return rank == 3 && at >= 4 ? gib + 256 * mib : gib;
}

static int64_t less_than_a_quarter(int rank, int at)
{
	return a_quarter(rank, at) - (rank == 3 && at >= 4);
}

Test(gpu_course, of_several_that_grow_the_one_is_told_that_is_full_soonest)
{
	struct analysis_gpu_memory memory = told(last_grows_fastest, 80 * gib);

	cr_assert_eq(memory.course, ANALYSIS_MEMORY_GROWS);
	cr_expect_eq(memory.rank, 3);
	cr_expect_eq(memory.used, 10 * gib + 39 * 400 * mib);
	cr_expect_eq(memory.total, 80 * gib);
	cr_expect_float_eq(memory.bytes_per_s, 400.0 * (double)mib, 1);
	cr_expect_float_eq(memory.full_in_s, (70.0 * 1024 - 39 * 400) / 400, 1e-6);
	cr_expect_float_eq(memory.seconds, 29, 1e-9, "behind the first quarter");
	cr_expect_eq(memory.until_step, 0, "no step is known");
	cr_expect_eq(memory.steps, 0);
	cr_expect_eq(memory.full_at_step, 0);
	memory = told(first_is_nearly_full, 80 * gib);
	cr_expect_eq(memory.rank, 0);
	cr_expect_float_eq(memory.full_in_s, (2048.0 - 39 * 30) / 30, 1e-6);
}

/* From second 1010 on, behind the first quarter, to 1039. */
Test(gpu_course, a_step_that_begins_with_the_growth_or_its_last_reading_is_the_one)
{
	const struct column columns[] = {
		{ .step = 1, .last_step = 4, .from_ns = 1000 * second }, { .step = 5, .last_step = 7, .from_ns = 1010 * second },
		{ .step = 8, .last_step = 8, .from_ns = 1010 * second + 1 }, { .step = 9, .last_step = 40, .from_ns = 1039 * second },
		{ .step = 41, .last_step = 50, .from_ns = 1039 * second + 1 },
	};
	struct analysis_gpu_memory memory =
	    told_with(last_grows_fastest, 80 * gib, columns, sizeof(columns) / sizeof(*columns));

	cr_assert_eq(memory.course, ANALYSIS_MEMORY_GROWS);
	cr_expect_eq(memory.until_step, 7);
	cr_expect_eq(memory.steps, 33);
}

Test(gpu_course, of_several_that_warm_up_the_one_is_told_that_took_most)
{
	struct analysis_gpu_memory memory = told(third_warms_up_most, 80 * gib);

	cr_assert_eq(memory.course, ANALYSIS_MEMORY_FLAT);
	cr_expect_eq(memory.rank, 2);
	cr_expect_eq(memory.grown, 6 * gib);
	cr_expect_eq(memory.used, 16 * gib);
	cr_expect_float_eq(memory.seconds, 35, 1e-9);
	cr_expect_float_eq(memory.full_in_s, 0, 1e-9);
}

Test(gpu_course, one_that_grows_is_told_rather_than_those_that_warm_up)
{
	struct analysis_gpu_memory memory = told(one_warms_up_and_one_grows, 80 * gib);

	cr_expect_eq(memory.course, ANALYSIS_MEMORY_GROWS);
	cr_expect_eq(memory.rank, 2);
}

Test(gpu_course, warm_up_is_worth_a_word_from_a_quarter_of_a_gibibyte_on)
{
	cr_expect_eq(told(a_quarter, 40 * gib).course, ANALYSIS_MEMORY_FLAT);
	cr_expect_eq(told(a_quarter, 40 * gib).rank, 3);
	cr_expect_eq(told(less_than_a_quarter, 40 * gib).course, ANALYSIS_MEMORY_UNKNOWN);
}
