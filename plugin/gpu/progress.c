/* SPDX-License-Identifier: MIT */
#include "plugin/gpu/progress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "plugin/guest/clock.h"

enum {
	WRITES_MEASURED = 16,
	ROUNDS = 4,
	WRITE_NS = 1000, /* as predicted, where it cannot be measured */
	WRITE_NS_MAX = 2500, /* charged at most; measured on an H100: 1,300 to 2,500 (docs/benchmarks.md) */
	WRITTEN_WITHIN_NS = 1000000,
};
enum { STATE_SIZE = sizeof(((struct rw_box_header *)0)->gpu_progress_state) };

static void set_state(struct progress *progress, const char *text)
{
	snprintf(progress->state, STATE_SIZE, "%s", text);
}

/* Calls at init: should the driver block, we cannot keep that from holding up the program, but the box names the
 * call. */
struct stay {
	const struct progress *progress;
	char before[STATE_SIZE];
	int error;
};

static void begin_stay(struct stay *stay, const struct progress *progress)
{
	stay->progress = progress;
	stay->error = atomic_load_explicit(&progress->error, memory_order_relaxed);
	memcpy(stay->before, progress->state, STATE_SIZE);
}

static void enter(const struct stay *stay, const char *call)
{
	snprintf(stay->progress->state, STATE_SIZE, "%s has not returned", call);
}

/* Another thread may have met an error meanwhile, and we have overwritten its text. */
static void end_stay(const struct stay *stay)
{
	int error = atomic_load_explicit(&stay->progress->error, memory_order_relaxed);

	if (error == stay->error)
		memcpy(stay->progress->state, stay->before, STATE_SIZE);
	else
		snprintf(stay->progress->state, STATE_SIZE, "off: a call failed with CUDA error %d", error);
}

/* Any thread may meet the error; the first one records it. snprintf of a number: no allocation, no system call. */
void progress_give_up(struct progress *progress, const char *call, int error)
{
	int none = 0;

	atomic_store_explicit(&progress->on, false, memory_order_relaxed);
	if (atomic_compare_exchange_strong(&progress->error, &none, error))
		snprintf(progress->state, STATE_SIZE, "off: %s failed with CUDA error %d", call, error);
}

static int register_page(const struct stay *stay, struct rw_gpu_progress *page, size_t size)
{
	const struct driver *driver = &stay->progress->driver;
	int mode;

	enter(stay, "cuThreadExchangeStreamCaptureMode");
	bool relaxed = driver_relax_capture(driver, &mode);
	enter(stay, "cuMemHostRegister");
	int err = driver->host_register(page, size, DRIVER_HOST_REGISTER_PORTABLE | DRIVER_HOST_REGISTER_DEVICE_MAP);
	if (relaxed)
		driver_restore_capture(driver, &mode);
	return err == DRIVER_HOST_ALREADY_REGISTERED ? 0 : err;
}

/* One round of writes to a counter that nobody reads, from the first call until the last one is there; 0: it did not
 * come. */
static uint64_t time_writes(const struct progress *progress, const struct progress_counters *counters,
			    driver_stream stream, uint64_t first)
{
	uint64_t address = counters->started + offsetof(struct rw_gpu_progress, reserved) -
			   offsetof(struct rw_gpu_progress, gpu_started);
	uint64_t before = clock_ns(), took = 0, last = first + WRITES_MEASURED - 1;

	for (uint64_t number = first; number <= last; number++)
		if (counters->write(stream, address, number, 0))
			return 0;
	while (took < WRITTEN_WITHIN_NS) {
		uint64_t seen = __atomic_load_n(&progress->page->reserved[0], __ATOMIC_RELAXED);

		took = clock_ns() - before;
		if (seen == last)
			return took;
	}
	return 0;
}

