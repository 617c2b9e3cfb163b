/* SPDX-License-Identifier: MIT */
#include "sim/workload/training/noise.h"

#include <math.h>
#include <stdint.h>

#include "base/numbers/splitmix.h"

/* Uniform above 0 and up to 1, from place and number alone. */
static double uniform(int rank, int step, int number)
{
	uint64_t x = ((uint64_t)(unsigned int)rank << 40) + ((uint64_t)(unsigned int)step << 8) + (uint64_t)number +
		     SPLITMIX_STEP;

	return (double)((splitmix_mix(splitmix_mix(x)) >> 11) + 1) / 9007199254740992.0;
}

/* Box and Muller. */
static double normal(int rank, int step)
{
	return sqrt(-2 * log(uniform(rank, step, 0))) * cos(2 * M_PI * uniform(rank, step, 1));
}

static void go_on(struct noise *noise)
{
	double fresh = normal(noise->rank, ++noise->step);

	noise->normal = noise->step == 1 ? fresh
					 : NOISE_CORRELATION * noise->normal +
					       sqrt(1 - NOISE_CORRELATION * NOISE_CORRELATION) * fresh;
}

double noise_factor(struct noise *noise, int step)
{
	double factor = 1;

	if (noise->ranks > 1)
		factor += noise->spread * noise->rank / (noise->ranks - 1);
	if (noise->noise <= 0)
		return factor;
	while (noise->step < step)
		go_on(noise);
	return factor + noise->noise * exp(noise->normal - 0.5); /* the mean of exp(normal) is exp(1/2) */
}
