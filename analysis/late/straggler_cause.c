/* SPDX-License-Identifier: MIT */
#include "analysis/late/straggler_cause.h"

#include <stdio.h>
#include <string.h>

#include "analysis/explain/gpu_evidence.h"
#include "analysis/report/host_cause.h"
#include "analysis/model.h"
#include "analysis/host/tally.h"
#include "analysis/host/usual_sleep.h"

/* The latest windows, those of the last few steps; of one that is late now and then, those of its times. */
uint32_t straggler_windows(const struct suspect *suspect, bool of_host, uint64_t reach_ns, struct cause_window *recent)
{
	const struct intermittent *intermittent = suspect->intermittent;
	if (intermittent->decided && intermittent->window_count) {
		uint32_t all = intermittent->window_count < CAUSE_WINDOWS ? intermittent->window_count : CAUSE_WINDOWS;
		memcpy(recent, of_host ? intermittent->host_windows : intermittent->windows, all * sizeof(*recent));
		return all;
	}
	const struct cause_window *windows = of_host ? suspect->host_windows : suspect->windows;
	uint32_t kept = suspect->window_count < CAUSE_WINDOWS ? suspect->window_count : CAUSE_WINDOWS, count = 0;
	uint64_t last_ns = windows[(suspect->window_count - 1) % CAUSE_WINDOWS].to_ns;
	for (uint32_t i = 0; i < kept; i++)
		if (windows[i].to_ns + reach_ns >= last_ns)
			recent[count++] = windows[i];
	return count;
}

/* What the finding shows: the latest late operation; of one that is late now and then, the latest of those times. */
const struct operation *straggler_shown_operation(const struct suspect *suspect)
{
	const struct intermittent *intermittent = suspect->intermittent;
	return intermittent->decided && intermittent->window_count ? &intermittent->operation
								   : &suspect->last_operation;
}

const struct instance *straggler_shown_instance(const struct suspect *suspect)
{
	const struct intermittent *intermittent = suspect->intermittent;
	return intermittent->decided && intermittent->window_count ? &intermittent->instance : &suspect->last;
}

bool straggler_is_host_late(const struct suspect *suspect)
{
	return operation_is_host_late(straggler_shown_operation(suspect));
}

/* Nobody knows whether its host or its GPU came late. */
bool straggler_host_part_is_unknown(const struct suspect *suspect)
{
	return !straggler_is_host_late(suspect) &&
	       straggler_shown_operation(suspect)->state & OPERATION_HOST_PART_UNKNOWN;
}

/* Its host launched in time, and its GPU came late. */
static bool is_device_late(const struct suspect *suspect)
{
	return !straggler_is_host_late(suspect) && !straggler_host_part_is_unknown(suspect);
}

/* Is there a window of which no evidence is kept any more? */
static bool is_forgotten(const struct process *process, const struct cause_window *windows, uint32_t count)
{
	uint64_t since_ns = evidence_since_ns(&process->evidence);
	for (uint32_t i = 0; i < count; i++)
		if (windows[i].to_ns < since_ns)
			return true;
	return false;
}

static void find_in(const struct analysis *analysis, const struct process *process, uint32_t tid,
		    const struct cause_window *windows, uint32_t count, struct cause *cause)
{
	cause_find(&analysis->intern, process, tid, windows, count, cause);
	cause->lost = losses_in(&analysis->losses, windows, count);
	cause->forgotten = is_forgotten(process, windows, count);
}

/* Which part of its steps is longer is not known then. */
static bool sleeps_as_usual(const struct analysis *analysis, const struct suspect *suspect, const struct rank *rank,
			    uint64_t reach_ns, const struct cause *cause)
{
	struct cause_window late[CAUSE_WINDOWS], whole[CAUSE_WINDOWS];
	if (cause->class_ != RW_CAUSE_SLEEP || is_device_late(suspect))
		return false;
	uint32_t count = straggler_windows(suspect, false, reach_ns, late);
	uint64_t late_ns = tally_overlap(late, count, 0, UINT64_MAX);
	count = straggler_windows(suspect, true, reach_ns, whole);
	return usual_sleep(&analysis->intern, &analysis->job, rank, cause->tid, whole, count, late_ns);
}

