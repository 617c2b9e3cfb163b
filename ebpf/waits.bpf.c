/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * What the threads of watched processes wait for. Per thread we keep the system call it is in and the off-CPU period it
 * is in; only what lasted at least `threshold_ns` is reported. A short wait costs two look-ups and a clock read.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "ebpf/kernel_types.bpf.h"
#include "ebpf/waits.h"

enum {
	OUTSIDE = -1, /* of any system call */
	KERNEL_THREAD = 0x00200000, /* PF_KTHREAD */
	TASK_STACK_BYTES = 16384,
};

/* A wait this long pays for a look at its stack and waker: about 1 us, so at most 0.1 % of it. */
static const __u64 worth_a_look_ns = 1000000;
/* Run-queue slices further apart than this are not summed. */
static const __u64 queue_window_ns = 1000000000;

const volatile __u64 threshold_ns = 10000000;
const volatile __s32 close_call = -1;
const volatile __u8 takes_descriptor[WAITS_SYSTEM_CALLS];

__u64 lost;
__s32 look_tgid; /* the process that the iterator is to report */

struct waker {
	__u32 tid; /* 0: none, or an interrupt */
	__u32 tgid;
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
	__u32 pad;
	struct waker waker;
	__u64 frames[WAITS_FRAMES];
};

struct thread {
	__u64 watched_since; /* as in the map of processes; another value means left over from an earlier watch */
	__u64 off_ns;	     /* left the CPU then; 0: is on it, or not seen yet */
	__u64 wake_ns;	     /* runnable again since; 0: not yet */
	__u32 state;	     /* with which it left the CPU, 0 when preempted */
	__s32 system_call;
	__u64 enter_ns;
	__u64 argument; /* the first one */
	__u64 blocked_ns;
	__u64 run_queue_ns;
	__u64 queue_since_ns; /* sum of slices that belong to no reported wait */
	__u64 queue_ns;
	struct waker waker;	/* of the period it is in */
	struct period longest;	/* of the system call it is in */
	struct place closing; /* close(2) only: afterwards the descriptor tells nothing */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);   /* tgid */
	__type(value, __u64); /* watched since */
} watched SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, WAITS_RING_BYTES);
} records SEC(".maps");

static __u32 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return task->__state & 0xff;
	return BPF_CORE_READ((struct task_struct___before_5_14 *)task, state) & 0xff;
}

static __u64 *watch_of(struct task_struct *task)
{
	__u32 tgid = task->tgid;

	return bpf_map_lookup_elem(&watched, &tgid);
}

/* Only sys_enter and the iterator may create: the scheduler's tracepoints hold a run queue's lock, where allocating can
 * deadlock. */
static struct thread *thread_of(struct task_struct *task, __u64 flags)
{
	__u64 *since = watch_of(task);
	if (!since)
		return NULL;

	struct thread *thread = bpf_task_storage_get(&threads, task, NULL, flags);
	if (thread && thread->watched_since != *since) {
		__builtin_memset(thread, 0, sizeof(*thread));
		thread->watched_since = *since;
		thread->system_call = OUTSIDE;
	}
	return thread;
}

static void find_file(struct task_struct *task, __u64 fd, struct place *place)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd);
	struct file *file = NULL;

	if (fd >= BPF_CORE_READ(table, max_fds) || bpf_probe_read_kernel(&file, sizeof(file), files + fd) || !file)
		return;

	struct inode *inode = BPF_CORE_READ(file, f_inode);
	place->inode = BPF_CORE_READ(inode, i_ino);
	place->device = BPF_CORE_READ(inode, i_sb, s_dev);
	bpf_probe_read_kernel_str(place->file, sizeof(place->file), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	bpf_probe_read_kernel_str(place->file_system, sizeof(place->file_system),
				  BPF_CORE_READ(inode, i_sb, s_type, name));
	place->known = 1;
}

static bool has_descriptor(__s32 system_call)
{
	return system_call >= 0 && system_call < WAITS_SYSTEM_CALLS && takes_descriptor[system_call];
}

static void fill_file(struct rw_kernel_wait *wait, struct task_struct *task, struct thread *thread)
{
	struct place now = {};
	struct place *place = &thread->closing;

	if (!has_descriptor(thread->system_call))
		return;
	wait->fd = (__s32)thread->argument;
	if (!place->known) {
		place = &now;
		find_file(task, (__u32)thread->argument, place);
	}
	wait->inode = place->inode;
	wait->device = place->device;
	__builtin_memcpy(wait->file, place->file, sizeof(wait->file));
	__builtin_memcpy(wait->file_system, place->file_system, sizeof(wait->file_system));
}

