/* SPDX-License-Identifier: MIT */
/* The parts of one analysis. The entry points know it, and the tests that use several parts (stragglers, hangs,
 * findings); the parts below them see only their own state. */
#ifndef ANALYSIS_MODEL_H
#define ANALYSIS_MODEL_H

#include "analysis/match/account.h"
#include "analysis/analysis.h"
#include "analysis/hang/inits.h"
#include "analysis/known/cells.h"
#include "analysis/values/drift.h"
#include "analysis/report/findings.h"
#include "analysis/host/gpus.h"
#include "analysis/hang/hang.h"
#include "analysis/known/instances.h"
#include "analysis/numbers/intern.h"
#include "analysis/known/job.h"
#include "analysis/lives.h"
#include "analysis/measure/losses.h"
#include "analysis/machine/memory_limit.h"
#include "analysis/explain/oom_kills.h"
#include "analysis/values/origin.h"
#include "analysis/measure/pace_course.h"
#include "analysis/host/ports.h"
#include "analysis/late/straggler.h"
#include "analysis/late/rows.h"
#include "analysis/network/transfer.h"
#include "analysis/known/values.h"
#include "analysis/hang/version_finding.h"

struct analysis {
	bool post_mortem;
	/* Another program judges the ranks of all hosts, by messages (analysis/node/node_half.h). For its questions the
	 * latest calls on communicators that span hosts are kept (call_history.h). */
	bool has_judge;
	uint64_t now_ns, first_tick_ns; /* times of the last and the first tick */
	struct lives lives;             /* the earlier ones */
	struct job job;
	struct instances instances;
	struct intern intern;
	struct stragglers stragglers;
	struct pace_course pace_course;
	struct account account;
	struct cells cells; /* of the account */
	struct rows rows;   /* likewise */
	struct transfers transfers;
	uint64_t expiry_looked_ns; /* when it last searched for communicators to release */
	struct hangs hangs;
	struct gpus gpus;
	struct ports ports;
	struct memory_groups memory;
	struct oom_kills oom_kills;
	struct values values;
	uint64_t usual_entries; /* in all tables */
	struct origin origin;
	struct drifts drifts;
	struct versions_watch versions;
	struct inits inits;
	uint32_t stuck_calls_told; /* analysis/hang/stuck_calls.h: a bit for each of its calls */
	struct losses losses;
	struct findings findings;
};

#endif
