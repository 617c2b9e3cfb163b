/* SPDX-License-Identifier: MIT */
#include "analysis/numbers/thresholds.h"

#include <math.h>
#include <stdio.h>

#include "analysis/measure/aftermath.h"
#include "analysis/known/alignment.h"
#include "analysis/late/excursion.h"
#include "analysis/late/excursions.h"
#include "analysis/hang/init_finding.h"
#include "analysis/explain/cause.h"
#include "analysis/numbers/chance.h"
#include "analysis/host/children.h"
#include "analysis/hang/desync.h"
#include "analysis/values/drift.h"
#include "analysis/hang/endings.h"
#include "analysis/explain/gpu_evidence.h"
#include "analysis/machine/gpu_finding.h"
#include "analysis/host/gpu_trend.h"
#include "analysis/hang/hang.h"
#include "analysis/hang/held.h"
#include "analysis/numbers/late_series.h"
#include "analysis/measure/lateness.h"
#include "analysis/machine/memory_limit.h"
#include "analysis/values/nature.h"
#include "analysis/explain/network.h"
#include "analysis/explain/oom_kills.h"
#include "analysis/values/origin.h"
#include "analysis/measure/pace_course.h"
#include "analysis/hang/pair.h"
#include "analysis/explain/port_evidence.h"
#include "analysis/late/straggler.h"
#include "analysis/hang/stuck_calls.h"
#include "analysis/late/straggler_cause.h"
#include "analysis/numbers/late_level.h"
#include "analysis/network/transfer.h"
#include "analysis/network/transfer_rows.h"
#include "analysis/numbers/row_judge.h"
#include "analysis/known/usual.h"
#include "analysis/known/values.h"
#include "analysis/hang/version_finding.h"

/* One row: the constant gives both the name and the value. */
#define ROW(kind, unit, name, meaning) { kind, #name, (double)(name), THRESHOLD_##unit, meaning }

/* Bad values of both kinds are found, and judged, in one way. */
#define ROWS_OF_VALUES(kind)                                                                                           \
	ROW(kind, TIME, ORIGIN_SETTLE_NS, "are waited for the other ranks' scans"), \
	ROW(kind, TIME, VALUES_SETTLE_NS, "are waited for the scans of one operation"),                                \
	ROW(kind, COUNT, USUAL_BAD_MIN, "times bad from the first on belongs there (padding, masks)"),    \
	ROW(kind, FACTOR, USUAL_GROWTH, "more bad elements than ever at such a place are news"),                       \
	ROW(kind, COUNT, VALUES_NUMBERS, "elements, at most, has a reduction of metrics"),         \
	ROW(kind, COUNT, AFTERMATH_STEPS, "steps in a row, at most, of a loss scale that was too large"),         \
	ROW(kind, TIME, AFTERMATH_WAIT_NS, "(or three steps), at most, are waited for what comes of it"), \
	ROW(kind, COUNT, NATURE_PEERS, "other ranks that are clean there, at least, speak for hardware"), \
	ROW(kind, COUNT, NATURE_TIMES, "times the same rank alone speak for hardware"),                                \
	ROW(kind, TIME, ORIGIN_CLEAN_NS, "without bad values close it")

/* Why a rank is late, or does not come. */
#define ROWS_OF_CAUSE(kind)                                                                                            \
	ROW(kind, SHARE, CAUSE_SHARE_MIN, "of the others' wait, at least, a cause must explain"),                      \
	    ROW(kind, SHARE, CAUSE_NEAR_EXACT,                                                                         \
		"as much time in another kind of wait, seen exactly, makes the cause likely"),                         \
	    ROW(kind, SHARE, CAUSE_NEAR_SAMPLED, "… where threads were only sampled"),                                 \
	    ROW(kind, SHARE, CAUSE_INFERRED_MIN,                                                                       \
		"of a wait in files, at least, makes another thread the one that is waited for"),                      \
	    ROW(kind, COUNT, CAUSE_HOPS, "threads, at most, are followed from one to the next")

