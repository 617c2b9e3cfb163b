/* SPDX-License-Identifier: MIT */
#include "analysis/hang/hang_verdict.h"

#include <stdio.h>
#include <sys/wait.h>

#include "analysis/explain/gpu_evidence.h"
#include "analysis/model.h"
#include "analysis/known/process.h"

uint64_t hang_verdict_after(const struct analysis *analysis)
{
	uint64_t step_ns = pace_step_ns(&analysis->stragglers.pace, PACE_USUAL);
	if (!step_ns)
		return HANG_AFTER_UNKNOWN_NS;
	uint64_t after_ns = HANG_STEPS * step_ns;
	if (after_ns > HANG_AFTER_MAX_NS)
		return HANG_AFTER_MAX_NS;
	return after_ns > HANG_AFTER_NS ? after_ns : HANG_AFTER_NS;
}

uint64_t hang_verdict_limit(const struct process *watchdog)
{
	double watchdog_ns = (double)watchdog->watchdog_ms * 1e6;
	uint64_t share_ns = (uint64_t)(HANG_PROGRESS_SHARE * watchdog_ns),
		 most_ns = (uint64_t)(HANG_PROGRESS_MOST * watchdog_ns);
	uint64_t limit_ns = share_ns > HANG_PROGRESS_NS ? share_ns : HANG_PROGRESS_NS;
	return most_ns && limit_ns > most_ns ? most_ns : limit_ns;
}

/* A rank of another host that failed by itself after this one was ended by a signal: its connections broke. */
static bool left_because_of(const struct process *process, const struct process *ended)
{
	bool by_signal = ended->exit_status >= 0 && WIFSIGNALED(ended->exit_status);
	bool failed = process->exit_status >= 0 && WIFEXITED(process->exit_status) && WEXITSTATUS(process->exit_status);
	return by_signal && failed && process->host != ended->host &&
	       process->life_ns + HANG_SEEN_WITHIN_NS >= ended->life_ns;
}

/* Was there still somebody at work well after this process had ended? A job that ends as a whole has lost nobody. */
static bool is_outlived(const struct communicator *communicator, const struct process *ended)
{
	uint32_t others = 0, outlived = 0;
	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct process *process = communicator->members[i].process;
		if (process == ended || left_because_of(process, ended))
			continue;
		others++;
		outlived += process->life == ANALYSIS_ALIVE || process->last_ns >= ended->life_ns + HANG_GONE_AFTER_NS;
	}
	return others && outlived * 2 >= others;
}

/* Did the first of the two end because of the second, as far as times tell? They are seen with some delay each. */
static bool ended_after(const struct process *process, const struct process *other, bool other_stood)
{
	if (process->life_ns > other->life_ns + HANG_SEEN_WITHIN_NS)
		return true;
	return !other_stood && process->life_ns + HANG_SEEN_WITHIN_NS >= other->life_ns;
}

/* Between hosts the connections of a rank that has ended break: those who wait for it there get ncclRemoteError, and
 * often leave. A rank that had come and waited for such a one is its consequence. */
static bool is_consequence(const struct hang_root *root, const struct process *process)
{
	const struct instance *instance = root->standing->instance;
	const struct communicator *communicator = instance->communicator;
	if (!waiting_stands(instance, root->member))
		return false;
	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct process *other = communicator->members[i].process;
		if (other == process || other->host == process->host || !process_is_dead(other) ||
		    !waiting_misses(instance, i))
			continue;
		if (ended_after(process, other, waiting_stands(instance, i)))
			return true;
	}
	return false;
}

static bool has_anybody_come(const struct instance *instance)
{
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		if (waiting_stands(instance, i))
			return true;
	return false;
}

/* Where nobody is seen to have come, all may have stood still before, for somebody else, and a watchdog, a launcher or
 * a user ended this one for it: only a job that moved until just before has lost it by its end. */
static bool ended_at_work(const struct hang_root *root, const struct process *process)
{
	const struct communicator *communicator = root->standing->instance->communicator;
	uint64_t moved_ns = 0;
	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct process *member = communicator->members[i].process;
		uint64_t last_ns = member->gpu_moved_ns > member->last_launch_ns ? member->gpu_moved_ns
										  : member->last_launch_ns;
		moved_ns = last_ns > moved_ns ? last_ns : moved_ns;
	}
	return process->life_ns < moved_ns + HANG_AFTER_NS;
}

static bool judge_gone(const struct hang_root *root, const struct process *process, uint64_t now_ns,
		       struct hang_verdict *verdict)
{
	uint64_t since_ns = root->standing->since_ns > process->life_ns ? root->standing->since_ns : process->life_ns;
	if (now_ns < since_ns + HANG_GONE_AFTER_NS || is_consequence(root, process) ||
	    !is_outlived(root->standing->instance->communicator, process))
		return false;
	bool come = has_anybody_come(root->standing->instance);
	if (!come && !ended_at_work(root, process))
		return false;
	*verdict = (struct hang_verdict){ .kind = RW_KIND_GONE,
					  .severity = RW_CRITICAL,
					  .confidence = come ? RW_CERTAIN : RW_LIKELY };
	verdict->cause = (struct cause){ .class_ = RW_CAUSE_GONE, .share = -1, .fd = -1 };
	return true;
}

