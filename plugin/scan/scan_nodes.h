/* SPDX-License-Identifier: MIT */
/*
 * Scans that became nodes of CUDA graphs. Nobody tells when a graph is gone or how often it runs, so what a node needs is
 * taken from a table for good: its counters and its scratch on the device, and what each of its segments was captured
 * for. A table that is full takes no more. Results come through one ring of the context (scan_kernel.h).
 */
#ifndef PLUGIN_SCAN_SCAN_NODES_H
#define PLUGIN_SCAN_SCAN_NODES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugin/scan/scan_kernel.h"

enum {
	SCAN_NODES = 4096,         /* of a context */
	SCAN_NODE_SEGMENTS = 8192, /* of all of them */
	SCAN_CAPTURED = 8192,      /* calls, whose input and output are a segment each */
};

/* A captured call. */
struct scan_captured {
	uint64_t sequence; /* rw_captured_sequence() of replay 0 */
	uint64_t count, stream, send, recv;
	uint32_t mark; /* of its communicator */
	int32_t root_or_peer;
	uint16_t comm;
	uint8_t function, dtype;
	uint8_t reduction; /* enum rw_operator */
	_Atomic uint32_t sides; /* RW_OWNER_SCAN_IN, RW_OWNER_SCAN_OUT: what each replay reports */
	uint64_t ticket, replay; /* the reader's: slot of the replay that it saw last, and which one; 0 none */
};

/* A segment of a node. */
struct scan_node_segment {
	uint64_t elements;
	uint64_t bytes; /* of the whole node, at its first segment */
	uint32_t call;  /* index */
	uint32_t sides; /* RW_OWNER_SCAN_… */
};

struct scan_nodes {
	struct scan_replay *ring;    /* the GPU writes it; NULL: this context takes no nodes */
	_Atomic uint64_t *mask;      /* the GPU reads it */
	struct scan_replays replays; /* device addresses; that of the first node */
	uint64_t scratch;            /* device address */
	struct scan_captured *calls;
	struct scan_node_segment *segments;
	uint32_t *first; /* by node: its first segment */
	_Atomic uint64_t used; /* nodes << 32 | segments */
	_Atomic uint32_t call_count;
	uint64_t next; /* the reader's: results so far */
};

/* What it needs of host memory that the GPU writes to and, zeroed, of the device; both aligned as the driver does. */
size_t scan_nodes_host_size(void);
size_t scan_nodes_device_size(void);
/* Zeroed host memory with its address on the device. False: no memory. */
bool scan_nodes_open(struct scan_nodes *nodes, void *host, uint64_t host_address, uint64_t device_address);

/* Wait-free, any thread. Index of the call, whose copy is kept; -1: there is no room. */
int32_t scan_nodes_call(struct scan_nodes *nodes, const struct scan_captured *call);
/* A node for this launch, whose segments are those of `segments` in order: scratch and replays are filled in. False:
 * there is no room. Lock-free, any thread. */
bool scan_nodes_add(struct scan_nodes *nodes, struct scan_launch *launch, const struct scan_node_segment *segments);
/* Replays whose number has one of these bits read nothing, from the next but one on. */
void scan_nodes_sample(struct scan_nodes *nodes, uint64_t mask);

/* One thread. The next result, copied, with its segment; false: there is none yet. *lost grows by results that were
 * overwritten before they were read. */
bool scan_nodes_read(struct scan_nodes *nodes, struct scan_replay *replay, struct scan_node_segment *segment,
		     uint64_t *lost);

#endif
