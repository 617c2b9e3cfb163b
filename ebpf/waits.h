/* SPDX-License-Identifier: MIT */
/* One entry of the ring between waits.bpf.c and probes.c. Shared by both sides. */
#ifndef EBPF_WAITS_H
#define EBPF_WAITS_H

#include <rankwatch/kernel_event.h>

enum {
	WAITS_FRAMES = 16,
	WAITS_UNKNOWN_CALL = -2,  /* as a system call's number: one by the 32-bit interface */
	WAITS_SYSTEM_CALLS = 512, /* numbers above take no descriptor as far as we know */
	WAITS_RING_BYTES = 1 << 20,
};

/* What the first argument of a system call is. */
enum {
	WAITS_NO_DESCRIPTOR,
	WAITS_DESCRIPTOR,
	WAITS_POLLED, /* address of a struct pollfd */
};

/* wait.stack_id is the number of frames; probes.c turns it into what probes.h promises. */
struct waits_record {
	struct rw_kernel_wait wait;
	__u64 frames[WAITS_FRAMES]; /* return addresses, innermost first; the kernel leaves its scheduler's out */
};

#endif
