/* SPDX-License-Identifier: MIT */
/* What ebpf/waits.bpf.c sends to its loader about watched threads. Both sides share it, so it has fixed types, explicit
 * padding and no kernel headers. Times are CLOCK_MONOTONIC (bpf_ktime_get_ns), in nanoseconds. */
#ifndef RANKWATCH_KERNEL_EVENT_H
#define RANKWATCH_KERNEL_EVENT_H

#ifndef __bpf__
#include <assert.h>
#endif
#include <linux/types.h>

enum {
	/* One system call that took at least the threshold from enter to exit, or one off-CPU period of that length
	 * outside a system call. blocked_ns and run_queue_ns are sums over the system call; the stack is that of its
	 * longest wait. */
	RW_KERNEL_WAIT = 1,
	/* Since start_ns the thread has been runnable without a CPU for at least the threshold in sum. Such time comes
	 * in slices of a scheduler tick, each too short for a record of its own. It is not part of a RW_KERNEL_WAIT. */
	RW_KERNEL_RUN_QUEUE = 2,
	/* From the task iterator: where the thread is now (end_ns), and since when (start_ns; 0 = not known). */
	RW_KERNEL_NOW = 3,
	/* The thread group's last thread has ended; exit_code as in wait(2). */
	RW_KERNEL_EXIT = 4,
	/* `count` waits between start_ns and end_ns in one system call on one file, or outside any system call, each
	 * shorter than the threshold. blocked_ns is their sum, longest_ns the longest. The waker is the thread that
	 * ended more than half of that time, if there is one, else any of the wakers. There is no stack. The time that
	 * they spent on a run queue is in RW_KERNEL_RUN_QUEUE. */
	RW_KERNEL_SHORT_WAITS = 5,
};

#define RW_KERNEL_NO_USER 0xffffffffu

struct rw_kernel_wait {
	__u32 kind;
	__u32 tgid; /* init-namespace pid of the process */
	__u32 tid;
	__u32 waker_tid; /* 0 = the waker is no task, or not reliably known (interrupt, unknown) */
	__u32 waker_tgid;
	__s32 system_call; /* -1 outside a system call */
	__s32 fd;	   /* first argument where that is a descriptor; for poll(2) its first descriptor; else -1 */
	__u32 device;	   /* kernel dev_t of the file's super block, MAJOR << 20 | MINOR */
	__u64 inode;
	__u64 start_ns;
	__u64 end_ns;
	__u64 blocked_ns;   /* part of the period in which the thread was not runnable */
	__u64 run_queue_ns; /* part of the period in which the thread was runnable and waited for a CPU */
	__u64 longest_ns;   /* longest single off-CPU period, to which stack_id belongs */
	__u64 cpu_ns;	    /* RW_KERNEL_NOW: CPU time of the thread so far (progress between two samples) */
	/* task state when it left the CPU, masked with 0xff: 0 running (preempted), 1 S, 2 D, 4 T, 8 t */
	__u32 state;
	__u32 io_wait;
	__s32 stack_id; /* for probes_stack(), valid during the callback; < 0 none */
	__s32 exit_code;
	__u32 count; /* RW_KERNEL_SHORT_WAITS; else 0 */
	__u32 waker_uid; /* the waker's real uid in the initial user namespace; RW_KERNEL_NO_USER: a kernel thread */
	char thread[16];
	char waker[16];
	char file[32]; /* last path component */
	char file_system[16];
};

#ifndef __bpf__
static_assert(sizeof(struct rw_kernel_wait) == 192, "both sides of the ring");
#endif

#endif
