/* SPDX-License-Identifier: MIT */
/* What is said of slow transfers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model.h"
#include "analysis/report/text.h"
#include "analysis/network/transfer.h"

/* Ranks of the finding: who has to do with the network that is slow, else all of the communicator. */
static struct record *new_record(const struct analysis *analysis, const struct transfer *transfer)
{
	const struct communicator *communicator = transfer->communicator;
	const struct network_answer *answer = &transfer->answer;
	uint32_t count = answer->members ? answer->member_count : communicator->member_count;
	enum rw_scope scope = answer->members ? answer->scope : RW_SCOPE_JOB;
	uint32_t *ranks = calloc(communicator->member_count + 1, sizeof(*ranks));
	if (!ranks)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		ranks[i] = communicator->members[answer->members ? answer->members[i] : i].rank;
	struct record *record = record_new(&analysis->job, RW_KIND_SLOWDOWN, scope, ranks, count);
	free(ranks);
	return record;
}

static void set_late(struct record *record, const struct transfer *transfer, const struct transfer_slowest *slowest,
		     uint64_t step_ns)
{
	struct rw_finding *finding = &record->finding;
	finding->late.present = true;
	finding->late.kind = RW_LATE_TRANSFER;
	finding->late.by_ms = (double)slowest->ns / 1e6;
	finding->late.lost_ms_per_step = (double)transfer->lost_ns / 1e6;
	finding->late.lost_share =
	    step_ns && transfer->lost_ns < step_ns ? (double)transfer->lost_ns / (double)step_ns : -1;
	finding->late.since_step = instance_told_step(&slowest->instance, transfer->since_step);
}

static void set_cause(struct record *record, const struct network_answer *answer, double waits_ms)
{
	struct rw_finding *finding = &record->finding;
	finding->confidence = answer->confidence;
	finding->level = RW_LEVEL_SELF;
	finding->cause.present = true;
	finding->cause.class_ = RW_CAUSE_NETWORK;
	finding->cause.share = answer->share;
	finding->cause.text = "waiting for the network";
	record->evidence[0] = (struct rw_evidence){ .source = "self", .ms = waits_ms, .what = "network" };
	finding->evidence = record->evidence;
	finding->evidence_count = 1;
	if (answer->confidence != RW_CERTAIN)
		record_add_missing(
		    record, "whether this explains all of the added time: that is certain only where one link waits "
			    "nearly all of it and the others hardly wait");
}

/* The others, who wait for those. */
static int set_victims(struct record *record, const struct analysis *analysis, const struct transfer *transfer)
{
	const struct communicator *communicator = transfer->communicator;
	const struct network_answer *answer = &transfer->answer;
	uint32_t *ranks = calloc(communicator->member_count + 1, sizeof(*ranks)), count = 0;
	if (!ranks)
		return -1;
	for (uint32_t i = 0, named = 0; i < communicator->member_count; i++) {
		if (named < answer->member_count && answer->members[named] == i)
			named++;
		else
			ranks[count++] = communicator->members[i].rank;
	}
	int err = record_set_waiting(record, &analysis->job, ranks, count);
	free(ranks);
	return err;
}

static struct text_end end_of(const struct analysis *analysis, const struct transfer *transfer, uint32_t member)
{
	const struct member *seen = &transfer->communicator->members[member];
	return (struct text_end){ analysis->job.ranks[seen->rank].world, seen->process->host_name };
}

/* A GPU that other kernels fill looks like a slow transfer from outside. */
static void miss_kernels(struct record *record)
{
	record_add_missing(record,
			   "whether a link is slow, or NCCL's kernel waits for room on a GPU that other kernels fill: "
			   "RANKWATCH_KERNELCH=1 shows when NCCL's kernels begin");
}

static void say_nobody(struct record *record, const struct network_answer *answer)
{
	char what[192];
	snprintf(what, sizeof(what), "which link or host it is: %s",
		 answer->instead ? answer->instead : "what NCCL's proxy threads wait for was not seen");
	record_add_missing(record, what);
}

/* Ranks that are not seen may come late: then it is no transfer that takes longer. */
static void doubt(struct record *record)
{
	char *end = strrchr(record->text, ';');

	record->finding.confidence = RW_INCONCLUSIVE;
	if (end)
		snprintf(end, sizeof(record->text) - (size_t)(end - record->text),
			 "; no seen rank comes late, but one that is not seen may");
}

/* Where no network is between the ranks. */
static void set_within_host(struct record *record, enum kernels_state kernels)
{
	static const char *const advice[] = {
		[KERNELS_UNKNOWN] = ("start the job with RANKWATCH_KERNELCH=1, which shows whose kernel begins late; "
				     "check the links between "
				     "the GPUs (nvidia-smi nvlink -e, nvidia-smi topo -m)"),
		[KERNELS_RAN] =
		    "check the links between the GPUs (nvidia-smi nvlink -e, nvidia-smi topo -m, lspci -vv)",
		[KERNELS_WAITED] = "check what runs on these GPUs beside NCCL (nvidia-smi, a profiler), or give NCCL's "
				   "stream a high priority",
	};

	record->finding.confidence = kernels == KERNELS_RAN ? RW_LIKELY : RW_INCONCLUSIVE;
	record->finding.advice = advice[kernels];
	if (kernels == KERNELS_UNKNOWN)
		miss_kernels(record);
	else if (kernels == KERNELS_RAN)
		record_add_missing(record, "which link between the GPUs it is");
	else
		record_add_missing(record, "which kernels fill the GPUs on which NCCL's kernels wait for room");
}

struct record *transfer_record(const struct analysis *analysis, const struct transfer *transfer,
			       const struct transfer_slowest *slowest, uint64_t took_ns, uint64_t step_ns)
{
	const struct communicator *communicator = transfer->communicator;
	const struct network_answer *answer = &transfer->answer;
	struct record *record = new_record(analysis, transfer);
	if (!record)
		return NULL;
	struct rw_finding *finding = &record->finding;
	record->subject = communicator->index;
	finding->severity = transfer->costs ? RW_WARNING : RW_NOTICE;
	finding->confidence = RW_LIKELY;
	finding->arrival = RW_ARRIVAL_GPU;
	set_late(record, transfer, slowest, step_ns);
	if (answer->members)
		set_cause(record, answer, answer->share * (double)took_ns / 1e6);
	else if (communicator->hosts > 1)
		say_nobody(record, answer);
	if (!answer->members && communicator->hosts > 1 && slowest->kernels == KERNELS_UNKNOWN)
		miss_kernels(record);
	record_set_operation(record, &analysis->job, &slowest->instance, RW_PHASE_RUNNING);
	record_set_watchdog(record, communicator->members[0].process, true, analysis->stragglers.longest_wait_ns);
	if (answer->members && set_victims(record, analysis, transfer)) {
		record_free(record);
		return NULL;
	}
	bool transfers = communicator->hosts > 1 || slowest->kernels == KERNELS_RAN;
	text_transfer(record, transfers ? "transfers" : "operations", (double)took_ns / 1e6,
		      (double)transfer->usual_ns / 1e6);
	if (communicator->hosts == 1)
		set_within_host(record, slowest->kernels);
	if (!answer->members && job_unseen(communicator) > 0) {
		doubt(record);
		/* The judge of all hosts names who comes late: each host would warn of the same. */
		finding->severity = analysis->has_judge ? RW_NOTICE : finding->severity;
	}
	if (answer->members)
		text_network(record, answer, end_of(analysis, transfer, answer->from),
			     end_of(analysis, transfer, answer->to));
	return record;
}
