/* SPDX-License-Identifier: MIT */
#include "plugin/gpu/scanner.h"

#include <stdio.h>
#include <time.h>

enum { STATE_SIZE = sizeof(((struct rw_box_header *)0)->scan_state) };

#define PLACES_OF_PLAN (1u << SCAN_BESIDE_PLAN | 1u << SCAN_BEHIND_PLAN)

/* Batches that this thread is filling. Initial-exec, and as scarce as in recorder.c. */
static __thread struct scan_batch *open_batches __attribute__((tls_model("initial-exec")));

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void add(_Atomic uint64_t *counter, uint64_t amount)
{
	atomic_fetch_add_explicit(counter, amount, memory_order_relaxed);
}

/* Any thread may meet the error; the first one says it, without a system call. */
static void give_up(struct scanner *scanner, const char *call, int error)
{
	int none = 0;

	atomic_store_explicit(&scanner->on, false, memory_order_relaxed);
	if (!atomic_compare_exchange_strong(&scanner->error, &none, error))
		return;
	atomic_store_explicit(&scanner->box->header->scan_every, 0, memory_order_relaxed);
	snprintf(scanner->box->header->scan_state, STATE_SIZE, "off: %s failed with CUDA error %d", call, error);
}

void scanner_open(struct scanner *scanner, const struct driver *driver, struct box_writer *box,
		  const struct scan_image *images, const char *state, const char *why_not)
{
	*scanner = (struct scanner){ .driver = driver, .box = box, .images = images };
	if (!why_not && !driver->scan.launch)
		why_not = "none: CUDA driver too old";
	snprintf(box->header->scan_state, STATE_SIZE, "%s", why_not ? why_not : state);
	atomic_store_explicit(&box->header->scan_every, !why_not, memory_order_relaxed);
	atomic_store_explicit(&scanner->on, !why_not, memory_order_relaxed);
}

static void say_entered(void *argument, const char *call)
{
	struct scanner *scanner = argument;

	snprintf(scanner->box->header->scan_state, STATE_SIZE, "%s has not returned", call);
}

static void say_failed(struct scanner *scanner, uint32_t number, const char *call, int error)
{
	char *state = scanner->box->header->scan_state;

	if (error)
		snprintf(state, STATE_SIZE, "off: %s failed with CUDA error %d", call, error);
	else
		snprintf(state, STATE_SIZE, "off: %s has no effect", call);
	if (number == 0)
		atomic_store_explicit(&scanner->box->header->scan_every, 0, memory_order_relaxed);
}

static struct scan_device *make_device(struct scanner *scanner)
{
	uint32_t number = atomic_load_explicit(&scanner->device_count, memory_order_relaxed);
	char state[STATE_SIZE];
	int error = 0;

	if (number == RW_BOX_DEVICES)
		return NULL;
	struct scan_device *device = &scanner->devices[number];
	snprintf(state, sizeof(state), "%s", scanner->box->header->scan_state);
	const char *failed = scan_device_open(device, scanner->driver, scanner->images, say_entered, scanner, &error);
	if (failed)
		say_failed(scanner, number, failed, error);
	else
		snprintf(scanner->box->header->scan_state, STATE_SIZE, "%s", state);
	/* Release: pairs with the acquire of the drain thread. */
	atomic_store_explicit(&scanner->device_count, number + 1, memory_order_release);
	return failed ? NULL : device;
}

struct scan_device *scanner_device(struct scanner *scanner)
{
	uint32_t count = atomic_load_explicit(&scanner->device_count, memory_order_relaxed);
	driver_context context;

	if (!scanner_is_on(scanner) || scanner->driver->context_current(&context) != 0)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		if (scanner->devices[i].context == context)
			return scanner->devices[i].usable ? &scanner->devices[i] : NULL;
	return make_device(scanner);
}

void scanner_refuse(struct scanner *scanner, struct rw_operation *slot, enum rw_unscannable reason)
{
	uint32_t flags = RW_FLAG_UNSCANNABLE | (uint32_t)reason << RW_FLAG_UNSCANNABLE_SHIFT;

	add(&scanner->box->header->scan_unscannable[reason], 1);
	/* One reason has room; the first stays. Relaxed: both sides of an operation are on one thread. */
	if (!(atomic_load_explicit(&slot->flags, memory_order_relaxed) & RW_FLAG_UNSCANNABLE))
		atomic_fetch_or_explicit(&slot->flags, flags, memory_order_relaxed);
}

