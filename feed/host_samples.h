/* SPDX-License-Identifier: MIT */
/* Samples that one process took of its own threads, combined with thread names and file paths into evidence. */
#ifndef FEED_HOST_SAMPLES_H
#define FEED_HOST_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/analysis.h"

enum {
	/* With more threads or open files than these in one process, those that were named longest ago are
	 * forgotten. */
	HOST_SAMPLES_THREADS = 512,
	HOST_SAMPLES_FILES = 128,
};

/* Names the file system and the device of a device number (makedev) as the box's process sees them. It leaves "" what
 * it does not know. The caller fills the arrays with 0 before. */
typedef void feed_mount(void *argument, uint64_t device, char file_system[16], char device_name[32]);

struct sampled_thread {
	uint32_t tid;
	char name[16];
};

struct sampled_file {
	uint32_t tid;
	int32_t fd;
	uint32_t device;
	char path[256];
	bool mount_sought; /* the mount was looked up; the next two may still be "" */
	char file_system[16];
	char device_name[32];
};

/* Zeroed = empty. `machine` is that of the box's header. */
struct host_samples {
	uint32_t machine;
	struct sampled_thread threads[HOST_SAMPLES_THREADS];
	struct sampled_file files[HOST_SAMPLES_FILES];
	uint32_t threads_seen, files_seen;
};

/* Takes the next sample, in the order of their numbers. True: it was a state, and *wait is filled in except for
 * .process. `mount` is called once per file; NULL: the mounts are not known (any more). */
bool host_samples_take(struct host_samples *samples, const struct rw_host_sample *sample, feed_mount *mount,
		       void *argument, struct analysis_wait *wait);
/* The name of a thread; NULL: not known. */
const char *host_samples_thread_name(const struct host_samples *samples, uint32_t tid);

#endif
