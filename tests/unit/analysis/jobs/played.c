/* SPDX-License-Identifier: MIT */
#include "analysis/view/view.h"
#include "tests/unit/analysis/jobs/played.h"

#include <criterion/criterion.h>

struct played play(const struct history_job *job)
{
	struct played played = { .history = history_new(job) };

	played.analysis = analysis_new(false, history_emit, played.history);
	analysis_keep_cells(played.analysis);
	cr_assert(played.analysis);
	history_play(played.history, played.analysis, 0);
	played.findings = history_findings(played.history, &played.count);
	return played;
}

void end(struct played *played)
{
	analysis_free(played->analysis);
	history_free(played->history);
}
