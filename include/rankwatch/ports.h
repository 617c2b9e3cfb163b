/* SPDX-License-Identifier: MIT */
/*
 * What the host's network ports showed around the beginning of findings, and last, as a collector has noted it in a process's black box,
 * behind the GPU's memory in the control page: docs/black-box.md, "Network ports". Nothing here executes.
 */
#ifndef RANKWATCH_PORTS_H
#define RANKWATCH_PORTS_H

#include <assert.h>
#include <stdint.h>

#include <rankwatch/gpu_memory.h>

enum {
	RW_PORTS_VERSION = 1,
	RW_PORTS_OFFSET = 3120, /* in the control page */
	RW_PORT_SHOWINGS = 7,
	RW_PORT_RISES = 3,
};

enum rw_port_flags {
	RW_PORT_WENT_DOWN = 1, /* and is */
	RW_PORT_FELL = 2,      /* from before_mbit to last_mbit a second */
};

/* Times are CLOCK_MONOTONIC. */
struct rw_port_showing {
	char name[32];	      /* of the RDMA device, or the interface */
	uint32_t number;      /* of the device's port; 0: an interface */
	uint32_t flags;	      /* enum rw_port_flags */
	uint64_t since_ns;    /* around which it was looked at */
	uint64_t from_ns, to_ns;                 /* the readings between which it happened; to_ns 0: nothing of the kind */
	uint64_t rises[RW_PORT_RISES];           /* by so much … */
	uint32_t counters[RW_PORT_RISES];        /* … rose this one, enum analysis_port_counter; a rise of 0 ends them */
	uint32_t before_mbit, last_mbit;
	uint32_t others, others_mbit;            /* so many others of its model, all at this higher rate; 0 not so */
	uint32_t weight;                         /* which is said first: the largest */
};

struct rw_ports {
	uint32_t version; /* 0: nothing was noted; one that the reader does not know: as 0 */
	uint32_t number;  /* counts what was noted; equal to number_again in a whole copy */
	uint32_t count;
	uint32_t number_again;
	struct rw_port_showing showings[RW_PORT_SHOWINGS];
};

static_assert(sizeof(struct rw_port_showing) == 120 && sizeof(struct rw_ports) == 856, "docs/black-box.md");
static_assert(RW_GPU_MEMORY_OFFSET + sizeof(struct rw_gpu_memory) <= RW_PORTS_OFFSET, "behind the GPU's memory");
static_assert(RW_PORTS_OFFSET + sizeof(struct rw_ports) <= RW_BOX_CONTROL_SIZE, "in the control page");

#endif