static void close_batch(struct scan_batch *batch)
{
	struct scan_batch **at = &open_batches;

	while (*at != batch)
		at = &(*at)->next;
	*at = batch->next;
}

/* Not launched: nobody waits for its results any more. */
static void drop(struct scanner *scanner, struct scan_batch *batch, enum rw_unscannable reason)
{
	for (uint32_t i = 0; i < batch->launch.segment_count; i++) {
		const struct scan_entry *entry = &batch->entries[i];
		struct rw_operation *slot = box_slot(scanner->box, entry->ticket);

		if (!slot)
			continue;
		if (reason != RW_UNSCANNABLE_NONE)
			scanner_refuse(scanner, slot, reason);
		box_release(slot, entry->ticket, entry->owner);
	}
	scan_batch_give(batch);
}

static struct scan_batch *find_batch(const struct scan_device *device, enum scan_place place, uint64_t stream)
{
	for (struct scan_batch *batch = open_batches; batch; batch = batch->next)
		if (batch->device == device && batch->place == place && batch->stream == stream &&
		    !scan_batch_is_full(batch))
			return batch;
	return NULL;
}

static struct scan_batch *open_batch(struct scan_device *device, enum scan_place place, uint64_t stream)
{
	struct scan_batch *batch = scan_batch_take(device);

	if (!batch)
		return NULL;
	batch->place = place;
	batch->stream = stream;
	batch->next = open_batches;
	open_batches = batch;
	return batch;
}

static bool is_device_memory(const struct driver *driver, uint64_t address)
{
	static const int attributes[] = { DRIVER_POINTER_MEMORY_TYPE, DRIVER_POINTER_IS_MANAGED };
	unsigned int type = 0, managed = 0;
	void *values[] = { &type, &managed };

	return driver->scan.pointer_attributes(2, attributes, values, address) == 0 && type == DRIVER_MEMORY_DEVICE &&
	       !managed;
}

enum rw_unscannable scanner_add(struct scanner *scanner, const struct scan_request *request)
{
	const struct scan_buffer *buffer = request->buffer;
	struct scan_segment segment = {
		.address = buffer->address,
		.elements = buffer->elements,
		.dtype = buffer->dtype,
		.flags = buffer->flags,
	};

	if (!scanner_is_on(scanner))
		return RW_UNSCANNABLE_ERROR;
	if (!is_device_memory(scanner->driver, buffer->address))
		return RW_UNSCANNABLE_MEMORY;
	struct scan_batch *batch = find_batch(request->device, request->place, request->stream);
	/* Without a fork there is nothing to run beside. */
	if (!batch)
		batch = open_batch(request->device, request->place, request->stream);
	if (!batch || !box_hold(request->slot, request->ticket, request->owner))
		return RW_UNSCANNABLE_BEHIND;
	scan_batch_add(batch, &segment, &(struct scan_entry){ request->ticket, request->owner });
	batch->bytes += buffer->bytes;
	return RW_UNSCANNABLE_NONE;
}

/* A launch into a stream under capture would become part of the graph, and one into the legacy stream can end the
 * capture of another. */
static enum rw_unscannable why_not_now(struct scanner *scanner, const struct scan_batch *batch)
{
	int capturing = DRIVER_NOT_CAPTURING;
	int error = scanner->driver->stream_capturing((driver_stream)(uintptr_t)batch->stream, &capturing);

	if (error == DRIVER_CAPTURE_IMPLICIT || (!error && capturing != DRIVER_NOT_CAPTURING))
		return RW_UNSCANNABLE_CAPTURE;
	if (error)
		give_up(scanner, "cuStreamIsCapturing", error);
	return scanner_is_on(scanner) ? RW_UNSCANNABLE_NONE : RW_UNSCANNABLE_ERROR;
}

static bool launch(struct scanner *scanner, struct scan_batch *batch, uint64_t stream)
{
	int error = scan_batch_launch(batch, scanner->driver, stream);

	if (error) {
		give_up(scanner, "cuLaunchKernel", error);
		return false;
	}
	add(&scanner->box->header->scan_launches, 1);
	add(&scanner->box->header->scan_bytes, batch->bytes);
	if (stream != batch->stream)
		add(&scanner->box->header->scan_beside, 1);
	return true;
}

