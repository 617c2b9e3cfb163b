/* SPDX-License-Identifier: MIT */
/*
 * Scans that became nodes of CUDA graphs. We do not learn when a graph is destroyed or how often it runs, so a node
 * keeps its places in these tables for ever: its counters and its scratch on the device, and which call each of its
 * segments belongs to. When a table is full, no more nodes are added. Results arrive in one ring per context
 * (scan_kernel.h).
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
	_Atomic uint32_t sides; /* RW_OWNER_SCAN_IN, RW_OWNER_SCAN_OUT: the results that each replay gives */
	uint64_t ticket, replay; /* of the reading thread: slot and number + 1 of the replay that it saw last; 0 none */
};

/* A segment of a node. */
struct scan_node_segment {
	uint64_t elements;
	uint64_t bytes; /* of the whole node, at its first segment */
	uint32_t call;  /* index */
	uint32_t sides; /* RW_OWNER_SCAN_… */
};

struct scan_nodes {
	struct scan_replay *ring;    /* the GPU writes it; NULL: no nodes in this context */
	_Atomic uint64_t *mask;      /* the GPU reads it */
	struct scan_replays replays; /* device addresses; that of the first node */
	uint64_t scratch;            /* device address */
	struct scan_captured *calls;
	struct scan_node_segment *segments;
	uint32_t *first; /* by node: its first segment */
	_Atomic uint64_t used; /* nodes << 32 | segments */
	_Atomic uint32_t call_count;
	uint64_t next; /* of the reading thread: results so far */
};

/* Bytes that it needs of host memory, to which the GPU writes, and of zeroed device memory; both with the alignment
 * that the driver's allocations have. */
size_t scan_nodes_host_size(void);
size_t scan_nodes_device_size(void);
/* Zeroed host memory with its address on the device. False: no memory. */
bool scan_nodes_open(struct scan_nodes *nodes, void *host, uint64_t host_address, uint64_t device_address);

/* Keeps a copy of the call and returns its index; -1: there is no room. Lock-free, any thread. */
int32_t scan_nodes_call(struct scan_nodes *nodes, const struct scan_captured *call);
/* Makes a node of this launch, whose segments are those of `segments` in order, and fills in its scratch and replays.
 * False: there is no room. Lock-free, any thread. */
bool scan_nodes_add(struct scan_nodes *nodes, struct scan_launch *launch, const struct scan_node_segment *segments);
/* Replays whose number has one of these bits set read nothing; takes effect from the next replay but one. */
void scan_nodes_sample(struct scan_nodes *nodes, uint64_t mask);

/* Copies the next result and its segment; false: there is none yet. *lost grows by the number of results that were
 * overwritten before they were read. Only one thread calls it. */
bool scan_nodes_read(struct scan_nodes *nodes, struct scan_replay *replay, struct scan_node_segment *segment,
		     uint64_t *lost);

#endif
