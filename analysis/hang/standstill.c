/* SPDX-License-Identifier: MIT */
#include "analysis/hang/standstill.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/measure/flights.h"
#include "analysis/hang/hang_verdict.h"
#include "analysis/known/kernel_start.h"
#include "analysis/model.h"
#include "analysis/report/naming.h"
#include "analysis/explain/port_evidence.h"
#include "analysis/numbers/sorting.h"
#include "analysis/report/text.h"

/* Nobody's rank: the finding names none. */
#define SUBJECT JOB_NONE

/* By what its GPU says: a host that has launched knows nothing of where its stream stands. A transfer whose ends differ
 * does not end for that, and is told. */
static bool is_under_way(const struct instance *instance, uint32_t member)
{
	const uint16_t asked =
	    OPERATION_STARTED | OPERATION_DONE | OPERATION_HOST | OPERATION_EXCLUDED | OPERATION_UNKNOWN;
	bool transfer = instance_is_point_to_point(instance) && !instance->communicator->pair;

	return (instance_keeps_all(instance) || transfer) &&
	       (flight_state(instance, member) & asked) == OPERATION_STARTED;
}

/* What holds of every rank of an operation that stands still. */
static const struct standstill_shape {
	bool (*holds)(const struct instance *instance, uint32_t member);
	enum rw_phase phase;
	enum rw_arrival arrival;
	uint64_t warned_after_ns; /* 0: after hang_verdict_limit() */
	const char *because, *advice;
} shapes[] = {
	{ waiting_connects, RW_PHASE_CONNECT, RW_ARRIVAL_HOST, 0,
	  "all of them are inside NCCL, which connects them before the launch",
	  "NCCL_DEBUG=INFO prints which interface and which peer each of them tries" },
	{ is_under_way, RW_PHASE_RUNNING, RW_ARRIVAL_GPU, HANG_TRANSFER_NS,
	  "all GPUs are in it: a link between them stands still, or NCCL's kernel finds no room on one",
	  "check the links (nvidia-smi nvlink -e, ibstat, the switches); with RANKWATCH_KERNELCH=1 it is known whose "
	  "kernel has begun" },
};

enum { SHAPES = sizeof(shapes) / sizeof(*shapes) };

/* NULL: some rank is in another state, or was never seen. */
static const struct standstill_shape *shape_of(const struct standing *standing)
{
	const struct instance *instance = standing->instance;
	const struct communicator *communicator = instance->communicator;

	if (!standing->since_ns || standing->missing || communicator->member_count < 2 || job_unseen(communicator) > 0)
		return NULL;
	for (int shape = 0; shape < SHAPES; shape++) {
		uint32_t i = 0;

		while (i < communicator->member_count &&
		       (!instance_concerns(instance, i) || shapes[shape].holds(instance, i)))
			i++;
		if (i == communicator->member_count)
			return &shapes[shape];
	}
	return NULL;
}

/* The oldest: others may stand because of it. Somebody is missing where a Send or Recv of its ranks has no other
 * end. */
static const struct standing *find(const struct waiting *waiting)
{
	const struct standing *found = NULL;

	for (size_t i = 0; i < waiting->count; i++) {
		const struct standing *standing = &waiting->standings[i];

		bool older = !found || standing->since_ns < found->since_ns;
		if (older && shape_of(standing) && !waiting_is_tied(standing->instance))
			found = standing;
	}
	return found;
}

static int set_waiting(struct record *record, const struct analysis *analysis, const struct instance *instance)
{
	const struct communicator *communicator = instance->communicator;
	uint32_t *ranks = calloc(communicator->member_count + 1, sizeof(*ranks)), count = 0;
	if (!ranks)
		return -1;
	for (uint32_t i = 0; i < communicator->member_count; i++)
		if (instance_concerns(instance, i))
			ranks[count++] = communicator->members[i].rank;
	int err = record_set_waiting(record, &analysis->job, ranks, count);
	free(ranks);
	return err;
}

/* Whose watchdog ends first; members of an operation may have different ones. */
static const struct process *watchdog_of(const struct communicator *communicator)
{
	const struct process *first = communicator->members[0].process;
	for (uint32_t i = 1; i < communicator->member_count; i++) {
		const struct process *process = communicator->members[i].process;
		if (process->watchdog_ms && (!first->watchdog_ms || process->watchdog_ms < first->watchdog_ms))
			first = process;
	}
	return first;
}

enum { LACKING_NAMED = 8 }; /* of more ranks only the number is reported */

