/* SPDX-License-Identifier: MIT */
#include "console/trace/rank_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "console/trace/finding_events.h"
#include "console/trace/operation_arguments.h"
#include "console/trace/rank_slices.h"
#include "feed/operation_view.h"
#include "finding/rank_list.h"

enum { NAME = 320, RANKS_SHOWN = 30 /* as PyTorch cuts longer lists */ };

/* How a communicator is reported. */
struct group_text {
	char *name;  /* NCCL's, its ranks, or its number */
	char *ranks; /* NULL not known */
};

struct rank_trace {
	const struct rank_trace_request *request;
	struct trace_sink *sink;
	struct rank_slices shown;
	struct group_text *groups;          /* by communicator index */
	uint32_t streams[RANK_TRACKS_MOST]; /* by track */
	uint32_t next_number;
};

/* Names */

static char *ranks_text(const int32_t *ranks, int32_t count)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	for (int32_t i = 0; i < count && i < RANKS_SHOWN; i++)
		fprintf(out, "%s%" PRId32, i ? ", " : "[", ranks[i]);
	fputs(count > RANKS_SHOWN ? ", ...]" : "]", out);
	fclose(out);
	return text;
}

static int name_groups(struct rank_trace *rank)
{
	uint32_t count = rank->shown.operations.communicator_count;

	rank->groups = calloc(count + 1, sizeof(*rank->groups));
	if (!rank->groups)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct rw_communicator *communicator = &rank->shown.operations.communicators[i];
		int32_t *ranks = NULL;

		if (!communicator->created_ns)
			continue;
		ranks = group_table_find(rank->request->groups, communicator->id, communicator->nranks);
		if (ranks)
			rank->groups[i].ranks = ranks_text(ranks, communicator->nranks);
		rank->groups[i].name = group_name(communicator, ranks);
		free(ranks);
	}
	return 0;
}

static const char *group_text(const struct rank_trace *rank, uint32_t index)
{
	const char *name = index < rank->shown.operations.communicator_count ? rank->groups[index].name : NULL;

	return name ? name : "a communicator that is not known";
}

/* What one looks for comes first: viewers cut the end. */
static void thread_track_name(const struct rank_trace *rank, const char *what, uint32_t tid, char name[NAME])
{
	const struct replay_process *process = rank->request->process;
	const char *sampled = feed_thread_name(process->feed, tid);
	bool main_thread = tid == replay_header(process)->pid;
	char *text = sampled && *sampled ? foreign_text(sampled) : NULL;

	snprintf(name, NAME, "%s: %s (%" PRIu32 ")", what, text ? text : main_thread ? "main thread" : "thread", tid);
	free(text);
}

static void track_name(const struct rank_trace *rank, uint32_t index, char name[NAME])
{
	const struct rank_track *track = &rank->shown.tracks.list[index];

	switch (track->kind) {
	case RANK_TRACK_GPU:
		snprintf(name, NAME, "GPU %s · stream %" PRIu32, group_text(rank, track->id), rank->streams[index]);
		return;
	case RANK_TRACK_QUEUED:
		snprintf(name, NAME, "in line for the GPU");
		return;
	case RANK_TRACK_CALLS:
		thread_track_name(rank, "calls", track->id, name);
		return;
	case RANK_TRACK_BLOCKED:
		thread_track_name(rank, "state", track->id, name);
	}
}

/* Writing */

static struct trace_track next_track(struct rank_trace *rank, const char *name, bool counter)
{
	struct trace_track track = { rank->request->number, rank->next_number++, counter, name };

	rank->sink->format->track(rank->sink, &track);
	return track;
}

static void write_findings(struct rank_trace *rank)
{
	const struct rank_trace_request *request = rank->request;

	if (request->process->rank < 0 || !finding_events_count(request->findings, request->process->rank))
		return;
	struct trace_track track = next_track(rank, "findings", false);

	/* Their times are those of the box's own clock, as the analysis takes it. */
	finding_events_of_rank(rank->sink, &track, request->findings, request->process->rank,
			       request->findings_offset_ns - request->offset_ns);
}

/* Not under the name that PyTorch's profiler gives them: analysers then leave out the last step, in which what hangs is
 * in flight. */
