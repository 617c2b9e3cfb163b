/* SPDX-License-Identifier: MIT */
#include "collector/host/awaited.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/sources/process/kin.h"
#include "collector/sources/waits/fork_lock.h"
#include "collector/sources/waits/other_end.h"

static const uint64_t ANSWER_NS = 1000000000;

static bool is_for_a_child(int32_t system_call)
{
	return system_call == SYS_wait4 || system_call == SYS_waitid;
}

static bool is_channel(const char *path)
{
	return !strncmp(path, "pipe:", strlen("pipe:")) || !strncmp(path, "socket:", strlen("socket:"));
}

static void empty(struct awaited_process *process, struct proc_source *proc)
{
	proc_source_forget(proc, process->pid);
	*process = (struct awaited_process){ 0 };
}

static struct awaited_process *place_of(struct awaited *awaited, struct proc_source *proc, pid_t pid)
{
	struct awaited_process *stalest = &awaited->processes[0];

	for (int i = 0; i < AWAITED_MOST; i++) {
		struct awaited_process *process = &awaited->processes[i];

		if (process->pid == pid)
			return process;
		if (process->woke_ns < stalest->woke_ns)
			stalest = process;
	}
	if (stalest->pid)
		empty(stalest, proc);
	return stalest;
}

void awaited_note(struct awaited *awaited, struct proc_source *proc, const struct analysis_wait *wait)
{
	if (!wait->out_of_process_wake || wait->waker_pid <= 0 || !wait->waker_tid ||
	    !(is_for_a_child(wait->system_call) || is_channel(wait->path)))
		return;
	struct awaited_process *process = place_of(awaited, proc, wait->waker_pid);

	process->pid = wait->waker_pid;
	process->tid = wait->waker_tid;
	process->woke_ns = wait->end_ns;
}

void awaited_forget(struct awaited *awaited, struct proc_source *proc)
{
	for (int i = 0; i < AWAITED_MOST; i++)
		if (awaited->processes[i].pid)
			empty(&awaited->processes[i], proc);
}

/* Does the number belong to who ended the wait, and not to a process that was given it since? It started before that
 * wait's end. Ticks count the time that the machine slept, too: after that only too few are believed. */
static bool had_started(const struct kin *kin, uint64_t at_ns)
{
	long a_second = sysconf(_SC_CLK_TCK);

	return a_second > 0 && kin->start_ticks / (uint64_t)a_second <= at_ns / 1000000000 &&
	       kin->start_ticks * (1000000000 / (uint64_t)a_second) <= at_ns;
}

static void keep(void *argument, const struct analysis_wait *wait)
{
	*(struct analysis_wait *)argument = *wait;
}

/* The thread that ends the waits. Where that waits for a lock in turn, it is the main thread's work that is waited for.
 */
static int look_at_thread(const struct awaited_process *process, struct proc_source *proc, analysis_process_id id,
			  uint64_t now_ns, struct analysis_wait *seen)
{
	struct analysis_wait main_thread;
	int err = proc_source_sample(proc, id, process->pid, process->tid, now_ns, keep, seen, NULL);
	bool in_lock = !err && seen->state == 'S' && seen->system_call == SYS_futex;

	if (err != -ESRCH && !in_lock)
		return err;
	int main_err =
	    proc_source_sample(proc, id, process->pid, (uint32_t)process->pid, now_ns, keep, &main_thread, NULL);

	if (!main_err)
		*seen = main_thread;
	return in_lock ? 0 : main_err;
}

/* 0, -ESRCH: it has ended, or -EPERM: it is not to be looked at. What is read lies between two proofs, so that it is of
 * the process that is proven: its number may be another's at any time. */
static int sample(const struct awaited_process *process, struct proc_source *proc, const char *proc_root,
		analysis_process_id id, const struct writer_process *rank, uint64_t now_ns,
		struct analysis_other *other)
{
	struct writer_process proven;
	struct analysis_wait seen;
	struct kin kin;
	char why[WRITER_PROCESS_WHY];
	int err = kin_read(proc_root, process->pid, &kin);

	if (!err && !had_started(&kin, process->woke_ns))
		err = -ESRCH;
	if (!err)
		err = writer_process_open(&proven, process->pid, rank->uid, kin.start_ticks, why);
	if (err)
		return err;
	err = look_at_thread(process, proc, id, now_ns, &seen);
	bool in_lock =
	    !err && seen.system_call == SYS_futex && fork_lock_is_awaited(proc_root, process->pid, rank->pid);
	if (!err)
		err = writer_process_check(&proven, why);
	writer_process_close(&proven);
	if (err)
		return err;
	*other = (struct analysis_other){ .process = id,
					  .at_ns = now_ns,
					  .pid = process->pid,
					  .tid = seen.tid,
					  .is_child = kin.parent == rank->pid,
					  .held_at_fork = in_lock,
					  .state = seen.state,
					  .system_call = seen.system_call,
					  .cpu_ns = seen.cpu_ns,
					  .run_queue_ns = seen.run_queue_ns };
	memcpy(other->name, kin.name, sizeof(other->name));
	memcpy(other->path, seen.path, sizeof(other->path));
	return 0;
}

/* The child that the thread waits for now; it gets a place. 0: none is known. */
static pid_t find_child(struct awaited *awaited, struct proc_source *proc, const char *proc_root, pid_t rank,
			const struct analysis_wait *waiting, uint64_t now_ns)
{
	struct awaited_answer *answer = &awaited->answer;
	bool is_same = answer->tid == waiting->tid && answer->system_call == waiting->system_call &&
		       !strncmp(answer->path, waiting->path, sizeof(answer->path) - 1);

	if (waiting->state == 'R')
		return 0;
	if (!is_same || now_ns - answer->at_ns >= ANSWER_NS) {
		*answer = (struct awaited_answer){ .tid = waiting->tid,
						   .system_call = waiting->system_call,
						   .at_ns = now_ns };
		snprintf(answer->path, sizeof(answer->path), "%.63s", waiting->path);
		answer->pid = other_end_find(proc_root, rank, waiting->tid, waiting->system_call, waiting->path);
	}
	if (answer->pid) {
		struct awaited_process *process = place_of(awaited, proc, answer->pid);

		process->tid = process->pid ? process->tid : (uint32_t)answer->pid;
		process->pid = answer->pid;
		process->woke_ns = now_ns;
	}
	return answer->pid;
}

void awaited_sample(struct awaited *awaited, struct proc_source *proc, const char *proc_root, struct analysis *analysis,
		  analysis_process_id id, const struct writer_process *rank, const struct analysis_wait *waiting,
		  uint64_t now_ns)
{
	pid_t child = waiting ? find_child(awaited, proc, proc_root, rank->pid, waiting, now_ns) : 0;

	for (int i = 0; i < AWAITED_MOST; i++) {
		struct awaited_process *process = &awaited->processes[i];
		struct analysis_other other = { 0 };
		int err = process->pid && !process->refused ? sample(process, proc, proc_root, id, rank, now_ns, &other)
							    : -EAGAIN;

		other.waiting_tid = !err && process->pid == child ? waiting->tid : 0;
		if (!err)
			analysis_add_other(analysis, &other);
		else if (err == -ESRCH)
			empty(process, proc);
		else if (err == -EPERM)
			process->refused = true;
	}
}
