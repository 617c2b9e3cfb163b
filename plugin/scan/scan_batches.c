/* SPDX-License-Identifier: MIT */
/* The scanner on the path of a collective: the batches that a thread is filling, and their launches. */
#include "plugin/guest/clock.h"
#include "plugin/scan/scan_batch.h"
#include "plugin/scan/scanner.h"

/*
 * Of the launches on a device one in so many is timed, and stands for those up to the next that is. Behind a slow one
 * each is timed until one is fast again: a driver that holds up one launch after the other is charged all of it.
 */
enum {
	TIMED_EACH = 31, /* a prime: no rhythm of the program's has the same launch timed each time */
	SLOW_NS = 50000,
};

__thread struct scan_batch *scanner_batches __attribute__((tls_model("initial-exec")));

static inline void close_batch(struct scan_batch *batch)
{
	struct scan_batch **at = &scanner_batches;

	while (*at != batch)
		at = &(*at)->next;
	*at = batch->next;
}

static void drop_entry(struct scanner *scanner, const struct scan_batch *batch, const struct scan_entry *entry,
		       enum rw_unscannable reason)
{
	struct rw_operation *slot = batch->captured ? NULL : box_slot(scanner->box, entry->ticket);

	if (!slot && !batch->captured)
		return;
	if (reason != RW_UNSCANNABLE_NONE)
		scanner_refuse(scanner, slot, reason);
	if (slot)
		box_release(slot, entry->ticket, entry->owner);
}

/* The batch was not launched, or became a node of a graph: no operation waits for its results. */
static void drop(struct scanner *scanner, struct scan_batch *batch, enum rw_unscannable reason)
{
	for (uint32_t i = 0; i < batch->launch.segment_count; i++)
		drop_entry(scanner, batch, &batch->entries[i], reason);
	scan_batch_give(batch);
}

/* NULL: none of the thread's has room for the request's parts. */
static inline struct scan_batch *find_batch(const struct scan_request *request)
{
	bool captured = !request->slot;

	for (struct scan_batch *batch = scanner_batches; batch; batch = batch->next)
		if (batch->device == request->device && batch->place == request->place &&
		    batch->stream == request->stream && batch->captured == captured &&
		    scan_batch_room(batch) >= request->count)
			return batch;
	return NULL;
}

static inline struct scan_batch *open_batch(const struct scan_request *request)
{
	struct scan_batch *batch = scan_batch_take(request->device);

	if (!batch)
		return NULL;
	batch->place = request->place;
	batch->stream = request->stream;
	batch->captured = !request->slot;
	batch->next = scanner_batches;
	scanner_batches = batch;
	return batch;
}

/* True if the thread queried this address just before, as for the input of a call in place. */
static inline bool is_known_device_memory(uint64_t address)
{
	for (const struct scan_batch *batch = scanner_batches; batch; batch = batch->next) {
		uint32_t count = batch->launch.segment_count;

		if (count && batch->launch.segments[count - 1].address == address)
			return true;
	}
	return false;
}

static __attribute__((noinline, cold)) void refuse(struct scanner *scanner, struct scan_request *request, uint32_t part,
						   enum rw_unscannable reason)
{
	scanner_refuse(scanner, request->slot, reason);
	request->count--;
	if (part < request->count)
		request->parts[part] = request->parts[part + 1];
}

/* One query for the two sides of a call that begin at the same place. */
static inline void keep_device_memory(struct scanner *scanner, struct scan_request *request)
{
	struct scan_memory_query query;
	uint64_t known = 0;

	scanner_open_query(&query);
	for (uint32_t i = 0; i < request->count;) {
		uint64_t address = request->parts[i].buffer.address;

		if (address != known && !is_known_device_memory(address) &&
		    !scanner_is_device_memory(scanner, &query, address)) {
			refuse(scanner, request, i, RW_UNSCANNABLE_MEMORY);
			continue;
		}
		known = address;
		i++;
	}
}

/* The batch with room for the request's parts, whose slot waits for their results from now on; NULL: the slot has
 * another operation by now, or too many batches are in flight. */
static inline struct scan_batch *hold(const struct scan_request *request)
{
	uint32_t owner = request->parts[0].owner | (request->count > 1 ? request->parts[1].owner : 0);

	if (request->slot && !box_hold(request->slot, request->ticket, owner))
		return NULL;
	struct scan_batch *batch = find_batch(request);

	if (!batch)
		batch = open_batch(request);
	if (!batch && request->slot)
		box_release(request->slot, request->ticket, owner);
	return batch;
}