/* What the budget charges for a write: the least of a few rounds, since what else the processor did meanwhile is not
 * the write. Where all were slow, as while many processes start, no more than the most that a write takes: a rank that
 * takes it for more follows few operations, and what one rank does not follow is compared on none. What the calls take
 * of the host's time is in that of callbacks, too. Nothing is waited for in the driver. */
static uint32_t measure_write(const struct stay *stay, const struct progress_counters *counters)
{
	const struct progress *progress = stay->progress;
	uint64_t least = UINT64_MAX;
	driver_stream stream;

	enter(stay, "cuStreamCreate");
	if (!progress->driver.scan.stream_create ||
	    progress->driver.scan.stream_create(&stream, DRIVER_STREAM_NON_BLOCKING))
		return WRITE_NS;
	enter(stay, "cuStreamWriteValue64");
	for (uint64_t i = 0; i < ROUNDS; i++) {
		uint64_t took = time_writes(progress, counters, stream, i * WRITES_MEASURED + 1);

		least = took && took < least ? took : least;
	}
	counters->write(stream, counters->started + offsetof(struct rw_gpu_progress, reserved) -
			     offsetof(struct rw_gpu_progress, gpu_started), 0, 0);
	enter(stay, "cuStreamDestroy");
	progress->driver.scan.stream_destroy(stream);
	if (least == UINT64_MAX)
		return WRITE_NS;
	return least < WRITE_NS_MAX * WRITES_MEASURED ? (uint32_t)(least / WRITES_MEASURED) : WRITE_NS_MAX;
}

void progress_open(struct progress *progress, struct rw_gpu_progress *page, size_t size, const char *why_not,
		   char *state)
{
	*progress = (struct progress){ .page = page, .size = size, .state = state };
	int err = driver_open(&progress->driver);

	progress->has_driver = err == 0;
	progress->wanted = true;
	if (why_not)
		progress_refuse(progress, why_not);
	else if (err)
		progress_refuse(progress, err == -ENOENT ? "none: no libcuda.so.1" : "none: CUDA driver too old");
}

void progress_refuse(struct progress *progress, const char *why_not)
{
	progress->wanted = false;
	set_state(progress, why_not);
}

uint32_t progress_driver_version(const struct progress *progress)
{
	struct stay stay;
	int version = 0;

	if (!progress->has_driver)
		return 0;
	begin_stay(&stay, progress);
	enter(&stay, "cuDriverGetVersion");
	int err = progress->driver.version(&version);
	end_stay(&stay);
	return err ? 0 : (uint32_t)version;
}

/* So that what this device cannot do, and what a write costs, is known before the start line is printed. */
static void try_write(struct progress *progress)
{
	struct progress_counters counters;
	struct stay stay;
	int mode;

	if (!progress_communicator(progress, &counters))
		return;
	begin_stay(&stay, progress);
	enter(&stay, "cuThreadExchangeStreamCaptureMode");
	bool relaxed = driver_relax_capture(&progress->driver, &mode);
	atomic_store_explicit(&progress->write_ns, measure_write(&stay, &counters), memory_order_relaxed);
	if (relaxed)
		driver_restore_capture(&progress->driver, &mode);
	end_stay(&stay);
}

void progress_start(struct progress *progress)
{
	struct stay stay;

	if (!progress->wanted)
		return;
	begin_stay(&stay, progress);
	int err = register_page(&stay, progress->page, progress->size);
	if (err) {
		progress_give_up(progress, "cuMemHostRegister", err);
		return;
	}
	set_state(progress, "watermark");
	atomic_store_explicit(&progress->on, true, memory_order_relaxed);
	try_write(progress);
}

static bool ask_device(const struct stay *stay, struct rw_device *device)
{
	const struct driver *driver = &stay->progress->driver;
	int ordinal;

	enter(stay, "cuCtxGetDevice");
	if (driver->context_device(&ordinal) != 0)
		return false;
	device->ordinal = ordinal;
	enter(stay, "cuDeviceGetUuid");
	if (driver->device_uuid(device->uuid, ordinal) != 0)
		return false;
	enter(stay, "cuDeviceGetPCIBusId");
	return driver->device_pci(device->pci, sizeof(device->pci), ordinal) == 0;
}

