/* SPDX-License-Identifier: MIT */
/*
 * How the memory in use of each GPU went over the whole job: does it grow, or did it only warm up? A bounded series of
 * times, whose neighbours are merged when it is full. docs/summaries.md, "GPU memory".
 */
#ifndef ANALYSIS_HOST_GPU_COURSE_H
#define ANALYSIS_HOST_GPU_COURSE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/analysis.h"

enum {
	GPU_COURSE_BINS = 128,
	GPU_COURSE_LEAST = 16, /* bins, before anything is said */
};
#define GPU_COURSE_BIN_NS    1000000000u /* the first bins are as long */
#define GPU_COURSE_FLAT      0.005       /* of the GPU's memory: what stays within is flat … */
#define GPU_COURSE_FLAT_MIN  67108864    /* … or within so many bytes */
#define GPU_COURSE_WORTH_MIN 268435456   /* bytes that warm-up must take to be worth a word */
#define GPU_COURSE_TREND     4.0 /* standard deviations of Mann's and Kendall's statistic: 3 in 100,000 by chance */

/* A stretch of time. */
struct gpu_course_bin {
	uint64_t from_ns, until_ns; /* of its first and last reading */
	int64_t first, most;        /* bytes: of the first reading, and the most */
};

struct gpu_course {
	struct gpu_course_bin bins[GPU_COURSE_BINS];
	uint32_t count;
	uint64_t bin_ns;
	int64_t total;
};

/* Bytes in use at a time; times ascend. Negative ones are not known and not noted. */
void gpu_course_note(struct gpu_course *course, uint64_t at_ns, int64_t used, int64_t total);

struct gpu_course_verdict {
	enum analysis_memory_course course;
	int64_t grown;      /* FLAT: bytes, until from_ns */
	double bytes_per_s; /* GROWS */
	int64_t used;       /* at the end */
	uint64_t from_ns, end_ns; /* in which it was flat, or grew */
};

/* since_ns: what was before, as a model that is loaded, does not count. */
struct gpu_course_verdict gpu_course_judge(const struct gpu_course *course, uint64_t since_ns);

#endif
