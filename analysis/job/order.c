/* SPDX-License-Identifier: MIT */
#include "analysis/job/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/job/told.h"
#include "analysis/job/votes.h"
#include "analysis/naming.h"

/* Calls of members at one place. */
struct parting {
	const struct world_comm *comm;
	uint64_t calls;
	struct votes votes; /* hashes */
};

static const struct world_order *order_at(const struct world_member *member, uint64_t calls)
{
	for (uint32_t i = 0; member->orders && i < WORLD_ORDERS; i++)
		if (member->orders->newest[i].calls == calls)
			return &member->orders->newest[i];
	return NULL;
}

static void gather(struct parting *parting, const struct world_comm *comm, uint64_t calls)
{
	struct votes *votes = &parting->votes;

	parting->comm = comm;
	parting->calls = calls;
	votes->count = 0;
	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_order *order = order_at(&comm->members[i], calls);
		if (order)
			votes->cast[votes->count++] = (struct vote){ .value = order->hash, .rank = comm->members[i].rank };
	}
	votes_count(votes);
}

/* More than half of all ranks of the communicator must have made the same calls before the others are named. */
static bool has_majority(const struct parting *parting)
{
	return votes_have_majority(&parting->votes, parting->comm);
}

static bool is_settled(const struct parting *parting, uint64_t parted_ns, uint64_t now_ns)
{
	uint64_t wait_ns = has_majority(parting) ? ORDER_SETTLE_NS : ORDER_UNSURE_NS;

	return parting->votes.usual_count < parting->votes.count && now_ns >= parted_ns + wait_ns;
}

/* The first place where it can be told. False: not yet. */
static bool find_parting(const struct world_comm *comm, struct parting *parting, uint64_t now_ns)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < WORLD_PLACES; i++) {
		const struct world_place *place = &comm->places[i];
		if (!place->parted_ns || (found && place->calls > found))
			continue;
		gather(parting, comm, place->calls);
		/* Halves differ at every later place: waiting for a majority counts from the first. */
		uint64_t parted_ns = has_majority(parting) ? place->parted_ns : comm->parted_ns;
		if (is_settled(parting, parted_ns, now_ns))
			found = place->calls;
	}
	if (found)
		gather(parting, comm, found);
	return found;
}

/* Has any of those that made the usual calls told of this place? */
static bool is_told_by_usual(const struct world *world, const struct parting *parting, uint64_t calls)
{
	for (uint32_t i = 0; i < parting->votes.count; i++) {
		const struct vote *vote = &parting->votes.cast[i];
		const struct world_member *member = world_member(world, parting->comm, vote->rank);
		if (vote->value == parting->votes.usual && member && order_at(member, calls))
			return true;
	}
	return false;
}

/* So many of their first calls were still alike, as far as is known: both sides have told of that place, and no two hashes of it differ. */
static uint64_t alike_until(const struct world *world, const struct parting *parting, const uint32_t *odd, uint32_t odd_count)
{
	uint64_t until = 0;

	for (uint32_t i = 0; i < WORLD_PLACES; i++) {
		const struct world_place *place = &parting->comm->places[i];
		bool told = odd_count && place->calls && place->calls < parting->calls && !place->parted_ns &&
			    is_told_by_usual(world, parting, place->calls);
		for (uint32_t k = 0; k < odd_count && told; k++) {
			const struct world_member *member = world_member(world, parting->comm, odd[k]);
			told = member && order_at(member, place->calls);
		}
		if (told && place->calls > until)
			until = place->calls;
	}
	return until;
}

