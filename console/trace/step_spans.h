/* SPDX-License-Identifier: MIT */
/* When each process was in which step, where the analysis knows: from when its first operation of the step reached the
 * GPU (was launched, where there is no GPU progress) to when that of the next one did, on its own clock. One thread. */
#ifndef CONSOLE_TRACE_STEP_SPANS_H
#define CONSOLE_TRACE_STEP_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"

struct step_span {
	uint64_t step, begin_ns, end_ns;
};

struct step_spans {
	struct step_process {
		struct step_span *list; /* steps rise */
		size_t count, room;
	} *processes; /* by the analysis's number of each */
	size_t count;
	bool no_memory;
};

/* An analysis_time_visit; argument: struct step_spans, zeroed at first. */
void step_spans_note(void *argument, const struct analysis_stretch *stretch);
/* Those of one process, *count of them; NULL none. They are the spans' own. */
const struct step_span *step_spans_of(const struct step_spans *spans, analysis_process_id process, size_t *count);
/* When this process was in the step; NULL: it was not seen in it. */
const struct step_span *step_spans_find(const struct step_spans *spans, analysis_process_id process, uint64_t step);
void step_spans_free(struct step_spans *spans);

#endif
