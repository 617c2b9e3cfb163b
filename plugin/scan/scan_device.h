/* SPDX-License-Identifier: MIT */
/*
 * What scanning needs in one CUDA context. It is created with the first communicator there and never freed, because
 * loading, allocating and freeing can wait for kernels of the job that wait for each other. And its batches: a batch is
 * one launch, from the first segment that is put into it until its results have been taken. It owns its result slots
 * and its scratch on the device, so that nothing has to be allocated or reset between launches.
 */
#ifndef PLUGIN_SCAN_SCAN_DEVICE_H
#define PLUGIN_SCAN_SCAN_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/gpu/driver.h"
#include "plugin/scan/scan_image.h"
#include "plugin/scan/scan_kernel.h"
#include "plugin/scan/scan_nodes.h"
#include "plugin/scan/scan_trial.h"

/*
 * In flight at most, a bit each. Hosts run ahead of their GPU by hundreds of launches; the driver's queues, which block
 * when they are full, hold about a thousand.
 */
enum { SCAN_BATCH_WORDS = 4, SCAN_BATCHES = 64 * SCAN_BATCH_WORDS };

/* When and into which stream a batch is launched: always one that the program or NCCL has chosen. A stream of our own
 * that several of theirs share would order those streams, on another rank perhaps the other way round, and both ranks
 * would wait for ever. */
enum scan_place {
	SCAN_BEFORE_CALL, /* on the user's stream, before the real NCCL function */
	SCAN_BEHIND_CALL, /* on the user's stream, after it */
	SCAN_BEHIND_PLAN, /* on the plan's stream, behind its kernel */
};

struct scan_entry {
	uint64_t ticket; /* of the operation; of a captured batch: index of the call, scan_nodes_call() */
	uint32_t owner;  /* RW_OWNER_SCAN_IN, RW_OWNER_SCAN_OUT or both */
};

struct scan_batch {
	struct scan_device *device;
	struct scan_batch *next; /* of the thread that fills it */
	uint32_t number;
	enum scan_place place;
	uint64_t stream;   /* into which it is launched */
	uint64_t sequence; /* of all its results; grows with each use */
	uint64_t bytes;
	bool captured; /* it becomes a node of a graph, and is free again at once */
	bool capture_is_known; /* whether the stream is captured is known: the driver is not queried */
	struct scan_entry entries[SCAN_SEGMENTS];
	struct scan_launch launch;
};

struct scan_device {
	driver_context context; /* the only one that it works in */
	driver_module module;   /* never unloaded: that can wait for whatever the context runs */
	driver_function kernel;
	struct scan_result *results;             /* SCAN_SEGMENTS for each batch; memory of ours, registered */
	uint64_t results_address;                /* on the device */
	struct scan_batch *batches;              /* SCAN_BATCHES */
	_Atomic uint64_t free[SCAN_BATCH_WORDS]; /* bit per batch */
	_Atomic uint64_t launched[SCAN_BATCH_WORDS];
	struct scan_nodes nodes;      /* without a ring: none are taken */
	uint32_t launch_ns;           /* what a launch costs beyond the time of its scans, as measured at the opening */
	char wrong[SCAN_TRIAL_WORDS]; /* what the kernel answered wrongly at its first launch; empty: nothing */
	_Atomic bool usable;          /* false: opening it failed, and is not tried again */
	_Atomic bool lost; /* the context was reset: results in flight never arrive, and nothing more is launched */
};

/* Creates all of it; the context is current. Returns NULL, or the name of the driver's call that failed, with its CUDA
 * error in *error (0: no memory, or the kernel answered wrongly or not at all: device->wrong). `entered` is called with
 * the name of each driver call before it is made, for a driver that never returns. `images`: for cuModuleLoadData, the first that loads is
 * taken. `nodes`: also what nodes of graphs need. */
const char *scan_device_open(struct scan_device *device, const struct driver *driver, const struct scan_image *images,
			     bool nodes, void (*entered)(void *argument, const char *call), void *argument, int *error);

/* False: the context has been reset or destroyed since, and another one has its handle: module, memory and registration
 * are gone with it. Queries the driver; that context is current. */
bool scan_device_is_whole(const struct scan_device *device, const struct driver *driver);

/* A batch without segments, or NULL: all are in flight. Lock-free, any thread. */
struct scan_batch *scan_batch_take(struct scan_device *device);
/* Gives it back: it was not launched, or its results have been taken. */
void scan_batch_give(struct scan_batch *batch);
static inline bool scan_batch_is_full(const struct scan_batch *batch)
{
	return batch->launch.segment_count == SCAN_SEGMENTS;
}
/* Adds a segment, whose place in the launch is its place in `entries`. */
void scan_batch_add(struct scan_batch *batch, const struct scan_segment *segment, const struct scan_entry *entry);
/* Launches it; returns the CUDA error. */
int scan_batch_launch(struct scan_batch *batch, const struct driver *driver, uint64_t stream);
/* Launches it as a node into a stream that is being captured. False: there is no room for another node. */
bool scan_batch_capture(struct scan_batch *batch, const struct driver *driver, int *error);
/* After its launch: from now on it belongs to the thread that takes its results. */
void scan_batch_publish(struct scan_batch *batch);
/* The launched batches of a word, one bit each, and the batch of the lowest bit. */
static inline uint64_t scan_batches_launched(const struct scan_device *device, uint32_t word)
{
	/* Acquire: pairs with the release in scan_batch_publish(). */
	return atomic_load_explicit(&device->launched[word], memory_order_acquire);
}
static inline struct scan_batch *scan_batch_at(const struct scan_device *device, uint32_t word, uint64_t bits)
{
	return &device->batches[word * 64 + (uint32_t)__builtin_ctzll(bits)];
}
/* The results, one per segment, or NULL: not there yet. No CUDA call. */
const struct scan_result *scan_batch_results(const struct scan_batch *batch);

#endif
