/* SPDX-License-Identifier: MIT */
#include "console/trace/step_spans.h"

#include <stdlib.h>
#include <string.h>

enum { PROCESSES_MOST = 1 << 20 };

static struct step_process *process_of(struct step_spans *spans, size_t number)
{
	if (number >= spans->count && number < PROCESSES_MOST) {
		size_t count = spans->count ? spans->count : 64;

		while (count <= number)
			count *= 2;
		struct step_process *more = reallocarray(spans->processes, count, sizeof(*more));
		if (more) {
			memset(more + spans->count, 0, (count - spans->count) * sizeof(*more));
			spans->processes = more;
			spans->count = count;
		}
	}
	return number < spans->count ? &spans->processes[number] : NULL;
}

static bool add_span(struct step_process *process, const struct analysis_stretch *stretch)
{
	if (process->count == process->room) {
		size_t room = process->room ? process->room * 2 : 64;
		struct step_span *more = reallocarray(process->list, room, sizeof(*more));

		if (!more)
			return false;
		process->list = more;
		process->room = room;
	}
	process->list[process->count++] = (struct step_span){ stretch->step, stretch->from_ns, stretch->until_ns };
	return true;
}

/* Of a process with several devices, each with an account of its own, a step that another device has left already adds
 * nothing. */
void step_spans_note(void *argument, const struct analysis_stretch *stretch)
{
	struct step_spans *spans = argument;
	struct step_process *process = stretch->step ? process_of(spans, stretch->process) : NULL;
	struct step_span *last = process && process->count ? &process->list[process->count - 1] : NULL;

	if (!stretch->step)
		return;
	if (!process) {
		spans->no_memory = true;
		return;
	}
	if (last && stretch->step < last->step)
		return;
	if (last && stretch->step == last->step) {
		last->begin_ns = stretch->from_ns < last->begin_ns ? stretch->from_ns : last->begin_ns;
		last->end_ns = stretch->until_ns > last->end_ns ? stretch->until_ns : last->end_ns;
		return;
	}
	spans->no_memory |= !add_span(process, stretch);
}

const struct step_span *step_spans_of(const struct step_spans *spans, analysis_process_id process, size_t *count)
{
	*count = process < spans->count ? spans->processes[process].count : 0;
	return *count ? spans->processes[process].list : NULL;
}

static int by_step(const void *step, const void *span)
{
	uint64_t wanted = *(const uint64_t *)step, of = ((const struct step_span *)span)->step;

	return (wanted > of) - (wanted < of);
}

const struct step_span *step_spans_find(const struct step_spans *spans, analysis_process_id process, uint64_t step)
{
	size_t count;
	const struct step_span *list = step_spans_of(spans, process, &count);

	return list ? bsearch(&step, list, count, sizeof(*list), by_step) : NULL;
}

void step_spans_free(struct step_spans *spans)
{
	for (size_t i = 0; i < spans->count; i++)
		free(spans->processes[i].list);
	free(spans->processes);
	*spans = (struct step_spans){ 0 };
}
