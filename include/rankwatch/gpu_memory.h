/* SPDX-License-Identifier: MIT */
/*
 * How the memory in use of a process's GPU went, as a collector has noted it in the process's black box, behind the leases of the control
 * page: docs/black-box.md, "GPU memory". Nothing here executes.
 */
#ifndef RANKWATCH_GPU_MEMORY_H
#define RANKWATCH_GPU_MEMORY_H

#include <assert.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>

enum {
	RW_GPU_MEMORY_VERSION = 1,
	RW_GPU_MEMORY_OFFSET = 1024, /* in the control page */
	RW_GPU_MEMORY_BINS = 128,
};

/* A stretch of time; times are milliseconds behind since_ns. */
struct rw_gpu_memory_bin {
	uint32_t from_ms, until_ms;    /* of its first and last reading */
	uint32_t first_mib, most_mib; /* in use: at the first reading, and the most */
};

struct rw_gpu_memory {
	uint32_t version; /* 0: nothing was noted; one that the reader does not know: as 0 */
	uint32_t number;  /* counts what was noted; equal to number_again in a whole copy */
	uint32_t device;  /* index into header.devices */
	uint32_t count;	  /* of bins, oldest first */
	uint64_t since_ns, bin_ns;
	uint64_t total; /* bytes */
	struct rw_gpu_memory_bin bins[RW_GPU_MEMORY_BINS];
	uint32_t number_again;
	uint32_t reserved;
};

static_assert(sizeof(struct rw_gpu_memory) == 2096, "docs/black-box.md");
static_assert(RW_BOX_LEASES * sizeof(struct rw_lease) <= RW_GPU_MEMORY_OFFSET, "behind the leases");
static_assert(RW_GPU_MEMORY_OFFSET + sizeof(struct rw_gpu_memory) <= RW_BOX_CONTROL_SIZE, "in the control page");

#endif