static void tell_lacking(struct record *record, const struct job *job, const uint32_t *ranks, int count)
{
	int32_t worlds[LACKING_NAMED];
	char names[36], text[96];

	for (int i = 0; i < count && count <= LACKING_NAMED; i++)
		worlds[i] = job->ranks[ranks[i]].world;
	if (count <= LACKING_NAMED) {
		sort_i32(worlds, (size_t)count);
		naming_ranks(names, sizeof(names), worlds, (size_t)count);
	} else {
		snprintf(names, sizeof(names), "%d ranks", count);
	}
	snprintf(text, sizeof(text), "NCCL reports no kernel of it on %s: a GPU without room for it?", names);
	record_set_words(record, RW_CAUSE_UNKNOWN, text, "check what else runs on these GPUs (nvidia-smi, a profiler)");
	record_add_missing(record,
			   "whether other kernels fill these GPUs, or NCCL's thread there does not report any more");
}

/* What NCCL's KernelCh events say of it: RANKWATCH_KERNELCH=1. */
static void tell_kernels(struct record *record, const struct analysis *analysis, const struct instance *instance)
{
	uint32_t *lacking = calloc(instance->communicator->member_count + 1, sizeof(*lacking));
	int count = lacking ? kernel_start_lacking(instance, lacking) : -1;

	if (count > 0)
		tell_lacking(record, &analysis->job, lacking, count);
	else
		record_add_missing(record, "which link, rank or GPU it is: NCCL's progress does not show that");
	if (!count)
		record_set_words(record, RW_CAUSE_UNKNOWN,
				 "NCCL's kernels run on all GPUs: a link between them stands still",
				 "check the links (nvidia-smi nvlink -e, ibstat, the switches)");
	free(lacking);
}

static struct record *make_record(const struct analysis *analysis, const struct standing *standing,
				  enum rw_severity severity, uint64_t now_ns)
{
	const struct standstill_shape *shape = shape_of(standing);
	const struct communicator *communicator = standing->instance->communicator;
	struct record *record = record_new(&analysis->job, RW_KIND_HANG, RW_SCOPE_JOB, NULL, 0);
	if (!record)
		return NULL;
	struct rw_finding *finding = &record->finding;
	uint64_t waited_ns = now_ns - standing->since_ns;
	record->subject = SUBJECT;
	finding->standing = RW_STANDING_TOGETHER;
	finding->severity = severity;
	finding->confidence = RW_INCONCLUSIVE;
	finding->arrival = shape->arrival;
	finding->first_seen_ns = standing->since_ns;
	finding->detect_ms = (double)waited_ns / 1e6;
	finding->late.present = true;
	finding->late.by_ms = finding->detect_ms;
	record_set_operation(record, &analysis->job, standing->instance, shape->phase);
	record_set_words(record, RW_CAUSE_UNKNOWN, shape->because, shape->advice);
	if (shape->phase == RW_PHASE_RUNNING)
		tell_kernels(record, analysis, standing->instance);
	else
		record_add_missing(record, "which link, rank or GPU it is: NCCL's progress does not show that");
	record_set_watchdog(record, watchdog_of(communicator), analysis->stragglers.first_step != 0, waited_ns);
	if (job_unseen(communicator) < 0)
		record_add_missing(
		    record, "how many ranks the communicator has: this NCCL does not report it, so one that was never "
			    "seen may be missing");
	if (set_waiting(record, analysis, standing->instance)) {
		record_free(record);
		return NULL;
	}
	text_standstill(record);
	if (communicator->hosts != 1)
		port_evidence_attach(analysis, record, standing->since_ns);
	return record;
}

static void close_told(struct analysis *analysis, uint64_t now_ns)
{
	struct standstill *told = &analysis->hangs.standstill;
	if (told->instance)
		findings_close(&analysis->findings, RW_KIND_HANG, SUBJECT, now_ns);
	*told = (struct standstill){ 0 };
}

static uint64_t warned_after(const struct standing *standing)
{
	uint64_t after_ns = shape_of(standing)->warned_after_ns;

	return after_ns ? after_ns : hang_verdict_limit(watchdog_of(standing->instance->communicator));
}

void standstill_tick(struct analysis *analysis, const struct waiting *waiting, bool is_blamed, uint64_t now_ns)
{
	struct standstill *told = &analysis->hangs.standstill;
	const struct standing *standing = is_blamed ? NULL : find(waiting);
	if (!standing || standing->instance != told->instance || standing->instance->serial != told->serial ||
	    shape_of(standing) != told->shape)
		close_told(analysis, now_ns);
	if (!standing || now_ns < standing->since_ns + hang_verdict_after(analysis))
		return;
	enum rw_severity severity = now_ns - standing->since_ns >= warned_after(standing) ? RW_WARNING : RW_NOTICE;
	struct record *record = make_record(analysis, standing, severity, now_ns);
	if (!record)
		return;
	*told = (struct standstill){ standing->instance, standing->instance->serial, shape_of(standing) };
	findings_tell(&analysis->findings, record, now_ns);
}
