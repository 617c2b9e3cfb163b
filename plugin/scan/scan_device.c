/* SPDX-License-Identifier: MIT */
#include "plugin/scan/scan_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rankwatch/operation.h>

#include "plugin/guest/clock.h"
#include "plugin/scan/scan_batch.h"

enum {
	SHORT_TRIAL_BLOCKS = 17,
	RESULTS = SCAN_BATCHES * SCAN_SEGMENTS,
	RESULTS_SIZE = RESULTS * (int)sizeof(struct scan_result),
	SCRATCH_SIZE = SCAN_BATCHES * (int)sizeof(struct scan_scratch),
	BLOCKS_EACH = 2, /* that one multiprocessor runs at a time: docs/scan.md, "What it costs" */
	SHARE = 4,       /* a launch takes no more than one in so many of the places that a device has for blocks */
	LAUNCHES_MEASURED = 3,
	LAUNCH_NS = 8000, /* as predicted, where it cannot be measured */
	LAUNCH_NS_MAX = 20000,
	ANSWER_WITHIN_NS = 1000000,
};

struct opening {
	struct scan_device *device;
	size_t host_size;
	const struct driver *driver;
	const struct scan_image *images;
	bool nodes;
	uint64_t results, scratch; /* device addresses; behind them what nodes need */
	driver_stream stream;      /* used only by the opening */
	int error;
	void (*entered)(void *argument, const char *call);
	void *argument;
};

/* Before each call but the one that its step is named after. */
static void enter(const struct opening *opening, const char *call)
{
	opening->entered(opening->argument, call);
}

static bool context(struct opening *opening)
{
	opening->error = opening->driver->context_current(&opening->device->context);
	return opening->error == 0 && opening->device->context;
}

/* A slice of a GPU (MIG), or a small GPU, has few multiprocessors: the rest of them is the job's there, too. */
static bool processors(struct opening *opening)
{
	int ordinal = 0, count = 0;

	opening->error = opening->driver->context_device(&ordinal);
	enter(opening, "cuDeviceGetAttribute");
	if (!opening->error)
		opening->error = opening->driver->device_attribute(&count, DRIVER_MULTIPROCESSORS, ordinal);
	unsigned int share = count > 0 ? (unsigned int)count * BLOCKS_EACH / SHARE : 0;
	opening->device->blocks = share > SCAN_BLOCKS ? SCAN_BLOCKS : share ? share : 1;
	return opening->error == 0;
}

static bool module(struct opening *opening)
{
	struct scan_device *device = opening->device;

	opening->error = DRIVER_NO_BINARY_FOR_GPU;
	for (const struct scan_image *image = opening->images; image->data && opening->error; image++) {
		opening->error = opening->driver->scan.module_load(&device->module, image->data);
		device->image = image;
	}
	if (opening->error)
		return false;
	enter(opening, "cuModuleGetFunction");
	opening->error = opening->driver->scan.module_function(&device->kernel, device->module, SCAN_KERNEL_NAME);
	return opening->error == 0;
}

/* Lazy loading would load it at its first launch. */
static bool function(struct opening *opening)
{
	if (opening->driver->scan.function_load)
		opening->error = opening->driver->scan.function_load(opening->device->kernel);
	return opening->error == 0;
}

/*
 * Memory of ours that is registered with the driver, never memory of the driver's: cudaDeviceReset(), the end of the
 * context and the driver's own exit unmap what it has allocated, and the drain goes on reading. Shared and not for
 * children: a fork would give either side a copy of a page that the GPU writes to. Populated by the zeros of the
 * kernel.
 */
