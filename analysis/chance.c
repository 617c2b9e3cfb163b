/* SPDX-License-Identifier: MIT */
#include "analysis/chance.h"

double chance_in_a_row(uint32_t times, double each)
{
	double chance = 1;

	while (times--)
		chance *= each;
	return chance;
}

double chance_at_least(uint32_t least, uint32_t times, double each)
{
	double sum = 0, ways = 1;

	if (each >= 1)
		return 1;
	/* From all of them downwards: the terms that are left out are the large ones. */
	for (uint32_t happened = times; happened >= least; happened--) {
		sum += ways * chance_in_a_row(happened, each) * chance_in_a_row(times - happened, 1 - each);
		ways = ways * happened / (times - happened + 1);
		if (!happened)
			break;
	}
	return sum;
}

bool chance_is_excluded(double chance, double occasions)
{
	return chance * occasions < CHANCE_MAX;
}