const struct threshold thresholds[] = {
	ROW(RW_KIND_STRAGGLER, TIME, LATENESS_NOISE_NS, "of lateness are noise of the measurement"),
	ROW(RW_KIND_STRAGGLER, TIME, STRAGGLER_COST_MIN_NS, "a step, at least, is what it must cost …"),
	ROW(RW_KIND_STRAGGLER, SHARE, STRAGGLER_SHARE_MIN, "… and of the step, the larger of the two"),
	ROW(RW_KIND_STRAGGLER, SHARE, EXCURSION_TOLERANCE, "of the step is what ranks may differ by for good"),
	ROW(RW_KIND_STRAGGLER, COUNT, LATE_SERIES_ROWS_MIN,
	    "steps in a row suffice where a rank's work became longer at once, …"),
	ROW(RW_KIND_STRAGGLER, FACTOR, LATE_SERIES_COST, "a step these must have cost in all, …"),
	ROW(RW_KIND_STRAGGLER, FACTOR, LATE_SERIES_BEYOND, "what any other rank was ever late by …"),
	ROW(RW_KIND_STRAGGLER, SHARE, LATE_SERIES_STEADY, "of their median are their quartiles, at least, …"),
	ROW(RW_KIND_STRAGGLER, FACTOR, LATE_SERIES_ROUGH, "what others change by from step to step, at most"),
	ROW(RW_KIND_STRAGGLER, SHARE, LATE_LEVEL_SHARE,
	    "of the time suffices in each of four parts of 64 steps and 24 s, …"),
	ROW(RW_KIND_STRAGGLER, FACTOR, LATE_LEVEL_BEYOND, "what any other rank was late by in any of them"),
	ROW(RW_KIND_STRAGGLER, SHARE, ROW_JUDGE_UNSEEN, "of a step, at most, may be unseen of a rank that is compared, …"),
	ROW(RW_KIND_STRAGGLER, SHARE, ROW_JUDGE_UNLIKE, "… and it makes so many more or fewer operations than most"),
	ROW(RW_KIND_STRAGGLER, COUNT, ROW_JUDGE_HOSTS, "hosts, at least, show that one is late as a whole, …"),
	ROW(RW_KIND_STRAGGLER, COUNT, ROW_JUDGE_OF_HOST, "… each with so many ranks, at least"),
	ROW(RW_KIND_STRAGGLER, COUNT, ROW_JUDGE_CLEAN, "steps in a row without lateness acquit who was late by step"),
	ROW(RW_KIND_STRAGGLER, COUNT, EXCURSION_STEPS_MIN, "steps pass before anybody is named without a seen cause"),
	ROW(RW_KIND_STRAGGLER, COUNT, EXCURSION_EARLY, "steps are early: until then it takes more"),
	ROW(RW_KIND_STRAGGLER, SHARE, EXCURSION_EARLY_SHARE, "of the step it must cost while steps are early"),
	ROW(RW_KIND_STRAGGLER, SHARE, EXCURSION_NO_NOISE, "of the step, lost steadily from the first on, is no noise"),
	ROW(RW_KIND_STRAGGLER, FACTOR, EXCURSION_QUIET, "what any other rank was late by"),
	ROW(RW_KIND_STRAGGLER, SHARE, EXCURSION_LASTS, "of a noise, it is assumed, goes on in the next step"),
	ROW(RW_KIND_STRAGGLER, COUNT, STRAGGLER_PASSES,
	    "passes of a pipeline are seen before they are taken for steps"),
	ROW(RW_KIND_STRAGGLER, SHARE, STRAGGLER_SEEN_SHARE,
	    "of the lateness with a seen cause names a rank after three steps"),
	ROW(RW_KIND_STRAGGLER, SHARE, STRAGGLER_HELD_SHARE,
	    "… where the cause is a sleep, or a wait that another was seen to end"),
	ROW(RW_KIND_STRAGGLER, COUNT, INTERMITTENT_TIMES,
	    "late steps, at least, of a rank that is late now and then, …"),
	ROW(RW_KIND_STRAGGLER, COUNT, INTERMITTENT_TIMES_SEEN, "… or so many, where a cause is seen"),
	ROW(RW_KIND_STRAGGLER, SHARE, CHANCE_MAX, "of all jobs, at most, may chance alone have a rank named"),
	ROWS_OF_CAUSE(RW_KIND_STRAGGLER),
	ROW(RW_KIND_STRAGGLER, SHARE, PACE_COURSE_LATE,
	    "of what steps grow by, at least, is its, where that is extrapolated, …"),
	ROW(RW_KIND_STRAGGLER, FACTOR, PACE_COURSE_FAR, "… for as many steps as it was seen, at most"),
	ROW(RW_KIND_STRAGGLER, COUNT, STRAGGLER_CLEAN, "clean steps in a row close it"),

	ROW(RW_KIND_HANG, COUNT, HANG_STEPS, "steps, at least, the others have stood, …"),
	ROW(RW_KIND_HANG, TIME, HANG_AFTER_NS, "… and not less than this, …"),
	ROW(RW_KIND_HANG, TIME, HANG_AFTER_MAX_NS, "… and not more"),
	ROW(RW_KIND_HANG, TIME, HANG_AFTER_UNKNOWN_NS, "while no step is known: start-up, compilation"),
	ROW(RW_KIND_HANG, TIME, HANG_PROGRESS_NS,
	    "for a rank that makes progress, or whose threads could not be sampled, …"),
	ROW(RW_KIND_HANG, SHARE, HANG_PROGRESS_SHARE,
	    "… or this share of the shortest watchdog's time of those who wait, the larger, …"),
	ROW(RW_KIND_HANG, SHARE, HANG_PROGRESS_MOST, "… but at most this share of it"),
	ROW(RW_KIND_HANG, TIME, HANG_KERNEL_NS,
	    "for a rank that waits for its GPU, which may run a long kernel: then a warning"),
	ROW(RW_KIND_HANG, TIME, HANG_PROGRESS_WINDOW_NS, "back are considered to see whether it gets on"),
	ROW(RW_KIND_HANG, SHARE, CHILDREN_CPU, "of a CPU that its children use, at least, is progress, …"),
	ROW(RW_KIND_HANG, COUNT, CHILDREN_BYTES, "… or bytes a second that they read and write, …"),
	ROW(RW_KIND_HANG, SHARE, CHILDREN_DISK, "… or of the time, at least, that one waits for a disk"),
	ROW(RW_KIND_HANG, TIME, HANG_TRANSFER_NS,
	    "all GPUs in an operation that does not end: a warning, before a notice"),
	ROW(RW_KIND_HANG, TIME, INIT_AFTER_NS, "for a rank that does not come to a communicator that is being made"),
	ROW(RW_KIND_HANG, TIME, STUCK_CALL_AFTER_NS,
	    "for ncclCommDestroy, …Grow, …Suspend, …Resume and ncclWaitSignal"),
	ROW(RW_KIND_HANG, TIME, INIT_UNSEEN_NS, "for one of which no process was ever seen"),
	ROWS_OF_CAUSE(RW_KIND_HANG),

	ROW(RW_KIND_GONE, TIME, HANG_GONE_AFTER_NS, "after its end, others must still wait for it"),
	ROW(RW_KIND_GONE, TIME, HANG_AFTER_NS, "for a rank that was stopped"),
	ROW(RW_KIND_GONE, TIME, HANG_TOGETHER_NS, "later, ends and stops are consequences of the first"),
	ROW(RW_KIND_GONE, TIME, HANG_SEEN_WITHIN_NS, "is how late an end may be seen"),
	ROW(RW_KIND_GONE, TIME, ENDING_TOGETHER_NS, "is the time in which all have ended together"),
	ROW(RW_KIND_GONE, TIME, ENDING_SILENCE_NS,
	    "of silence longer than the others' show that it was the first of them"),
	ROW(RW_KIND_GONE, TIME, ENDING_KILLER_NS,
	    "before the others, at least, the first of several killed must end, …"),
	ROW(RW_KIND_GONE, FACTOR, ENDING_SPREAD, "… and this times as long as the others are apart"),
	ROW(RW_KIND_GONE, TIME, OOM_KILL_LAG_NS, "after a process's last sign, a line of the OOM killer is its own"),
	ROW(RW_KIND_GONE, TIME, INIT_STOPPED_NS, "for ranks that were stopped before their first communicator"),

	ROW(RW_KIND_DESYNC, TIME, DESYNC_SETTLE_NS, "are waited for the counts of the boxes"),
	ROW(RW_KIND_DESYNC, TIME, DESYNC_WAIT_NS, "at most, are waited for ranks that have not come there"),
	ROW(RW_KIND_DESYNC, COUNT, ALIGNMENT_MATCHES,
	    "equal calls in a row, at least, show what was left out or made more, …"),
	ROW(RW_KIND_DESYNC, COUNT, ALIGNMENT_DIFFERS, "… of so many calls, at most"),
	ROW(RW_KIND_DESYNC, COUNT, PAIR_STEADY, "transfers of one size, and who leaves that is named"),

	ROW(RW_KIND_SLOWDOWN, TIME, TRANSFER_COST_MIN_NS, "a step, at least, transfers must take longer, …"),
	ROW(RW_KIND_SLOWDOWN, SHARE, TRANSFER_SHARE_MIN, "… and of the step, the larger of the two"),
	ROW(RW_KIND_SLOWDOWN, FACTOR, TRANSFER_FACTOR, "the 95th percentile of the steps before"),
	ROW(RW_KIND_SLOWDOWN, COUNT, TRANSFER_IN_A_ROW, "steps in a row"),
	ROW(RW_KIND_SLOWDOWN, COUNT, TRANSFER_MIN, "steps before, at least, show what is usual"),
	ROW(RW_KIND_SLOWDOWN, TIME, STRAGGLER_COST_MIN_NS, "at least, steps take longer: a warning, else a notice; …"),
	ROW(RW_KIND_SLOWDOWN, SHARE, STRAGGLER_SHARE_MIN, "… or this part of the step, the larger of the two, …"),
	ROW(RW_KIND_SLOWDOWN, SHARE, TRANSFER_LOST_NOT, "… of which, at least, a warning must cost to remain one"),
	ROW(RW_KIND_SLOWDOWN, TIME, TRANSFER_DETAIL_NS, "network detail is recorded while nobody is named, …"),
	ROW(RW_KIND_SLOWDOWN, TIME, TRANSFER_PAUSE_NS, "… and then not for this long"),
	ROW(RW_KIND_SLOWDOWN, COUNT, NETWORK_STEPS, "steps with network detail, at least, name a link"),
	ROW(RW_KIND_SLOWDOWN, SHARE, NETWORK_WAITS, "of what the steps take longer, at least, a slow link waits"),
	ROW(RW_KIND_SLOWDOWN, SHARE, NETWORK_QUIET, "of what the slowest link waits, at most, a quiet one does"),
	ROW(RW_KIND_SLOWDOWN, SHARE, NETWORK_CERTAIN, "of what the steps take longer makes it certain"),
	ROW(RW_KIND_SLOWDOWN, TIME, PORT_LEAD_NS, "before and after its begin, network ports are read"),
	ROW(RW_KIND_SLOWDOWN, FACTOR, PORT_BEYOND, "what a port counted in such a time before is mentioned"),
	ROW(RW_KIND_SLOWDOWN, COUNT, TRANSFER_CLEAN, "steps as before close it"),
	ROW(RW_KIND_SLOWDOWN, TIME, TRANSFERS_COST_NS, "over hosts: a row of time, at least, must take longer, …"),
	ROW(RW_KIND_SLOWDOWN, SHARE, TRANSFERS_SHARE, "… and of the row, the larger of the two, …"),
	ROW(RW_KIND_SLOWDOWN, FACTOR, TRANSFERS_BEYOND, "… what the median of as many rows ever differed by before"),
	ROW(RW_KIND_SLOWDOWN, COUNT, TRANSFERS_NEWEST, "rows: their median by all of that, each by half of it"),
	ROW(RW_KIND_SLOWDOWN, COUNT, TRANSFERS_BEFORE, "rows before, at least, show what is usual"),

	ROWS_OF_VALUES(RW_KIND_NAN),
	ROWS_OF_VALUES(RW_KIND_INF),

	ROW(RW_KIND_OVERFLOW, TIME, VALUES_SETTLE_NS, "are waited for the scans of all inputs"),
	ROW(RW_KIND_OVERFLOW, TIME, ORIGIN_SETTLE_NS, "are waited for the search"),
	ROW(RW_KIND_OVERFLOW, TIME, ORIGIN_CLEAN_NS, "without bad values close it"),

	ROW(RW_KIND_SATURATION, SHARE, DRIFT_SATURATED, "of the buffer, at least, is the type's largest number"),
	ROW(RW_KIND_SATURATION, FACTOR, DRIFT_SATURATED_BY, "the share that was usual there"),
	ROW(RW_KIND_SATURATION, COUNT, DRIFT_HISTORY, "times at a place show what is usual"),
	ROW(RW_KIND_SATURATION, COUNT, DRIFT_IN_A_ROW, "times in a row"),

	ROW(RW_KIND_CORRUPTION, TIME, VALUES_SETTLE_NS, "are waited for the digests of the other ranks"),

	ROW(RW_KIND_DRIFT, COUNT, DRIFT_HISTORY, "times at a place show a rank's usual distance from the others"),
	ROW(RW_KIND_DRIFT, BINADES, DRIFT_PART, "(powers of two) beyond that distance"),
	ROW(RW_KIND_DRIFT, COUNT, DRIFT_IN_A_ROW, "times in a row"),
	ROW(RW_KIND_DRIFT, COUNT, DRIFT_OTHERS_MIN, "other ranks, at least, to compare with"),
	ROW(RW_KIND_DRIFT, COUNT, DRIFT_ELEMENTS_MIN, "elements, at least: the largest of fewer is chance"),
	ROW(RW_KIND_DRIFT, BINADES, DRIFT_NEAR_FP16, "below the type's end is near it, in fp16"),
	ROW(RW_KIND_DRIFT, BINADES, DRIFT_NEAR_WIDE, "below it, in bf16 and fp32: from there squares overflow"),
	ROW(RW_KIND_DRIFT, BINADES, DRIFT_GROWN, "above what was usual, at least, is growth"),

	ROW(RW_KIND_MEMORY, SHARE, MEMORY_LIMIT_SHARE, "of the limit, at least, is no page cache"),
	ROW(RW_KIND_MEMORY, COUNT, MEMORY_LIMIT_HITS, "polls, one a second, that found new hits of the limit …"),
	ROW(RW_KIND_MEMORY, TIME, MEMORY_LIMIT_HITS_NS, "… within this time"),
	ROW(RW_KIND_MEMORY, TIME, MEMORY_LIMIT_CLEAN_NS, "without a hit close it"),
	ROW(RW_KIND_MEMORY, SHARE, GPU_MEMORY_HIGH, "of a GPU's memory is full"),
	ROW(RW_KIND_MEMORY, SHARE, GPU_MEMORY_DROP, "of it less is a cache that was freed, …"),
	ROW(RW_KIND_MEMORY, COUNT, GPU_MEMORY_DROPS, "times …"),
	ROW(RW_KIND_MEMORY, TIME, GPU_MEMORY_DROPS_NS, "… within this time"),

	ROW(RW_KIND_GPU, TIME, GPU_THROTTLE_NS, "held back by its hardware"),
	ROW(RW_KIND_GPU, COUNT, GPU_NVLINK_MIN, "NVLink errors …"),
	ROW(RW_KIND_GPU, TIME, GPU_NVLINK_WINDOW_NS, "… within this time"),
	ROW(RW_KIND_GPU, TIME, GPU_XID_BEFORE_NS, "before the rank's box was made, an Xid is history"),
	ROW(RW_KIND_GPU, TIME, GPU_XID_KEEP_NS, "an Xid that is not critical stays open"),
	ROW(RW_KIND_GPU, TIME, GPU_SILENCE_NS, "in one call of NVML is a notice"),
	ROW(RW_KIND_GPU, SHARE, GPU_EXPLAINS_SHARE, "of the late time, at least, throttling must fill to be the cause"),
	ROW(RW_KIND_GPU, SHARE, GPU_SLOW_CLOCK_SHARE, "of the other GPUs' median clock is slow"),

	ROW(RW_KIND_VERSION, TIME, VERSIONS_SETTLE_NS, "after the last process has come"),

	ROW(RW_KIND_BLIND, TIME, HELD_AFTER_NS, "in one call into the driver"),
};

const size_t threshold_count = sizeof(thresholds) / sizeof(thresholds[0]);

static const char *time_text(char *text, size_t room, double ns)
{
	if (ns < 1e9)
		snprintf(text, room, "%g ms", ns / 1e6);
	else if (ns < 60e9)
		snprintf(text, room, "%g s", ns / 1e9);
	else
		snprintf(text, room, "%g min", ns / 60e9);
	return text;
}

const char *threshold_text(char *text, size_t room, const struct threshold *threshold)
{
	/* A float's 0.02 is 0.0199999996: nobody wrote that. */
	double value = round(threshold->value * 1e6) / 1e6;

	switch (threshold->unit) {
	case THRESHOLD_TIME:
		return time_text(text, room, value);
	case THRESHOLD_SHARE:
		snprintf(text, room, "%g %%", value * 100);
		return text;
	case THRESHOLD_FACTOR:
		snprintf(text, room, "%g ×", value);
		return text;
	case THRESHOLD_BINADES:
		snprintf(text, room, "%g binades", value);
		return text;
	case THRESHOLD_COUNT:
		break;
	}
	snprintf(text, room, "%g", value);
	return text;
}
