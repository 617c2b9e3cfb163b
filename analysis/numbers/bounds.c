/* SPDX-License-Identifier: MIT */
#include "analysis/numbers/bounds.h"

#include "analysis/hang/circle.h"
#include "analysis/host/evidence.h"
#include "analysis/report/findings.h"
#include "analysis/host/gpus.h"
#include "analysis/hang/hang.h"
#include "analysis/known/instances.h"
#include "analysis/known/job.h"
#include "analysis/measure/losses.h"
#include "analysis/explain/network.h"
#include "analysis/explain/oom_kills.h"
#include "analysis/host/ports.h"
#include "analysis/host/python_looks.h"
#include "analysis/host/stalls.h"
#include "analysis/steps/steps.h"
#include "analysis/late/straggler.h"
#include "analysis/known/usual.h"

/* The constant gives both the name and the value. */
#define ROW(name, what, beyond) { #name, name, what, beyond }

const struct bound bounds[] = {
	ROW(INSTANCES_MAX, "calls of groups (the same call on all its ranks) of the job",
	    "the one that ended first makes room; where none has ended, the oldest of the same communicator, which is "
	    "counted as `forgotten`"),
	ROW(INSTANCES_OPERATIONS_MAX, "operations of ranks in these", "as above"),
	ROW(JOB_TRACE, "latest operations of a process that are found by their number",
	    "of older ones nothing more is taken in, and no rank's work is measured from them"),
	ROW(STEPS_HISTORY_MAX,
	    "operations of a process among which a step is looked for (half of them where a step is certain)",
	    "the older half is forgotten; where no step was certain by then, none is reported"),
	ROW(STEP_MARKS_MAX, "latest steps of a process that its program marked",
	    "operations of older ones have no number"),
	ROW(STEP_MARKS_OPERATIONS, "operations of a marked step whose places are known",
	    "a longer step is not compared with others"),
	ROW(STRAGGLER_STEPS, "latest steps of a rank, and what it was late by in each", "older ones are overwritten"),
	ROW(STALLS_KEPT, "latest stalls of a rank, each of which counts once", "older ones are overwritten"),
	ROW(CAUSE_WINDOWS, "latest times of a rank in which others waited for it", "older ones are overwritten"),
	ROW(EVIDENCE_ROOM, "latest waits and samples of a process's threads",
	    "older ones are overwritten; a finding whose lateness is older says so, and is `likely` at most"),
	ROW(EVIDENCE_THREADS, "threads of a process that are sampled",
	    "the one that was sampled longest ago makes room"),
	ROW(LOSSES_KEPT, "latest stretches of time in which events of the host were lost",
	    "older ones are overwritten"),
	ROW(PYTHON_LOOKS, "latest samples of a process's Python", "older ones are overwritten"),
	ROW(FINDINGS_MAX, "findings, open and remembered",
	    "the oldest that is closed is forgotten; where all are open, the oldest of the least severe is closed for "
	    "one that is more severe, and any other is not reported"),
	ROW(HANG_OPEN_MAX, "ranks at a time that are reported as missing", "further ones are not reported"),
	ROW(CIRCLE_RANKS_MAX, "ranks in a circle of waits", "a longer one is not looked for"),
	ROW(USUAL_MAX, "places × ranks × sides of which the usual values are known",
	    "values at further places have no past"),
	ROW(NETWORK_CHANNELS_MAX, "channels of a communicator whose network waits are compared",
	    "further ones are left out"),
	ROW(OOM_KILLS, "latest kills for want of memory in the kernel's log",
	    "with more of them nobody is named by them"),
	ROW(GPUS_MAX, "GPUs", "further ones are not kept"),
	ROW(PORTS_MAX, "network ports", "further ones are not kept"),
};

const size_t bound_count = sizeof(bounds) / sizeof(bounds[0]);
