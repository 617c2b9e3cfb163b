/* SPDX-License-Identifier: Dual MIT/GPL */
/*
 * What the threads of watched processes wait for. Per thread we keep the system call it is in and the off-CPU period it
 * is in; what lasted at least `threshold_ns` is reported by itself, what was shorter as a sum (short_waits.bpf.h).
 */
#include "ebpf/own_stack.h"
#include "ebpf/records.bpf.h"
#include "ebpf/short_waits.bpf.h"
#include "ebpf/threads.bpf.h"

enum {
	KERNEL_THREAD = 0x00200000, /* PF_KTHREAD */
	ENDED = 0xb0,               /* EXIT_DEAD, EXIT_ZOMBIE, TASK_DEAD */
};

/* Run-queue slices further apart than this are not summed. */
static const __u64 queue_window_ns = 1000000000;

const volatile __s32 close_call = -1;

__s32 sample_tgid;   /* the process that the iterator is to report */
__u64 sample_number; /* what an earlier try of this sample has reported is not reported again */
__u32 sample_count;  /* its threads that were reported */
__u32 sample_lacks;  /* its threads for which the kernel had no storage at hand just then */

/* A thread has storage from its first system call, or since the iterator has come by: soon after it began, or its
 * process's watch. */
static const __u64 settled_ns = 1000000000;

/* Stack and waker cost more than all the rest: they are taken only where a record is near. A system call's waits before
 * that are each shorter than the threshold, so the longest that is left names the cause as well. */
static bool worth_a_stack(const struct thread *thread, __u64 now)
{
	__u64 since = thread->system_call == OUTSIDE ? thread->off_ns : thread->enter_ns;

	return now > since && now - since >= threshold_ns / 4 * 3;
}

/* A thread of Python's that waits for its lock does so for 5 ms at a time, and who ends such a wait reports who held
 * it.
 */
static bool worth_a_name(const struct thread *thread, __u64 now)
{
	return now - thread->off_ns >= threshold_ns / 10 || worth_a_stack(thread, now);
}

static void forget(struct waker *waker)
{
	waker->tid = 0;
	waker->tgid = 0;
	waker->name[0] = 0;
}

static void begin_sums(struct thread *thread)
{
	thread->blocked_ns = 0;
	thread->run_queue_ns = 0;
	thread->longest.ns = 0;
	thread->longest.frame_count = 0;
	forget(&thread->longest.waker);
	thread->longest.state = 0;
	thread->longest.io_wait = 0;
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

/* A thread of a watched process begins to wait, and there is nowhere to note it: until 6.2 storage in use on a CPU
 * cannot be had a second time there, and memory may have lacked. */
static void note_lost_wait(struct task_struct *task, __u32 state, __u64 now)
{
	const struct waits_watch *watch = watch_of(task);

	if (watch && state && !(state & ENDED) && now > watch->since_ns + settled_ns &&
	    now > task->start_time + settled_ns)
		__sync_fetch_and_add(&lost_waits, 1);
}

static void leave_cpu(struct task_struct *task, bool preempted, __u64 now)
{
	struct thread *thread = thread_of(task, 0);
	__u32 state = preempted ? 0 : state_of(task);
	if (!thread) {
		note_lost_wait(task, state, now);
		return;
	}

	thread->off_ns = now;
	thread->wake_ns = 0;
	forget(&thread->waker);
	thread->state = state;
}

/* Outside of system calls (page faults, stops, preemption) each off-CPU period is by itself. */
static void end_period_outside(struct task_struct *task, struct thread *thread, __u64 start_ns, __u64 now)
{
	report_due(task, thread, now);
	if (thread->state && now - start_ns >= threshold_ns) {
		report_wait(task, thread, start_ns, now);
		return;
	}
	add_queue(task, thread, start_ns, now, thread->run_queue_ns);
	add_short(task, thread, start_ns, now);
}

static void enter_cpu(struct task_struct *task, __u64 now)
{
	struct thread *thread = thread_of(task, 0);
	if (!thread || !thread->off_ns)
		return;

	__u64 off_ns = thread->off_ns;
	__u64 runnable_ns = thread->state ? thread->wake_ns : off_ns;
	bool outside = thread->system_call == OUTSIDE;
	bool near = thread->state && worth_a_stack(thread, now);

	thread->off_ns = 0;
	if (now <= off_ns)
		return;
	if (runnable_ns < off_ns || runnable_ns > now)
		runnable_ns = now; /* its waking was not seen */
	if (outside)
		begin_sums(thread);
	thread->blocked_ns += runnable_ns - off_ns;
	thread->run_queue_ns += now - runnable_ns;
	if (near && now - off_ns > thread->longest.ns)
		keep_longest(task, thread, now - off_ns);
	if (outside)
		end_period_outside(task, thread, off_ns, now);
}

/*
 * Whether `current` wakes by its own doing, or an interrupt that borrowed it. There is no portable way to read the
 * preemption count, but interrupts run on a stack of their own, except where x86 was interrupted in user mode: then the
 * task's saved registers hold no system call. `context` is the tracepoint's argument array, on the stack in use. The
 * saved registers lie at the stack's far end, whatever its size is.
 */
static bool wakes_by_itself(const void *context)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	__u64 address = 0, end = 0;

	/* The verifier forbids to compute with a pointer. */
	bpf_probe_read_kernel(&address, sizeof(address), &context);
	bpf_probe_read_kernel(&end, sizeof(end), &regs);
	if (!own_stack_holds((__u64)current->stack, end, address))
		return false;
	return current->flags & KERNEL_THREAD || number_of(regs) >= 0;
}

