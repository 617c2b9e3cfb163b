/* SPDX-License-Identifier: MIT */
#include "analysis/values/corruption.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/measure/digests.h"
#include "analysis/explain/gpu_evidence.h"
#include "analysis/model.h"
#include "analysis/report/value_text.h"

static const char either_end[] =
    "who changed them: the sender's memory after it was scanned, the link, or the receiver";
static const char no_majority[] =
    "which of them is wrong: no result is shared by more than half of the ranks, or several ranks differ";

/* The ranks that are wrong, or the others. */
static uint32_t *select_ranks(const struct instance *instance, const struct disagreement *found, bool wrong,
			      uint32_t *count)
{
	const struct communicator *communicator = instance->communicator;
	uint32_t *ranks = calloc(communicator->member_count + 1, sizeof(*ranks));

	*count = 0;
	for (uint32_t i = 0; ranks && i < communicator->member_count; i++) {
		/* The two ends of a transfer are one suspect. */
		bool named = found->culprit != JOB_NONE ? i == found->culprit
							: found->wrong[i] || (instance_is_point_to_point(instance) &&
									      instance_concerns(instance, i));
		if (named == wrong && instance_concerns(instance, i))
			ranks[(*count)++] = communicator->members[i].rank;
	}
	return ranks;
}

static struct record *new_record(const struct analysis *analysis, const struct instance *instance,
				 const struct disagreement *found)
{
	uint32_t wrong_count, other_count;
	uint32_t *wrong = select_ranks(instance, found, true, &wrong_count);
	uint32_t *others = select_ranks(instance, found, false, &other_count);
	enum rw_scope scope = instance_is_point_to_point(instance) ? RW_SCOPE_LINK : RW_SCOPE_RANK;
	struct record *record = NULL;

	if (wrong && others)
		record = record_new(&analysis->job, RW_KIND_CORRUPTION, scope, wrong, wrong_count);
	/* What one receives wrong has reached nobody else yet. */
	if (record && found->sender && record_set_waiting(record, &analysis->job, others, other_count)) {
		record_free(record);
		record = NULL;
	}
	free(wrong);
	free(others);
	return record;
}

static uint32_t first_wrong(const struct disagreement *found)
{
	uint32_t at = 0;

	while (!found->wrong[at])
		at++;
	return at;
}

static void set_values(struct record *record, const struct instance *instance, const struct disagreement *found)
{
	struct rw_finding *finding = &record->finding;
	uint64_t bytes = call_bytes(&(struct call){ .dtype = instance->dtype, .count = 1 });

	record_set_values(record, instance, first_wrong(found), VALUE_OUT, RW_ORIGIN_TRANSPORT);
	finding->values.first_bad =
	    found->offset == RW_NO_INDEX || !bytes ? RW_NO_INDEX : found->offset / bytes;
	if (found->culprit == JOB_NONE)
		record_add_missing(record, instance_is_point_to_point(instance) ? either_end : no_majority);
	if (found->seen < instance->communicator->member_count && !instance_is_point_to_point(instance)) {
		char what[96];
		snprintf(what, sizeof(what), "%u of %u results were scanned", found->seen,
			 instance->communicator->member_count);
		record_add_missing(record, what);
	}
}

/* All ranks of the communicator, or nothing is certain: those who were not seen may have what the odd one has. */
static enum rw_confidence trust(const struct instance *instance, const struct disagreement *found)
{
	if (found->culprit == JOB_NONE)
		return RW_INCONCLUSIVE;
	return found->seen == instance->communicator->member_count && !job_unseen(instance->communicator) ? RW_CERTAIN
													  : RW_LIKELY;
}

/* The digests cannot tell the two ends of a transfer apart; the error of one of the two GPUs does. */
static uint32_t faulty_end(const struct analysis *analysis, const struct instance *instance)
{
	const struct communicator *communicator = instance->communicator;
	uint64_t at_ns = instance->start_ns ? instance->start_ns : instance->created_ns;
	bool alone = instance->source == instance->target;
	uint32_t faulty = JOB_NONE;

	for (uint32_t i = 0; i < communicator->member_count; i++) {
		if (!instance_concerns(instance, i) ||
		    !(alone || gpu_evidence_is_faulty(analysis, communicator->members[i].rank, at_ns)))
			continue;
		if (faulty != JOB_NONE)
			return JOB_NONE;
		faulty = i;
	}
	return faulty;
}

static void say(struct record *record, const struct analysis *analysis, const struct instance *instance,
		const struct disagreement *found)
{
	int32_t worlds[2] = { -1, -1 }; /* sender, receiver */

	if (!instance_is_point_to_point(instance)) {
		value_text_corruption(record, found);
		return;
	}
	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		const struct member *member = &instance->communicator->members[i];
		if (member->comm_rank == instance->source)
			worlds[0] = job_member_rank(&analysis->job, member)->world;
		if (member->comm_rank == instance->target)
			worlds[1] = job_member_rank(&analysis->job, member)->world;
	}
	value_text_altered(record, worlds[0], worlds[1]);
}

static void tell(struct analysis *analysis, struct instance *instance, const struct disagreement *found,
		 uint64_t now_ns)
{
	struct record *record = new_record(analysis, instance, found);

	if (!record)
		return;
	record->subject = instance->communicator->index << 16 ^ found->culprit;
	record->finding.severity = RW_CRITICAL;
	record->finding.confidence = trust(instance, found);
	record_set_operation(record, &analysis->job, instance, RW_PHASE_NONE);
	record_set_seen(record, instance, first_wrong(found), now_ns);
	set_values(record, instance, found);
	if (found->culprit != JOB_NONE)
		gpu_evidence_attach(analysis, record, instance->communicator->members[found->culprit].rank,
				    record->finding.first_seen_ns, now_ns);
	say(record, analysis, instance, found);
	if (found->culprit != JOB_NONE)
		gpu_evidence_explain_value(analysis, record, instance->communicator->members[found->culprit].rank,
					   record->finding.first_seen_ns);
	findings_tell(&analysis->findings, record, now_ns);
}

/* Ranks that call different things exchange different things: analysis/hang/desync.c tells. */
static bool is_desynced(const struct communicator *communicator)
{
	return communicator->order && communicator->order->parted;
}

void corruption_judge(struct analysis *analysis, struct instance *instance, uint64_t now_ns)
{
	struct disagreement found;

	if (instance->corrupted || is_desynced(instance->communicator) || !digests_disagree(instance, &found))
		return;
	instance->corrupted = true;
	if (instance_is_point_to_point(instance))
		found.culprit = faulty_end(analysis, instance);
	tell(analysis, instance, &found, now_ns);
	free(found.wrong);
}