/* Only waits that were seen from beginning to end can be compared with those of the other ranks, which are not
 * sampled. */
static void doubt_sampled_sleep(struct cause *cause)
{
	if (cause->class_ == RW_CAUSE_SLEEP && cause->level < RW_LEVEL_EBPF && !cause->inferred)
		cause->inferred = "whether the other ranks sleep as long in each step: only this rank was sampled";
}

static void forget_class(struct cause *cause)
{
	*cause = (struct cause){
		.share = -1, .fd = -1, .seen = cause->seen, .tid = cause->tid, .thread = cause->thread
	};
}

static void find_cause(const struct analysis *analysis, const struct suspect *suspect, const struct rank *rank,
		       uint64_t step_ns, struct cause *cause)
{
	struct cause_window windows[CAUSE_WINDOWS];
	struct cause wider;
	uint32_t tid = straggler_shown_operation(suspect)->tid;
	uint64_t reach_ns = STRAGGLER_REACH * step_ns;

	uint32_t count = straggler_windows(suspect, false, reach_ns, windows);
	find_in(analysis, rank->process, tid, windows, count, cause);
	if (sleeps_as_usual(analysis, suspect, rank, reach_ns, cause))
		forget_class(cause);
	if (!is_device_late(suspect) && cause->share < 0.5) {
		count = straggler_windows(suspect, true, reach_ns, windows);
		find_in(analysis, rank->process, tid, windows, count, &wider);
		if (wider.share > cause->share && !sleeps_as_usual(analysis, suspect, rank, reach_ns, &wider))
			*cause = wider;
	}
	doubt_sampled_sleep(cause);
	/* A device that is late while its host did all in time is no matter of the host's threads, unless it was held.
	 */
	if (is_device_late(suspect) && cause->class_ != RW_CAUSE_STOPPED && cause->class_ != RW_CAUSE_CPU)
		forget_class(cause);
}

/* For nearly all of its lateness it slept by its own call, or waited for one that was seen to end that: a lock's
 * holder, a data loader. */
static bool is_held(const struct cause *cause)
{
	bool waits =
	    cause->class_ == RW_CAUSE_LOCK || cause->class_ == RW_CAUSE_SOCKET || cause->class_ == RW_CAUSE_PROCESS;
	bool held = cause->class_ == RW_CAUSE_SLEEP || (waits && cause->hop_count && !cause->convoy);

	return held && !cause->inferred && cause->share >= STRAGGLER_HELD_SHARE;
}

/* A cause that is seen for half of its lateness is no chance: it tells the rank, however the others fare. That a thread
 * runs, or now and then waits for another one, is what threads do. */
bool straggler_is_told_by(const struct cause *cause)
{
	static const enum rw_cause_class classes[] = { RW_CAUSE_IO,	 RW_CAUSE_CPU,	    RW_CAUSE_MEMORY,
						       RW_CAUSE_STOPPED, RW_CAUSE_THROTTLE, RW_CAUSE_GPU };

	for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++)
		if (cause->class_ == classes[i])
			return !cause->inferred && cause->share >= STRAGGLER_SEEN_SHARE;
	return is_held(cause);
}

/* Autograd's thread launches what the main thread came to late: what held that one before is the cause, where it is
 * seen to have held it for most of the time. That it waits for another thread is what it does. */
