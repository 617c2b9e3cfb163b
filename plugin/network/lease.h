/* SPDX-License-Identifier: MIT */
/*
 * Leases of network detail, polled by the plugin's thread: a collector writes into the box's control page which
 * communicators shall be recorded in detail, and NCCL is asked for the events meanwhile. The page can hold
 * anything, so a lease has bounds: only these events of these communicators, for ten seconds from when it was first
 * seen.
 */
#ifndef PLUGIN_NETWORK_LEASE_H
#define PLUGIN_NETWORK_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>

struct recording;

enum { LEASE_MASKS = 4 /* activation masks: one a libnccl in the process */ };

struct lease {
	uint64_t expires_ns, communicator; /* as on the page at the last poll */
	uint32_t proxy_bits;
	uint64_t until_ns; /* 0: none */
};

struct lease_mask {
	int *mask; /* NCCL's; NULL unused */
	int added; /* bits that were not there before us */
};

struct leases {
	struct lease seen[RW_BOX_LEASES];
	struct lease_mask masks[LEASE_MASKS];
	bool running; /* some communicator is leased, or bits of ours are left in a mask */
};

/* At each poll of the plugin's thread. */
void leases_poll(struct leases *leases, struct recording *recording, uint64_t now_ns);

#endif
