/* SPDX-License-Identifier: MIT */
/* What ebpf/waits.bpf.c sends to its loader about watched threads. Shared by both sides, so: fixed types, explicit
 * padding, no kernel headers. Times: CLOCK_MONOTONIC (bpf_ktime_get_ns). */
#ifndef RANKWATCH_KERNEL_EVENT_H
#define RANKWATCH_KERNEL_EVENT_H

#ifndef __bpf__
#include <assert.h>
#endif
#include <linux/types.h>

enum {
	/* One system call that took at least the threshold (enter to exit; blocked_ns and run_queue_ns are sums over it,
	 * the stack is that of its longest wait), or one off-CPU period of that length outside a system call. */
	RW_KERNEL_WAIT = 1,
	/* The thread has been runnable without a CPU for at least the threshold, summed since start_ns. Such time comes in
	 * slices of a scheduler tick, each too short for a record of its own. Not part of a RW_KERNEL_WAIT. */
	RW_KERNEL_RUN_QUEUE = 2,
	/* Task iterator: where the thread is now (end_ns); start_ns = since when, 0 = not known. */
	RW_KERNEL_NOW = 3,
	/* The thread group's last thread has ended; exit_code as in wait(2). */
	RW_KERNEL_EXIT = 4,
	/* `count` waits between start_ns and end_ns of one system call on one file, or outside of any, each shorter than the
	 * threshold: blocked_ns is their sum, longest_ns the longest, the waker the thread that ended most of that
	 * time, if one ended more than half, else any. No stack. Their time on a run queue is in RW_KERNEL_RUN_QUEUE. */
	RW_KERNEL_SHORT_WAITS = 5,
};

#define RW_KERNEL_NO_USER 0xffffffffu

struct rw_kernel_wait {
	__u32 kind;
	__u32 tgid; /* init-namespace pid of the process */
	__u32 tid;
	__u32 waker_tid; /* 0 = not a task we believe (interrupt, unknown) */
	__u32 waker_tgid;
	__s32 system_call; /* -1 outside a system call */
	__s32 fd;	   /* first argument where the system call takes a descriptor, the first of poll(2)'s, else -1 */
	__u32 device;	   /* kernel dev_t of the file's super block, MAJOR << 20 | MINOR */
	__u64 inode;
	__u64 start_ns;
	__u64 end_ns;
	__u64 blocked_ns;   /* of it: not runnable */
	__u64 run_queue_ns; /* of it: runnable, waiting for a CPU */
	__u64 longest_ns;   /* its longest single off-CPU period, the one that stack_id belongs to */
	__u64 cpu_ns;	    /* RW_KERNEL_NOW: CPU time of the thread so far (progress between two samples) */
	__u32 state;	   /* task state when it left, masked with 0xff: 0 running (preempted), 1 S, 2 D, 4 T, 8 t */
	__u32 io_wait;
	__s32 stack_id; /* for probes_stack(), during the callback; < 0 none */
	__s32 exit_code;
	__u32 count; /* RW_KERNEL_SHORT_WAITS; else 0 */
	__u32 waker_uid; /* its real uid in the first user namespace; RW_KERNEL_NO_USER: a thread of the kernel's */
	char thread[16];
	char waker[16];
	char file[32]; /* last path component */
	char file_system[16];
};

#ifndef __bpf__
static_assert(sizeof(struct rw_kernel_wait) == 192, "both sides of the ring");
#endif

#endif
