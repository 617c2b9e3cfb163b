/* SPDX-License-Identifier: MIT */
#include "console/trace/rank_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "console/trace/box_operations.h"
#include "console/trace/finding_events.h"
#include "console/trace/operation_arguments.h"
#include "console/trace/rank_tracks.h"
#include "console/trace/slices.h"
#include "console/trace/stays.h"
#include "feed/operation_view.h"
#include "finding/rank_list.h"

/* Other threads' calls between two of a group are no more than these. */
enum { LOOK_AHEAD = 1024 };
enum { NAME = 320, RANKS_SHOWN = 30 /* as PyTorch cuts longer lists */ };

/* How a communicator is told of. */
struct group_text {
	char *name;  /* NCCL's, its ranks, or its number */
	char *ranks; /* NULL not known */
};

/* A change of what is counted. */
struct change {
	uint64_t at_ns;
	int64_t by;
};

struct changes {
	struct change *list;
	size_t count;
	const char *name;
};

/* Operations of one stream that were launched and not seen on the GPU. */
struct queue {
	uint32_t communicator;
	uint64_t stream;
	uint32_t first, count;
};

enum { QUEUES = 64 }; /* streams beyond count as the last */

struct rank_trace {
	const struct rank_trace_request *request;
	struct trace_sink *sink;
	struct box_operations operations;
	struct stays stays;
	struct rank_tracks tracks;
	struct slices slices;
	struct changes in_flight, bad_values;
	struct group_text *groups;          /* by communicator index */
	uint32_t streams[RANK_TRACKS_MOST]; /* by track */
	struct queue queues[QUEUES];
	size_t queue_count;
	uint64_t end_ns; /* of the record; times of the box until they are written */
	uint32_t next_number;
};

/* The trace's time of a time in the box. */
static uint64_t trace_ns(const struct rank_trace *rank, uint64_t ns)
{
	int64_t offset = rank->request->offset_ns;

	if (offset < 0)
		return ns > (uint64_t)-offset ? ns - (uint64_t)-offset : 0;
	return ns + (uint64_t)offset;
}

/* Operations → slices */

static void add_slice(struct rank_trace *rank, enum rank_track_kind kind, uint32_t id, uint64_t stream,
		      const struct slice *shape)
{
	struct slice slice = *shape;

	slice.track = rank_tracks_find(&rank->tracks, kind, id, stream);
	slice.begin_ns = trace_ns(rank, slice.begin_ns);
	slice.end_ns = trace_ns(rank, slice.end_ns);
	slices_add(&rank->slices, &slice);
}

static bool has_call(const struct rw_operation *operation)
{
	return operation->known & RW_KNOWN_API && !(operation->flags & RW_FLAG_CAPTURED);
}

/* When its call, or the group's end, returned; where nobody wrote that, when it launched. */
static uint64_t call_end(const struct rank_trace *rank, const struct rw_operation *operation)
{
	if (box_operations_state(&rank->operations, operation) == OPERATION_IN_CALL)
		return rank->end_ns;
	if (operation->known & RW_KNOWN_RETURN)
		return operation->return_ns;
	return operation->known & RW_KNOWN_LAUNCH ? operation->launch_end_ns : operation->api_ns;
}

/* Is it behind another of its group? 0 is no group: interfaces of NCCL that tell of none. */
static bool goes_on_group(const struct rw_operation *operation, const struct rw_operation *before)
{
	return before && before->group && before->group == operation->group && operation->api_ns >= before->api_ns;
}

/* The next operation of the same group on the same thread; NULL: this is its last. */
static const struct rw_operation *next_of_group(const struct rank_trace *rank, size_t index)
{
	const struct rw_operation *this = &rank->operations.list[index];

	for (size_t i = index + 1; i < rank->operations.count && i - index <= LOOK_AHEAD; i++) {
		const struct rw_operation *next = &rank->operations.list[i];

		if (!has_call(next) || next->api_tid != this->api_tid)
			continue;
		return goes_on_group(next, this) ? next : NULL;
	}
	return NULL;
}

/* Calls of a group return at once, and its end does the work: each lasts until the next begins, the last to the end. */
static void add_group(struct rank_trace *rank, size_t first)
{
	const struct rw_operation *list = rank->operations.list, *last = &list[first], *next;
	uint32_t members = 1;

	while ((next = next_of_group(rank, (size_t)(last - list)))) {
		last = next;
		members++;
	}
	if (members == 1)
		return;
	add_slice(rank, RANK_TRACK_CALLS, list[first].api_tid, 0,
		  &(struct slice){
		      .kind = SLICE_GROUP,
		      .about = (uint32_t)first,
		      .members = members,
		      .open = box_operations_state(&rank->operations, last) == OPERATION_IN_CALL,
		      .begin_ns = list[first].api_ns,
		      .end_ns = call_end(rank, last),
		  });
}

