/* SPDX-License-Identifier: MIT */
/*
 * What scanning needs in one CUDA context. It is created with the first communicator there and never freed, because
 * loading, allocating and freeing can wait for kernels of the job that wait for each other. Its batches are made with
 * it (scan_batch.h).
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

struct scan_batch;

struct scan_device {
	driver_context context; /* the only one that it works in */
	driver_module module;   /* never unloaded: that can wait for whatever the context runs */
	driver_function kernel;
	const struct scan_image *image;          /* from which the module was loaded */
	unsigned int blocks;                     /* of a launch at most */
	struct scan_result *results;             /* SCAN_SEGMENTS for each batch; memory of ours, registered */
	uint64_t results_address;                /* on the device */
	struct scan_batch *batches;              /* SCAN_BATCHES */
	_Atomic uint64_t free[SCAN_BATCH_WORDS]; /* bit per batch */
	_Atomic uint64_t launched[SCAN_BATCH_WORDS];
	_Atomic int32_t until_timed; /* launches until the next whose time is taken, the first one's is */
	struct scan_nodes nodes;      /* without a ring: none are taken */
	uint32_t launch_ns;           /* what a launch costs beyond the time of its scans, as measured at the opening */
	char wrong[SCAN_TRIAL_WORDS]; /* what the kernel answered wrongly at its first launch; empty: nothing */
	_Atomic bool usable;          /* false: opening it failed, and is not tried again */
	_Atomic bool lost; /* the context was reset: results in flight never arrive, and nothing more is launched */
};

/* Creates all of it; the context is current. Returns NULL, or the name of the driver's call that failed, with its CUDA
 * error in *error (0: no memory, or the kernel answered wrongly or not at all: device->wrong). `entered` is called with
 * the name of each driver call before it is made, for a driver that never returns. `images`: for cuModuleLoadData, the
 * first that loads is taken. `nodes`: also what nodes of graphs need. */
const char *scan_device_open(struct scan_device *device, const struct driver *driver, const struct scan_image *images,
			     bool nodes, void (*entered)(void *argument, const char *call), void *argument, int *error);

/* False: the context has been reset or destroyed since, and another one has its handle: module, memory and registration
 * are gone with it. Queries the driver; that context is current. */
bool scan_device_is_whole(const struct scan_device *device, const struct driver *driver);

#endif
