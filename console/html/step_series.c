/* SPDX-License-Identifier: MIT */
#include "console/html/step_series.h"

#include <stdlib.h>
#include <string.h>

void step_series_note(struct step_series *series, uint64_t step, uint64_t at_ns)
{
	if (!step)
		return;
	if (!series->count)
		series->first = step;
	if (step < series->first || step - series->first >= STEP_SERIES_MOST)
		return;
	size_t index = step - series->first;

	if (index >= series->room) {
		size_t room = 2 * index + 256;
		uint64_t *starts = reallocarray(series->starts, room, sizeof(*starts));

		if (!starts)
			return;
		memset(starts + series->room, 0xff, (room - series->room) * sizeof(*starts));
		series->starts = starts;
		series->room = room;
	}
	if (index >= series->count)
		series->count = index + 1;
	if (at_ns < series->starts[index])
		series->starts[index] = at_ns;
}

uint64_t step_series_duration_ns(const struct step_series *series, size_t i)
{
	if (i + 1 >= series->count || series->starts[i] == UINT64_MAX || series->starts[i + 1] == UINT64_MAX ||
	    series->starts[i + 1] <= series->starts[i])
		return 0;
	return series->starts[i + 1] - series->starts[i];
}

void step_series_free(struct step_series *series)
{
	free(series->starts);
	*series = (struct step_series){ 0 };
}
