/* SPDX-License-Identifier: MIT */
#include "analysis/connecting.h"

#include <stdlib.h>

#include "analysis/hang_verdict.h"
#include "analysis/model.h"
#include "analysis/port_evidence.h"
#include "analysis/text.h"

/* Nobody's rank: the finding names none. */
#define SUBJECT JOB_NONE

static bool all_connect(const struct standing *standing)
{
	const struct instance *instance = standing->instance;
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		if (instance_concerns(instance, i) && !waiting_connects(instance, i))
			return false;
	return standing->since_ns != 0;
}

/* The oldest. NULL also while somebody is missing anywhere: then the others connect with nobody because of that one. */
static const struct standing *find(const struct waiting *waiting)
{
	const struct standing *found = NULL;
	for (size_t i = 0; i < waiting->count; i++) {
		const struct standing *standing = &waiting->standings[i];
		if (standing->missing)
			return NULL;
		if (all_connect(standing) && (!found || standing->since_ns < found->since_ns))
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

static struct record *make_record(const struct analysis *analysis, const struct standing *standing,
				  enum rw_severity severity, uint64_t now_ns)
{
	const struct process *process = standing->instance->communicator->members[0].process;
	struct record *record = record_new(&analysis->job, RW_KIND_HANG, RW_SCOPE_JOB, NULL, 0);
	if (!record)
		return NULL;
	struct rw_finding *finding = &record->finding;
	uint64_t waited_ns = now_ns - standing->since_ns;
	record->subject = SUBJECT;
	finding->severity = severity;
	finding->confidence = RW_INCONCLUSIVE;
	finding->arrival = RW_ARRIVAL_HOST;
	finding->first_seen_ns = standing->since_ns;
	finding->detect_ms = (double)waited_ns / 1e6;
	finding->late.present = true;
	finding->late.by_ms = finding->detect_ms;
	record_set_operation(record, &analysis->job, standing->instance, RW_PHASE_CONNECT);
	record_set_words(record, RW_CAUSE_UNKNOWN, "all of them are inside NCCL, which connects them before the launch",
			 "NCCL_DEBUG=INFO tells which interface and which peer each of them tries");
	record_set_watchdog(record, process, analysis->stragglers.first_step != 0, waited_ns);
	if (set_waiting(record, analysis, standing->instance)) {
		record_free(record);
		return NULL;
	}
	text_connecting(record);
	if (standing->instance->communicator->hosts != 1)
		port_evidence_attach(analysis, record, standing->since_ns);
	return record;
}

static void close_told(struct analysis *analysis, uint64_t now_ns)
{
	struct connecting *told = &analysis->hangs.connecting;
	if (told->instance)
		findings_close(&analysis->findings, RW_KIND_HANG, SUBJECT, now_ns);
	*told = (struct connecting){ 0 };
}

void connecting_tick(struct analysis *analysis, const struct waiting *waiting, uint64_t now_ns)
{
	struct connecting *told = &analysis->hangs.connecting;
	const struct standing *standing = find(waiting);
	if (!standing || standing->instance != told->instance || standing->instance->serial != told->serial)
		close_told(analysis, now_ns);
	if (!standing || now_ns < standing->since_ns + hang_verdict_after(analysis))
		return;
	const struct process *process = standing->instance->communicator->members[0].process;
	bool long_ago = now_ns - standing->since_ns >= hang_verdict_limit(process);
	enum rw_severity severity = long_ago ? RW_WARNING : RW_NOTICE;
	struct record *record = make_record(analysis, standing, severity, now_ns);
	if (!record)
		return;
	*told = (struct connecting){ standing->instance, standing->instance->serial, severity };
	findings_tell(&analysis->findings, record, now_ns);
}
