/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/scanned.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model.h"
#include "analysis/known/usual.h"

enum { FIRST_BAD = 4711 };

uint64_t scanned_chance(struct scanned *job, uint64_t below)
{
	job->random = job->random * 6364136223846793005u + 1442695040888963407u;
	return (job->random >> 33) % below;
}

static void hear(void *argument, const struct rw_finding *finding)
{
	struct scanned *job = argument;

	if (job->told_count == SCANNED_TOLD || finding->kind < RW_KIND_NAN || finding->kind > RW_KIND_DRIFT)
		return;
	struct scanned_told *told = &job->told[job->told_count++];
	*told = (struct scanned_told){
		.kind = finding->kind,
		.state = finding->state,
		.severity = finding->severity,
		.confidence = finding->confidence,
		.rank_count = finding->rank_count,
		.victim_count = finding->victim_count,
		.evidence_count = finding->evidence_count,
		.missing_count = finding->missing_count,
		.finding = *finding,
	};
	memcpy(told->ranks, finding->ranks, finding->rank_count * sizeof(*finding->ranks));
	snprintf(told->text, sizeof(told->text), "%s", finding->text);
	snprintf(told->advice, sizeof(told->advice), "%s", finding->advice ? finding->advice : "");
	snprintf(told->comm_name, sizeof(told->comm_name), "%s", finding->operation.comm_name);
	for (size_t i = 0; i < finding->missing_count; i++)
		snprintf(told->missing + strlen(told->missing), sizeof(told->missing) - strlen(told->missing), "%s%s",
			 i ? "; " : "", finding->missing[i]);
	if (finding->evidence_count)
		snprintf(told->evidence, sizeof(told->evidence), "%s", finding->evidence[0].what);
}

void scanned_start(struct scanned *job, int ranks, int seen)
{
	struct rw_box_header box = { .host = "a", .job = "test", .world_size = ranks };

	*job = (struct scanned){ .ranks = ranks, .seen = seen, .now_ns = 1000000000 };
	job->analysis = analysis_new(false, hear, job);
	cr_assert(job->analysis);
	for (int i = 0; i < seen; i++) {
		box.world_rank = i;
		box.devices[0].used = 1;
		snprintf(box.devices[0].pci, sizeof(box.devices[0].pci), "%04x:10:00.0", (unsigned int)i & 0xffff);
		struct analysis_process process = { .id = (uint32_t)i + 1, .pid = i + 1, .box = &box };
		cr_assert_eq(analysis_add_process(job->analysis, &process), 0);
	}
}

int scanned_communicator(struct scanned *job, const char *name, int size, int first, int stride)
{
	int number = job->communicators++;
	struct rw_communicator described = { .id = (uint64_t)number + 77, .nranks = size, .nnodes = 1, .created_ns = 1 };

	snprintf(described.name, sizeof(described.name), "%s", name);
	job->communicator[number].size = size;
	for (int i = 0; i < size; i++) {
		int rank = first + i * stride;
		job->communicator[number].members[i] = rank;
		described.rank = i;
		if (rank < job->seen)
			cr_assert_eq(analysis_add_communicator(job->analysis, (uint32_t)rank + 1, (uint32_t)number,
							       &described),
				     0);
	}
	return number;
}

static bool reads(const struct scanned_call *call, int member)
{
	if (call->function == RW_FUNCTION_SEND)
		return member == call->sender;
	return call->function != RW_FUNCTION_BROADCAST || member == call->root;
}

static bool writes(const struct scanned_call *call, int member)
{
	return call->function != RW_FUNCTION_SEND || member == call->root;
}

static struct rw_scan scan_of(const struct scanned *job, const struct scanned_call *call, int rank, bool bad)
{
	uint32_t count = job->nan ? job->nan : 1;

	return (struct rw_scan){
		.nan = bad && !call->inf ? count : 0,
		.inf = bad && call->inf ? count : 0,
		.first_bad = bad ? FIRST_BAD : UINT64_MAX,
		.absmax = job->absmax[rank] > 0 ? job->absmax[rank] : 1,
		.saturated = job->saturated[rank],
	};
}

static struct rw_operation *push(struct scanned *job, int rank)
{
	if (job->queued[rank] == job->room[rank]) {
		job->room[rank] = job->room[rank] * 2 + 16;
		job->queue[rank] = realloc(job->queue[rank], job->room[rank] * sizeof(*job->queue[rank]));
		cr_assert(job->queue[rank]);
	}
	return &job->queue[rank][job->queued[rank]++];
}

