/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * Waits that are each too short for a record: summed per thread, system call and file, so that a thread that waits 5 ms
 * a hundred times is seen to wait for half a second. A sum is sent once it has reached the threshold and is
 * `short_window_ns` old: at most SHORT_WAITS records per thread and window, however often it waits.
 */
#ifndef EBPF_SHORT_WAITS_BPF_H
#define EBPF_SHORT_WAITS_BPF_H

#include "ebpf/records.bpf.h"

static const __u64 short_window_ns = 100000000;
/* Waits further apart than this are not summed, or a few milliseconds of them would stand for minutes. */
static const __u64 short_lasts_ns = 1000000000;

/* What distinguishes the file of this call from others; 0 where it has none. Of close(2) it was looked at before. */
static __u64 file_key(struct task_struct *task, const struct thread *thread)
{
	if (first_is(thread->system_call) == WAITS_NO_DESCRIPTOR)
		return 0;
	if (thread->closing.known)
		return thread->closing.inode;

	struct file *file = file_of(task, (__u32)thread->argument);
	return file ? (__u64)BPF_CORE_READ(file, f_inode) : 0;
}

static void report_short(struct task_struct *task, struct short_waits *sum)
{
	struct waits_record *record = begin_record(task, RW_KERNEL_SHORT_WAITS);

	if (record) {
		record->wait.start_ns = sum->since_ns;
		record->wait.end_ns = sum->last_ns;
		record->wait.blocked_ns = sum->blocked_ns;
		record->wait.longest_ns = sum->longest_ns;
		record->wait.count = sum->count;
		record->wait.state = sum->state;
		record->wait.system_call = sum->system_call;
		record->wait.waker_tid = sum->waker.tid;
		record->wait.waker_tgid = sum->waker.tgid;
		record->wait.waker_uid = sum->waker.uid;
		__builtin_memcpy(record->wait.waker, sum->waker.name, sizeof(record->wait.waker));
		if (first_is(sum->system_call) != WAITS_NO_DESCRIPTOR)
			fill_place(&record->wait, sum->fd, &sum->place);
		send_record(record);
	}
	sum->count = 0;
}

static void report_due(struct task_struct *task, struct thread *thread, __u64 now)
{
	if (!thread->due_ns || now < thread->due_ns)
		return;
	thread->due_ns = 0;
#pragma unroll
	for (int i = 0; i < SHORT_WAITS; i++) {
		struct short_waits *sum = &thread->sums[i];
		if (!sum->count || sum->blocked_ns < threshold_ns)
			continue;
		if (now - sum->since_ns >= short_window_ns)
			report_short(task, sum);
		else if (!thread->due_ns || sum->since_ns + short_window_ns < thread->due_ns)
			thread->due_ns = sum->since_ns + short_window_ns;
	}
}

/* That of this call and file, or the one that was added to longest ago, empty. */
static struct short_waits *sum_of(struct task_struct *task, struct thread *thread, __u64 file)
{
	struct short_waits *stalest = &thread->sums[0];

#pragma unroll
	for (int i = 0; i < SHORT_WAITS; i++) {
		struct short_waits *sum = &thread->sums[i];
		if (sum->count && sum->system_call == thread->system_call && sum->file == file)
			return sum;
		if (sum->last_ns < stalest->last_ns)
			stalest = sum;
	}
	if (stalest->count && stalest->blocked_ns >= threshold_ns)
		report_short(task, stalest);
	stalest->count = 0;
	return stalest;
}

static void begin_short(struct task_struct *task, struct thread *thread, struct short_waits *sum, __u64 file)
{
	__builtin_memset(sum, 0, sizeof(*sum));
	sum->file = file;
	sum->system_call = thread->system_call;
	sum->fd = (__s32)thread->argument;
	if (file && thread->closing.known)
		sum->place = thread->closing;
	else if (file)
		find_file(task, (__u32)thread->argument, &sum->place);
}

/* A thread waits in one call for several others: the one that ended the latest wait may have ended no other. The
 * majority vote of Boyer and Moore (1991), weighted by time: of a thread that ended more than half, it finds that
 * one. */
static void vote_for_waker(struct short_waits *sum, const struct waker *waker, __u64 ns)
{
	if (!waker->tid)
		return;
	if (sum->waker.tid == waker->tid) {
		sum->woken_ns += ns;
		return;
	}
	if (sum->woken_ns >= ns) {
		sum->woken_ns -= ns;
		return;
	}
	sum->waker = *waker;
	sum->woken_ns = ns - sum->woken_ns;
}

/* The system call, or the one off-CPU period, that the thread was in from start_ns to now. */
static void add_short(struct task_struct *task, struct thread *thread, __u64 start_ns, __u64 now)
{
	if (!thread->blocked_ns)
		return;

	__u64 file = file_key(task, thread);
	struct short_waits *sum = sum_of(task, thread, file);

	if (!sum->count || now - sum->since_ns > short_lasts_ns) {
		begin_short(task, thread, sum, file);
		sum->since_ns = start_ns;
	}
	sum->count++;
	sum->last_ns = now;
	sum->blocked_ns += thread->blocked_ns;
	if (thread->state)
		sum->state = thread->state;
	if (thread->blocked_ns > sum->longest_ns)
		sum->longest_ns = thread->blocked_ns;
	vote_for_waker(sum, &thread->waker, thread->blocked_ns);
	if (sum->blocked_ns >= threshold_ns && (!thread->due_ns || sum->since_ns + short_window_ns < thread->due_ns))
		thread->due_ns = sum->since_ns + short_window_ns;
}

#endif
