/* SPDX-License-Identifier: MIT */
#include "analysis/job/agreement.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/job/told.h"
#include "analysis/job/votes.h"
#include "analysis/report/naming.h"
#include "analysis/report/value_text.h"

/* The first that differs, has waited for the others and is not told. NULL: none. */
static struct world_agreement *find_parted(const struct world_comm *comm, uint64_t now_ns)
{
	struct world_agreement *found = NULL;

	for (uint32_t i = 0; i < WORLD_RESULTS; i++) {
		struct world_agreement *agreement = &comm->agreements->newest[i];
		if (agreement->parted_ns && !agreement->judged && now_ns >= agreement->parted_ns + AGREEMENT_SETTLE_NS &&
		    (!found || agreement->parted_ns < found->parted_ns))
			found = agreement;
	}
	return found;
}

static void gather(struct votes *votes, const struct world_comm *comm, const struct world_agreement *agreement)
{
	votes->count = 0;
	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_result *result = world_result(comm, &comm->members[i], &agreement->first);
		if (result)
			votes->cast[votes->count++] = (struct vote){ .value = result->digests, .rank = comm->members[i].rank };
	}
	votes_count(votes);
}

/* Ranks that call different things have different results, and what a host has told itself is told. */
static bool is_told_otherwise(const struct world *world, const struct world_comm *comm)
{
	const uint32_t told = 1u << RW_KIND_DESYNC | 1u << RW_KIND_CORRUPTION;

	for (uint32_t i = 0; i < comm->member_count; i++)
		if (world->ranks[comm->members[i].rank].found & told)
			return true;
	return comm->parted_ns != 0;
}

/* No digest: of one result none is known, only sums. */
static void set_values(struct record *record)
{
	struct rw_finding *finding = &record->finding;

	finding->values.present = true;
	finding->values.output = true;
	finding->values.origin = RW_ORIGIN_TRANSPORT;
	finding->values.absmax_before = -1;
	finding->values.first_bad = RW_NO_INDEX;
	finding->values.saturated = -1;
}

static void write_text(struct record *record, const struct world_comm *comm, const struct world_agreement *agreement,
		       const struct votes *votes, bool known)
{
	uint64_t row = agreement->first.row;
	char who[128], where[128], what[160];

	naming_ranks(who, sizeof(who), record->finding.ranks, record->finding.rank_count);
	snprintf(where, sizeof(where), "one or more of %s #%" PRIu64 " to #%" PRIu64 " on %s",
		 naming_function(record->finding.operation.function), row * RW_RESULTS_ROW, row * RW_RESULTS_ROW + RW_RESULTS_ROW - 1,
		 record->comm_name);
	if (known)
		snprintf(record->text, sizeof(record->text), "%s has another result than all others in %s", who, where);
	else
		snprintf(record->text, sizeof(record->text), "%s: different bits in %s where they must be the same", who, where);
	value_text_advise_altered(record);
	snprintf(what, sizeof(what), "sums over the digests of %u results, of %u ranks, by the messages of their hosts",
		 agreement->operations, votes->count);
	record_add_evidence(record, "messages", -1, what);
	record_add_missing(
	    record, "which of these operations it was: a sum over their results shows that one differs, and not which");
	if (!known)
		record_add_missing(record, "which of them is wrong: no result is shared by more than half of the "
					   "ranks, or several ranks differ");
	if (comm->size > 0 && (int32_t)votes->count < comm->size) {
		snprintf(what, sizeof(what), "the results of the others: only %u of %d ranks reported theirs",
			 votes->count, comm->size);
		record_add_missing(record, what);
	}
}

static void tell(const struct world *world, struct findings *findings, const struct world_comm *comm,
		 const struct world_agreement *agreement, const struct votes *votes, uint32_t *ranks, uint64_t now_ns)
{
	bool majority = votes->count >= AGREEMENT_VOTERS && votes_have_majority(votes, comm);
	uint32_t odd_count, usual_count;

	votes_split(votes, majority, ranks, &odd_count, ranks + comm->member_count, &usual_count);
	bool known = majority && odd_count == 1;
	/* What is not known may be known of a later row. */
	if (!known && comm->agreements->unsure_told)
		return;
	comm->agreements->unsure_told = true;
	comm->agreements->told = known;
	struct record *record = told_new(world, RW_KIND_CORRUPTION, RW_SCOPE_RANK, ranks, odd_count);
	if (!record)
		return;
	record->subject = known ? ranks[0] : TOLD_COMM | comm->index;
	record->finding.severity = RW_CRITICAL;
	record->finding.confidence = known ? RW_LIKELY : RW_INCONCLUSIVE;
	record->finding.first_seen_ns = agreement->parted_ns;
	record->finding.detect_ms = (double)(now_ns - agreement->parted_ns) / 1e6;
	told_set_operation(record, comm, agreement->first.function,
			   agreement->first.row * RW_RESULTS_ROW + RW_RESULTS_ROW - 1, RW_PHASE_NONE);
	set_values(record);
	write_text(record, comm, agreement, votes, known);
	findings_tell(findings, record, now_ns);
}

static void judge(struct world *world, const struct world_comm *comm, struct world_agreement *agreement,
		  struct findings *findings, uint64_t now_ns)
{
	struct votes votes = { .cast = calloc(comm->member_count + 1, sizeof(*votes.cast)) };
	uint32_t *ranks = calloc(2 * (size_t)comm->member_count + 1, sizeof(*ranks));

	if (votes.cast && ranks) {
		agreement->judged = true;
		gather(&votes, comm, agreement);
		/* Those of the first may have been replaced by newer ones since. */
		if (votes.usual_count < votes.count)
			tell(world, findings, comm, agreement, &votes, ranks, now_ns);
	}
	free(votes.cast);
	free(ranks);
}

void agreement_tick(struct world *world, struct findings *findings, uint64_t now_ns)
{
	for (uint32_t i = 0; i < world->comm_count; i++) {
		struct world_comm *comm = world->comms[i];
		if (!comm->agreements || comm->mixed || !comm->agreements->parted_ns || comm->agreements->told)
			continue;
		if (is_told_otherwise(world, comm)) {
			comm->agreements->told = true;
			continue;
		}
		struct world_agreement *agreement = find_parted(comm, now_ns);
		if (agreement)
			judge(world, comm, agreement, findings, now_ns);
	}
}
