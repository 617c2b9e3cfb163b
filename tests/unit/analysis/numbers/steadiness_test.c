/* SPDX-License-Identifier: MIT */
/* Whether a lateness stays what it is, held against the same sums written down once more, step by step. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/late/peers.h"
#include "analysis/numbers/steadiness.h"
#include "analysis/late/suspect.h"

enum { STEP = 1000, SERIES = 400 };

static struct suspect suspect;

/* As late as these values in the steps up to STEP, the newest first; 0: in time. */
static void be_late(const uint64_t *values, uint32_t count)
{
	suspect = (struct suspect){ .step = STEP };
	for (uint32_t i = 0; i < count; i++)
		if (values[i])
			suspect.blames[(STEP - i) % STRAGGLER_STEPS] = (struct blame){ .step = STEP - i, .shown_ns = values[i] };
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

static double apart(double a, double b)
{
	return a > b ? a - b : b - a;
}

/* Von Neumann's ratio of the values, where each counts for at most twice the median. */
static bool should_wander(const uint64_t *values, uint32_t length)
{
	uint64_t sorted[PEERS_LENGTH_MAX];
	double cut[PEERS_LENGTH_MAX], mean = 0, variance = 0, changes = 0;

	for (uint32_t i = 0; i < length; i++)
		sorted[i] = values[i];
	qsort(sorted, length, sizeof(*sorted), by_value);
	for (uint32_t i = 0; i < length; i++) {
		cut[i] = fmin((double)values[i], 2.0 * (double)sorted[length / 2]);
		mean += cut[i] / length;
	}
	for (uint32_t i = 0; i < length; i++)
		variance += (cut[i] - mean) * (cut[i] - mean) / length;
	for (uint32_t i = 1; i < length; i++)
		changes += apart(cut[i], cut[i - 1]) * apart(cut[i], cut[i - 1]) / (length - 1);
	return changes < variance;
}

static double should_be_steady(const uint64_t *values, uint32_t length, uint64_t level_ns, double part)
{
	uint64_t changes[PEERS_LENGTH_MAX];
	uint32_t at = (uint32_t)(part * (length - 1));

	for (uint32_t i = 1; i < length; i++)
		changes[i - 1] = (uint64_t)apart((double)values[i], (double)values[i - 1]);
	qsort(changes, length - 1, sizeof(*changes), by_value);
	if (at >= length - 1)
		at = length - 2;
	return changes[at] ? (double)level_ns / (double)changes[at] : INFINITY;
}

/* Whole numbers of 10 µs, so that many are equal; some series wander, some alternate, some have values far out. */
Test(steadiness, is_what_the_sums_say)
{
	uint64_t values[PEERS_LENGTH_MAX];
	unsigned int wandering = 0;

	srand(5);
	for (int series = 0; series < SERIES; series++) {
		uint32_t length = 2 + (uint32_t)rand() % (PEERS_LENGTH_MAX - 1);
		uint64_t level = 1 + (uint64_t)rand() % 40;

		for (uint32_t i = 0; i < length; i++) {
			level = series % 3 ? level + (uint64_t)rand() % 3 : 1 + (uint64_t)rand() % 40;
			values[i] = 10000 * (series % 4 == 1 && rand() % 9 == 0   ? 50 * level
					     : series % 5 == 2 && rand() % 4 == 0 ? 0
										  : level);
		}
		be_late(values, length);
		bool wanders_now = should_wander(values, length);
		wandering += wanders_now;
		cr_expect_eq(wanders(&suspect, length), wanders_now, "series %d of %u", series, length);
		for (int tenth = 0; tenth <= 10; tenth += 5)
			cr_expect_eq(steadiness(&suspect, length, 770000, tenth / 10.0),
				     should_be_steady(values, length, 770000, tenth / 10.0),
				     "series %d of %u, %d tenths", series, length, tenth);
	}
	cr_expect(wandering > SERIES / 8 && wandering < SERIES - SERIES / 8, "%u of %d wander", wandering, SERIES);
}
