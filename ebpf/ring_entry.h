/* SPDX-License-Identifier: MIT */
/* One entry of the ring between waits.bpf.c and probes.c. Shared by both sides. */
#ifndef EBPF_RING_ENTRY_H
#define EBPF_RING_ENTRY_H

#include <rankwatch/kernel_event.h>

enum {
	WAITS_FRAMES = 16,
	WAITS_UNKNOWN_CALL = -2,  /* as a system call's number: one by the 32-bit interface */
	WAITS_SYSTEM_CALLS = 512, /* numbers above take no descriptor as far as we know */
	WAITS_RING_BYTES = 1 << 20,
	WAITS_PROCESSES = 1024,
	WAITS_OWNERS = 64,
	WAITS_WINDOW_NS = 50000000,
};

/* What the first argument of a system call is. */
enum {
	WAITS_NO_DESCRIPTOR,
	WAITS_DESCRIPTOR,
	WAITS_POLLED, /* address of a struct pollfd */
};

/* For whom a process is watched. */
struct waits_watch {
	__u64 since_ns;
	__u32 owner; /* below WAITS_OWNERS */
	__u32 pad;
};

/* How much of the ring an owner has taken since window_ns: one whose threads make records as fast as they can loses its
 * own, not those of others. */
struct waits_quota {
	__u64 window_ns;
	__u64 sent;
	__u64 lost;
};

/* wait.stack_id is the number of frames; probes.c turns it into what probes.h promises. */
struct waits_record {
	struct rw_kernel_wait wait;
	__u64 frames[WAITS_FRAMES]; /* return addresses, innermost first; the kernel leaves its scheduler's out */
};

#endif
