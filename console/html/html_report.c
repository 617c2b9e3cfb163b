/* SPDX-License-Identifier: MIT */
#include "console/html/html_report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "console/html/around.h"
#include "console/html/heat_json.h"
#include "console/html/differences.h"
#include "console/html/findings_json.h"
#include "console/html/magnitudes.h"
#include "console/html/open_end.h"
#include "console/html/page.h"
#include "console/html/rank_rows.h"
#include "console/html/run_json.h"
#include "console/html/run_view.h"
#include "finding/value.h"

struct making {
	struct html_report *report;
	struct run_view view;
	struct around around;
	struct magnitudes magnitudes;
	struct open_end open_end;
	json_t *findings, *rows;
	bool begun;
};

/* The clocks are gathered with the first stretch: then all boxes are there, and none has been replayed yet. process:
 * whose clock at_ns is of; NULL: there is no stretch. */
static bool begin(struct making *making, const struct replay_process *process, uint64_t at_ns)
{
	struct run_view *view = &making->view;

	if (!view->clocks.hosts && host_clocks_gather(&view->clocks, &view->replay) != 0)
		return false;
	making->begun = true;
	uint64_t first_ns = process ? run_view_time(view, process, at_ns) : UINT64_MAX;

	heat_begin(&view->heat, view->replay.count, run_view_begin(view, first_ns));
	view->base_ns = view->heat.from_ns;
	return true;
}

static void take_stretch(void *argument, const struct analysis_stretch *stretch)
{
	static const enum heat_kind kinds[ANALYSIS_PARTS] = { HEAT_OWN, HEAT_WAIT, HEAT_TRANSFER, HEAT_UNSEEN };
	struct making *making = argument;
	struct run_view *view = &making->view;
	const struct replay_process *process = &view->replay.processes[stretch->process - 1];

	if (!making->begun && !begin(making, process, stretch->from_ns))
		return;
	uint64_t from_ns = run_view_time(view, process, stretch->from_ns);
	uint64_t until_ns = run_view_time(view, process, stretch->until_ns);

	heat_add(&view->heat, stretch->rank, kinds[stretch->part], from_ns, until_ns);
	if (stretch->waited_for != ANALYSIS_NO_RANK)
		heat_add(&view->heat, stretch->waited_for, HEAT_LATE, from_ns, until_ns);
	struct heat_row *row = heat_row(&view->heat, stretch->rank);

	if (row) {
		row->process = stretch->process;
		row->world_rank = stretch->world_rank;
	}
	/* Machines number their steps each for itself. */
	if (stretch->process <= view->replay.machines[0].count)
		step_series_note(&view->steps, stretch->step, from_ns);
}

static void say_cut(struct making *making, const struct replay_process *process, int err)
{
	making->report->truncated = true;
	foreign_line(stderr, "%s: %s: could not be read to its end: %s", making->report->command, process->path,
		     strerror(-err));
}

/* One box in memory at a time. */
static int take_process(struct making *making, size_t index)
{
	const struct replay_process *process = &making->view.replay.processes[index];
	struct rank_slices *slices = calloc(1, sizeof(*slices));
	int err = -ENOMEM;

	if (!slices)
		return err;
	err = rank_slices_read(slices, feed_reader(process->feed), run_view_record_end(process),
			       host_clocks_offset(&making->view.clocks, replay_header(process)),
			       &(struct trace_window){ 0, UINT64_MAX });
	if (err != -ENOMEM) {
		around_add(&making->around, process, slices);
		magnitudes_add(&making->magnitudes, process, slices);
		open_end_add(&making->open_end, index, slices);
		json_array_append_new(making->rows, rank_row_json(&making->view, process, slices));
	}
	rank_slices_free(slices);
	free(slices);
	if (err == -ENOMEM)
		return err;
	if (!err)
		err = feed_error(process->feed);
	if (err)
		say_cut(making, process, err);
	return 0;
}

static int take_processes(struct making *making)
{
	size_t count = making->view.replay.count;
	int err = 0;

	progress_begin(making->report->progress, "describing", count, "rank");
	for (size_t i = 0; i < count && !err; i++) {
		progress_show(making->report->progress, i, count);
		err = take_process(making, i);
	}
	progress_end(making->report->progress);
	open_end_finish(&making->open_end);
	return err;
}

/* NULL on lack of memory. */
static json_t *build(struct making *making)
{
	struct run_view *view = &making->view;

	return json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "format", 1, "version",
			 RANKWATCH_VERSION, "job", run_json(view), "findings", json_incref(making->findings), "heat",
			 heat_json(view), "steps", steps_json(view), "around", around_take(&making->around), "rows",
			 json_incref(making->rows), "flights", flights_json(view), "numbers",
			 magnitudes_take(&making->magnitudes), "differences", differences_json(&view->replay));
}

static int make(struct making *making, FILE *out, struct box_entry *entries, size_t count)
{
	struct run_view *view = &making->view;
	const struct replay_watch watch = { take_stretch, making };
	int err =
	    replay_open(&view->replay, entries, count, making->report->kernel_log, &watch, making->report->progress);

	if (!err && !making->begun && !begin(making, NULL, 0))
		err = -ENOMEM;
	if (!err)
		err = run_view_gather_groups(view);
	if (err)
		return err;
	view->end_ns = run_view_end(view);
	making->magnitudes.view = view;
	making->open_end.view = view;
	making->rows = json_array();
	making->findings = findings_json(view);
	const json_t *first = json_array_get(making->findings, 0);

	err = around_begin(&making->around, view, value_is(first, "severity", "notice") ? NULL : first);
	if (!err)
		err = take_processes(making);
	json_t *data = build(making);

	if (!err)
		err = data && !view->heat.no_memory ? page_write(out, data) : -ENOMEM;
	json_decref(data);
	return err;
}

/* What `report --exit-code` wants to know. */
static void judge(struct html_report *report, const json_t *findings)
{
	size_t i;
	json_t *finding;

	json_array_foreach(findings, i, finding)
	{
		const char *severity = json_string_value(json_object_get(finding, "severity"));
		bool notice = severity && !strcmp(severity, "notice");

		report->findings += !notice;
		report->warning |= !notice;
		report->critical |= severity && !strcmp(severity, "critical");
	}
}

int html_report_write(FILE *out, struct html_report *report, struct box_entry *entries, size_t count)
{
	struct making *making = calloc(1, sizeof(*making));
	int err;

	if (!making)
		return -ENOMEM;
	making->report = report;
	err = make(making, out, entries, count);
	report->ranks = making->view.replay.count;
	judge(report, making->findings);
	json_decref(making->findings);
	json_decref(making->rows);
	open_end_free(&making->open_end);
	step_series_free(&making->view.steps);
	heat_free(&making->view.heat);
	group_table_free(&making->view.groups);
	json_decref(making->view.names);
	host_clocks_free(&making->view.clocks);
	replay_close(&making->view.replay);
	free(making);
	return err;
}
