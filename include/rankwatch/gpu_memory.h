/* SPDX-License-Identifier: MIT */
/*
 * How the memory in use on a process's GPU changed over time. A collector notes it in the process's black box, after
 * the leases in the control page. See docs/black-box.md, "GPU memory". This header only defines the layout; it has no
 * code.
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

/* One period of time. Its times are milliseconds after since_ns. */
struct rw_gpu_memory_bin {
	uint32_t from_ms, until_ms;    /* of its first and last reading */
	uint32_t first_mib, most_mib; /* memory in use: at the first reading, and at most */
};

struct rw_gpu_memory {
	uint32_t version; /* 0: nothing was noted; readers treat a version that they do not know as 0 */
	uint32_t number;  /* counts the updates; equal to number_again where the copy is complete */
	uint32_t device;  /* index into header.devices */
	uint32_t count;	  /* of bins in use, oldest first */
	uint64_t since_ns, bin_ns;
	uint64_t total; /* memory of the GPU, bytes */
	struct rw_gpu_memory_bin bins[RW_GPU_MEMORY_BINS];
	uint32_t number_again;
	uint32_t reserved;
};

static_assert(sizeof(struct rw_gpu_memory) == 2096, "docs/black-box.md");
static_assert(RW_BOX_LEASES * sizeof(struct rw_lease) <= RW_GPU_MEMORY_OFFSET, "behind the leases");
static_assert(RW_GPU_MEMORY_OFFSET + sizeof(struct rw_gpu_memory) <= RW_BOX_CONTROL_SIZE, "in the control page");

#endif