void scanner_add(struct scanner *scanner, struct scan_request *request)
{
	if (!request->is_device_memory)
		keep_device_memory(scanner, request);
	if (!request->count)
		return;
	struct scan_batch *batch = hold(request);

	while (!batch && request->count)
		refuse(scanner, request, 0, RW_UNSCANNABLE_BEHIND);
	if (!batch)
		return;
	batch->capture_is_known = request->capture_is_known;
	for (const struct scan_part *part = request->parts; part < request->parts + request->count; part++)
		scan_batch_add(batch, &part->buffer, request->ticket, part->owner);
}

/* A launch into a stream under capture becomes part of the graph, and one into the legacy stream can end the capture of
 * another. Only what is meant to be captured may be. */
static __attribute__((noinline)) enum rw_unscannable query_capture(struct scanner *scanner,
								   const struct scan_batch *batch)
{
	int capturing = DRIVER_NOT_CAPTURING;
	int error = scanner->driver->stream_capturing((driver_stream)(uintptr_t)batch->stream, &capturing);

	int wanted = batch->captured ? DRIVER_CAPTURING : DRIVER_NOT_CAPTURING;
	if (driver_is_of_capture(error) || (!error && capturing != wanted))
		return RW_UNSCANNABLE_CAPTURE;
	if (error)
		scanner_give_up(scanner, "cuStreamIsCapturing", error);
	return scanner_is_on(scanner) ? RW_UNSCANNABLE_NONE : RW_UNSCANNABLE_ERROR;
}

static inline enum rw_unscannable why_not_now(struct scanner *scanner, const struct scan_batch *batch)
{
	/* NCCL has reported that a plan's stream is not captured. */
	if (batch->place != SCAN_BEHIND_PLAN && !batch->capture_is_known)
		return query_capture(scanner, batch);
	return scanner_is_on(scanner) ? RW_UNSCANNABLE_NONE : RW_UNSCANNABLE_ERROR;
}

/* The program may begin, end or break a capture while we are in here: that is no error of the driver's. */
static enum rw_unscannable why_not_launched(struct scanner *scanner, int error)
{
	if (!error)
		return RW_UNSCANNABLE_NONE;
	if (driver_is_of_capture(error))
		return RW_UNSCANNABLE_CAPTURE;
	scanner_give_up(scanner, "cuLaunchKernel", error);
	return RW_UNSCANNABLE_ERROR;
}

static inline enum rw_unscannable launch_here(struct scanner *scanner, struct scan_batch *batch)
{
	struct rw_box_header *header = scanner->box->header;
	int error = scan_batch_launch(batch, scanner->driver, batch->stream);

	if (__builtin_expect(error, 0))
		return why_not_launched(scanner, error);
	scanner_count(&header->scan_launches, 1);
	scanner_count(&header->scan_bytes, batch->bytes);
	return RW_UNSCANNABLE_NONE;
}

static enum rw_unscannable capture_here(struct scanner *scanner, struct scan_batch *batch)
{
	int error = 0;

	if (!scan_batch_capture(batch, scanner->driver, &error))
		return RW_UNSCANNABLE_CAPTURE;
	return why_not_launched(scanner, error);
}

typedef enum rw_unscannable in_context(struct scanner *scanner, struct scan_batch *batch);

/* The thread is in another context: one thread can drive several devices. */
static __attribute__((noinline)) enum rw_unscannable run_elsewhere(struct scanner *scanner, struct scan_batch *batch,
								   in_context *run)
{
	driver_context current;

	if (scanner->driver->context_push(batch->device->context) != 0)
		return RW_UNSCANNABLE_CONTEXT;
	enum rw_unscannable reason = run(scanner, batch);
	scanner->driver->context_pop(&current);
	return reason;
}

static inline __attribute__((always_inline)) enum rw_unscannable
run_in_context(struct scanner *scanner, struct scan_batch *batch, in_context *run)
{
	driver_context current = NULL;
	enum rw_unscannable reason = why_not_now(scanner, batch);

	if (reason != RW_UNSCANNABLE_NONE)
		return reason;
	if (scanner->driver->context_current(&current) != 0 || current != batch->device->context)
		return run_elsewhere(scanner, batch, run);
	return run(scanner, batch);
}

/* reason: NONE, the batch is launched. It is no longer among the thread's. */
static inline void finish(struct scanner *scanner, struct scan_batch *batch, enum rw_unscannable reason)
{
	if (__builtin_expect(reason == RW_UNSCANNABLE_NONE, 1))
		scan_batch_publish(batch);
	else
		drop(scanner, batch, reason);
}

/* Of a batch that is meant to be captured: its node takes its segments along, and no operation waits for them. */
static __attribute__((noinline)) void capture(struct scanner *scanner, struct scan_batch *batch)
{
	enum rw_unscannable reason = run_in_context(scanner, batch, capture_here);

	close_batch(batch);
	drop(scanner, batch, reason);
}