static void add_call(struct rank_trace *rank, size_t index, bool grouped)
{
	const struct rw_operation *operation = &rank->operations.list[index], *next = next_of_group(rank, index);
	uint64_t end_ns = call_end(rank, operation);

	if (!has_call(operation))
		return;
	if (next && next->api_ns < end_ns)
		end_ns = next->api_ns;
	else
		next = NULL;
	if (!grouped)
		add_group(rank, index);
	add_slice(rank, RANK_TRACK_CALLS, operation->api_tid, 0,
		  &(struct slice){
		      .kind = SLICE_CALL,
		      .about = (uint32_t)index,
		      .open = !next && box_operations_state(&rank->operations, operation) == OPERATION_IN_CALL,
		      .begin_ns = operation->api_ns,
		      .end_ns = end_ns,
		  });
}

static uint32_t communicator_number(const struct rw_operation *operation)
{
	return operation->known & RW_KNOWN_IDENT ? operation->comm : UINT32_MAX;
}

static uint64_t stream_of(const struct rw_operation *operation)
{
	if (operation->known & RW_KNOWN_LAUNCH)
		return operation->launch_stream;
	return operation->known & RW_KNOWN_API ? operation->stream : 0;
}

/* Is it known when the GPU reached it, and that it was there until something that is known? */
static bool is_on_gpu(const struct rank_trace *rank, const struct rw_operation *operation)
{
	enum operation_state state = box_operations_state(&rank->operations, operation);

	return operation->known & RW_KNOWN_STARTED &&
	       (operation->known & RW_KNOWN_DONE || state == OPERATION_RUNNING || state == OPERATION_DONE);
}

/* Hosts run far ahead of their GPU, so at the end dozens are in line: one slice shows the first of a stream, and how
 * many. */
static void add_queued(struct rank_trace *rank, size_t index)
{
	const struct rw_operation *operation = &rank->operations.list[index];
	struct queue *queue = rank->queues;

	while (queue < rank->queues + rank->queue_count &&
	       (queue->communicator != communicator_number(operation) || queue->stream != stream_of(operation)))
		queue++;
	if (queue == rank->queues + QUEUES)
		queue--;
	if (queue < rank->queues + rank->queue_count) {
		queue->count++;
		return;
	}
	rank->queue_count++;
	*queue = (struct queue){ communicator_number(operation), stream_of(operation), (uint32_t)index, 1 };
}

static void add_queues(struct rank_trace *rank)
{
	for (size_t i = 0; i < rank->queue_count; i++) {
		const struct queue *queue = &rank->queues[i];

		add_slice(rank, RANK_TRACK_QUEUED, 0, 0,
			  &(struct slice){
			      .kind = SLICE_QUEUED,
			      .about = queue->first,
			      .members = queue->count,
			      .open = true,
			      .begin_ns = call_end(rank, &rank->operations.list[queue->first]),
			      .end_ns = rank->end_ns,
			  });
	}
}

static void add_gpu(struct rank_trace *rank, size_t index)
{
	const struct rw_operation *operation = &rank->operations.list[index];
	enum operation_state state = box_operations_state(&rank->operations, operation);
	bool running = state == OPERATION_RUNNING, done = operation->known & RW_KNOWN_DONE;

	if (is_on_gpu(rank, operation))
		add_slice(rank, RANK_TRACK_GPU, communicator_number(operation), stream_of(operation),
			  &(struct slice){
			      .kind = SLICE_GPU,
			      .about = (uint32_t)index,
			      .open = running,
			      .begin_ns = operation->started_seen_ns,
			      .end_ns = done ? operation->done_seen_ns : rank->end_ns,
			  });
	else if (has_call(operation) && (state == OPERATION_LAUNCHED || running))
		add_queued(rank, index);
}

static void add_change(struct changes *changes, uint64_t at_ns, int64_t by)
{
	changes->list[changes->count++] = (struct change){ at_ns, by };
}

static void count_in_flight(struct rank_trace *rank, const struct rw_operation *operation)
{
	enum operation_state state = box_operations_state(&rank->operations, operation);
	uint64_t end_ns = operation->known & RW_KNOWN_DONE ? operation->done_seen_ns : call_end(rank, operation);

	if (!has_call(operation) || operation->flags & RW_FLAG_UNTRACKED || end_ns < operation->api_ns)
		return;
	add_change(&rank->in_flight, trace_ns(rank, operation->api_ns), 1);
	if (state == OPERATION_ENDED)
		add_change(&rank->in_flight, trace_ns(rank, end_ns), -1);
}

