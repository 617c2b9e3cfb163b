/* SPDX-License-Identifier: MIT */
/* The scanner on the path of a collective: the batches that a thread is filling, and their launches. */
#include "plugin/guest/clock.h"
#include "plugin/scan/scanner.h"

__thread struct scan_batch *scanner_batches __attribute__((tls_model("initial-exec")));

static void close_batch(struct scan_batch *batch)
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

static struct scan_batch *find_batch(const struct scan_device *device, enum scan_place place, uint64_t stream,
				     bool captured)
{
	for (struct scan_batch *batch = scanner_batches; batch; batch = batch->next)
		if (batch->device == device && batch->place == place && batch->stream == stream &&
		    batch->captured == captured && !scan_batch_is_full(batch))
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
	batch->next = scanner_batches;
	scanner_batches = batch;
	return batch;
}

/* True if the thread asked for this address just before, as for the input of a call in place. */
static bool is_known_device_memory(uint64_t address)
{
	for (const struct scan_batch *batch = scanner_batches; batch; batch = batch->next) {
		uint32_t count = batch->launch.segment_count;

		if (count && batch->launch.segments[count - 1].address == address)
			return true;
	}
	return false;
}

static bool is_device_memory(const struct driver *driver, uint64_t address)
{
	static const int attributes[] = { DRIVER_POINTER_MEMORY_TYPE, DRIVER_POINTER_IS_MANAGED };
	unsigned int type = 0, managed = 0;
	void *values[] = { &type, &managed };

	if (is_known_device_memory(address))
		return true;
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
	bool captured = !request->slot;
	struct scan_batch *batch = find_batch(request->device, request->place, request->stream, captured);
	if (!batch)
		batch = open_batch(request->device, request->place, request->stream);
	if (!batch)
		return RW_UNSCANNABLE_BEHIND;
	batch->captured = captured;
	batch->capture_is_known = request->capture_is_known;
	if (!captured && !box_hold(request->slot, request->ticket, request->owner))
		return RW_UNSCANNABLE_BEHIND;
	scan_batch_add(batch, &segment, &(struct scan_entry){ request->ticket, request->owner });
	batch->bytes += buffer->bytes;
	return RW_UNSCANNABLE_NONE;
}

/* A launch into a stream under capture becomes part of the graph, and one into the legacy stream can end the capture of
 * another. Only what is meant to be captured may be. */
static enum rw_unscannable why_not_now(struct scanner *scanner, const struct scan_batch *batch)
{
	int capturing = DRIVER_NOT_CAPTURING;

	if (batch->capture_is_known)
		return scanner_is_on(scanner) ? RW_UNSCANNABLE_NONE : RW_UNSCANNABLE_ERROR;
	int error = scanner->driver->stream_capturing((driver_stream)(uintptr_t)batch->stream, &capturing);

	int wanted = batch->captured ? DRIVER_CAPTURING : DRIVER_NOT_CAPTURING;
	if (driver_is_of_capture(error) || (!error && capturing != wanted))
		return RW_UNSCANNABLE_CAPTURE;
	if (error)
		scanner_give_up(scanner, "cuStreamIsCapturing", error);
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

static enum rw_unscannable launch(struct scanner *scanner, struct scan_batch *batch)
{
	enum rw_unscannable reason =
	    why_not_launched(scanner, scan_batch_launch(batch, scanner->driver, batch->stream));

	if (reason != RW_UNSCANNABLE_NONE)
		return reason;
	scanner_count(&scanner->box->header->scan_launches, 1);
	scanner_count(&scanner->box->header->scan_bytes, batch->bytes);
	return RW_UNSCANNABLE_NONE;
}

static enum rw_unscannable capture(struct scanner *scanner, struct scan_batch *batch)
{
	int error = 0;

	if (!scan_batch_capture(batch, scanner->driver, &error))
		return RW_UNSCANNABLE_CAPTURE;
	return why_not_launched(scanner, error);
}

/* The batch's context need not be this thread's: one thread can drive several devices. */
static enum rw_unscannable run_in_context(struct scanner *scanner, struct scan_batch *batch)
{
	const struct driver *driver = scanner->driver;
	driver_context current = NULL;
	bool foreign = driver->context_current(&current) != 0 || current != batch->device->context;

	if (foreign && driver->context_push(batch->device->context) != 0)
		return RW_UNSCANNABLE_CONTEXT;
	enum rw_unscannable reason = batch->captured ? capture(scanner, batch) : launch(scanner, batch);
	if (foreign)
		driver->context_pop(&current);
	return reason;
}

static void run(struct scanner *scanner, struct scan_batch *batch)
{
	enum rw_unscannable reason = why_not_now(scanner, batch);

	if (reason == RW_UNSCANNABLE_NONE)
		reason = run_in_context(scanner, batch);
	close_batch(batch);
	if (reason == RW_UNSCANNABLE_NONE && !batch->captured)
		scan_batch_publish(batch);
	else
		drop(scanner, batch, reason);
}

static uint64_t run_all(struct scanner *scanner, enum scan_place place)
{
	struct scan_batch *next;
	uint64_t begin = clock_ns();

	for (struct scan_batch *batch = scanner_batches; batch; batch = next) {
		next = batch->next;
		if (batch->place == place)
			run(scanner, batch);
	}
	uint64_t took_ns = clock_ns() - begin;
	scanner_count(&scanner->box->header->scan_host_ns, took_ns);
	return took_ns;
}

uint64_t scanner_before_call(struct scanner *scanner)
{
	return scanner_batches ? run_all(scanner, SCAN_BEFORE_CALL) : 0;
}

static void drop_all(struct scanner *scanner, enum scan_place place)
{
	struct scan_batch *next;

	for (struct scan_batch *batch = scanner_batches; batch; batch = next) {
		next = batch->next;
		if (batch->place != place)
			continue;
		close_batch(batch);
		drop(scanner, batch, RW_UNSCANNABLE_NONE);
	}
}

void scanner_behind_call(struct scanner *scanner, bool failed)
{
	if (!scanner_batches)
		return;
	/* A call that NCCL refused has no result. Where NCCL ran before our scans were launched, the inputs are overwritten. */
	drop_all(scanner, SCAN_BEFORE_CALL);
	if (failed)
		drop_all(scanner, SCAN_BEHIND_CALL);
	run_all(scanner, SCAN_BEHIND_CALL);
}

void scanner_behind_plan(struct scanner *scanner)
{
	if (scanner_batches)
		run_all(scanner, SCAN_BEHIND_PLAN);
}
