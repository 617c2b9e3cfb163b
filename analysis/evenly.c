/* SPDX-License-Identifier: MIT */
#include "analysis/evenly.h"

#include <math.h>

double evenly_least(const struct evenly *rank)
{
	double least = rank->shares[0];

	for (int i = 1; i < EVENLY_PARTS; i++)
		least = fmin(least, rank->shares[i]);
	return least;
}

bool evenly_is_far_from(const struct evenly *rank, const struct evenly *other)
{
	double least = evenly_least(rank);

	for (int i = 0; i < EVENLY_PARTS; i++)
		if (fabs(other->shares[i]) * EVENLY_BEYOND > least)
			return false;
	return true;
}