static void fill_longest(struct waits_record *record, const struct period *longest)
{
	record->wait.longest_ns = longest->ns;
	record->wait.state = longest->state;
	record->wait.io_wait = longest->io_wait;
	record->wait.waker_tid = longest->waker.tid;
	record->wait.waker_tgid = longest->waker.tgid;
	__builtin_memcpy(record->wait.waker, longest->waker.name, sizeof(record->wait.waker));
	record->wait.stack_id = longest->frame_count;
	__builtin_memcpy(record->frames, longest->frames, sizeof(record->frames));
}

static struct waits_record *begin_record(struct task_struct *task, __u32 kind)
{
	struct waits_record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);
	if (!record) {
		__sync_fetch_and_add(&lost, 1);
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

/* The collector comes by ten times a second; it is woken only when that may be too seldom. */
static void send_record(struct waits_record *record)
{
	bool half_full = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) > WAITS_RING_BYTES / 2;

	bpf_ringbuf_submit(record, half_full ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
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

static void add_queue(struct task_struct *task, struct thread *thread, __u64 start_ns, __u64 end_ns, __u64 queue_ns)
{
	if (!queue_ns)
		return;
	if (end_ns - thread->queue_since_ns > queue_window_ns) {
		thread->queue_since_ns = start_ns;
		thread->queue_ns = 0;
	}
	thread->queue_ns += queue_ns;
	if (thread->queue_ns < threshold_ns)
		return;
	report_queue(task, thread, end_ns);
	thread->queue_since_ns = 0;
}

static void begin_sums(struct thread *thread)
{
	thread->blocked_ns = 0;
	thread->run_queue_ns = 0;
	thread->longest.ns = 0;
	thread->longest.frame_count = 0;
	thread->longest.waker.tid = 0;
	thread->longest.waker.tgid = 0;
	thread->longest.waker.name[0] = 0;
	thread->longest.state = 0;
	thread->longest.io_wait = 0;
}

/* Returns the number of frames. By shift: clang 14 crashes on a signed division. */
static __s32 copy_stack(struct task_struct *task, __u64 *frames)
{
	long bytes = bpf_get_task_stack(task, frames, WAITS_FRAMES * sizeof(*frames), 0);

	return bytes < 0 ? 0 : (__s32)((__u32)bytes >> 3);
}

/* `task` is about to run again: its saved stack is still the one it waited in. */
static void keep_longest(struct task_struct *task, struct thread *thread, __u64 ns)
{
	struct period *longest = &thread->longest;

	longest->ns = ns;
	longest->state = thread->state;
	longest->io_wait = BPF_CORE_READ_BITFIELD_PROBED(task, in_iowait);
	longest->waker = thread->waker;
	longest->frame_count = copy_stack(task, longest->frames);
}

static void leave_cpu(struct task_struct *task, bool preempted, __u64 now)
{
	struct thread *thread = thread_of(task, 0);
	if (!thread)
		return;

	thread->off_ns = now;
	thread->wake_ns = 0;
	thread->waker.tid = 0;
	thread->waker.tgid = 0;
	thread->waker.name[0] = 0;
	thread->state = preempted ? 0 : state_of(task);
}

/* Outside of system calls (page faults, stops, preemption) each off-CPU period is by itself. */
static void end_period_outside(struct task_struct *task, struct thread *thread, __u64 start_ns, __u64 now)
{
	if (thread->state && now - start_ns >= threshold_ns)
		report_wait(task, thread, start_ns, now);
	else
		add_queue(task, thread, start_ns, now, thread->run_queue_ns);
}

static void enter_cpu(struct task_struct *task, __u64 now)
{
	struct thread *thread = thread_of(task, 0);
	if (!thread || !thread->off_ns)
		return;

	__u64 off_ns = thread->off_ns;
	__u64 runnable_ns = thread->state ? thread->wake_ns : off_ns;
	bool outside = thread->system_call == OUTSIDE;

	thread->off_ns = 0;
	if (now <= off_ns)
		return;
	if (runnable_ns < off_ns || runnable_ns > now)
		runnable_ns = now; /* its waking was not seen */
	if (outside)
		begin_sums(thread);
	thread->blocked_ns += runnable_ns - off_ns;
	thread->run_queue_ns += now - runnable_ns;
	if (thread->state && now - off_ns >= worth_a_look_ns && now - off_ns > thread->longest.ns)
		keep_longest(task, thread, now - off_ns);
	if (outside)
		end_period_outside(task, thread, off_ns, now);
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

/*
 * Whether `current` wakes by its own doing, or an interrupt that borrowed it. There is no portable way to read the
 * preemption count, but interrupts run on a stack of their own, except where x86 was interrupted in user mode: then the
 * task's saved registers hold no system call. `context` is the tracepoint's argument array, on the stack in use.
 */
static bool wakes_by_itself(const void *context)
{
	struct task_struct *current = bpf_get_current_task_btf();
	__u64 address = 0;

	bpf_probe_read_kernel(&address, sizeof(address), &context); /* the verifier forbids to compute with a pointer */
	if (address - (__u64)current->stack >= TASK_STACK_BYTES)
		return false;
	return current->flags & KERNEL_THREAD || number_of((struct pt_regs *)bpf_task_pt_regs(current)) >= 0;
}

static void wake(struct task_struct *task, const void *context, __u64 now)
{
	struct thread *thread = thread_of(task, 0);
	if (!thread || !thread->off_ns || thread->wake_ns)
		return;

	thread->wake_ns = now;
	if (now - thread->off_ns < worth_a_look_ns || !wakes_by_itself(context))
		return;
	__u64 id = bpf_get_current_pid_tgid();
	thread->waker.tid = (__u32)id;
	thread->waker.tgid = id >> 32;
	bpf_get_current_comm(thread->waker.name, sizeof(thread->waker.name));
}

static void enter_system_call(struct task_struct *task, __s32 number, __u64 argument)
{
	struct thread *thread = thread_of(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		return;

	begin_sums(thread);
	thread->enter_ns = bpf_ktime_get_ns();
	thread->argument = argument;
	thread->closing.known = 0;
	if (number == close_call)
		find_file(task, (__u32)argument, &thread->closing);
	thread->system_call = number;
}

static void exit_system_call(struct task_struct *task)
{
	struct thread *thread = thread_of(task, 0);
	if (!thread || thread->system_call == OUTSIDE)
		return;

	__u64 now = bpf_ktime_get_ns();
	if (now > thread->enter_ns && now - thread->enter_ns >= threshold_ns)
		report_wait(task, thread, thread->enter_ns, now);
	else
		add_queue(task, thread, thread->enter_ns, now, thread->run_queue_ns);
	thread->system_call = OUTSIDE;
}

/* A thread that already waits when its process becomes watched: its wait counts from now on. */
static void adopt(struct task_struct *task, struct thread *thread, __u64 now)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	thread->enter_ns = now;
	thread->argument = first_argument(regs);
	thread->system_call = number_of(regs);
	thread->state = state_of(task);
	thread->off_ns = now;
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

static void look_at(struct task_struct *task)
{
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = thread_of(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		return;

	if (!thread->off_ns && thread->system_call == OUTSIDE && state_of(task))
		adopt(task, thread, now);
	report_now(task, thread, now);
}

static void report_end(struct task_struct *task)
{
	if (!watch_of(task) || BPF_CORE_READ(task, signal, live.counter))
		return;

	struct waits_record *record = begin_record(task, RW_KERNEL_EXIT);
	if (!record)
		return;
	record->wait.end_ns = bpf_ktime_get_ns();
	record->wait.exit_code = task->exit_code;
	send_record(record);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempted, struct task_struct *previous, struct task_struct *next)
{
	__u64 now = bpf_ktime_get_ns();

	leave_cpu(previous, preempted, now);
	enter_cpu(next, now);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *task)
{
	wake(task, ctx, bpf_ktime_get_ns());
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *regs, long number)
{
	enter_system_call(bpf_get_current_task_btf(), (__s32)number, first_argument(regs));
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit)
{
	exit_system_call(bpf_get_current_task_btf());
	return 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(on_process_exit, struct task_struct *task)
{
	report_end(task);
	return 0;
}

SEC("iter/task")
int on_look(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;

	if (task && task->tgid == look_tgid)
		look_at(task);
	return 0;
}

char licence[] SEC("license") = "Dual MIT/GPL";
