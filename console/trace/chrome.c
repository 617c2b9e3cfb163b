/* SPDX-License-Identifier: MIT */
/*
 * Chrome's JSON trace ("Trace Event Format", the JSON Object Format), with what Kineto adds to it and Holistic Trace
 * Analysis reads: distributedInfo, baseTimeNanoseconds, names of arguments. Times are µs with three decimals.
 */
#include "console/trace/event.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "console/trace/flow_table.h"

/* What stands in front of the names of a category: analysers know communication on the GPU by "nccl". And the viewer's
 * name of the colour of what had not ended. */
static const struct {
	const char *name, *prefix, *open_colour;
} categories[TRACE_CATEGORIES] = {
	[TRACE_CALL] = { "call", "", "terrible" },
	[TRACE_KERNEL] = { "kernel", "nccl", "terrible" },
	[TRACE_QUEUE] = { "queue", "", "bad" },
	[TRACE_THREAD] = { "thread", "", "terrible" },
	[TRACE_A_FINDING] = { "finding", "", "terrible" },
	[TRACE_STEP] = { "step", "", "terrible" },
};

struct chrome {
	struct flow_table flows;
	bool begun; /* an event was written: the next needs a comma */
};

static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
			return false;
	return true;
}

static void put_text(struct trace_sink *sink, const char *text)
{
	if (is_plain(text)) {
		fprintf(sink->out, "\"%s\"", text);
		return;
	}
	json_t *json = json_string(text);

	if (!json)
		sink->no_memory = true;
	else
		json_dumpf(json, sink->out, JSON_ENCODE_ANY);
	json_decref(json);
}

