/* SPDX-License-Identifier: MIT */
#include "console/trace/rank_slices.h"

#include <errno.h>
#include <stdlib.h>

#include "feed/operation_view.h"

/* Other threads' calls between two of a group are no more than these. */
enum { LOOK_AHEAD = 1024 };

uint64_t rank_slices_time(const struct rank_slices *rank, uint64_t ns)
{
	int64_t offset = rank->offset_ns;

	if (offset < 0)
		return ns > (uint64_t)-offset ? ns - (uint64_t)-offset : 0;
	return ns + (uint64_t)offset;
}

static void add_slice(struct rank_slices *rank, enum rank_track_kind kind, uint32_t id, uint64_t stream,
		      const struct slice *shape)
{
	struct slice slice = *shape;

	slice.track = rank_tracks_find(&rank->tracks, kind, id, stream);
	slice.begin_ns = rank_slices_time(rank, slice.begin_ns);
	slice.end_ns = rank_slices_time(rank, slice.end_ns);
	/* The track is there all the same: streams have the same numbers in every window. */
	if (!trace_window_has(&rank->window, slice.begin_ns, slice.end_ns))
		return;
	slices_add(&rank->slices, &slice);
}

static bool has_call(const struct rw_operation *operation)
{
	return operation->known & RW_KNOWN_API && !(operation->flags & RW_FLAG_CAPTURED);
}

/* When its call, or the group's end, returned; where nobody wrote that, when it launched. */
static uint64_t call_end(const struct rank_slices *rank, const struct rw_operation *operation)
{
	if (box_operations_state(&rank->operations, operation) == OPERATION_IN_CALL)
		return rank->end_ns;
	if (operation->known & RW_KNOWN_RETURN)
		return operation->return_ns;
	return operation->known & RW_KNOWN_LAUNCH ? operation->launch_end_ns : operation->api_ns;
}

/* Is it behind another of its group? 0 is no group: interfaces of NCCL that report none. */
static bool goes_on_group(const struct rw_operation *operation, const struct rw_operation *before)
{
	return before && before->group && before->group == operation->group && operation->api_ns >= before->api_ns;
}

/* The next operation of the same group on the same thread; NULL: this is its last. */
static const struct rw_operation *next_of_group(const struct rank_slices *rank, size_t index)
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
static void add_group(struct rank_slices *rank, size_t first)
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

static void add_call(struct rank_slices *rank, size_t index, bool grouped)
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

bool rank_slices_on_gpu(const struct rank_slices *rank, const struct rw_operation *operation)
{
	enum operation_state state = box_operations_state(&rank->operations, operation);

	return operation->known & RW_KNOWN_STARTED &&
	       (operation->known & RW_KNOWN_DONE || state == OPERATION_RUNNING || state == OPERATION_DONE);
}

/* Hosts run far ahead of their GPU, so at the end dozens are in line: one slice shows the first of a stream, and how
 * many. */
static void add_queued(struct rank_slices *rank, size_t index)
{
	const struct rw_operation *operation = &rank->operations.list[index];
	struct rank_queue *queue = rank->queues;

	while (queue < rank->queues + rank->queue_count &&
	       (queue->communicator != communicator_number(operation) || queue->stream != stream_of(operation)))
		queue++;
	if (queue == rank->queues + RANK_QUEUES)
		queue--;
	if (queue < rank->queues + rank->queue_count) {
		queue->count++;
		return;
	}
	rank->queue_count++;
	*queue = (struct rank_queue){ communicator_number(operation), stream_of(operation), (uint32_t)index, 1 };
}

static void add_queues(struct rank_slices *rank)
{
	for (size_t i = 0; i < rank->queue_count; i++) {
		const struct rank_queue *queue = &rank->queues[i];

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

static void add_gpu(struct rank_slices *rank, size_t index)
{
	const struct rw_operation *operation = &rank->operations.list[index];
	enum operation_state state = box_operations_state(&rank->operations, operation);
	bool running = state == OPERATION_RUNNING, done = operation->known & RW_KNOWN_DONE;

	if (rank_slices_on_gpu(rank, operation))
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

static void add_change(struct rank_changes *changes, uint64_t at_ns, int64_t by)
{
	changes->list[changes->count++] = (struct rank_change){ at_ns, by };
}

static void count_in_flight(struct rank_slices *rank, const struct rw_operation *operation)
{
	enum operation_state state = box_operations_state(&rank->operations, operation);
	uint64_t end_ns = operation->known & RW_KNOWN_DONE ? operation->done_seen_ns : call_end(rank, operation);

	if (!has_call(operation) || operation->flags & RW_FLAG_UNTRACKED || end_ns < operation->api_ns)
		return;
	add_change(&rank->in_flight, rank_slices_time(rank, operation->api_ns), 1);
	if (state == OPERATION_ENDED)
		add_change(&rank->in_flight, rank_slices_time(rank, end_ns), -1);
}

/* Values are looked at beside the operation: they are known when it is over. */
static void count_bad(struct rank_slices *rank, const struct rw_operation *operation)
{
	uint64_t in =
	    operation->known & RW_KNOWN_SCAN_IN ? (uint64_t)operation->scan_in.nan + operation->scan_in.inf : 0;
	uint64_t out =
	    operation->known & RW_KNOWN_SCAN_OUT ? (uint64_t)operation->scan_out.nan + operation->scan_out.inf : 0;
	uint64_t at_ns = operation_last_ns(operation);

	if (in + out && at_ns)
		add_change(&rank->bad_values, rank_slices_time(rank, at_ns), (int64_t)(in + out));
}

static int make_changes(struct rank_slices *rank)
{
	rank->in_flight.name = "operations in flight";
	rank->bad_values.name = "bad values found";
	rank->in_flight.list = calloc(2 * rank->operations.count + 1, sizeof(struct rank_change));
	rank->bad_values.list = calloc(rank->operations.count + 1, sizeof(struct rank_change));
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

static void add_operations(struct rank_slices *rank)
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

static void add_stays(struct rank_slices *rank)
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

int rank_slices_read(struct rank_slices *rank, const struct box_reader *reader, uint64_t end_ns, int64_t offset_ns,
		     const struct trace_window *window)
{
	*rank = (struct rank_slices){ .end_ns = end_ns, .offset_ns = offset_ns, .window = *window };
	int operations_err = box_operations_read(&rank->operations, reader);
	int stays_err = stays_read(&rank->stays, reader);
	int err = make_changes(rank);

	if (err)
		return err;
	add_operations(rank);
	add_stays(rank);
	slices_order(&rank->slices);
	if (rank->slices.no_memory)
		return -ENOMEM;
	return operations_err ? operations_err : stays_err;
}

void rank_slices_free(struct rank_slices *rank)
{
	free(rank->in_flight.list);
	free(rank->bad_values.list);
	box_operations_free(&rank->operations);
	stays_free(&rank->stays);
	slices_free(&rank->slices);
}