static bool host_memory(struct opening *opening)
{
	opening->host_size = RESULTS_SIZE + (opening->nodes ? scan_nodes_host_size() : 0);
	void *address =
	    mmap(NULL, opening->host_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	opening->error = 0;
	if (address == MAP_FAILED)
		return false;
	madvise(address, opening->host_size, MADV_DONTFORK);
	opening->device->results = address;
	return true;
}

static bool results(struct opening *opening)
{
	void *address = opening->device->results;

	opening->error = opening->driver->host_register(
	    address, opening->host_size, DRIVER_HOST_REGISTER_PORTABLE | DRIVER_HOST_REGISTER_DEVICE_MAP);
	if (opening->error)
		return false;
	enter(opening, "cuMemHostGetDevicePointer");
	opening->error = opening->driver->host_device_pointer(&opening->results, address, 0);
	opening->device->results_address = opening->results;
	return opening->error == 0;
}

bool scan_device_is_whole(const struct scan_device *device, const struct driver *driver)
{
	uint64_t address = 0;

	return driver->host_device_pointer(&address, device->results, 0) == 0 && address == device->results_address;
}

/* No order with the job's streams: what they wait for shall not be waited for here. */
static bool stream(struct opening *opening)
{
	opening->error = opening->driver->scan.stream_create(&opening->stream, DRIVER_STREAM_NON_BLOCKING);
	return opening->error == 0;
}

/* In the order of a stream that waits for no other: the first launch there finds zeros, and is waited for. */
static bool scratch(struct opening *opening)
{
	size_t size = SCRATCH_SIZE + (opening->nodes ? scan_nodes_device_size() : 0);

	opening->error = opening->driver->scan.memory_allocate(&opening->scratch, size);
	if (opening->error)
		return false;
	enter(opening, "cuMemsetD8Async");
	opening->error = opening->driver->scan.memory_set(opening->scratch, 0, size, opening->stream);
	return opening->error == 0;
}

static void describe(struct opening *opening, uint32_t number)
{
	struct scan_batch *batch = &opening->device->batches[number];

	batch->device = opening->device;
	batch->number = number;
	batch->word = number / 64;
	batch->bit = UINT64_C(1) << number % 64;
	batch->launch.slots = (struct scan_result *)(uintptr_t)opening->results + number * SCAN_SEGMENTS;
	batch->launch.scratch = (struct scan_scratch *)(uintptr_t)opening->scratch + number;
}

static bool batches(struct opening *opening)
{
	size_t size = SCAN_BATCHES * sizeof(struct scan_batch);

	opening->device->batches = aligned_alloc(64, size);
	if (!opening->device->batches)
		return false;
	memset(opening->device->batches, 0, size); /* no page of it faults later */
	for (uint32_t i = 0; i < SCAN_BATCHES; i++)
		describe(opening, i);
	return true;
}

static void add_trial(struct scan_batch *batch, enum scan_trial trial, uint64_t pattern)
{
	for (uint32_t i = 0; i < scan_trial_segments(trial); i++) {
		struct scan_segment segment = scan_trial_segment(trial, i, pattern);
		const struct scan_buffer buffer = { .address = segment.address,
						    .elements = segment.elements,
						    .dtype = segment.dtype,
						    .flags = segment.flags };

		scan_batch_add(batch, &buffer, 0, 0);
	}
}

static bool passed(struct scan_device *device, enum scan_trial trial, const struct scan_result *results)
{
	bool right = results;

	if (!right)
		snprintf(device->wrong, sizeof(device->wrong), "no result comes");
	for (uint32_t i = 0; i < scan_trial_segments(trial) && right; i++)
		right = scan_trial_is_right(trial, i, &results[i], device->wrong);
	return right;
}

/* It must give the known answers. pattern: on the device. */
static bool launch_trial(struct opening *opening, enum scan_trial trial, uint64_t pattern, unsigned int blocks)
{
	struct scan_batch *batch = scan_batch_take(opening->device); /* number 0 */

	add_trial(batch, trial, pattern);
	batch->bytes = (uint64_t)blocks * SCAN_TILE_BYTES;
	opening->error = scan_batch_launch(batch, opening->driver, (uintptr_t)opening->stream);
	enter(opening, "cuStreamSynchronize");
	if (!opening->error)
		opening->error = opening->driver->scan.stream_synchronize(opening->stream);
	bool right = !opening->error && passed(opening->device, trial, scan_batch_results(batch));
	scan_batch_give(batch);
	return right;
}

/* Room for the buffers of trials: result slots that nobody uses yet. */
static unsigned char *trial_room(const struct opening *opening)
{
	return (unsigned char *)(opening->device->results + SCAN_SEGMENTS);
}

_Static_assert((RESULTS - SCAN_SEGMENTS) * sizeof(struct scan_result) >= SCAN_TRIAL_SHORT_BYTES &&
		       (RESULTS - SCAN_SEGMENTS) * sizeof(struct scan_result) >= SCAN_TRIAL_LONG_BYTES, "have room");

/* A first launch can load code and resize what the context has. */
static bool first_launch(struct opening *opening)
{
	struct scan_device *device = opening->device;

	for (uint32_t word = 0; word < SCAN_BATCH_WORDS; word++)
		atomic_store_explicit(&device->free[word], ~UINT64_C(0), memory_order_relaxed);
	scan_trial_fill(SCAN_TRIAL_SHORT, trial_room(opening));
	bool right = launch_trial(opening, SCAN_TRIAL_SHORT,
				  opening->results + SCAN_SEGMENTS * sizeof(struct scan_result), SHORT_TRIAL_BLOCKS);
	memset(trial_room(opening), 0, SCAN_TRIAL_SHORT_BYTES);
	return right;
}

/*
 * Memory of the device for the long trial: the scratch of all batches but the first, which nobody uses yet. Memory of
 * the trial's own would have to be freed, and that waits until the context is idle: a kernel of the program's that
 * waits for what comes after the communicator's init would hold up that init for ever.
 */
static uint64_t trial_memory(const struct opening *opening)
{
	return opening->scratch + sizeof(struct scan_scratch);
}

_Static_assert(SCRATCH_SIZE - sizeof(struct scan_scratch) >= SCAN_TRIAL_LONG_BYTES, "has room");
_Static_assert(sizeof(struct scan_scratch) % 16 == 0, "is aligned");

static bool long_pattern(struct opening *opening)
{
	scan_trial_fill(SCAN_TRIAL_LONG, trial_room(opening));
	opening->error = opening->driver->scan.memory_copy(trial_memory(opening), trial_room(opening),
							   SCAN_TRIAL_LONG_BYTES, opening->stream);
	return opening->error == 0;
}

/* So few blocks that each goes round its loop. The copy is done before: same stream. */
static bool long_launch(struct opening *opening)
{
	bool right = launch_trial(opening, SCAN_TRIAL_LONG, trial_memory(opening), SCAN_TRIAL_LONG_BLOCKS);

	memset(trial_room(opening), 0, SCAN_TRIAL_LONG_BYTES);
	return right;
}

/* Other streams use it next, so it is waited for. */
static bool clear_scratch(struct opening *opening)
{
	opening->error = opening->driver->scan.memory_set(trial_memory(opening), 0, SCAN_TRIAL_LONG_BYTES,
							  opening->stream);
	enter(opening, "cuStreamSynchronize");
	if (!opening->error)
		opening->error = opening->driver->scan.stream_synchronize(opening->stream);
	return opening->error == 0;
}

/* How long from the launch of a scan to its answer, less the time that the scan itself took; LAUNCH_NS_MAX: no
 * answer. */
static uint64_t time_launch(struct opening *opening)
{
	struct scan_batch *batch = scan_batch_take(opening->device);
	const struct scan_buffer buffer = { .address = opening->results + SCAN_SEGMENTS * sizeof(struct scan_result),
					    .elements = 16,
					    .bytes = 64,
					    .dtype = RW_DTYPE_FLOAT32 };
	const struct scan_result *results = NULL;
	uint64_t before = clock_ns(), took = 0;

	scan_batch_add(batch, &buffer, 0, 0);
	bool launched = scan_batch_launch(batch, opening->driver, (uintptr_t)opening->stream) == 0;
	while (launched && !results && took < ANSWER_WITHIN_NS) {
		results = scan_batch_results(batch);
		took = clock_ns() - before;
	}
	uint64_t scan_ns = results && results->gpu_end_ns > results->gpu_start_ns
				   ? results->gpu_end_ns - results->gpu_start_ns : 0;
	/* One whose answer is out keeps its slots. */
	if (results || !launched)
		scan_batch_give(batch);
	return results && took > scan_ns ? took - scan_ns : LAUNCH_NS_MAX;
}

/* The budget charges it for every launch. The least of a few: what else the processor did meanwhile is not the
 * launch. */
static bool launch_cost(struct opening *opening)
{
	uint64_t least = LAUNCH_NS_MAX;

	for (int i = 0; i < LAUNCHES_MEASURED; i++) {
		uint64_t took = time_launch(opening);

		least = took < least ? took : least;
	}
	opening->device->launch_ns = least < LAUNCH_NS_MAX ? (uint32_t)least : LAUNCH_NS;
	return true;
}

static bool nodes(struct opening *opening)
{
	void *host = (char *)opening->device->results + RESULTS_SIZE;

	return !opening->nodes || scan_nodes_open(&opening->device->nodes, host, opening->results + RESULTS_SIZE,
						  opening->scratch + SCRATCH_SIZE);
}

static const struct {
	const char *call; /* that fails, if one does */
	bool (*make)(struct opening *opening);
} steps[] = {
	{ "cuCtxGetCurrent", context },   { "cuCtxGetDevice", processors },
	{ "cuModuleLoadData", module },   { "cuFuncLoad", function },
	{ "mmap", host_memory },          { "cuMemHostRegister", results },
	{ "cuStreamCreate", stream },     { "cuMemAlloc", scratch },
	{ "aligned_alloc", batches },     { "aligned_alloc", nodes },
	{ "cuLaunchKernel", first_launch },    { "cuMemcpyHtoDAsync", long_pattern },
	{ "cuLaunchKernel", long_launch },     { "cuMemsetD8Async", clear_scratch },
	{ "cuLaunchKernel", launch_cost },
};

const char *scan_device_open(struct scan_device *device, const struct driver *driver, const struct scan_image *images,
			     bool nodes_too, void (*entered)(void *argument, const char *call), void *argument,
			     int *error)
{
	struct opening opening = { .device = device,
				   .driver = driver,
				   .images = images,
				   .nodes = nodes_too,
				   .entered = entered,
				   .argument = argument };
	const char *failed = NULL;
	int mode;

	enter(&opening, "cuThreadExchangeStreamCaptureMode");
	bool relaxed = driver_relax_capture(driver, &mode);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !failed; i++) {
		entered(argument, steps[i].call);
		if (!steps[i].make(&opening))
			failed = steps[i].call;
	}
	if (opening.stream) {
		enter(&opening, "cuStreamDestroy");
		driver->scan.stream_destroy(opening.stream);
	}
	if (relaxed) {
		enter(&opening, "cuThreadExchangeStreamCaptureMode");
		driver_restore_capture(driver, &mode);
	}
	atomic_store_explicit(&device->usable, !failed, memory_order_relaxed);
	*error = opening.error;
	return failed;
}