static void write_steps(struct rank_trace *rank)
{
	const struct rank_trace_request *request = rank->request;
	uint64_t free_ns = 0;
	char name[40];

	if (!request->step_count)
		return;
	struct trace_track track = next_track(rank, "steps", false);

	for (size_t i = 0; i < request->step_count; i++) {
		const struct step_span *span = &request->steps[i];
		bool is_last = i + 1 == request->step_count; /* nothing of another one was seen */
		uint64_t end_ns = is_last || span->end_ns > rank->shown.end_ns ? rank->shown.end_ns : span->end_ns;
		uint64_t begin_ns = span->begin_ns > free_ns ? span->begin_ns : free_ns;

		if (end_ns <= begin_ns)
			continue;
		free_ns = end_ns;
		if (!trace_window_has(&rank->sink->window, rank_slices_time(&rank->shown, begin_ns),
				      rank_slices_time(&rank->shown, end_ns)))
			continue;
		snprintf(name, sizeof(name), "step %" PRIu64, span->step);
		rank->sink->format->slice(rank->sink,
					  &(struct trace_slice){ .track = &track,
								 .category = TRACE_STEP,
								 .begin_ns = rank_slices_time(&rank->shown, begin_ns),
								 .end_ns = rank_slices_time(&rank->shown, end_ns),
								 .name = name });
	}
}

static void write_tracks(struct rank_trace *rank)
{
	uint32_t order[RANK_TRACKS_MOST];

	for (size_t i = 0; i < rank->shown.slices.count; i++) {
		struct rank_track *track = &rank->shown.tracks.list[rank->shown.slices.list[i].track];

		if (rank->shown.slices.list[i].lane >= track->lanes)
			track->lanes = (uint16_t)(rank->shown.slices.list[i].lane + 1);
	}
	rank_tracks_order(&rank->shown.tracks, order);
	for (uint32_t i = 0; i < rank->shown.tracks.count; i++) {
		struct rank_track *track = &rank->shown.tracks.list[order[i]];
		char name[NAME];

		track->number = rank->next_number;
		rank->streams[order[i]] = rank_tracks_stream_number(&rank->shown.tracks, order[i]);
		track_name(rank, order[i], name);
		for (uint16_t lane = 0; lane < track->lanes; lane++)
			next_track(rank, name, false);
	}
}

static void add_stay_arguments(struct trace_arguments *arguments, const struct stay *stay, char *texts[3])
{
	char state[2] = { stay->state, '\0' }, channel[sizeof(stay->channel) + 1] = "",
	     path[sizeof(stay->path) + 1] = "";

	memcpy(channel, stay->channel, sizeof(stay->channel));
	memcpy(path, stay->path, sizeof(stay->path));
	texts[0] = foreign_text(state);
	texts[1] = channel[0] && strcmp(channel, "0") ? foreign_text(channel) : NULL;
	texts[2] = path[0] ? foreign_text(path) : NULL;
	trace_add_text(arguments, TRACE_THREAD_STATE, texts[0]);
	trace_add_text(arguments, TRACE_WAIT_CHANNEL, texts[1]);
	trace_add_text(arguments, TRACE_PATH, texts[2]);
	if (stay->system_call >= 0)
		trace_add_number(arguments, TRACE_SYSTEM_CALL, stay->system_call);
	if (stay->fd >= 0)
		trace_add_number(arguments, TRACE_DESCRIPTOR, stay->fd);
	trace_add_number(arguments, TRACE_LOOKS, stay->looks);
	trace_add_number(arguments, TRACE_TIMES, stay->times);
}

/* One look has no length: an instant. */
static void write_stay(struct rank_trace *rank, struct trace_slice *event)
{
	const struct trace_format *format = rank->sink->format;

	if (event->end_ns > event->begin_ns)
		format->slice(rank->sink, event);
	else
		format->instant(rank->sink, event);
}

static void write_blocked(struct rank_trace *rank, const struct slice *slice, struct trace_slice *event)
{
	const struct stay *stay = &rank->shown.stays.list[slice->about];
	struct trace_arguments arguments = *event->arguments;
	char *texts[3], text[NAME];
	char *name = foreign_text(stay_text(stay, text, sizeof(text)));

	add_stay_arguments(&arguments, stay, texts);
	event->category = TRACE_THREAD;
	event->name = name ? name : "?";
	event->arguments = &arguments;
	write_stay(rank, event);
	free(name);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		free(texts[i]);
}