/* Its host has launched the operation, and its GPU has neither come to it nor begun or ended any other for a while. */
static bool is_held_by_gpu(const struct hang_root *root, const struct process *process, uint64_t now_ns)
{
	const struct operation *operation = instance_joined(root->standing->instance, root->member);
	return operation && operation->state & OPERATION_LAUNCHED && operation->progress &&
	       now_ns >= process->gpu_moved_ns + HANG_PROGRESS_WINDOW_NS;
}

bool hang_verdict_is_unseen(const struct analysis *analysis, uint32_t rank, uint64_t since_ns, uint64_t now_ns)
{
	const struct process *process = analysis->job.ranks[rank].process;
	uint64_t look_ns = now_ns > HANG_PROGRESS_WINDOW_NS ? now_ns - HANG_PROGRESS_WINDOW_NS : 0;

	if (!waiting_is_held_up_by_gpu(process, rank) &&
	    !cause_is_in_driver(&analysis->intern, process, process->enqueue_tid, look_ns, now_ns))
		return false;
	return !waiting_is_left_behind(process, rank) && !gpu_evidence_is_faulty(analysis, rank, since_ns);
}

/* What the host's threads do explains nothing then. What the GPU runs or waits for is not seen: it could be another
 * rank's doing, through memory that they share. */
static void blame_gpu(struct hang_verdict *verdict)
{
	struct cause *cause = &verdict->cause;
	*cause = (struct cause){ .class_ = RW_CAUSE_GPU, .share = -1, .fd = -1, .seen = cause->seen,
				 .tid = cause->tid, .thread = cause->thread };
	snprintf(cause->gpu_text, sizeof(cause->gpu_text), "its GPU does not end what was enqueued before");
	cause->gpu_advice =
	    "find the kernel that does not end, and what it waits for (cuda-gdb -p PID, py-spy dump --pid PID)";
	verdict->confidence = RW_LIKELY;
}

static void judge_alive(const struct analysis *analysis, const struct hang_root *root, const struct process *process,
			uint64_t now_ns, struct hang_verdict *verdict)
{
	uint64_t since_ns = root->standing->since_ns, kept_ns = evidence_since_ns(&process->evidence);
	/* Shares are of what can still be known of a long wait. */
	const struct cause_window window = { kept_ns > since_ns ? kept_ns : since_ns, now_ns };
	struct cause *cause = &verdict->cause;
	*verdict = (struct hang_verdict){ .kind = RW_KIND_HANG, .severity = RW_CRITICAL, .confidence = RW_CERTAIN };
	cause_find(&analysis->intern, process, process->enqueue_tid, &window, 1, cause);
	cause->lost = losses_in(&analysis->losses, &window, 1);
	if (process->life == ANALYSIS_STOPPED) {
		cause->class_ = RW_CAUSE_STOPPED;
		cause->system_call = NULL;
		cause->share = now_ns > process->life_ns && process->life_ns > window.from_ns
				   ? (double)(now_ns - process->life_ns) / (double)(now_ns - window.from_ns)
				   : 1;
	}
	if (cause->class_ == RW_CAUSE_STOPPED) {
		verdict->kind = RW_KIND_GONE;
		verdict->confidence = has_anybody_come(root->standing->instance) ? RW_CERTAIN : RW_LIKELY;
		return;
	}
	uint64_t look_ns = now_ns > HANG_PROGRESS_WINDOW_NS ? now_ns - HANG_PROGRESS_WINDOW_NS : 0;
	bool seen = cause->seen != RW_LEVEL_NONE;
	bool on_gpu = is_held_by_gpu(root, process, now_ns);
	bool gets_on =
	    seen && cause_progress(&analysis->intern, process, process->enqueue_tid, on_gpu, look_ns, now_ns);
	if (on_gpu && seen && !gets_on)
		blame_gpu(verdict);
	/* It has launched since: that wait is over. */
	verdict->ended_before =
	    !gets_on && cause_ended_before(&analysis->intern, process, cause, process->last_launch_ns);
	if (!seen || verdict->ended_before)
		verdict->confidence = RW_LIKELY;
	if (now_ns - since_ns >= hang_verdict_limit(root->watchdog))
		return;
	if (gets_on || !seen || verdict->ended_before)
		verdict->severity = RW_NOTICE;
	else if (hang_verdict_is_unseen(analysis, root->rank, since_ns, now_ns))
		verdict->severity = now_ns - since_ns < HANG_KERNEL_NS ? RW_NOTICE : RW_WARNING;
}

/* One that is stopped comes no sooner for a long step, nor in start-up, nor for others that are missing, too. When most
 * are missing, those who stand there are early, and nobody is late. */
static bool is_due(const struct analysis *analysis, const struct hang_root *root, uint64_t waited_ns)
{
	if (analysis->job.ranks[root->rank].process->life == ANALYSIS_STOPPED)
		return waited_ns >= HANG_AFTER_NS;
	return root->standing->missing <= root->standing->waiters && waited_ns >= hang_verdict_after(analysis);
}

bool hang_verdict_reach(const struct analysis *analysis, const struct hang_root *root, uint64_t now_ns,
			struct hang_verdict *verdict)
{
	const struct process *process = analysis->job.ranks[root->rank].process;
	const struct standing *standing = root->standing;
	if (now_ns < standing->since_ns)
		return false;
	if (process_is_dead(process))
		return judge_gone(root, process, now_ns, verdict);
	if (!is_due(analysis, root, now_ns - standing->since_ns))
		return false;
	judge_alive(analysis, root, process, now_ns, verdict);
	return true;
}