static void write_text(struct record *record, const struct world *world, const struct parting *parting, const uint32_t *odd,
		       uint32_t odd_count)
{
	struct rw_finding *finding = &record->finding;
	char who[128], others[128], where[64], what[224];
	uint64_t until = alike_until(world, parting, odd, odd_count);

	if (until)
		snprintf(where, sizeof(where), "among calls %" PRIu64 " to %" PRIu64, until + 1, parting->calls);
	else
		snprintf(where, sizeof(where), "among the first %" PRIu64 " calls", parting->calls);
	naming_ranks(who, sizeof(who), finding->ranks, finding->rank_count);
	naming_ranks(others, sizeof(others), finding->late.waiting, finding->late.waiting_count);
	if (finding->confidence == RW_INCONCLUSIVE)
		snprintf(record->text, sizeof(record->text), "%s have made different collective calls on %s, %s", who, record->comm_name,
			 where);
	else
		snprintf(record->text, sizeof(record->text), "%s made other collective calls on %s than %s, %s", who, record->comm_name,
			 others, where);
	snprintf(record->advice, sizeof(record->advice),
		 "\"rankwatch diff\" of these ranks' black boxes names the first call that differs; look before it for a branch on data, "
		 "or one batch less");
	finding->advice = record->advice;
	snprintf(what, sizeof(what), "hashes of the first %" PRIu64 " collective calls of %u ranks, by the messages of their hosts",
		 parting->calls, parting->votes.count);
	record_add_evidence(record, "messages", -1, what);
	record_add_missing(record, "which call it was: a hash tells that calls differ, and not which");
	if (finding->confidence == RW_INCONCLUSIVE)
		record_add_missing(record, "no calls are those of more than half of the communicator's ranks: who is wrong is not known");
}

static bool is_told_by_node(const struct world *world, const struct world_comm *comm)
{
	for (uint32_t i = 0; i < comm->member_count; i++)
		if (world->ranks[comm->members[i].rank].found & (1u << RW_KIND_DESYNC))
			return true;
	return false;
}

static void tell(const struct world *world, struct findings *findings, const struct parting *parting, uint32_t *odd, uint32_t *usual,
		 uint64_t now_ns)
{
	bool known = has_majority(parting);
	uint32_t odd_count, usual_count;

	votes_split(&parting->votes, known, odd, &odd_count, usual, &usual_count);
	struct record *record = told_new(world, RW_KIND_DESYNC, RW_SCOPE_RANK, odd, odd_count);
	if (!record || told_set_waiting(record, usual, usual_count)) {
		record_free(record);
		return;
	}
	record->subject = TOLD_COMM | parting->comm->index;
	record->finding.severity = RW_CRITICAL;
	record->finding.confidence = known ? RW_LIKELY : RW_INCONCLUSIVE;
	record->finding.first_seen_ns = parting->comm->parted_ns;
	record->finding.detect_ms = (double)(now_ns - parting->comm->parted_ns) / 1e6;
	told_set_operation(record, parting->comm, 0, 0, RW_PHASE_NONE);
	told_set_cause(record, RW_CAUSE_UNKNOWN, RW_LEVEL_NONE, "");
	write_text(record, world, parting, odd, odd_count);
	findings_tell(findings, record, now_ns);
}

static void judge(struct world *world, struct world_comm *comm, struct findings *findings, uint64_t now_ns)
{
	/* Where calls never meet, what stands has told which they are. */
	if (findings_open(findings, RW_KIND_DESYNC, TOLD_COMM | comm->index) || is_told_by_node(world, comm)) {
		comm->parting_told = true;
		return;
	}
	struct parting parting = { .votes.cast = calloc(comm->member_count + 1, sizeof(*parting.votes.cast)) };
	uint32_t *ranks = calloc(2 * (size_t)comm->member_count + 1, sizeof(*ranks));
	if (parting.votes.cast && ranks && find_parting(comm, &parting, now_ns)) {
		comm->parting_told = true;
		tell(world, findings, &parting, ranks, ranks + comm->member_count, now_ns);
	}
	free(parting.votes.cast);
	free(ranks);
}

void order_tick(struct world *world, struct findings *findings, uint64_t now_ns)
{
	for (uint32_t i = 0; i < world->comm_count; i++) {
		struct world_comm *comm = world->comms[i];
		if (!comm->parted_ns || comm->parting_told || now_ns < comm->parted_ns + ORDER_SETTLE_NS ||
		    now_ns < comm->parting_looked_ns + ORDER_LOOK_NS)
			continue;
		comm->parting_looked_ns = now_ns;
		judge(world, comm, findings, now_ns);
	}
}
