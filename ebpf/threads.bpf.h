/* SPDX-License-Identifier: Dual MIT/GPL */
/* What is kept per thread of a watched process, and how it is read off a task. */
#ifndef EBPF_THREADS_BPF_H
#define EBPF_THREADS_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "ebpf/kernel_types.bpf.h"
#include "ebpf/ring_entry.h"

enum {
	OUTSIDE = -1, /* of any system call */
	UNKNOWN_CALL = WAITS_UNKNOWN_CALL,
	SHORT_WAITS = 3,
};

struct waker {
	__u32 tid; /* 0: none, or an interrupt */
	__u32 tgid;
	__u32 uid; /* RW_KERNEL_NO_USER: a thread of the kernel's */
	char name[16];
};

struct place {
	__u64 inode;
	__u32 device;
	__u32 known;
	char file[32];
	char file_system[16];
};

/* Off-CPU period with the kernel stack it was in. */
struct period {
	__u64 ns;
	__u32 state;
	__u32 io_wait;
	__s32 frame_count;
	struct waker waker;
	__u64 frames[WAITS_FRAMES];
};

/* Waits of one system call, or outside of any, on one file, that were each too short for a record. */
struct short_waits {
	__u64 since_ns, last_ns;
	__u64 blocked_ns;
	__u64 longest_ns;
	__u64 file;
	__u32 count; /* 0: none */
	__s32 system_call;
	__s32 fd;
	__u32 state;
	struct waker waker; /* ended most of their time … */
	__u64 woken_ns;     /* … and so much more of it than others, at least */
	struct place place;
};

struct thread {
	__u64 watched_since; /* as in the map of processes; another value means left over from an earlier watch */
	__u64 sampled;       /* number of the last sample that reported it */
	__u64 off_ns;        /* left the CPU then; 0: is on it, or not seen yet */
	__u64 wake_ns;       /* runnable again since; 0: not yet */
	__u32 state;         /* with which it left the CPU, 0 when preempted */
	__s32 system_call;
	__u64 enter_ns;
	__u64 argument; /* the first one */
	__u64 blocked_ns;
	__u64 run_queue_ns;
	__u64 queue_since_ns; /* sum of slices that belong to no reported wait */
	__u64 queue_ns;
	struct waker waker;    /* of the period it is in */
	struct period longest; /* of the system call it is in */
	struct place closing;  /* close(2) only: afterwards the descriptor says nothing */
	__u64 due_ns;          /* one of the sums is to be sent then; 0: none */
	struct short_waits sums[SHORT_WAITS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WAITS_PROCESSES);
	__type(key, __u32); /* tgid */
	__type(value, struct waits_watch);
} watched SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

__u64 lost_waits; /* of threads for which there was no storage */

/* From linux/sched.h; FROZEN, which a control group makes of any sleep, since 6.1. */
enum { UNINTERRUPTIBLE = 2, FROZEN = 0x8000 };

static __u32 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state & FROZEN ? UNINTERRUPTIBLE : task->__state & 0xff; /* as /proc shows it */
	return BPF_CORE_READ((struct task_struct___before_5_14 *)task, state) & 0xff;
}

static struct waits_watch *watch_of(struct task_struct *task)
{
	__u32 tgid = task->tgid;

	return bpf_map_lookup_elem(&watched, &tgid);
}

/* Only sys_enter and the iterator may create: the scheduler's tracepoints hold a run queue's lock, where allocating can
 * deadlock. */
static struct thread *thread_of(struct task_struct *task, __u64 flags)
{
	struct waits_watch *watch = watch_of(task);
	if (!watch)
		return NULL;

	struct thread *thread = bpf_task_storage_get(&threads, task, NULL, flags);
	if (thread && thread->watched_since != watch->since_ns) {
		__builtin_memset(thread, 0, sizeof(*thread));
		thread->watched_since = watch->since_ns;
		thread->system_call = OUTSIDE;
	}
	return thread;
}

static __u64 first_argument(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(regs, di);
#else
	return BPF_CORE_READ(regs, orig_x0);
#endif
}

static __s32 number_of(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return (__s32)BPF_CORE_READ(regs, orig_ax);
#else
	return BPF_CORE_READ(regs, syscallno);
#endif
}

/* A call by the 32-bit interface: its number means another call here. On x86 each call chooses (int $0x80), on arm64
 * the process is of one kind. */
static bool is_compat(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	const __u32 ts_compat = 2;

	return bpf_core_field_exists(task->thread_info.status) && BPF_CORE_READ(task, thread_info.status) & ts_compat;
#else
	const __u64 tif_32bit = 1 << 22;

	return BPF_CORE_READ(task, thread_info.flags) & tif_32bit;
#endif
}

/* What this machine's tables call the call that `task` is in; x86's third interface (x32) sets a bit of its own. */
static __s32 call_of(struct task_struct *task, __s32 number)
{
	const __s32 x32 = 1 << 30;

	if (number < 0)
		return OUTSIDE;
	return number & x32 || is_compat(task) ? UNKNOWN_CALL : number;
}

/* Returns the number of frames. By shift: clang 14 crashes on a signed division. */
static __s32 copy_stack(struct task_struct *task, __u64 *frames)
{
	long bytes = bpf_get_task_stack(task, frames, WAITS_FRAMES * sizeof(*frames), 0);

	return bytes < 0 ? 0 : (__s32)((__u32)bytes >> 3);
}

#endif
