/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "sim/workload/training/noise.h"

enum { STEPS = 50000 };

static double drawn[2][STEPS];

static void draw(int rank, double *out)
{
	struct noise noise = { .noise = 0.05, .rank = rank, .ranks = 8 };

	for (int step = 1; step <= STEPS; step++)
		out[step - 1] = noise_factor(&noise, step) - 1;
}

static int by_size(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Of the logarithms, which are normal. */
static double correlation(const double *first, const double *second, int count)
{
	double mean[2] = { 0 }, square[2] = { 0 }, product = 0;

	for (int i = 0; i < count; i++) {
		mean[0] += log(first[i]) / count;
		mean[1] += log(second[i]) / count;
	}
	for (int i = 0; i < count; i++) {
		double a = log(first[i]) - mean[0], b = log(second[i]) - mean[1];
		square[0] += a * a;
		square[1] += b * b;
		product += a * b;
	}
	return product / sqrt(square[0] * square[1]);
}

Test(noise, has_the_size_that_was_asked_for_and_a_heavy_tail)
{
	double sum = 0;

	draw(3, drawn[0]);
	for (int i = 0; i < STEPS; i++)
		sum += drawn[0][i];
	cr_expect_float_eq(sum / STEPS, 0.05, 0.004, "%f", sum / STEPS);
	qsort(drawn[0], STEPS, sizeof(double), by_size);
	/* Of a log-normal with sigma 1: median exp(-1/2), 99 % exp(2.33 - 1/2), times the mean. */
	cr_expect_float_eq(drawn[0][STEPS / 2], 0.0303, 0.003);
	cr_expect_float_eq(drawn[0][STEPS / 100 * 99], 0.311, 0.05);
	cr_expect_gt(drawn[0][0], 0);
}

Test(noise, goes_on_from_step_to_step_and_each_rank_has_its_own)
{
	draw(3, drawn[0]);
	draw(4, drawn[1]);
	cr_expect_float_eq(correlation(drawn[0], drawn[0] + 1, STEPS - 1), NOISE_CORRELATION, 0.02);
	cr_expect_float_eq(correlation(drawn[0], drawn[0] + 10, STEPS - 10), pow(NOISE_CORRELATION, 10), 0.03);
	cr_expect_float_eq(correlation(drawn[0], drawn[1], STEPS), 0, 0.05);
}

Test(noise, is_the_same_in_each_run_whatever_steps_are_left_out)
{
	struct noise all = { .noise = 0.05, .rank = 2, .ranks = 8 }, some = all;
	double factor = 0;

	for (int step = 1; step <= 20; step++)
		factor = noise_factor(&all, step);
	cr_expect_eq(noise_factor(&some, 20), factor);
}

Test(noise, spread_makes_the_last_rank_slower_by_all_of_it)
{
	for (int rank = 0; rank < 8; rank++) {
		struct noise noise = { .spread = 0.035, .rank = rank, .ranks = 8 };
		cr_expect_float_eq(noise_factor(&noise, 1), 1 + 0.005 * rank, 1e-9);
		cr_expect_float_eq(noise_factor(&noise, 500), 1 + 0.005 * rank, 1e-9);
	}
	struct noise alone = { .spread = 0.05, .ranks = 1 };
	cr_expect_eq(noise_factor(&alone, 1), 1);
}
