/* SPDX-License-Identifier: MIT */
#include "analysis/measure/pace.h"

#include <stdbool.h>
#include <string.h>

#include "analysis/numbers/sorting.h"

uint64_t pace_duration_ns(const struct pace *pace, uint64_t step)
{
	const struct step_start *start = &pace->starts[step % PACE_STEPS];
	const struct step_start *end = &pace->starts[(step + 1) % PACE_STEPS];
	bool known = start->step == step && end->step == step + 1 && end->start_ns > start->start_ns;
	return known ? end->start_ns - start->start_ns : 0;
}

/* Of the steps before `end`, as far as they are known without a gap. */
static uint64_t median_before(const struct pace *pace, uint64_t end, uint32_t most, uint32_t *count)
{
	uint64_t durations[PACE_STEPS];
	*count = 0;
	for (uint64_t step = end; step > 1 && *count < most && *count < PACE_STEPS - 1; step--) {
		durations[*count] = pace_duration_ns(pace, step - 1);
		if (!durations[*count])
			break;
		++*count;
	}
	sort_u64(durations, *count);
	return *count ? durations[*count / 2] : 0;
}

/* The step before this one has ended. What is noted again is known better. */
static void keep_first(struct pace *pace, uint64_t step)
{
	uint64_t place = step - pace->first_step;

	if (place && place <= PACE_FIRST)
		pace->firsts_ns[place - 1] = pace_duration_ns(pace, step - 1);
}

/* Median of the newest known steps, at most `most`. */
static uint64_t newest_median(const struct pace *pace, uint32_t most)
{
	uint64_t newest = 0;
	uint32_t count;
	for (uint32_t i = 0; i < PACE_STEPS; i++)
		newest = pace->starts[i].step > newest ? pace->starts[i].step : newest;
	return median_before(pace, newest, most, &count);
}

void pace_note(struct pace *pace, uint64_t step, uint64_t start_ns)
{
	uint32_t count;

	pace->starts[step % PACE_STEPS] = (struct step_start){ .step = step, .start_ns = start_ns };
	pace->usual_ns = newest_median(pace, PACE_USUAL);
	if (!pace->first_step || step < pace->first_step) {
		pace->first_step = step;
		memset(pace->firsts_ns, 0, sizeof(pace->firsts_ns));
	}
	keep_first(pace, step);
	if (pace->first_ns || step <= pace->first_step + PACE_FEW)
		return;
	uint64_t median_ns = median_before(pace, step, PACE_FEW, &count);
	if (count == PACE_FEW)
		pace->first_ns = median_ns;
}

uint64_t pace_step_ns(const struct pace *pace, uint32_t last)
{
	return last == PACE_USUAL ? pace->usual_ns : newest_median(pace, last);
}
