/* SPDX-License-Identifier: MIT */
#include "console/trace/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "console/replay/host_clocks.h"
#include "console/replay/replay.h"
#include "console/report/job_share.h"
#include "console/trace/finding_events.h"
#include "console/trace/kineto_merge.h"
#include "finding/value.h"
#include "identity/decimal.h"

struct export
{
	struct trace_sink *sink;
	struct replay replay;
	struct group_table groups;
	struct host_clocks clocks;
	struct step_spans steps;
	struct kineto_merge *merges;
	size_t merge_count;
	struct export_choice choice;
	const char *command;
	struct export_result *result;
};

/* "rank 3 · host a · pid 4711" */
static char *process_name(const struct replay_process *process)
{
	const struct rw_box_header *header = replay_header(process);
	char *host = foreign_text(header->host), *name = NULL, rank[32] = "rank unknown";

	if (process->rank >= 0)
		snprintf(rank, sizeof(rank), "rank %" PRId32, process->rank);
	if (asprintf(&name, "%s · host %s · pid %" PRIu32, rank, host ? host : "?", header->pid) < 0)
		name = NULL;
	free(host);
	return name;
}

/* The rank's GPU, where it has one; the ordinal is the process's own. */
static int32_t device_of(const struct rw_box_header *header)
{
	return header->devices[0].used ? header->devices[0].ordinal : -1;
}

static int write_rank(struct export *export, size_t index)
{
	const struct replay_process *process = &export->replay.processes[index];
	const struct rw_box_header *header = replay_header(process);
	char *name = process_name(process);
	size_t step_count;
	const struct step_span *steps = step_spans_of(&export->steps, (analysis_process_id)index + 1, &step_count);
	int err = rank_trace_write(
	    &(struct rank_trace_request){
		.sink = export->sink,
		.process = process,
		.groups = &export->groups,
		.number = (uint32_t)index + 2,
		.name = name ? name : "?",
		.offset_ns = host_clocks_offset(&export->clocks, header),
		.device = device_of(header),
		.steps = steps,
		.step_count = step_count,
		.findings = export->replay.findings,
		.findings_offset_ns = host_clocks_sane(export->replay.realtime_offset_ns),
	    },
	    &export->result->counts);

	free(name);
	return err;
}

/* All of them at the top, so that nobody has to look for them. */
static void write_findings(struct export *export)
{
	const struct trace_format *format = export->sink->format;
	struct trace_track track = { .process = 1, .number = 1, .name = "findings" };
	char share[JOB_SHARE_TEXT], name[JOB_SHARE_TEXT + 64];

	snprintf(name, sizeof(name), "job · %s, from black boxes (level " JOB_SHARE_LEVEL ")",
		 job_share_text(share, export->replay.count, replay_header(&export->replay.processes[0])->world_size));
	format->process(export->sink, &(struct trace_process){ 1, name });
	export->result->findings = finding_events_count(export->replay.findings, FINDING_OF_ANY);
	if (!export->result->findings)
		return;
	finding_events_of_job(export->sink, &track, export->replay.findings,
			      host_clocks_sane(export->replay.realtime_offset_ns), export->replay.last_ns);
}

static void say_cut(struct export *export, const struct replay_process *process, int err)
{
	export->result->truncated = true;
	foreign_line(stderr, "%s: %s: could not be read to its end: %s", export->command, process->path,
		     strerror(-err));
}

static int write_ranks(struct export *export, struct progress *progress)
{
	size_t count = export->replay.count;

	progress_begin(progress, "writing", count, "rank");
	for (size_t i = 0; i < count && !ferror(export->sink->out) && !export->sink->no_memory; i++) {
		const struct replay_process *process = &export->replay.processes[i];
		int err;

		progress_show(progress, i, count);
		if (export->choice.rank >= 0 && export->choice.rank != process->rank)
			continue;
		err = write_rank(export, i);
		if (err == -ENOMEM)
			return err;
		if (!err)
			err = feed_error(process->feed);
		if (err)
			say_cut(export, process, err);
	}
	progress_end(progress);
	return export->sink->no_memory ? -ENOMEM : 0;
}

static int say_merge(const struct export *export, const char *path, int err, const char *why)
{
	if (err == -ENOMEM)
		return err;
	foreign_line(stderr, "%s: --merge %s: %s", export->command, path, err == -EBADMSG ? why : strerror(-err));
	return -EBADMSG;
}

/* All of them, before anything is written. */
static int open_merges(struct export *export, const struct export_merges *merges)
{
	char why[KINETO_WHY];
	int err = 0;

	export->merges = merges->count ? calloc(merges->count, sizeof(*export->merges)) : NULL;
	if (merges->count && !export->merges)
		return -ENOMEM;
	for (size_t i = 0; i < merges->count && !err; i++) {
		err = kineto_merge_open(&export->merges[i], merges->paths[i], &export->replay, why);
		if (err)
			err = say_merge(export, merges->paths[i], err, why);
	}
	export->merge_count = merges->count;
	return err;
}

static int write_merges(struct export *export)
{
	uint32_t next = (uint32_t)export->replay.count + 2;
	char why[KINETO_WHY];

	for (size_t i = 0; i < export->merge_count && !ferror(export->sink->out); i++) {
		int err =
		    kineto_merge_write(&export->merges[i], export->sink, &export->replay, &export->clocks, &next, why);

		export->result->merged += export->merges[i].events;
		if (ferror(export->sink->out))
			return 0;
		if (err)
			return say_merge(export, export->merges[i].path, err, why);
	}
	return 0;
}

