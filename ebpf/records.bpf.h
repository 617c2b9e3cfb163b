/* SPDX-License-Identifier: Dual MIT/GPL */
/* Records for the ring: begun, filled from a task and its thread's state, sent. */
#ifndef EBPF_RECORDS_BPF_H
#define EBPF_RECORDS_BPF_H

#include "ebpf/threads.bpf.h"

const volatile __u64 threshold_ns = 10000000;
const volatile __u8 takes_descriptor[WAITS_SYSTEM_CALLS];

const volatile __u64 most_records; /* of an owner in WAITS_WINDOW_NS; 0: no limit */

__u64 lost_records; /* found the ring full */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, WAITS_RING_BYTES);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, WAITS_OWNERS);
	__type(key, __u32);
	__type(value, struct waits_quota);
} quotas SEC(".maps");

static struct file *file_of(struct task_struct *task, __u64 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	struct file *file = NULL;

	if (fd >= BPF_CORE_READ(table, max_fds) || bpf_probe_read_kernel(&file, sizeof(file), files + fd))
		return NULL;
	return file;
}

static void find_file(struct task_struct *task, __u64 fd, struct place *place)
{
	struct file *file = file_of(task, fd);

	if (!file)
		return;

	struct inode *inode = BPF_CORE_READ(file, f_inode);
	place->inode = BPF_CORE_READ(inode, i_ino);
	place->device = BPF_CORE_READ(inode, i_sb, s_dev);
	bpf_probe_read_kernel_str(place->file, sizeof(place->file), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	bpf_probe_read_kernel_str(place->file_system, sizeof(place->file_system),
				  BPF_CORE_READ(inode, i_sb, s_type, name));
	place->known = 1;
}

static __u8 first_is(__s32 system_call)
{
	return system_call >= 0 && system_call < WAITS_SYSTEM_CALLS ? takes_descriptor[system_call]
								    : WAITS_NO_DESCRIPTOR;
}

static void fill_place(struct rw_kernel_wait *wait, __s32 fd, const struct place *place)
{
	wait->fd = fd;
	wait->inode = place->inode;
	wait->device = place->device;
	__builtin_memcpy(wait->file, place->file, sizeof(wait->file));
	__builtin_memcpy(wait->file_system, place->file_system, sizeof(wait->file_system));
}

static void fill_file(struct rw_kernel_wait *wait, struct task_struct *task, struct thread *thread)
{
	struct place now = {};
	struct place *place = &thread->closing;

	if (first_is(thread->system_call) == WAITS_NO_DESCRIPTOR)
		return;
	if (!place->known) {
		place = &now;
		find_file(task, (__u32)thread->argument, place);
	}
	fill_place(wait, (__s32)thread->argument, place);
}

static void fill_longest(struct waits_record *record, const struct period *longest)
{
	record->wait.longest_ns = longest->ns;
	record->wait.state = longest->state;
	record->wait.io_wait = longest->io_wait;
	record->wait.waker_tid = longest->waker.tid;
	record->wait.waker_tgid = longest->waker.tgid;
	record->wait.waker_uid = longest->waker.uid;
	__builtin_memcpy(record->wait.waker, longest->waker.name, sizeof(record->wait.waker));
	record->wait.stack_id = longest->frame_count;
	__builtin_memcpy(record->frames, longest->frames, sizeof(record->frames));
}

/* Counted on several CPUs at once: a few records more or less do not matter. */
static bool within_quota(struct task_struct *task)
{
	struct waits_watch *watch = most_records ? watch_of(task) : NULL;
	if (!watch)
		return true;

	__u64 now = bpf_ktime_get_ns();
	struct waits_quota *quota = bpf_map_lookup_elem(&quotas, &watch->owner);
	if (!quota)
		return false;
	if (now - quota->window_ns > WAITS_WINDOW_NS) {
		quota->window_ns = now;
		quota->sent = 0;
	}
	if (++quota->sent <= most_records)
		return true;
	__sync_fetch_and_add(&quota->lost, 1);
	return false;
}

/* In line: to the verifier of Linux 6.1 a record that a function returned may be NULL still, when it has looked
 * already. */
static __always_inline struct waits_record *begin_record(struct task_struct *task, __u32 kind)
{
	if (!within_quota(task))
		return NULL;

	struct waits_record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		__sync_fetch_and_add(&lost_records, 1);
		return NULL;
	}
	__builtin_memset(record, 0, sizeof(*record));
	record->wait.kind = kind;
	record->wait.tgid = task->tgid;
	record->wait.tid = task->pid;
	record->wait.system_call = OUTSIDE;
	record->wait.fd = -1;
	bpf_probe_read_kernel(record->wait.thread, sizeof(record->wait.thread), task->comm);
	return record;
}

/* The collector comes by 20 times a second and never sleeps on the ring. */
static void send_record(struct waits_record *record)
{
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static void report_wait(struct task_struct *task, struct thread *thread, __u64 start_ns, __u64 end_ns)
{
	struct waits_record *record = begin_record(task, RW_KERNEL_WAIT);
	if (!record)
		return;

	record->wait.start_ns = start_ns;
	record->wait.end_ns = end_ns;
	record->wait.blocked_ns = thread->blocked_ns;
	record->wait.run_queue_ns = thread->run_queue_ns;
	record->wait.system_call = thread->system_call;
	fill_longest(record, &thread->longest);
	fill_file(&record->wait, task, thread);
	send_record(record);
}

static void report_queue(struct task_struct *task, struct thread *thread, __u64 end_ns)
{
	struct waits_record *record = begin_record(task, RW_KERNEL_RUN_QUEUE);
	if (!record)
		return;

	record->wait.start_ns = thread->queue_since_ns;
	record->wait.end_ns = end_ns;
	record->wait.run_queue_ns = thread->queue_ns;
	send_record(record);
}

static void report_now(struct task_struct *task, struct thread *thread, __u64 now)
{
	struct waits_record *record = begin_record(task, RW_KERNEL_NOW);
	if (!record)
		return;

	record->wait.start_ns = thread->system_call == OUTSIDE ? thread->off_ns : thread->enter_ns;
	record->wait.end_ns = now;
	record->wait.system_call = thread->system_call;
	record->wait.longest_ns = thread->off_ns && now > thread->off_ns ? now - thread->off_ns : 0;
	record->wait.run_queue_ns = task->sched_info.run_delay;
	record->wait.cpu_ns = task->se.sum_exec_runtime;
	record->wait.state = state_of(task);
	record->wait.io_wait = BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait);
	if (record->wait.state)
		record->wait.stack_id = copy_stack(task, record->frames);
	fill_file(&record->wait, task, thread);
	send_record(record);
}

static void report_end(struct task_struct *task)
{
	struct waits_record *record = begin_record(task, RW_KERNEL_EXIT);
	if (!record)
		return;
	record->wait.end_ns = bpf_ktime_get_ns();
	record->wait.exit_code = task->exit_code;
	send_record(record);
}

/* From here on its number may be another process's, of which whoever had this one watched may see nothing. */
static void let_go(struct task_struct *task)
{
	__u32 tgid = task->tgid;

	bpf_map_delete_elem(&watched, &tgid);
}

#endif