static void enqueue(struct scanned *job, int communicator, const struct scanned_call *call, int member, bool in_bad,
		    bool out_bad)
{
	int rank = job->communicator[communicator].members[member];
	bool sends = call->function == RW_FUNCTION_SEND, hidden = call->sampled_out || call->untracked || job->blind[rank];
	struct rw_operation slot = {
		.ticket = ++job->ticket[rank],
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_TASK | RW_KNOWN_RETURN |
			 RW_KNOWN_STARTED | RW_KNOWN_DONE,
		.comm = (uint16_t)communicator,
		.function = sends && member == call->root ? RW_FUNCTION_RECV : call->function,
		.dtype = call->dtype ? call->dtype : RW_DTYPE_BFLOAT16,
		.count = call->count ? call->count : 3,
		.sequence = call->only ? call->sequence : job->communicator[communicator].sequence[call->function],
		.root_or_peer = sends && member == call->root ? call->sender : call->root,
		.api_tid = call->function == RW_FUNCTION_REDUCE_SCATTER ? 2 : 1, /* autograd's thread, the main one */
		.api_ns = job->now_ns,
		.launch_end_ns = job->now_ns + 1000,
		.return_ns = job->now_ns + 2000,
		.progress = job->ticket[rank],
		.started_seen_ns = job->now_ns + 3000,
		.done_seen_ns = job->now_ns + 10000,
		.scan_in = scan_of(job, call, rank, in_bad),
		.scan_out = scan_of(job, call, rank, out_bad),
	};

	if (reads(call, member) && !call->in_place && !hidden)
		slot.known |= RW_KNOWN_SCAN_IN;
	if (writes(call, member) && !hidden)
		slot.known |= RW_KNOWN_SCAN_OUT;
	slot.flags = (call->in_place ? RW_FLAG_IN_PLACE : 0) | (call->sampled_out ? RW_FLAG_SAMPLED_OUT : 0) |
		     (call->untracked ? RW_FLAG_UNTRACKED : 0) | rw_operator_flags(call->reduction);
	if (rank < job->seen)
		*push(job, rank) = slot;
}

void scanned_call(struct scanned *job, int communicator, struct scanned_call call)
{
	int size = job->communicator[communicator].size;
	bool in_bad[SCANNED_RANKS], any = call.overflows;

	if (call.function != RW_FUNCTION_SEND)
		call.sender = -1;
	for (int i = 0; i < size; i++) {
		int rank = job->communicator[communicator].members[i];
		in_bad[i] = job->bad[rank] || job->brings[rank];
		any = any || (reads(&call, i) && in_bad[i] && !call.keeps);
		job->brings[rank] = job->brings[rank] && call.only && call.only != i + 1;
	}
	for (int i = 0; i < size; i++) {
		int rank = job->communicator[communicator].members[i];
		bool takes_part = call.only ? call.only == i + 1
					    : call.function != RW_FUNCTION_SEND || i == call.root || i == call.sender;
		bool out_bad = any && writes(&call, i) && (!call.only || call.only == i + 1) &&
			       (!call.narrow || call.narrow == i + 1);
		if (takes_part)
			enqueue(job, communicator, &call, i, in_bad[i], out_bad);
		job->bad[rank] = job->bad[rank] || out_bad;
	}
	job->communicator[communicator].sequence[call.function] += !call.only;
	job->now_ns += 100000;
}

static void pass_on(struct scanned *job)
{
	size_t at[SCANNED_RANKS] = { 0 }, left = 0;

	for (int i = 0; i < job->seen; i++)
		left += job->queued[i];
	while (left) {
		int rank = (int)scanned_chance(job, (uint64_t)job->seen);
		size_t run = 1 + scanned_chance(job, 16);
		for (; run && at[rank] < job->queued[rank]; run--, left--) {
			const struct rw_operation *slot = &job->queue[rank][at[rank]++];
			cr_assert_eq(analysis_add_operation(job->analysis, (uint32_t)rank + 1, slot), 0);
		}
	}
	memset(job->queued, 0, sizeof(job->queued));
}

void scanned_tick(struct scanned *job, double ms)
{
	pass_on(job);
	for (; ms > 0; ms -= 100)
		analysis_tick(job->analysis, job->now_ns += 100000000);
}

void scanned_end(struct scanned *job)
{
	pass_on(job);
	for (int i = 0; i < job->seen; i++)
		analysis_set_life(job->analysis, (uint32_t)i + 1, ANALYSIS_EXITED, 0, job->now_ns);
	analysis_tick(job->analysis, job->now_ns += 1000000);
}

static uint64_t entries_of(const struct usual_table *table)
{
	return table ? table->entries : 0;
}

/* The limit on what is kept of usual values holds only while all of it is counted. */
static void expect_counted(const struct analysis *analysis)
{
	uint64_t entries = 0;

	for (uint32_t i = 0; i < analysis->job.communicator_count; i++) {
		const struct communicator *communicator = analysis->job.communicators[i];
		entries += entries_of(communicator->usual_replays);
		for (uint32_t k = 0; k < communicator->member_count; k++)
			entries += entries_of(communicator->members[k].usual);
	}
	cr_expect_eq(analysis->usual_entries, entries, "%lu counted, %lu kept", (unsigned long)analysis->usual_entries,
		     (unsigned long)entries);
}

void scanned_free(struct scanned *job)
{
	expect_counted(job->analysis);
	analysis_free(job->analysis);
	for (int i = 0; i < job->ranks; i++)
		free(job->queue[i]);
}

const struct scanned_told *scanned_loud(const struct scanned *job)
{
	for (size_t i = 0; i < job->told_count; i++)
		if (job->told[i].severity > RW_NOTICE)
			return &job->told[i];
	return NULL;
}
