/* SPDX-License-Identifier: MIT */
#include "plugin/gpu/progress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { STATE_SIZE = sizeof(((struct rw_box_header *)0)->gpu_progress_state) };

static void say(struct progress *progress, const char *text)
{
	snprintf(progress->state, STATE_SIZE, "%s", text);
}

/* Any thread may meet the error; the first one says it. snprintf of a number: no allocation, no system call. */
static void give_up(struct progress *progress, const char *call, int error)
{
	int none = 0;

	atomic_store_explicit(&progress->on, false, memory_order_relaxed);
	if (atomic_compare_exchange_strong(&progress->error, &none, error))
		snprintf(progress->state, STATE_SIZE, "off: %s failed with CUDA error %d", call, error);
}

void progress_open(struct progress *progress, struct rw_gpu_progress *page, size_t size, const char *why_not,
		   char *state)
{
	struct progress_words words;

	*progress = (struct progress){ .page = page, .state = state };
	int err = driver_open(&progress->driver);

	progress->has_driver = err == 0;
	if (why_not || err) {
		say(progress, why_not          ? why_not
			      : err == -ENOENT ? "none: no libcuda.so.1"
					       : "none: CUDA driver too old");
		return;
	}
	/* The one call that we cannot keep from holding up the program, should the driver block: the box says it. */
	say(progress, "cuMemHostRegister has not returned");
	err =
	    progress->driver.host_register(page, size, DRIVER_HOST_REGISTER_PORTABLE | DRIVER_HOST_REGISTER_DEVICE_MAP);
	if (err && err != DRIVER_HOST_ALREADY_REGISTERED) {
		give_up(progress, "cuMemHostRegister", err);
		return;
	}
	say(progress, "watermark");
	atomic_store_explicit(&progress->on, true, memory_order_relaxed);
	/* Only to know now, before anybody is told, what this device cannot do. */
	progress_communicator(progress, 0, &words);
}

bool progress_device(const struct progress *progress, struct rw_device *device)
{
	const struct driver *driver = &progress->driver;
	int ordinal;

	memset(device, 0, sizeof(*device));
	if (!progress->has_driver || driver->context_device(&ordinal) != 0)
		return false;
	device->ordinal = ordinal;
	if (driver->device_uuid(device->uuid, ordinal) != 0 ||
	    driver->device_pci(device->pci, sizeof(device->pci), ordinal) != 0)
		return false;
	device->used = 1;
	return true;
}

static bool device_can(const struct progress *progress, int attribute)
{
	int device, can = 0;

	return progress->driver.context_device(&device) == 0 &&
	       progress->driver.device_attribute(&can, attribute, device) == 0 && can;
}

bool progress_communicator(struct progress *progress, uint32_t index, struct progress_words *words)
{
	const struct driver *driver = &progress->driver;
	uint64_t address;

	*words = (struct progress_words){ 0 };
	if (!atomic_load_explicit(&progress->on, memory_order_relaxed))
		return false;
	if (driver->stream_write && device_can(progress, DRIVER_CAN_USE_64_BIT_STREAM_MEM_OPS))
		words->write = driver->stream_write;
	else if (driver->stream_write_v1 && device_can(progress, DRIVER_CAN_USE_64_BIT_STREAM_MEM_OPS_V1))
		words->write = driver->stream_write_v1;
	if (!words->write) {
		say(progress, "none: device without 64-bit stream memory operations");
		return false;
	}
	int err = driver->context_current(&words->context);
	if (!err)
		err = driver->host_device_pointer(&address, progress->page, 0);
	if (err) {
		give_up(progress, "cuMemHostGetDevicePointer", err);
		words->write = NULL;
		return false;
	}
	words->started =
	    address + index * sizeof(struct rw_gpu_progress) + offsetof(struct rw_gpu_progress, gpu_started);
	words->done = address + index * sizeof(struct rw_gpu_progress) + offsetof(struct rw_gpu_progress, gpu_done);
	return true;
}

static bool write_word(struct progress *progress, const struct progress_words *words, uint64_t stream, uint64_t address,
		       uint64_t number)
{
	int err = words->write((driver_stream)(uintptr_t)stream, address, number, 0);

	if (err)
		give_up(progress, "cuStreamWriteValue64", err);
	return err == 0;
}

bool progress_begin(struct progress *progress, const struct progress_words *words, uint64_t stream, uint64_t number)
{
	driver_context context;
	int capturing;

	if (!words->write || !atomic_load_explicit(&progress->on, memory_order_relaxed))
		return false;
	int err = progress->driver.context_current(&context);
	if (!err && context != words->context)
		return false;
	if (!err)
		err = progress->driver.stream_capturing((driver_stream)(uintptr_t)stream, &capturing);
	if (err == DRIVER_CAPTURE_IMPLICIT)
		return false;
	if (err) {
		give_up(progress, "cuStreamIsCapturing", err);
		return false;
	}
	return capturing == DRIVER_NOT_CAPTURING && write_word(progress, words, stream, words->started, number);
}

void progress_end(struct progress *progress, const struct progress_words *words, uint64_t stream, uint64_t number)
{
	write_word(progress, words, stream, words->done, number);
}