static void put_time(struct trace_sink *sink, const char *key, uint64_t ns)
{
	fprintf(sink->out, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static void begin_line(struct trace_sink *sink)
{
	struct chrome *own = sink->own;

	fputs(own->begun ? ",\n" : "\n", sink->out);
	own->begun = true;
}

static void begin_event(struct trace_sink *sink, char phase, uint32_t process, uint32_t track)
{
	begin_line(sink);
	fprintf(sink->out, "{\"ph\":\"%c\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, phase, process, track);
}

/* Space behind the colon of "rank": the analyser looks for it so. */
static void put_distributed(struct trace_sink *sink, const struct trace_head *head)
{
	fputs("\"distributedInfo\": {\"backend\": \"nccl\"", sink->out);
	if (head->rank >= 0)
		fprintf(sink->out, ", \"rank\": %" PRId32, head->rank);
	if (head->world_size > 0)
		fprintf(sink->out, ", \"world_size\": %" PRId32, head->world_size);
	fputs("},\n", sink->out);
}

static int open_trace(struct trace_sink *sink, const struct trace_head *head)
{
	sink->own = calloc(1, sizeof(struct chrome));
	if (!sink->own)
		return -ENOMEM;
	fputs("{\"schemaVersion\": 1,\n", sink->out);
	put_distributed(sink, head);
	fprintf(sink->out,
		"\"baseTimeNanoseconds\": %" PRId64 ",\n\"displayTimeUnit\": \"ms\",\n\"otherData\": {\"version\": ",
		head->realtime_offset_ns);
	put_text(sink, "rankwatch " RANKWATCH_VERSION);
	fputs(", \"job\": ", sink->out);
	put_text(sink, head->job);
	fputs("},\n\"traceEvents\": [", sink->out);
	return 0;
}

static void put_metadata(struct trace_sink *sink, uint32_t process, uint32_t track, const char *what, const char *name)
{
	begin_event(sink, 'M', process, track);
	fprintf(sink->out, ",\"name\":\"%s_name\",\"args\":{\"name\":", what);
	put_text(sink, name);
	fputs("}}", sink->out);
	begin_event(sink, 'M', process, track);
	fprintf(sink->out, ",\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%" PRIu32 "}}", what,
		track ? track : process);
}

static void put_process(struct trace_sink *sink, const struct trace_process *process)
{
	put_metadata(sink, process->number, 0, "process", process->name);
}

static void put_track(struct trace_sink *sink, const struct trace_track *track)
{
	if (!track->counter)
		put_metadata(sink, track->process, track->number, "thread", track->name);
}

static void put_arguments(struct trace_sink *sink, const struct trace_arguments *arguments)
{
	fputs(",\"args\":{", sink->out);
	for (size_t i = 0; arguments && i < arguments->count; i++) {
		const struct trace_argument *argument = &arguments->list[i];

		fprintf(sink->out, "%s\"%s\":", i ? "," : "", trace_key_names[argument->key]);
		if (argument->text)
			put_text(sink, argument->text);
		else
			fprintf(sink->out, "%" PRId64, argument->number);
	}
	fputs("}}", sink->out);
}

/* The number of an operation is no part of its name here: analysers sum up by name, and it is among the arguments. */
static void put_named(struct trace_sink *sink, const struct trace_slice *slice)
{
	const char *suffix = slice->open ? " (in flight)" : "";
	char *name = NULL;

	fprintf(sink->out, ",\"cat\":\"%s\",\"name\":", categories[slice->category].name);
	if (asprintf(&name, "%s%s%s", categories[slice->category].prefix, slice->name, suffix) < 0) {
		name = NULL;
		sink->no_memory = true;
	}
	put_text(sink, name ? name : "");
	free(name);
}

static void put_flow_point(struct trace_sink *sink, char phase, uint64_t id, const struct flow_point *point)
{
	begin_event(sink, phase, point->process, point->track);
	put_time(sink, "ts", point->at_ns);
	/* bp: the slice that lies around it, not the next one. */
	fprintf(sink->out, ",\"id\":\"0x%" PRIx64 "\",\"cat\":\"instance\",\"name\":\"instance\",\"bp\":\"e\"}", id);
}

static void put_flow(struct trace_sink *sink, const struct trace_slice *slice)
{
	struct chrome *own = sink->own;
	struct flow_point point = { slice->begin_ns, slice->track->process, slice->track->number }, between;
	int err = flow_table_add(&own->flows, slice->flow, &point, &between);

	if (err == 1)
		put_flow_point(sink, 't', slice->flow, &between);
	else if (err == -ENOSPC)
		sink->flows_left_out++;
	else if (err)
		sink->no_memory = true;
}

static void put_slice(struct trace_sink *sink, const struct trace_slice *slice)
{
	begin_event(sink, 'X', slice->track->process, slice->track->number);
	put_time(sink, "ts", slice->begin_ns);
	put_time(sink, "dur", slice->end_ns - slice->begin_ns);
	put_named(sink, slice);
	if (slice->open)
		fprintf(sink->out, ",\"cname\":\"%s\"", categories[slice->category].open_colour);
	put_arguments(sink, slice->arguments);
	if (slice->flow)
		put_flow(sink, slice);
}

static void put_instant(struct trace_sink *sink, const struct trace_slice *instant)
{
	begin_event(sink, 'i', instant->track->process, instant->track->number);
	put_time(sink, "ts", instant->begin_ns);
	put_named(sink, instant);
	fputs(",\"s\":\"t\"", sink->out);
	put_arguments(sink, instant->arguments);
}

static void put_counter(struct trace_sink *sink, const struct trace_track *track, uint64_t at_ns, int64_t value)
{
	begin_event(sink, 'C', track->process, track->number);
	put_time(sink, "ts", at_ns);
	fputs(",\"name\":", sink->out);
	put_text(sink, track->name);
	fprintf(sink->out, ",\"args\":{\"value\":%" PRId64 "}}", value);
}

static void put_raw(struct trace_sink *sink, const char *event)
{
	begin_line(sink);
	fputs(event, sink->out);
}

static void close_trace(struct trace_sink *sink)
{
	struct chrome *own = sink->own;

	for (size_t i = 0; i < own->flows.room; i++) {
		const struct flow *flow = &own->flows.flows[i];

		if (!flow->id || flow->single)
			continue;
		put_flow_point(sink, 's', flow->id, &flow->first);
		put_flow_point(sink, 'f', flow->id, &flow->last);
	}
	fputs("\n]}\n", sink->out);
	flow_table_free(&own->flows);
	free(own);
	sink->own = NULL;
}

const struct trace_format trace_chrome = {
	.name = "chrome",
	.open = open_trace,
	.process = put_process,
	.track = put_track,
	.slice = put_slice,
	.instant = put_instant,
	.counter = put_counter,
	.raw = put_raw,
	.close = close_trace,
};