/* The one that is written, or the first; the clock is the first's in both cases. */
static const struct replay_process *head_of(const struct export *export)
{
	const struct replay_process *chosen =
	    export->choice.rank >= 0 ? replay_find(&export->replay, export->choice.rank) : NULL;

	return chosen ? chosen : &export->replay.processes[0];
}

static int write_run(struct export *export, struct progress *progress)
{
	const struct rw_box_header *first = replay_header(&export->replay.processes[0]);
	char *job = foreign_text(first->job);
	struct trace_head head = {
		.realtime_offset_ns = export->clocks.hosts[0].realtime_offset_ns,
		.begin_ns = first->created_ns,
		.rank = head_of(export)->rank,
		.world_size = first->world_size,
		.job = job ? job : "",
	};
	int err = export->sink->format->open(export->sink, &head);

	free(job);
	if (err)
		return err;
	write_findings(export);
	err = write_ranks(export, progress);
	if (!err)
		err = write_merges(export);
	export->sink->format->close(export->sink);
	return export->sink->no_memory ? -ENOMEM : err;
}

static void say_findings(const struct export *export)
{
	const char *id;
	json_t *finding;

	json_object_foreach(export->replay.findings, id, finding)
	    foreign_line(stderr, "%s: there is %s (%s): %s", export->command, value_text(finding, "id"),
			 value_text(finding, "kind"), value_text(finding, "text"));
}

/* "step N", as findings say it. */
static bool names_step(const char *text, uint64_t *step)
{
	static const char word[] = "step ";

	if (strncmp(text, word, sizeof(word) - 1))
		return false;
	const char *rest = decimal_whole(text + sizeof(word) - 1, UINT64_MAX, step);
	return rest && !*rest;
}

/* From when the first rank began it to when the last left it, by the trace's clock. */
static bool find_step(const struct export *export, uint64_t step, struct trace_window *window)
{
	*window = (struct trace_window){ UINT64_MAX, 0 };
	for (size_t i = 0; i < export->replay.count; i++) {
		const struct step_span *span = step_spans_find(&export->steps, (analysis_process_id)i + 1, step);
		int64_t offset_ns = host_clocks_offset(&export->clocks, replay_header(&export->replay.processes[i]));

		if (!span)
			continue;
		if (span->begin_ns + (uint64_t)offset_ns < window->from_ns)
			window->from_ns = span->begin_ns + (uint64_t)offset_ns;
		if (span->end_ns + (uint64_t)offset_ns > window->until_ns)
			window->until_ns = span->end_ns + (uint64_t)offset_ns;
	}
	return window->from_ns <= window->until_ns;
}

static int find_around(const struct export *export, const char *around, struct trace_window *window)
{
	uint64_t step, at_ns;

	if (names_step(around, &step)) {
		if (find_step(export, step, window))
			return 0;
		foreign_line(stderr, "%s: --around %s: no rank was seen in this step", export->command, around);
		return -EBADMSG;
	}
	if (!finding_events_find(export->replay.findings, around, host_clocks_sane(export->replay.realtime_offset_ns),
				 &at_ns)) {
		foreign_line(stderr, "%s: --around %s: no finding has this id or is of this kind", export->command,
			     around);
		say_findings(export);
		return -EBADMSG;
	}
	*window = (struct trace_window){ at_ns, at_ns };
	return 0;
}

/* Is there what was chosen? Sets the window around it. */
static int find_chosen(struct export *export)
{
	const struct export_choice *choice = &export->choice;
	uint64_t around_ns = choice->around_s * UINT64_C(1000000000);

	export->sink->window = (struct trace_window){ 0, UINT64_MAX };
	if (choice->rank >= 0 && !replay_find(&export->replay, choice->rank)) {
		fprintf(stderr, "%s: no box of rank %" PRId32 " is there\n", export->command, choice->rank);
		return -EBADMSG;
	}
	if (!choice->around)
		return 0;
	struct trace_window window;
	int err = find_around(export, choice->around, &window);
	if (!err)
		export->sink->window =
		    (struct trace_window){ window.from_ns > around_ns ? window.from_ns - around_ns : 0,
					   window.until_ns + around_ns };
	return err;
}

int export_run(struct trace_sink *sink, struct box_entry *entries, size_t count, const struct export_merges *merges,
	       const struct export_choice *choice, const char *command, struct progress *progress,
	       struct export_result *result)
{
	struct export export = { .sink = sink, .choice = *choice, .command = command, .result = result };
	const struct replay_watch watch = { step_spans_note, &export.steps };
	int err;

	*result = (struct export_result){ 0 };
	err = replay_open(&export.replay, entries, count, NULL, &watch, progress);
	if (!err && export.steps.no_memory)
		err = -ENOMEM;
	if (!err)
		err = host_clocks_gather(&export.clocks, &export.replay);
	if (!err)
		err = find_chosen(&export);
	if (!err)
		err = group_table_gather(&export.groups, &export.replay);
	if (!err)
		err = open_merges(&export, merges);
	if (!err)
		err = write_run(&export, progress);
	result->ranks = choice->rank >= 0 && export.replay.count ? 1 : export.replay.count;
	result->hosts = export.clocks.count;
	result->clocks = export.replay.machine_count;
	result->ranks_total = export.replay.count ? replay_header(&export.replay.processes[0])->world_size : -1;
	free(export.merges);
	group_table_free(&export.groups);
	host_clocks_free(&export.clocks);
	step_spans_free(&export.steps);
	replay_close(&export.replay);
	return err;
}
