/* SPDX-License-Identifier: MIT */
/*
 * GPU progress: two counters per communicator in the black box that the GPU itself writes, in stream order, before and
 * after each plan's kernel. The first CUDA error turns it off for good: GPU progress is worth nothing to a job in
 * trouble.
 */
#ifndef PLUGIN_GPU_PROGRESS_H
#define PLUGIN_GPU_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>

#include "plugin/gpu/driver.h"

struct progress {
	struct driver driver;
	struct rw_gpu_progress *page;
	size_t size; /* of the page, bytes */
	bool has_driver, wanted; /* wanted: nothing that is known without a call of the driver speaks against it */
	_Atomic bool on;
	_Atomic int error; /* CUresult that turned it off */
	char *state;       /* header.gpu_progress_state, 64 bytes */
	_Atomic uint32_t write_ns; /* what a write takes of a stream's time, as measured at its start; 0 not known */
	_Atomic uint64_t writes; /* so far */
};

/* One communicator's share. Zeroed: off. */
struct progress_counters {
	driver_context context; /* current at init; the only one we write from */
	uint64_t started, done; /* device addresses of the two counters */
	int (*write)(driver_stream, uint64_t, uint64_t, unsigned int);
};

/* Loads the driver, if the program has not, and makes no call of it. Once per process. `why_not`: the reason why
 * progress is off, or NULL. `state` outlives everything and receives the text for people. */
void progress_open(struct progress *progress, struct rw_gpu_progress *page, size_t size, const char *why_not,
		   char *state);
/* After that: off for this reason. */
void progress_refuse(struct progress *progress, const char *why_not);
/* Once after that, with a context current: the driver's version, 0 not known, and progress begins where it is wanted.
 * Both call the driver, which can block; callers take turns, also with those of the two below. */
uint32_t progress_driver_version(const struct progress *progress);
void progress_start(struct progress *progress);
/* At a communicator's init, its device current; callers take turns. The device behind it; false: the driver does not
 * report it. And the counters of place 0; false: no progress here. Both query the driver, which can block. */
bool progress_device(const struct progress *progress, struct rw_device *device);
bool progress_communicator(struct progress *progress, struct progress_counters *counters);
/* From the counters of place 0 to those of a communicator's place in the table. Makes no call. */
void progress_take_place(struct progress_counters *counters, uint32_t index);

/* Off for good: this call of the driver failed. Any thread; the first one's reason is kept. */
void progress_give_up(struct progress *progress, const char *call, int error);

/* A write returned this error: off for good, unless a capture elsewhere has brought it about. */
void progress_write_failed(struct progress *progress, int err);
/* Queries the driver. True: the stream takes no write, it is under capture or the query has failed. */
bool progress_is_capturing(struct progress *progress, uint64_t stream);

static inline bool progress_write(struct progress *progress, const struct progress_counters *counters, uint64_t stream,
				  uint64_t address, uint64_t number)
{
	int err = counters->write((driver_stream)(uintptr_t)stream, address, number, 0);

	atomic_fetch_add_explicit(&progress->writes, 1, memory_order_relaxed);
	if (__builtin_expect(err, 0))
		progress_write_failed(progress, err);
	return err == 0;
}

/* On the launching thread around a launch, the communicator's device current: one call of the driver each, and one more
 * to ask for a capture where the caller does not know that there is none (may_capture). begin: false, and nothing
 * written, when this launch cannot be followed: progress off, stream under capture. end: false when its write failed,
 * so that nobody shall wait for it. An error that a capture elsewhere has brought about turns nothing off. Inlined:
 * both are on the path of every operation that has GPU progress. */
static inline bool progress_begin(struct progress *progress, const struct progress_counters *counters, uint64_t stream,
				  uint64_t number, bool may_capture)
{
	if (!counters->write || !atomic_load_explicit(&progress->on, memory_order_relaxed))
		return false;
	return !(may_capture && progress_is_capturing(progress, stream)) &&
	       progress_write(progress, counters, stream, counters->started, number);
}

static inline bool progress_end(struct progress *progress, const struct progress_counters *counters, uint64_t stream,
				uint64_t number)
{
	return progress_write(progress, counters, stream, counters->done, number);
}

#endif
