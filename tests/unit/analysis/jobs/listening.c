/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/listening.h"

#include <stdio.h>

#include "analysis/view/view.h"
#include "tests/unit/analysis/whole/kept_answers.h"
#include "tests/unit/analysis/jobs/shown.h"

enum { TICKS_PER_LOOK = 7 };

/* The linker leads the calls of all jobs here. */
struct analysis *__real_analysis_new(bool post_mortem, analysis_emit *emit, void *argument);
void __real_analysis_tick(struct analysis *analysis, uint64_t now_ns);
void __real_analysis_free(struct analysis *analysis);
struct analysis *__wrap_analysis_new(bool post_mortem, analysis_emit *emit, void *argument);
void __wrap_analysis_tick(struct analysis *analysis, uint64_t now_ns);
void __wrap_analysis_free(struct analysis *analysis);

const struct surroundings *listening_around;
bool listening_post_mortem;

static struct {
	analysis_emit *emit;
	void *argument;
	unsigned int ticks;
} listening;

static void hear(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	kept_finding(finding);
	if (listening.emit)
		listening.emit(listening.argument, finding);
}

struct analysis *__wrap_analysis_new(bool post_mortem, analysis_emit *emit, void *argument)
{
	listening.emit = emit;
	listening.argument = argument;
	listening.ticks = 0;
	return __real_analysis_new(post_mortem || listening_post_mortem, hear, NULL);
}

void __wrap_analysis_tick(struct analysis *analysis, uint64_t now_ns)
{
	if (!listening.ticks++) {
		analysis_keep_cells(analysis);
		analysis_watch_time(analysis, shown_stretch, kept.all);
	}
	if (listening_around)
		surroundings_show(listening_around, analysis, now_ns);
	__real_analysis_tick(analysis, now_ns);
	if (listening.ticks % TICKS_PER_LOOK == 0)
		shown_now(kept.all, analysis);
}

static void tell_account(const struct analysis *analysis)
{
	struct analysis_account told;
	struct analysis_pipeline pipeline;

	analysis_tell_account(analysis, &told);
	fprintf(kept.answers, "  own %.3g, wait %.3g (nobody %.3g), transfer %.3g, unseen %.3g%s\n", told.own,
		told.wait, told.nobody, told.transfer, told.unseen, told.left_out ? ", left out" : "");
	for (uint32_t i = 0; i < told.loss_count; i++) {
		const struct analysis_loss *loss = &told.losses[i];

		fprintf(kept.answers, "  waited %.3g%s for %d in %lu of %lu steps by %.3g ms, %d%s %d%s %s %s\n", loss->share,
			loss->at_least ? " at least" : "", loss->rank, loss->steps, loss->of_steps, loss->step_ms, loss->by,
			loss->spread_out ? " spread out" : "", loss->cause_class,
			loss->likely ? " likely" : "", loss->cause, loss->path);
	}
	analysis_tell_pipeline(analysis, &pipeline);
	if (pipeline.pipelines)
		fprintf(kept.answers, "  pipelines %u of %d, %s%s, %u end in rank %d, local %d\n", pipeline.pipelines,
			pipeline.stages, pipeline.open ? "open, " : "", pipeline.likely ? "likely" : "certain",
			pipeline.rank_count, pipeline.lowest, pipeline.local_rank);
}

void __wrap_analysis_free(struct analysis *analysis)
{
	struct analysis_summary summary;

	shown_now(kept.all, analysis);
	shown_in_the_end(kept.all, analysis);
	tell_account(analysis);
	analysis_summarise(analysis, &summary);
	fprintf(
	    kept.answers,
	    "  %u processes, %u communicators, %lu operations, %lu steps of %.4g ms after one of %.4g, %u findings\n",
	    summary.processes, summary.communicators, summary.operations, summary.steps, summary.step_ms,
	    summary.first_step_ms, summary.findings_opened);
	__real_analysis_free(analysis);
}
