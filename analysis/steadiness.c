/* SPDX-License-Identifier: MIT */
#include "analysis/steadiness.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/peers.h"
#include "analysis/straggler.h"

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

double steadiness(const struct suspect *suspect, uint32_t length, uint64_t level_ns, double part)
{
	uint64_t changes[PEERS_LENGTH_MAX];
	uint32_t count = length - 1;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t one = straggler_shown_ns(suspect, suspect->step - i),
			 other = straggler_shown_ns(suspect, suspect->step - i - 1);
		changes[i] = one > other ? one - other : other - one;
	}
	qsort(changes, count, sizeof(*changes), by_value);
	uint32_t at = (uint32_t)(part * count);
	uint64_t change_ns = changes[at < count ? at : count - 1];
	return change_ns ? (double)level_ns / (double)change_ns : INFINITY;
}

bool wanders(const struct suspect *suspect, uint32_t length)
{
	uint64_t sorted[PEERS_LENGTH_MAX];
	double sum = 0, squares = 0, changes = 0, later = 0;

	for (uint32_t i = 0; i < length; i++)
		sorted[i] = straggler_shown_ns(suspect, suspect->step - i);
	qsort(sorted, length, sizeof(*sorted), by_value);
	double most = 2 * (double)sorted[length / 2];
	for (uint32_t i = 0; i < length; i++) {
		double late = fmin((double)straggler_shown_ns(suspect, suspect->step - i), most);
		sum += late;
		squares += late * late;
		if (i)
			changes += pow(late - later, 2);
		later = late;
	}
	double mean = sum / length, variance = squares / length - mean * mean;
	return changes / (length - 1) < variance;
}
