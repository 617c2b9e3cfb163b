/* SPDX-License-Identifier: MIT */
#include "analysis/late/excursions.h"

#include <math.h>

#include "analysis/measure/lateness.h"
#include "analysis/late/peers.h"
#include "analysis/numbers/sorting.h"
#include "analysis/late/straggler.h"

const uint32_t excursions_lengths[EXCURSION_LENGTHS] = { 1, 2, 3, 6, 12 };

enum {
	TWELVE = 4,  /* of excursions_lengths */
	QUARTER = 4, /* of an excursion's steps may be less late */
};

uint64_t excursions_beyond(uint64_t late_ns, uint64_t usual_ns)
{
	return late_ns > usual_ns ? late_ns - usual_ns : 0;
}

uint64_t excursions_tolerance_ns(uint64_t step_ns)
{
	return (uint64_t)(EXCURSION_TOLERANCE * (double)step_ns);
}

uint64_t excursions_usual_before_ns(const struct stragglers *stragglers, const struct suspect *suspect, uint64_t step,
				    uint64_t step_ns)
{
	uint64_t values[EXCURSION_USUAL],
	    forgotten = suspect->step > STRAGGLER_KEPT_BY_ALL ? suspect->step - STRAGGLER_KEPT_BY_ALL : 0;
	uint64_t first = stragglers->first_step + EXCURSION_WARM_UP;
	uint32_t count = 0;

	first = first > forgotten ? first : forgotten + 1;
	while (count < EXCURSION_USUAL && step > first)
		values[count++] = suspect_shown_ns(suspect, --step);
	if (count < EXCURSION_USUAL_MIN)
		return excursions_tolerance_ns(step_ns);
	sort_u64(values, count);
	return values[count / 2] < excursions_tolerance_ns(step_ns) ? values[count / 2]
								    : excursions_tolerance_ns(step_ns);
}

uint64_t excursions_beyond_tolerance(uint64_t late_ns, uint64_t step_ns)
{
	return excursions_beyond(late_ns, excursions_tolerance_ns(step_ns));
}

uint64_t excursions_level_ns(const struct stragglers *stragglers, const struct suspect *suspect, uint64_t step,
			     uint32_t length)
{
	uint64_t values[PEERS_LENGTH_MAX];
	uint32_t late = 0, at = (length - 1) / QUARTER;

	if (step < stragglers->first_step + length - 1)
		return 0;
	for (uint32_t i = 0; i < length; i++) {
		values[i] = suspect_shown_ns(suspect, step - i);
		late += values[i] != 0;
		if (i + 1 - late > at)
			return 0;
	}
	sort_u64(values, length);
	return values[at];
}

uint32_t excursions_size(uint64_t ns)
{
	if (ns <= LATENESS_NOISE_NS)
		return 0;
	double size = 1 + 4 * log2((double)ns / LATENESS_NOISE_NS);
	return size < EXCURSION_SIZES - 1 ? (uint32_t)size : EXCURSION_SIZES - 1;
}

static float logarithm(uint64_t ns)
{
	return log2f(1 + (float)ns / LATENESS_NOISE_NS);
}

static void note_one(const struct stragglers *stragglers, struct suspect *suspect, uint64_t step, uint64_t step_ns)
{
	struct excursions *own = &suspect->excursions;
	if (step < stragglers->first_step + EXCURSION_WARM_UP)
		return;
	uint64_t before = step > excursions_lengths[TWELVE] ? step - excursions_lengths[TWELVE] : 0;
	uint64_t usual_ns = excursions_usual_before_ns(stragglers, suspect, before, step_ns);
	float now = logarithm(excursions_beyond(suspect_shown_ns(suspect, step), usual_ns));

	for (uint32_t i = 0; i < EXCURSION_LENGTHS; i++)
		if (step + 1 >= stragglers->first_step + EXCURSION_WARM_UP + excursions_lengths[i])
			own->sizes[i][excursions_size(excursions_beyond_tolerance(
			    excursions_level_ns(stragglers, suspect, step, excursions_lengths[i]), step_ns))]++;
	own->steps++;
	own->sum += now;
	own->squares += now * now;
	own->fourths += now * now * now * now;
	for (uint32_t i = 0; i < EXCURSION_LAGS; i++) {
		uint64_t lag = UINT64_C(1) << i;
		if (step < stragglers->first_step + EXCURSION_WARM_UP + lag)
			break;
		own->pairs[i]++;
		if (now > 0)
			own->products[i] +=
			    now * logarithm(excursions_beyond(suspect_shown_ns(suspect, step - lag), usual_ns));
	}
}

static void halve(struct excursions *own)
{
	for (uint32_t i = 0; i < EXCURSION_LENGTHS; i++)
		for (uint32_t k = 0; k < EXCURSION_SIZES; k++)
			own->sizes[i][k] /= 2;
	own->steps /= 2;
	own->sum /= 2;
	own->squares /= 2;
	own->fourths /= 2;
	for (uint32_t i = 0; i < EXCURSION_LAGS; i++) {
		own->pairs[i] /= 2;
		own->products[i] /= 2;
	}
}

void excursions_note(struct stragglers *stragglers, uint64_t step)
{
	uint64_t step_ns = pace_step_ns(&stragglers->pace, PACE_USUAL);

	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		struct suspect *suspect = &stragglers->suspects[i];
		if (suspect->open)
			continue;
		note_one(stragglers, suspect, step, step_ns);
		if (suspect->excursions.steps >= EXCURSION_FORGET)
			halve(&suspect->excursions);
	}
}

void excursions_forget(struct suspect *suspect)
{
	suspect->excursions = (struct excursions){ 0 };
}