static void write_operation(struct rank_trace *rank, const struct slice *slice, struct trace_slice *event)
{
	const struct rw_operation *operation = &rank->shown.operations.list[slice->about];
	const struct rw_communicator *communicator = box_operations_communicator(&rank->shown.operations, operation);
	enum operation_state state = box_operations_state(&rank->shown.operations, operation);
	struct trace_arguments arguments = *event->arguments;
	struct operation_texts texts = { .device = rank->request->device };

	if (communicator) {
		texts.group_name = rank->groups[operation->comm].name;
		texts.group_ranks = rank->groups[operation->comm].ranks;
	}
	if (slice->kind == SLICE_GPU)
		trace_add_number(&arguments, TRACE_STREAM, rank->streams[slice->track]);
	/* Reported once of each operation, on the slice that ties it to the other ranks: the GPU's where there is
	 * one. */
	if (slice->kind == SLICE_GPU || !rank_slices_on_gpu(&rank->shown, operation)) {
		operation_arguments_add(&arguments, operation, communicator, &texts, state);
		event->flow = operation_flow(operation, communicator);
	} else {
		trace_add_text(&arguments, TRACE_GROUP_NAME, texts.group_name);
		trace_add_number(&arguments, TRACE_CORRELATION, (int64_t)(operation->ticket & INT64_MAX));
	}
	event->category = slice->kind == SLICE_GPU ? TRACE_KERNEL : TRACE_CALL;
	event->name = operation_name(operation);
	event->has_sequence = operation->known & RW_KNOWN_IDENT;
	event->sequence = operation->sequence;
	event->arguments = &arguments;
	rank->sink->format->slice(rank->sink, event);
}

/* "AllGather #63 and 17 more" */
static void write_queue(struct rank_trace *rank, const struct slice *slice, struct trace_slice *event)
{
	const struct rw_operation *operation = &rank->shown.operations.list[slice->about];
	struct trace_arguments arguments = *event->arguments;
	char name[96], number[32] = "", more[32] = "";

	if (operation->known & RW_KNOWN_IDENT)
		snprintf(number, sizeof(number), " #%" PRIu64, operation->sequence);
	if (slice->members > 1)
		snprintf(more, sizeof(more), " and %" PRIu32 " more", slice->members - 1);
	snprintf(name, sizeof(name), "%s%s%s", operation_name(operation), number, more);
	trace_add_number(&arguments, TRACE_IN_LINE, slice->members);
	trace_add_text(&arguments, TRACE_GROUP_NAME,
		       group_text(rank, operation->known & RW_KNOWN_IDENT ? operation->comm : UINT32_MAX));
	event->category = TRACE_QUEUE;
	event->name = name;
	event->arguments = &arguments;
	rank->sink->format->slice(rank->sink, event);
}

static void write_slice(struct rank_trace *rank, const struct slice *slice)
{
	const struct rank_track *shown = &rank->shown.tracks.list[slice->track];
	struct trace_track track = { .process = rank->request->number, .number = shown->number + slice->lane };
	struct trace_arguments arguments = { 0 };
	struct trace_slice event = {
		.track = &track,
		.begin_ns = slice->begin_ns,
		.end_ns = slice->end_ns,
		.open = slice->open,
		.arguments = &arguments,
	};
	char name[48];

	if (slice->clipped_ns)
		trace_add_number(&arguments, TRACE_CLIPPED, (int64_t)slice->clipped_ns);
	if (slice->kind == SLICE_BLOCKED) {
		write_blocked(rank, slice, &event);
	} else if (slice->kind == SLICE_GROUP) {
		snprintf(name, sizeof(name), "group of %" PRIu32 " calls", slice->members);
		event.category = TRACE_CALL;
		event.name = name;
		rank->sink->format->slice(rank->sink, &event);
	} else if (slice->kind == SLICE_QUEUED) {
		write_queue(rank, slice, &event);
	} else {
		write_operation(rank, slice, &event);
	}
}