/* Values are looked at beside the operation: they are known when it is over. */
static void count_bad(struct rank_trace *rank, const struct rw_operation *operation)
{
	uint64_t in =
	    operation->known & RW_KNOWN_SCAN_IN ? (uint64_t)operation->scan_in.nan + operation->scan_in.inf : 0;
	uint64_t out =
	    operation->known & RW_KNOWN_SCAN_OUT ? (uint64_t)operation->scan_out.nan + operation->scan_out.inf : 0;
	uint64_t at_ns = operation_last_ns(operation);

	if (in + out && at_ns)
		add_change(&rank->bad_values, trace_ns(rank, at_ns), (int64_t)(in + out));
}

static int make_changes(struct rank_trace *rank)
{
	rank->in_flight.name = "operations in flight";
	rank->bad_values.name = "bad values found";
	rank->in_flight.list = calloc(2 * rank->operations.count + 1, sizeof(struct change));
	rank->bad_values.list = calloc(rank->operations.count + 1, sizeof(struct change));
	return rank->in_flight.list && rank->bad_values.list ? 0 : -ENOMEM;
}

/* The last call of each thread so far; threads beyond are taken to have had none. */
struct last_calls {
	struct {
		uint32_t tid;
		const struct rw_operation *operation;
	} list[64];
	size_t count;
};

static const struct rw_operation *note_call(struct last_calls *calls, const struct rw_operation *operation)
{
	for (size_t i = 0; i < calls->count; i++) {
		const struct rw_operation *before = calls->list[i].operation;

		if (calls->list[i].tid != operation->api_tid)
			continue;
		calls->list[i].operation = operation;
		return before;
	}
	if (calls->count < sizeof(calls->list) / sizeof(*calls->list)) {
		calls->list[calls->count].tid = operation->api_tid;
		calls->list[calls->count++].operation = operation;
	}
	return NULL;
}

static void add_operations(struct rank_trace *rank)
{
	struct last_calls calls = { 0 };

	for (size_t i = 0; i < rank->operations.count; i++) {
		const struct rw_operation *operation = &rank->operations.list[i];

		if (has_call(operation))
			add_call(rank, i, goes_on_group(operation, note_call(&calls, operation)));
		add_gpu(rank, i);
		count_in_flight(rank, operation);
		count_bad(rank, operation);
	}
	add_queues(rank);
}

static void add_stays(struct rank_trace *rank)
{
	for (size_t i = 0; i < rank->stays.count; i++) {
		const struct stay *stay = &rank->stays.list[i];

		add_slice(rank, RANK_TRACK_BLOCKED, stay->tid, 0,
			  &(struct slice){
			      .kind = SLICE_BLOCKED,
			      .about = (uint32_t)i,
			      .begin_ns = stay->begin_ns,
			      .end_ns = stay->end_ns,
			  });
	}
}

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