static void wake(struct task_struct *task, const void *context, __u64 now)
{
	struct thread *thread = thread_of(task, 0);
	if (!thread || !thread->off_ns || thread->wake_ns)
		return;

	thread->wake_ns = now;
	if (!worth_a_name(thread, now) || !wakes_by_itself(context))
		return;
	__u64 id = bpf_get_current_pid_tgid();
	thread->waker.tid = (__u32)id;
	thread->waker.tgid = id >> 32;
	thread->waker.uid = bpf_get_current_task_btf()->flags & KERNEL_THREAD ? RW_KERNEL_NO_USER
									     : (__u32)bpf_get_current_uid_gid();
	bpf_get_current_comm(thread->waker.name, sizeof(thread->waker.name));
}

/* Of poll(2) the descriptor that it waits for first. What lies in the caller's memory is read while it is at hand: in
 * the caller, at the call's begin. */
static __u64 descriptor_of(__s32 number, __u64 argument)
{
	__s32 first = -1;

	if (first_is(number) != WAITS_POLLED)
		return argument;
	bpf_probe_read_user(&first, sizeof(first), (const void *)argument);
	return (__u64)(__s64)first;
}

static void enter_system_call(struct task_struct *task, __s32 number, __u64 argument)
{
	struct thread *thread = thread_of(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		return;

	number = call_of(task, number);
	begin_sums(thread);
	thread->enter_ns = bpf_ktime_get_ns();
	thread->argument = descriptor_of(number, argument);
	thread->closing.known = 0;
	if (number == close_call)
		find_file(task, (__u32)argument, &thread->closing);
	thread->system_call = number;
}

/* EINTR, or one of the kernel's own numbers after which it calls a handler, stops or kills the thread, or begins the
 * call again: ERESTARTSYS to ERESTART_RESTARTBLOCK. */
static bool is_interrupted(long result)
{
	return result == -4 || (result <= -512 && result >= -516);
}

/* Who sends a signal ends nothing that the thread waits for: a debugger that attaches, a launcher that kills. */
static void forget_wakers(struct thread *thread)
{
	forget(&thread->waker);
	forget(&thread->longest.waker);
}

static void exit_system_call(struct task_struct *task, long result)
{
	struct thread *thread = thread_of(task, 0);
	if (!thread || thread->system_call == OUTSIDE)
		return;

	__u64 now = bpf_ktime_get_ns();
	if (is_interrupted(result))
		forget_wakers(thread);
	report_due(task, thread, now);
	if (now > thread->enter_ns && now - thread->enter_ns >= threshold_ns) {
		report_wait(task, thread, thread->enter_ns, now);
	} else {
		add_queue(task, thread, thread->enter_ns, now, thread->run_queue_ns);
		add_short(task, thread, thread->enter_ns, now);
	}
	thread->system_call = OUTSIDE;
}

/* A thread that already waits when its process becomes watched: its wait counts from now on. */
static void adopt(struct task_struct *task, struct thread *thread, __u64 now)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);

	thread->enter_ns = now;
	thread->system_call = call_of(task, number_of(regs));
	thread->argument = first_is(thread->system_call) == WAITS_POLLED ? (__u64)-1 : first_argument(regs);
	thread->state = state_of(task);
	thread->off_ns = now;
}

static void sample_task(struct task_struct *task)
{
	if (!watch_of(task))
		return; /* it has called exec or has ended: no loss */

	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = thread_of(task, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		sample_lacks++;
		return;
	}
	if (thread->sampled == sample_number)
		return;

	thread->sampled = sample_number;
	sample_count++;
	if (!thread->off_ns && thread->system_call == OUTSIDE && state_of(task))
		adopt(task, thread, now);
	report_now(task, thread, now);
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
int BPF_PROG(on_sys_exit, struct pt_regs *regs, long result)
{
	exit_system_call(bpf_get_current_task_btf(), result);
	return 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(on_process_exit, struct task_struct *task)
{
	if (!watch_of(task) || BPF_CORE_READ(task, signal, live.counter))
		return 0;
	report_end(task);
	let_go(task);
	return 0;
}

/* Another program under the same number, perhaps a set-user-id one, of which whoever had the process watched may see
 * nothing. What was watched has ended. */
SEC("?tp_btf/sched_process_exec")
int BPF_PROG(on_process_exec, struct task_struct *task)
{
	let_go(task);
	return 0;
}

SEC("iter/task")
int on_sample(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;

	if (task && task->tgid == sample_tgid)
		sample_task(task);
	return 0;
}

char licence[] SEC("license") = "Dual MIT/GPL";
