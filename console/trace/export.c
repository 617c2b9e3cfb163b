/* SPDX-License-Identifier: MIT */
#include "console/trace/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "console/replay.h"
#include "console/trace/finding_events.h"

#define OFFSET_MOST (INT64_C(1) << 61)

/* Each host's clocks, by its boot: its boxes share them, whatever their own anchors say. */
struct host {
	char boot_id[sizeof(((struct rw_box_header *)NULL)->boot_id)];
	int64_t realtime_offset_ns;
};

struct export
{
	struct trace_sink *sink;
	struct replay replay;
	struct group_table groups;
	struct host *hosts;
	size_t host_count;
	const char *command;
	struct export_result *result;
};

/* More than 70 years from the epoch a clock is damage; and so differences of two have room. */
static int64_t sane_offset(int64_t offset_ns)
{
	return offset_ns > -OFFSET_MOST && offset_ns < OFFSET_MOST ? offset_ns : 0;
}

static const struct host *host_of(struct export *export, const struct rw_box_header *header)
{
	for (size_t i = 0; i < export->host_count; i++)
		if (!strncmp(export->hosts[i].boot_id, header->boot_id, sizeof(header->boot_id)))
			return &export->hosts[i];
	struct host *host = &export->hosts[export->host_count++];

	memcpy(host->boot_id, header->boot_id, sizeof(host->boot_id));
	host->realtime_offset_ns = sane_offset(box_realtime_offset(header));
	return host;
}

static int gather_groups(struct export *export)
{
	int err = 0;

	for (size_t i = 0; i < export->replay.count && !err; i++) {
		const struct replay_process *process = &export->replay.processes[i];
		struct rw_communicator *communicators;
		uint32_t count;

		if (box_communicators(feed_reader(process->feed), &communicators, &count) == 0)
			err = group_table_add(&export->groups, communicators, count, process->rank);
		free(communicators);
	}
	group_table_order(&export->groups);
	return err;
}

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
	int64_t base_ns = export->hosts[0].realtime_offset_ns;
	char *name = process_name(process);
	int err = rank_trace_write(
	    &(struct rank_trace_request){
		.sink = export->sink,
		.process = process,
		.groups = &export->groups,
		.number = (uint32_t)index + 2,
		.name = name ? name : "?",
		.offset_ns = host_of(export, header)->realtime_offset_ns - base_ns,
		.device = device_of(header),
		.findings = export->replay.findings,
		.findings_offset_ns = sane_offset(export->replay.realtime_offset_ns),
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

	export->result->findings = finding_events_count(export->replay.findings, FINDING_OF_ANY);
	if (!export->result->findings)
		return;
	format->process(export->sink, &(struct trace_process){ 1, "job" });
	finding_events_of_job(export->sink, &track, export->replay.findings,
			      sane_offset(export->replay.realtime_offset_ns), export->replay.last_ns);
}

static void say_cut(struct export *export, const struct replay_process *process, int err)
{
	export->result->cut = true;
	foreign_line(stderr, "%s: %s: could not be read to its end: %s", export->command, process->path,
		     strerror(-err));
}

static int write_ranks(struct export *export, export_progress *progress, void *argument)
{
	size_t count = export->replay.count;

	for (size_t i = 0; i < count && !ferror(export->sink->out) && !export->sink->no_memory; i++) {
		const struct replay_process *process = &export->replay.processes[i];
		int err;

		progress(argument, i, count);
		err = write_rank(export, i);
		if (err == -ENOMEM)
			return err;
		if (!err)
			err = feed_error(process->feed);
		if (err)
			say_cut(export, process, err);
	}
	progress(argument, count, count);
	return export->sink->no_memory ? -ENOMEM : 0;
}

static int write_run(struct export *export, export_progress *progress, void *argument)
{
	const struct rw_box_header *first = replay_header(&export->replay.processes[0]);
	char *job = foreign_text(first->job);
	struct trace_head head = {
		.realtime_offset_ns = host_of(export, first)->realtime_offset_ns,
		.begin_ns = first->created_ns,
		.rank = export->replay.processes[0].rank,
		.world_size = first->world_size,
		.job = job ? job : "",
	};
	int err = export->sink->format->open(export->sink, &head);

	free(job);
	if (err)
		return err;
	write_findings(export);
	err = write_ranks(export, progress, argument);
	export->sink->format->close(export->sink);
	return export->sink->no_memory ? -ENOMEM : err;
}

int export_run(struct trace_sink *sink, struct box_entry *entries, size_t count, const char *command,
	       export_progress *progress, void *argument, struct export_result *result)
{
	struct export export = { .sink = sink, .command = command, .result = result };
	int err;

	*result = (struct export_result){ 0 };
	progress(argument, 0, count);
	err = replay_open(&export.replay, entries, count, NULL, NULL);
	export.hosts = calloc(count, sizeof(*export.hosts));
	if (!err && !export.hosts)
		err = -ENOMEM;
	if (!err)
		err = gather_groups(&export);
	if (!err)
		err = write_run(&export, progress, argument);
	result->ranks = export.replay.count;
	result->hosts = export.host_count;
	group_table_free(&export.groups);
	free(export.hosts);
	replay_close(&export.replay);
	return err;
}
