/* SPDX-License-Identifier: MIT */
#include "analysis/numbers/evenly.h"

double evenly_least(const struct evenly *rank)
{
	double least = rank->shares[0];

	for (int i = 1; i < EVENLY_PARTS; i++)
		least = fmin(least, rank->shares[i]);
	return least;
}

static double mean(const struct evenly *rank)
{
	double sum = 0;

	for (int i = 0; i < EVENLY_PARTS; i++)
		sum += rank->shares[i];
	return sum / EVENLY_PARTS;
}

static bool is_beyond(const struct evenly *rank, const struct evenly *other, double times)
{
	double least = evenly_least(rank);

	for (int i = 0; i < EVENLY_PARTS; i++)
		if (fabs(other->shares[i]) * times > least)
			return false;
	return true;
}

bool evenly_is_far_from(const struct evenly *rank, const struct evenly *other)
{
	return is_beyond(rank, other, EVENLY_BEYOND);
}

bool evenly_is_alike(const struct evenly *rank)
{
	double most = rank->shares[0];

	for (int i = 1; i < EVENLY_PARTS; i++)
		most = fmax(most, rank->shares[i]);
	return most <= EVENLY_ALIKE * evenly_least(rank);
}

bool evenly_is_far_on_average(const struct evenly *rank, const struct evenly *other)
{
	return is_beyond(rank, other, EVENLY_BEYOND_PART) && fabs(mean(other)) * EVENLY_BEYOND_MEAN <= mean(rank);
}
