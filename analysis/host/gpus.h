/* SPDX-License-Identifier: MIT */
/* The GPUs of this machine, with the readings of the last minutes and the Xids of each. */
#ifndef ANALYSIS_HOST_GPUS_H
#define ANALYSIS_HOST_GPUS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/host/gpu_course.h"
#include "analysis/known/job.h"

enum {
	GPUS_MAX = 256,     /* further GPUs are not kept */
	GPU_READINGS = 512, /* readings per GPU: more than four minutes at two a second */
	GPU_XIDS = 32,
	GPU_DROPS = 8, /* of memory in use */
};
#define GPU_SAME_XID_NS 5000000000u /* events with one number within this time, from any source, are the same Xid */

struct gpu_reading {
	uint64_t at_ns;
	uint32_t reasons; /* enum analysis_clock_reason; 0 also when not known */
	int32_t sm_mhz;   /* -1 */
	double memory;    /* share of its memory that is in use; -1 */
};

struct gpu_xid {
	uint64_t first_ns, last_ns;
	uint32_t number;
	uint8_t sources; /* one bit per enum analysis_gpu_source */
	int32_t pid;
	char text[128];
};

struct gpu_memory_use {
	int64_t peak;              /* largest use while above the limit; 0 = below it */
	uint64_t drops[GPU_DROPS]; /* approximate times at which memory in use fell from above the limit */
	uint32_t drop_count;
};

struct gpu {
	uint8_t uuid[16]; /* all 0: not known */
	int64_t pci;      /* domain, bus, device as one number; -1 not known */
	bool is_read;
	struct analysis_gpu_state first, now; /* counters are compared with the first reading */
	/* since when its hardware has kept its clocks down without a break; 0: not now */
	uint64_t slow_since_ns;
	int64_t nvlink_before;                /* errors at nvlink_before_ns, about a minute ago */
	uint64_t nvlink_before_ns;
	struct gpu_reading readings[GPU_READINGS];
	uint64_t reading_count; /* ever */
	struct gpu_xid xids[GPU_XIDS];
	uint32_t xid_count; /* ever */
	struct gpu_memory_use memory;
	struct gpu_course course;
};

struct gpus {
	struct gpu **items;
	uint32_t count;
	uint64_t in_call_since_ns; /* since when NVML has been in one call; 0: in none */
};

/* Return 0, -EINVAL or -ENOMEM, as analysis_add_gpu_state() and analysis_add_gpu_event(). */
int gpus_add_state(struct gpus *gpus, const struct analysis_gpu_state *state);
int gpus_add_event(struct gpus *gpus, const struct analysis_gpu_event *event);
void gpus_free(struct gpus *gpus);

/* The GPU that the rank runs on; NULL: nothing is known of it. */
const struct gpu *gpus_of_rank(const struct gpus *gpus, const struct rank *rank);
/* The GPU of this device; NULL: nothing is known of it. */
const struct gpu *gpus_of_device(const struct gpus *gpus, const struct rw_device *device);
/* The same, but an entry is made where nothing is known of it. NULL: it has no address, there are too many, or no
 * memory. */
struct gpu *gpus_add_device(struct gpus *gpus, const struct rw_device *device);
/* Reading 0 is the latest; NULL when it is not kept. */
const struct gpu_reading *gpu_reading_at(const struct gpu *gpu, uint64_t age);
/* Xid 0 is the latest; NULL when it is not kept. */
const struct gpu_xid *gpu_xid_at(const struct gpu *gpu, uint32_t age);

#endif
