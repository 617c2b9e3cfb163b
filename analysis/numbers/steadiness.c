/* SPDX-License-Identifier: MIT */
#include "analysis/numbers/steadiness.h"

#include <math.h>

#include "analysis/late/peers.h"
#include "analysis/numbers/sorting.h"
#include "analysis/late/straggler.h"

double steadiness(const struct suspect *suspect, uint32_t length, uint64_t level_ns, double part)
{
	uint64_t changes[PEERS_LENGTH_MAX];
	uint32_t count = length - 1;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t one = suspect_shown_ns(suspect, suspect->step - i),
			 other = suspect_shown_ns(suspect, suspect->step - i - 1);
		changes[i] = one > other ? one - other : other - one;
	}
	sort_u64(changes, count);
	uint32_t at = (uint32_t)(part * count);
	uint64_t change_ns = changes[at < count ? at : count - 1];
	return change_ns ? (double)level_ns / (double)change_ns : INFINITY;
}

bool wanders(const struct suspect *suspect, uint32_t length)
{
	uint64_t sorted[PEERS_LENGTH_MAX];
	double sum = 0, squares = 0, changes = 0, later = 0;

	for (uint32_t i = 0; i < length; i++)
		sorted[i] = suspect_shown_ns(suspect, suspect->step - i);
	sort_u64(sorted, length);
	double most = 2 * (double)sorted[length / 2];
	for (uint32_t i = 0; i < length; i++) {
		double late = fmin((double)suspect_shown_ns(suspect, suspect->step - i), most);
		sum += late;
		squares += late * late;
		if (i)
			changes += pow(late - later, 2);
		later = late;
	}
	double mean = sum / length, variance = squares / length - mean * mean;
	return changes / (length - 1) < variance;
}