/* `first` then goes on when `second` gets to this point. */
static bool order(struct scanner *scanner, driver_stream second, driver_event event, driver_stream first)
{
	int error = scanner->driver->scan.event_record(event, second);

	if (!error)
		error = scanner->driver->scan.stream_wait_event(first, event, 0);
	if (error)
		give_up(scanner, "cuStreamWaitEvent", error);
	return error == 0;
}

static bool fork_and_launch(struct scanner *scanner, struct scan_batch *batch)
{
	driver_stream stream = (driver_stream)(uintptr_t)batch->stream;
	driver_stream side = batch->device->side;

	return order(scanner, stream, batch->fork, side) && launch(scanner, batch, (uintptr_t)side);
}

/* After NCCL's launch, from the fork before it. */
static bool launch_beside(struct scanner *scanner, struct scan_batch *batch)
{
	driver_stream stream = (driver_stream)(uintptr_t)batch->stream;
	driver_stream side = batch->device->side;
	int error = scanner->driver->scan.stream_wait_event(side, batch->fork, 0);

	if (error)
		give_up(scanner, "cuStreamWaitEvent", error);
	return !error && launch(scanner, batch, (uintptr_t)side) && order(scanner, side, batch->join, stream);
}

static bool start(struct scanner *scanner, struct scan_batch *batch)
{
	if (batch->place == SCAN_BEFORE_CALL)
		return launch(scanner, batch, batch->stream);
	batch->forked = fork_and_launch(scanner, batch);
	return batch->forked;
}

static bool finish(struct scanner *scanner, struct scan_batch *batch)
{
	if (batch->place == SCAN_BESIDE_PLAN)
		return launch_beside(scanner, batch);
	if (batch->place == SCAN_BESIDE_CALL)
		return order(scanner, batch->device->side, batch->join, (driver_stream)(uintptr_t)batch->stream);
	return launch(scanner, batch, batch->stream);
}

/* The batch's context need not be this thread's: one thread can drive several devices. */
static bool in_context(struct scanner *scanner, struct scan_batch *batch,
		       bool (*step)(struct scanner *, struct scan_batch *))
{
	const struct driver *driver = scanner->driver;
	driver_context current = NULL;
	bool foreign = driver->context_current(&current) != 0 || current != batch->device->context;

	if (foreign && driver->context_push(batch->device->context) != 0)
		return false;
	bool done = step(scanner, batch);
	if (foreign)
		driver->context_pop(&current);
	return done;
}

static void run(struct scanner *scanner, struct scan_batch *batch, bool (*step)(struct scanner *, struct scan_batch *))
{
	/* Once forked it must be joined, whatever else. */
	enum rw_unscannable reason = batch->forked ? RW_UNSCANNABLE_NONE : why_not_now(scanner, batch);

	if (reason == RW_UNSCANNABLE_NONE && !in_context(scanner, batch, step))
		reason = scanner_is_on(scanner) ? RW_UNSCANNABLE_CONTEXT : RW_UNSCANNABLE_ERROR;
	if (reason == RW_UNSCANNABLE_NONE && batch->place == SCAN_BESIDE_CALL && step == start)
		return; /* stays open for its join */
	close_batch(batch);
	if (reason == RW_UNSCANNABLE_NONE)
		scan_batch_publish(batch);
	else
		drop(scanner, batch, reason);
}

static uint64_t run_all(struct scanner *scanner, unsigned int places,
			bool (*step)(struct scanner *, struct scan_batch *))
{
	struct scan_batch *next;
	uint64_t begin = clock_ns();

	for (struct scan_batch *batch = open_batches; batch; batch = next) {
		next = batch->next;
		if (places & 1u << batch->place)
			run(scanner, batch, step);
	}
	uint64_t took_ns = clock_ns() - begin;
	add(&scanner->box->header->scan_host_ns, took_ns);
	return took_ns;
}

uint64_t scanner_before_call(struct scanner *scanner)
{
	return open_batches ? run_all(scanner, 1u << SCAN_BEFORE_CALL | 1u << SCAN_BESIDE_CALL, start) : 0;
}

/* Those that run already stay. */
static void drop_all(struct scanner *scanner, unsigned int places)
{
	struct scan_batch *next;

	for (struct scan_batch *batch = open_batches; batch; batch = next) {
		next = batch->next;
		if (!(places & 1u << batch->place) || batch->forked)
			continue;
		close_batch(batch);
		drop(scanner, batch, RW_UNSCANNABLE_NONE);
	}
}

