/* SPDX-License-Identifier: MIT */
/*
 * What the host's network ports showed around the beginning of findings, and most recently. A collector notes it in a
 * process's black box, after the GPU's memory in the control page. See docs/black-box.md, "Network ports". This header
 * only defines the layout.
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
	RW_PORT_WENT_DOWN = 1, /* and is still down */
	RW_PORT_FELL = 2,      /* its rate fell from before_mbit to last_mbit a second */
};

/* Times are CLOCK_MONOTONIC. */
struct rw_port_showing {
	char name[32];	      /* of the RDMA device, or the interface */
	uint32_t number;      /* of the device's port; 0: name is a network interface */
	uint32_t flags;	      /* enum rw_port_flags */
	uint64_t since_ns;    /* the time around which its counters were compared */
	uint64_t from_ns, to_ns;                 /* readings between which the flagged event happened; to_ns 0: none */
	uint64_t rises[RW_PORT_RISES];           /* by this much … */
	/* … this counter rose, enum analysis_port_counter; a rise of 0 ends them */
	uint32_t counters[RW_PORT_RISES];
	uint32_t before_mbit, last_mbit;
	/* this many other ports of its model, all at this higher rate; 0: none */
	uint32_t others, others_mbit;
	uint32_t weight;                         /* the showing with the largest weight is reported first */
};

struct rw_ports {
	uint32_t version; /* 0: nothing was noted; readers treat a version that they do not know as 0 */
	uint32_t number;  /* counts the updates; equal to number_again where the copy is complete */
	uint32_t count;
	uint32_t number_again;
	struct rw_port_showing showings[RW_PORT_SHOWINGS];
};

static_assert(sizeof(struct rw_port_showing) == 120 && sizeof(struct rw_ports) == 856, "docs/black-box.md");
static_assert(RW_GPU_MEMORY_OFFSET + sizeof(struct rw_gpu_memory) <= RW_PORTS_OFFSET, "behind the GPU's memory");
static_assert(RW_PORTS_OFFSET + sizeof(struct rw_ports) <= RW_BOX_CONTROL_SIZE, "in the control page");

#endif
