/* SPDX-License-Identifier: MIT */
/* Who sends the batches of a node half, and through what. */
#ifndef ANALYSIS_NODE_SENDER_H
#define ANALYSIS_NODE_SENDER_H

#include <stddef.h>
#include <stdint.h>

/* Identifies the sender. node_half_new() copies it. */
struct node_identity {
	const char *job, *host; /* truncated to 63 bytes */
	uint8_t boot[16];	/* boot_id, 0 not known */
	uint64_t start;		/* a different number each time the collector starts: CLOCK_REALTIME in ns, or random */
};

/* Sends one batch of at most RW_BATCH_MAX bytes. The node half owns the bytes, which are valid during the call. */
typedef void node_half_send(void *argument, const void *bytes, size_t length);

#endif