static int by_number(const void *a, const void *b)
{
	const int32_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* NCCL's name; without one its ranks where they are known, else its number. */
static char *group_name(const struct rw_communicator *communicator, int32_t *ranks)
{
	char name[sizeof(communicator->name) + 1] = "", list[64], *text = NULL;

	memcpy(name, communicator->name, sizeof(communicator->name));
	if (name[0])
		return foreign_text(name);
	if (ranks) {
		qsort(ranks, (size_t)communicator->nranks, sizeof(*ranks), by_number);
		rank_list_text(list, sizeof(list), ranks, (size_t)communicator->nranks);
		return asprintf(&text, "rank%s %s", communicator->nranks > 1 ? "s" : "", list) < 0 ? NULL : text;
	}
	return asprintf(&text, "communicator 0x%" PRIx64, communicator->id) < 0 ? NULL : text;
}

static int name_groups(struct rank_trace *rank)
{
	uint32_t count = rank->operations.communicator_count;

	rank->groups = calloc(count + 1, sizeof(*rank->groups));
	if (!rank->groups)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct rw_communicator *communicator = &rank->operations.communicators[i];
		int32_t *ranks = NULL;

		if (!communicator->born_ns)
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
	const char *name = index < rank->operations.communicator_count ? rank->groups[index].name : NULL;

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
	const struct rank_track *track = &rank->tracks.list[index];

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

static void write_tracks(struct rank_trace *rank)
{
	uint32_t order[RANK_TRACKS_MOST];

	for (size_t i = 0; i < rank->slices.count; i++) {
		struct rank_track *track = &rank->tracks.list[rank->slices.list[i].track];

		if (rank->slices.list[i].lane >= track->lanes)
			track->lanes = (uint16_t)(rank->slices.list[i].lane + 1);
	}
	rank_tracks_order(&rank->tracks, order);
	for (uint32_t i = 0; i < rank->tracks.count; i++) {
		struct rank_track *track = &rank->tracks.list[order[i]];
		char name[NAME];

		track->number = rank->next_number;
		rank->streams[order[i]] = rank_tracks_stream_number(&rank->tracks, order[i]);
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
	const struct stay *stay = &rank->stays.list[slice->about];
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
	const struct rw_operation *operation = &rank->operations.list[slice->about];
	const struct rw_communicator *communicator = box_operations_communicator(&rank->operations, operation);
	enum operation_state state = box_operations_state(&rank->operations, operation);
	struct trace_arguments arguments = *event->arguments;
	struct operation_texts texts = { .device = rank->request->device };

	if (communicator) {
		texts.group_name = rank->groups[operation->comm].name;
		texts.group_ranks = rank->groups[operation->comm].ranks;
	}
	if (slice->kind == SLICE_GPU)
		trace_add_number(&arguments, TRACE_STREAM, rank->streams[slice->track]);
	/* Told once of each operation, on the slice that ties it to the other ranks: the GPU's where there is one. */
	if (slice->kind == SLICE_GPU || !is_on_gpu(rank, operation)) {
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
	const struct rw_operation *operation = &rank->operations.list[slice->about];
	struct trace_arguments arguments = *event->arguments;
	char name[96], number[32] = "", more[32] = "";

	if (operation->known & RW_KNOWN_IDENT)
		snprintf(number, sizeof(number), " #%" PRIu64, operation->sequence);
	if (slice->members > 1)
		snprintf(more, sizeof(more), " and %" PRIu32 " more", slice->members - 1);
	snprintf(name, sizeof(name), "%s%s%s", operation_name(operation), number, more);
	trace_add_number(&arguments, TRACE_IN_LINE, slice->members);
	trace_add_text(&arguments, TRACE_GROUP_NAME, group_text(rank, communicator_number(operation)));
	event->category = TRACE_QUEUE;
	event->name = name;
	event->arguments = &arguments;
	rank->sink->format->slice(rank->sink, event);
}

static void write_slice(struct rank_trace *rank, const struct slice *slice)
{
	const struct rank_track *shown = &rank->tracks.list[slice->track];
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
	const struct change *left = a, *right = b;

	if (left->at_ns != right->at_ns)
		return left->at_ns < right->at_ns ? -1 : 1;
	return (left->by > right->by) - (left->by < right->by);
}

/* Changes of one moment are one value. */
static void write_counter(struct rank_trace *rank, struct changes *changes)
{
	int64_t value = 0;

	if (!changes->count)
		return;
	struct trace_track track = next_track(rank, changes->name, true);

	qsort(changes->list, changes->count, sizeof(*changes->list), by_moment);
	for (size_t i = 0; i < changes->count; i++) {
		value += changes->list[i].by;
		if (i + 1 == changes->count || changes->list[i + 1].at_ns != changes->list[i].at_ns)
			rank->sink->format->counter(rank->sink, &track, changes->list[i].at_ns, value);
	}
	/* Viewers draw nothing behind the last one. */
	if (trace_ns(rank, rank->end_ns) > changes->list[changes->count - 1].at_ns)
		rank->sink->format->counter(rank->sink, &track, trace_ns(rank, rank->end_ns), value);
}

static void write_all(struct rank_trace *rank)
{
	rank->sink->format->process(rank->sink, &(struct trace_process){ rank->request->number, rank->request->name });
	slices_order(&rank->slices);
	write_findings(rank);
	write_tracks(rank);
	for (size_t i = 0; i < rank->slices.count && !ferror(rank->sink->out); i++)
		write_slice(rank, &rank->slices.list[i]);
	write_counter(rank, &rank->in_flight);
	write_counter(rank, &rank->bad_values);
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
	counts->operations += rank->operations.count;
	for (size_t i = 0; i < rank->operations.count; i++) {
		enum operation_state state = box_operations_state(&rank->operations, &rank->operations.list[i]);

		counts->unfinished += state != OPERATION_ENDED && state != OPERATION_DONE;
	}
}

static int read_box(struct rank_trace *rank)
{
	const struct box_reader *reader = feed_reader(rank->request->process->feed);
	int err = box_operations_read(&rank->operations, reader);
	int stays_err = stays_read(&rank->stays, reader);

	rank->end_ns = record_end(rank);
	return err ? err : stays_err;
}

static void free_all(struct rank_trace *rank)
{
	for (uint32_t i = 0; rank->groups && i < rank->operations.communicator_count; i++) {
		free(rank->groups[i].name);
		free(rank->groups[i].ranks);
	}
	free(rank->groups);
	free(rank->in_flight.list);
	free(rank->bad_values.list);
	box_operations_free(&rank->operations);
	stays_free(&rank->stays);
	slices_free(&rank->slices);
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
	read_error = read_box(rank);
	err = name_groups(rank);
	if (!err)
		err = make_changes(rank);
	if (!err) {
		add_operations(rank);
		add_stays(rank);
		write_all(rank);
		count(rank, counts);
	}
	if (!err && rank->slices.no_memory)
		err = -ENOMEM;
	free_all(rank);
	return err ? err : read_error;
}