static int by_moment(const void *a, const void *b)
{
	const struct rank_change *left = a, *right = b;

	if (left->at_ns != right->at_ns)
		return left->at_ns < right->at_ns ? -1 : 1;
	return (left->by > right->by) - (left->by < right->by);
}

static void write_value(struct rank_trace *rank, const struct trace_track *track, uint64_t at_ns, int64_t value)
{
	if (trace_window_has(&rank->sink->window, at_ns, at_ns))
		rank->sink->format->counter(rank->sink, track, at_ns, value);
}

/* What it was when the window began. */
static void write_first_value(struct rank_trace *rank, const struct trace_track *track,
			      const struct rank_changes *changes)
{
	uint64_t from_ns = rank->sink->window.from_ns;
	int64_t value = 0;
	size_t i = 0;

	for (; i < changes->count && changes->list[i].at_ns < from_ns; i++)
		value += changes->list[i].by;
	if (i && (i == changes->count || changes->list[i].at_ns > from_ns))
		rank->sink->format->counter(rank->sink, track, from_ns, value);
}

/* Changes of one moment are one value. */
static void write_counter(struct rank_trace *rank, struct rank_changes *changes)
{
	int64_t value = 0;

	if (!changes->count)
		return;
	struct trace_track track = next_track(rank, changes->name, true);

	qsort(changes->list, changes->count, sizeof(*changes->list), by_moment);
	write_first_value(rank, &track, changes);
	for (size_t i = 0; i < changes->count; i++) {
		value += changes->list[i].by;
		if (i + 1 == changes->count || changes->list[i + 1].at_ns != changes->list[i].at_ns)
			write_value(rank, &track, changes->list[i].at_ns, value);
	}
	/* Viewers draw nothing behind the last one. */
	if (rank_slices_time(&rank->shown, rank->shown.end_ns) > changes->list[changes->count - 1].at_ns)
		write_value(rank, &track, rank_slices_time(&rank->shown, rank->shown.end_ns), value);
}

static void write_all(struct rank_trace *rank)
{
	rank->sink->format->process(rank->sink, &(struct trace_process){ rank->request->number, rank->request->name });
	write_findings(rank);
	write_steps(rank);
	write_tracks(rank);
	for (size_t i = 0; i < rank->shown.slices.count && !ferror(rank->sink->out); i++)
		write_slice(rank, &rank->shown.slices.list[i]);
	write_counter(rank, &rank->shown.in_flight);
	write_counter(rank, &rank->shown.bad_values);
}

/* Of the process's own last sign of life. */
static uint64_t record_end(const struct rank_trace *rank)
{
	const struct replay_process *process = rank->request->process;
	uint64_t end_ns = feed_last_ns(process->feed), drain_ns = replay_header(process)->drain_ns;

	return drain_ns > end_ns && drain_ns <= OPERATION_TIME_MAX ? drain_ns : end_ns;
}

static void count(struct rank_trace *rank, struct rank_trace_counts *counts)
{
	counts->operations += rank->shown.operations.count;
	for (size_t i = 0; i < rank->shown.operations.count; i++) {
		enum operation_state state =
		    box_operations_state(&rank->shown.operations, &rank->shown.operations.list[i]);

		counts->unfinished += state != OPERATION_ENDED && state != OPERATION_DONE;
	}
}

static void free_all(struct rank_trace *rank)
{
	for (uint32_t i = 0; rank->groups && i < rank->shown.operations.communicator_count; i++) {
		free(rank->groups[i].name);
		free(rank->groups[i].ranks);
	}
	free(rank->groups);
	rank_slices_free(&rank->shown);
	free(rank);
}

int rank_trace_write(const struct rank_trace_request *request, struct rank_trace_counts *counts)
{
	struct rank_trace *rank = calloc(1, sizeof(*rank));
	int read_error, err;

	if (!rank)
		return -ENOMEM;
	rank->request = request;
	rank->sink = request->sink;
	rank->next_number = 1;
	read_error =
	    rank_slices_read(&rank->shown, feed_reader(request->process->feed), record_end(rank), request->offset_ns,
			     &request->sink->window);
	err = read_error == -ENOMEM ? read_error : name_groups(rank);
	if (!err) {
		write_all(rank);
		count(rank, counts);
	}
	free_all(rank);
	return err ? err : read_error;
}