bool progress_device(const struct progress *progress, struct rw_device *device)
{
	struct stay stay;

	memset(device, 0, sizeof(*device));
	if (!progress->has_driver)
		return false;
	begin_stay(&stay, progress);
	device->used = ask_device(&stay, device);
	end_stay(&stay);
	return device->used;
}

static bool device_can(const struct stay *stay, int attribute)
{
	const struct driver *driver = &stay->progress->driver;
	int device, can = 0;

	enter(stay, "cuCtxGetDevice");
	if (driver->context_device(&device) != 0)
		return false;
	enter(stay, "cuDeviceGetAttribute");
	return driver->device_attribute(&can, attribute, device) == 0 && can;
}

static void find_write(const struct stay *stay, struct progress_counters *counters)
{
	const struct driver *driver = &stay->progress->driver;

	if (driver->stream_write && device_can(stay, DRIVER_CAN_USE_64_BIT_STREAM_MEM_OPS))
		counters->write = driver->stream_write;
	else if (driver->stream_write_v1 && device_can(stay, DRIVER_CAN_USE_64_BIT_STREAM_MEM_OPS_V1))
		counters->write = driver->stream_write_v1;
}

/* The page's registration is gone where the context that it was made in has been reset. */
static int ask_address(const struct stay *stay, uint64_t *address)
{
	const struct progress *progress = stay->progress;

	enter(stay, "cuMemHostGetDevicePointer");
	if (progress->driver.host_device_pointer(address, progress->page, 0) == 0)
		return 0;
	int err = register_page(stay, progress->page, progress->size);
	if (err)
		return err;
	enter(stay, "cuMemHostGetDevicePointer");
	return progress->driver.host_device_pointer(address, progress->page, 0);
}

bool progress_communicator(struct progress *progress, struct progress_counters *counters)
{
	struct stay stay;
	uint64_t address = 0;
	int err = 0;

	*counters = (struct progress_counters){ 0 };
	if (!atomic_load_explicit(&progress->on, memory_order_relaxed))
		return false;
	begin_stay(&stay, progress);
	find_write(&stay, counters);
	enter(&stay, "cuCtxGetCurrent");
	if (counters->write)
		err = progress->driver.context_current(&counters->context);
	if (counters->write && !err)
		err = ask_address(&stay, &address);
	end_stay(&stay);
	if (!counters->write) {
		set_state(progress, "none: device without 64-bit stream memory operations");
		return false;
	}
	if (err) {
		progress_give_up(progress, "cuMemHostGetDevicePointer", err);
		counters->write = NULL;
		return false;
	}
	counters->started = address + offsetof(struct rw_gpu_progress, gpu_started);
	counters->done = address + offsetof(struct rw_gpu_progress, gpu_done);
	return true;
}

void progress_take_place(struct progress_counters *counters, uint32_t index)
{
	counters->started += index * sizeof(struct rw_gpu_progress);
	counters->done += index * sizeof(struct rw_gpu_progress);
}

void progress_write_failed(struct progress *progress, int err)
{
	if (!driver_is_of_capture(err))
		progress_give_up(progress, "cuStreamWriteValue64", err);
}

/* A stream under capture, or the legacy one beside the capture of another, takes no write. */
bool progress_is_capturing(struct progress *progress, uint64_t stream)
{
	int capturing = DRIVER_NOT_CAPTURING;
	int err = progress->driver.stream_capturing((driver_stream)(uintptr_t)stream, &capturing);

	if (err && !driver_is_of_capture(err))
		progress_give_up(progress, "cuStreamIsCapturing", err);
	return err || capturing != DRIVER_NOT_CAPTURING;
}
