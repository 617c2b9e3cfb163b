/* SPDX-License-Identifier: MIT */
/*
 * The protocol between a collector and rankwatchd, the helper (docs/helper.md), over a Unix socket of type
 * SOCK_SEQPACKET. Each message is a packet. Both ends run on the same machine, so numbers are in its byte order. The
 * collector sends one request at a time; the helper answers each, and sends records in between.
 */
#ifndef RANKWATCH_HELPER_H
#define RANKWATCH_HELPER_H

#include <assert.h>
#include <linux/types.h>

#include <rankwatch/kernel_event.h>

#define RW_HELPER_SOCKET "/run/rankwatchd/socket"

enum {
	RW_HELPER_VERSION = 1,
	RW_HELPER_PACKET = 16384, /* largest packet, bytes */
	RW_HELPER_FRAMES = 12,
	RW_HELPER_FRAME = 40,
	RW_HELPER_WHY = 160,
};

enum rw_helper_kind {
	/* Collector to helper. */
	RW_HELPER_HELLO = 1,   /* the first request: which version the collector speaks */
	RW_HELPER_WATCH = 2,   /* with a pidfd (SCM_RIGHTS) */
	RW_HELPER_UNWATCH = 3, /* pid as in the answer to RW_HELPER_WATCH */
	/* the helper sends a RW_KERNEL_NOW record for each thread of this pid before the answer */
	RW_HELPER_LOOK = 4,
	/* Helper to collector. */
	RW_HELPER_ANSWER = 16,
	RW_HELPER_RECORDS = 17,
};

struct rw_helper_request {
	__u32 kind;
	__u32 number; /* the answer has the same number */
	__s32 pid;    /* RW_HELPER_UNWATCH, RW_HELPER_LOOK; else 0 */
	__u32 version;
};

/* Records lost since the helper started, as in struct probes_loss. queue counts records of this collector for which its
 * queue, or its user's part of the ring, had no room. */
struct rw_helper_loss {
	__u64 queue, ring, waits, missed;
};

struct rw_helper_answer {
	__u32 kind; /* RW_HELPER_ANSWER */
	__u32 number;
	__s32 error;	 /* 0, or -errno … */
	__s32 pid;	 /* RW_HELPER_WATCH: the process's number in the first pid namespace */
	__u64 cost_ns; /* CPU time that the request took */
	struct rw_helper_loss loss;
	__u32 version; /* the helper's */
	__u32 pad;
	char why[RW_HELPER_WHY]; /* … and a sentence about the error, 0-terminated */
};

/* This is followed `count` times by a struct rw_kernel_wait and as many names of RW_HELPER_FRAME bytes as its stack_id
 * says. The waker is named only where it belongs to the collector's own user or to the kernel. Else it is "other user",
 * without its tid, tgid and uid. */
struct rw_helper_records {
	__u32 kind; /* RW_HELPER_RECORDS */
	__u32 count;
	struct rw_helper_loss loss;
};

static_assert(sizeof(struct rw_helper_request) == 16, "both ends of the socket");
static_assert(sizeof(struct rw_helper_answer) == 224, "both ends of the socket");
static_assert(sizeof(struct rw_helper_records) == 40, "both ends of the socket");

#endif
