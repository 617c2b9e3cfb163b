/* SPDX-License-Identifier: MIT */
/*
 * What a collector and rankwatchd say to each other (docs/helper.md). A Unix socket of type SOCK_SEQPACKET: a message is
 * a packet, and both ends run on the same machine, so numbers are as it keeps them. The collector asks, one question at a
 * time; the helper answers each, and sends records in between.
 */
#ifndef RANKWATCH_HELPER_H
#define RANKWATCH_HELPER_H

#include <assert.h>
#include <linux/types.h>

#include <rankwatch/kernel_event.h>

#define RW_HELPER_SOCKET "/run/rankwatchd/socket"

enum {
	RW_HELPER_VERSION = 1,
	RW_HELPER_PACKET = 16384, /* bytes, at most */
	RW_HELPER_FRAMES = 12,
	RW_HELPER_FRAME = 40,
	RW_HELPER_WHY = 160,
};

enum rw_helper_kind {
	/* Collector to helper. */
	RW_HELPER_HELLO = 1,   /* the first: which version it speaks */
	RW_HELPER_WATCH = 2,   /* with a pidfd (SCM_RIGHTS) */
	RW_HELPER_UNWATCH = 3, /* pid as the answer to RW_HELPER_WATCH had it */
	RW_HELPER_LOOK = 4,    /* a RW_KERNEL_NOW record for each thread of this pid comes before the answer */
	/* Helper to collector. */
	RW_HELPER_ANSWER = 16,
	RW_HELPER_RECORDS = 17,
};

struct rw_helper_request {
	__u32 kind;
	__u32 number; /* comes back in the answer */
	__s32 pid;    /* RW_HELPER_UNWATCH, RW_HELPER_LOOK; else 0 */
	__u32 version;
};

/* What was lost since the helper began, as struct probes_loss; queue: records of this collector for which its queue, or
 * its user's part of the ring, had no room. */
struct rw_helper_loss {
	__u64 queue, ring, waits, missed;
};

struct rw_helper_answer {
	__u32 kind; /* RW_HELPER_ANSWER */
	__u32 number;
	__s32 error;	 /* 0 or -errno … */
	__s32 pid;	 /* RW_HELPER_WATCH: the process's number in the first pid namespace */
	__u64 cost_ns; /* CPU time that the question took */
	struct rw_helper_loss loss;
	__u32 version; /* the helper's */
	__u32 pad;
	char why[RW_HELPER_WHY]; /* … and a sentence about it, with its end */
};

/* Then `count` times: a struct rw_kernel_wait, and as many names of RW_HELPER_FRAME bytes as its stack_id says. Its
 * waker is named only where it is of the collector's own user or the kernel's: else "other user", without its numbers. */
struct rw_helper_records {
	__u32 kind; /* RW_HELPER_RECORDS */
	__u32 count;
	struct rw_helper_loss loss;
};

static_assert(sizeof(struct rw_helper_request) == 16, "both ends of the socket");
static_assert(sizeof(struct rw_helper_answer) == 224, "both ends of the socket");
static_assert(sizeof(struct rw_helper_records) == 40, "both ends of the socket");

#endif