static __attribute__((noinline)) void launch(struct scanner *scanner, struct scan_batch *batch)
{
	enum rw_unscannable reason = run_in_context(scanner, batch, launch_here);

	close_batch(batch);
	finish(scanner, batch, reason);
}

static __attribute__((noinline)) void run_all(struct scanner *scanner, enum scan_place place)
{
	struct scan_batch *next;

	for (struct scan_batch *batch = scanner_batches; batch; batch = next) {
		next = batch->next;
		if (batch->place != place)
			continue;
		if (batch->captured)
			capture(scanner, batch);
		else
			launch(scanner, batch);
	}
}

static __attribute__((noinline)) void run_all_timed(struct scanner *scanner, struct scan_device *device,
						    enum scan_place place)
{
	uint64_t begin = clock_ns();

	run_all(scanner, place);
	uint64_t took_ns = clock_ns() - begin;
	uint32_t launches = took_ns > SLOW_NS ? 1 : TIMED_EACH;

	atomic_store_explicit(&device->until_timed, (int32_t)launches - 1, memory_order_relaxed);
	scanner_count(&scanner->box->header->scan_host_ns, took_ns * launches);
}

/* Once for each launch. Of threads that count at the same time one may be lost: then the next is timed one later. */
static inline bool is_timed(struct scan_device *device)
{
	int32_t left = atomic_load_explicit(&device->until_timed, memory_order_relaxed) - 1;

	atomic_store_explicit(&device->until_timed, left, memory_order_relaxed);
	return __builtin_expect(left < 0, 0);
}

static void run_at(struct scanner *scanner, enum scan_place place)
{
	struct scan_batch *batch = scanner_batches;

	while (batch && batch->place != place)
		batch = batch->next;
	if (!batch) /* the thread's batches are for later: that takes no time which would stand for launches */
		return;
	if (is_timed(batch->device))
		run_all_timed(scanner, batch->device, place);
	else
		run_all(scanner, place);
}

void scanner_before_call(struct scanner *scanner)
{
	run_at(scanner, SCAN_BEFORE_CALL);
}

static inline __attribute__((always_inline)) void drop_all(struct scanner *scanner, enum scan_place place,
							   enum rw_unscannable of_slots, enum rw_unscannable of_nodes)
{
	struct scan_batch *next;

	for (struct scan_batch *batch = scanner_batches; batch; batch = next) {
		next = batch->next;
		if (batch->place != place)
			continue;
		close_batch(batch);
		drop(scanner, batch, batch->captured ? of_nodes : of_slots);
	}
}

void scanner_behind_call(struct scanner *scanner, bool failed)
{
	/* A call that NCCL refused has no result. Where NCCL ran before our scans were launched, the inputs are
	 * overwritten. */
	drop_all(scanner, SCAN_BEFORE_CALL, RW_UNSCANNABLE_NONE, RW_UNSCANNABLE_NONE);
	if (failed)
		drop_all(scanner, SCAN_BEHIND_CALL, RW_UNSCANNABLE_NONE, RW_UNSCANNABLE_NONE);
	run_at(scanner, SCAN_BEHIND_CALL);
}

static __attribute__((cold)) void forget_inputs(struct scanner *scanner)
{
	drop_all(scanner, SCAN_BEFORE_CALL, RW_UNSCANNABLE_CALLBACK, RW_UNSCANNABLE_CALLBACK);
}

void scanner_keep_inputs(struct scanner *scanner, uint32_t group)
{
	for (const struct scan_batch *batch = scanner_batches; batch; batch = batch->next) {
		if (batch->place != SCAN_BEFORE_CALL || batch->captured)
			continue;
		const struct rw_operation *slot = box_slot(scanner->box, batch->entries[0].ticket);
		if (slot && slot->group == group)
			continue;
		forget_inputs(scanner);
		return;
	}
}

__attribute__((cold)) void scanner_forget_calls(struct scanner *scanner, enum rw_unscannable of_outputs)
{
	forget_inputs(scanner);
	drop_all(scanner, SCAN_BEHIND_CALL, of_outputs, RW_UNSCANNABLE_CALLBACK);
}

/* Most plans have one batch, whose launch is inlined here. Nodes of graphs are around calls, never behind a plan. */
void scanner_behind_plan(struct scanner *scanner)
{
	struct scan_batch *batch = scanner_batches;

	if (batch->next || batch->place != SCAN_BEHIND_PLAN) {
		run_at(scanner, SCAN_BEHIND_PLAN);
		return;
	}
	if (is_timed(batch->device)) {
		run_all_timed(scanner, batch->device, SCAN_BEHIND_PLAN);
		return;
	}
	scanner_batches = NULL;
	finish(scanner, batch, run_in_context(scanner, batch, launch_here));
}