void scan_batch_give(struct scan_batch *batch)
{
	struct scan_device *device = batch->device;

	atomic_fetch_and_explicit(&device->launched[batch->word], ~batch->bit, memory_order_relaxed);
	/* Release: the next who takes it finds it as we left it. */
	atomic_fetch_or_explicit(&device->free[batch->word], batch->bit, memory_order_release);
}

bool scan_batch_capture(struct scan_batch *batch, const struct driver *driver, int *error)
{
	struct scan_launch *launch = &batch->launch;
	struct scan_scratch *own = launch->scratch;
	struct scan_node_segment segments[SCAN_SEGMENTS];

	for (uint32_t i = 0; i < launch->segment_count; i++)
		segments[i] = (struct scan_node_segment){
			.elements = launch->segments[i].elements,
			.bytes = i ? 0 : batch->bytes,
			.call = (uint32_t)batch->entries[i].ticket,
			.sides = batch->entries[i].owner,
		};
	if (!scan_nodes_add(&batch->device->nodes, launch, segments))
		return false;
	*error = scan_batch_launch(batch, driver, batch->stream);
	launch->replays = (struct scan_replays){ 0 };
	launch->scratch = own;
	return true;
}

const struct scan_result *scan_batch_results(const struct scan_batch *batch)
{
	const struct scan_result *results = &batch->device->results[batch->number * SCAN_SEGMENTS];

	for (uint32_t i = batch->launch.segment_count; i-- > 0;)
		/* Acquire: pairs with the kernel's release, after all other fields. */
		if (__atomic_load_n(&results[i].sequence, __ATOMIC_ACQUIRE) != batch->sequence)
			return NULL;
	return results;
}