static void ask_first_thread(const struct analysis *analysis, const struct suspect *suspect, const struct rank *rank,
			     uint64_t step_ns, struct cause *cause)
{
	struct cause_window windows[CAUSE_WINDOWS];
	struct cause other;
	uint32_t first = rank->process->first_tid;

	if (is_device_late(suspect) || cause->class_ != RW_CAUSE_UNKNOWN || !first ||
	    first == straggler_shown_operation(suspect)->tid)
		return;
	uint32_t count = straggler_windows(suspect, false, STRAGGLER_REACH * step_ns, windows);
	find_in(analysis, rank->process, first, windows, count, &other);
	if (straggler_is_told_by(&other))
		*cause = other;
}

/* Its stream had reached the operation, and its kernel waited for room. What makes the other kernels long comes
 * first. */
static void ask_kernel(const struct suspect *suspect, struct cause *cause)
{
	const struct operation *shown = straggler_shown_operation(suspect);
	double share = shown->by_us ? (double)shown->queued_us / (double)shown->by_us : 0;

	if (cause->class_ != RW_CAUSE_UNKNOWN || share < STRAGGLER_SEEN_SHARE)
		return;
	cause->class_ = RW_CAUSE_GPU;
	cause->queued = true;
	cause->share = share < 1 ? share : 1;
	snprintf(cause->gpu_text, sizeof(cause->gpu_text),
		 "other kernels filled its GPU, and NCCL's kernel waited for room");
	cause->gpu_advice =
	    "check what runs on this GPU beside NCCL (nvidia-smi, a profiler), or give NCCL's stream a high priority";
}

/* A device that is late: what its GPU shows of these windows. */
static void ask_gpu(const struct analysis *analysis, const struct suspect *suspect, uint32_t rank,
		    const struct straggler_cost *cost, struct cause *cause)
{
	const struct step_start *start = &analysis->stragglers.pace.starts[cost->since_step % PACE_STEPS];
	struct cause_window windows[CAUSE_WINDOWS];
	uint32_t count = straggler_windows(suspect, false, STRAGGLER_REACH * cost->step_ns, windows);
	uint64_t begin_ns = start->step == cost->since_step ? start->start_ns : windows[0].from_ns;

	if (straggler_is_host_late(suspect) || cause->class_ != RW_CAUSE_UNKNOWN)
		return;
	gpu_evidence_explain(analysis, rank, windows, count, begin_ns, cause);
	ask_kernel(suspect, cause);
	if (!cause->gpu_advice && is_device_late(suspect)) /* its threads were in time */
		cause->gpu_advice =
		    "check this rank's GPU (nvidia-smi -q -d CLOCK,PERFORMANCE,ECC), or profile its kernels";
}

/* The class of a cause that tells the rank; RW_CAUSE_UNKNOWN: there is none. */
static enum rw_cause_class told_by(struct analysis *analysis, uint32_t rank)
{
	const struct suspect *suspect = &analysis->stragglers.suspects[rank];
	struct straggler_cost cost = straggler_cost(analysis, &rank, 1);
	struct cause cause;

	find_cause(analysis, suspect, &analysis->job.ranks[rank], cost.step_ns, &cause);
	ask_gpu(analysis, suspect, rank, &cost, &cause);
	return straggler_is_told_by(&cause) ? cause.class_ : RW_CAUSE_UNKNOWN;
}

bool straggler_is_explained(struct analysis *analysis, uint32_t rank)
{
	return told_by(analysis, rank) != RW_CAUSE_UNKNOWN;
}

bool straggler_is_late_by_its_gpu(struct analysis *analysis, uint32_t rank)
{
	return host_cause_is_of_gpu(told_by(analysis, rank));
}

void straggler_find_cause(const struct analysis *analysis, uint32_t rank, const struct straggler_cost *cost,
			  struct cause *cause)
{
	const struct suspect *suspect = &analysis->stragglers.suspects[rank];

	find_cause(analysis, suspect, &analysis->job.ranks[rank], cost->step_ns, cause);
	ask_first_thread(analysis, suspect, &analysis->job.ranks[rank], cost->step_ns, cause);
	ask_gpu(analysis, suspect, rank, cost, cause);
}
