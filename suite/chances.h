/* SPDX-License-Identifier: MIT */
/* What the suite's jobs are drawn with: the same numbers from the same seed on every machine. */
#ifndef SUITE_CHANCES_H
#define SUITE_CHANCES_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/numbers/splitmix.h"

struct chances {
	uint64_t state;
};

/* In (0, 1). */
static inline double uniform(struct chances *chances)
{
	return ((double)(splitmix_next(&chances->state) >> 11) + 0.5) / 9007199254740992.0;
}

/* Box and Muller 1958. */
static inline double normal(struct chances *chances)
{
	double radius = sqrt(-2 * log(uniform(chances)));

	return radius * cos(2 * M_PI * uniform(chances));
}

static inline int below(struct chances *chances, int count)
{
	return (int)(uniform(chances) * count);
}

/* Each decade as likely as any other. */
static inline double between(struct chances *chances, double least, double most)
{
	return least * pow(most / least, uniform(chances));
}

static inline bool one_in(struct chances *chances, double times)
{
	return uniform(chances) * times < 1;
}

#endif