void scanner_behind_call(struct scanner *scanner, bool failed)
{
	unsigned int before = 1u << SCAN_BEFORE_CALL | 1u << SCAN_BESIDE_CALL;

	if (!open_batches)
		return;
	/* What NCCL refused has no result, and what it ran without a word before has no input any more. */
	drop_all(scanner, failed ? before | 1u << SCAN_BEHIND_CALL : before);
	run_all(scanner, 1u << SCAN_BEHIND_CALL | 1u << SCAN_BESIDE_CALL, finish);
}

void scanner_fork(struct scanner *scanner, struct scan_device *device, uint64_t stream)
{
	struct scan_batch *batch = find_batch(device, SCAN_BESIDE_PLAN, stream);
	driver_context current;

	if (!scanner_is_on(scanner) || scanner->driver->context_current(&current) != 0 || current != device->context)
		return;
	if (!batch)
		batch = open_batch(device, SCAN_BESIDE_PLAN, stream);
	if (!batch)
		return;
	bool allowed = why_not_now(scanner, batch) == RW_UNSCANNABLE_NONE;
	int error = allowed ? scanner->driver->scan.event_record(batch->fork, (driver_stream)(uintptr_t)stream) : 0;
	if (error)
		give_up(scanner, "cuEventRecord", error);
	if (allowed && !error)
		return;
	close_batch(batch);
	drop(scanner, batch, RW_UNSCANNABLE_NONE);
}

bool scanner_is_forked(const struct scan_device *device, uint64_t stream)
{
	return find_batch(device, SCAN_BESIDE_PLAN, stream);
}

/* A fork whose plan had nothing to scan beside it. */
static void drop_empty_forks(struct scanner *scanner)
{
	struct scan_batch *next;

	for (struct scan_batch *batch = open_batches; batch; batch = next) {
		next = batch->next;
		if (batch->place != SCAN_BESIDE_PLAN || batch->launch.segment_count)
			continue;
		close_batch(batch);
		drop(scanner, batch, RW_UNSCANNABLE_NONE);
	}
}

void scanner_behind_plan(struct scanner *scanner)
{
	if (!open_batches)
		return;
	drop_empty_forks(scanner);
	run_all(scanner, PLACES_OF_PLAN, finish);
}

/* What a collection goes through. */
struct collection {
	struct scanner *scanner;
	struct scan_overlap *overlap;
	scanner_take *take;
	void *argument;
};

static void take_results(const struct collection *collection, struct scan_batch *batch,
			 const struct scan_result *results)
{
	struct rw_box_header *header = collection->scanner->box->header;
	uint64_t took_ns = results->gpu_end_ns - results->gpu_start_ns;

	for (uint32_t i = 0; i < batch->launch.segment_count; i++)
		collection->take(collection->argument, &batch->entries[i], &batch->launch.segments[i], &results[i]);
	add(&header->scan_buffers, batch->launch.segment_count);
	if (results->gpu_end_ns < results->gpu_start_ns)
		return;
	add(&header->scan_gpu_ns, took_ns);
	scan_overlap_learn_scan(collection->overlap, batch->bytes, took_ns);
}

static unsigned int collect(const struct collection *collection, struct scan_device *device, uint32_t word)
{
	unsigned int left = 0;

	for (uint64_t bits = scan_batches_launched(device, word); bits; bits &= bits - 1) {
		struct scan_batch *batch = scan_batch_at(device, word, bits);
		const struct scan_result *results = scan_batch_results(batch);

		if (!results) {
			left++;
			continue;
		}
		take_results(collection, batch, results);
		scan_batch_give(batch);
	}
	return left;
}

unsigned int scanner_collect(struct scanner *scanner, struct scan_overlap *overlap, scanner_take *take, void *argument)
{
	struct collection collection = { scanner, overlap, take, argument };
	unsigned int left = 0;

	/* Acquire: pairs with the release in make_device(). */
	for (uint32_t i = atomic_load_explicit(&scanner->device_count, memory_order_acquire); i-- > 0;)
		for (uint32_t word = 0; word < SCAN_BATCH_WORDS && scanner->devices[i].usable; word++)
			left += collect(&collection, &scanner->devices[i], word);
	return left;
}
