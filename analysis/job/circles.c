/* SPDX-License-Identifier: MIT */
#include "analysis/job/circles.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/job/told.h"
#include "analysis/report/text.h"

struct awaited {
	bool known;  /* it was looked for */
	bool parted; /* members make different calls: that is another finding */
	uint32_t rank;
};

struct walk {
	const struct world *world;
	const bool *stands;
	uint64_t now_ns;
	bool *met; /* by world rank */
	struct awaited *awaited; /* by communicator */
};

/* The lowest rank of those that wait elsewhere, and for which others wait in this place. WORLD_NONE: none is known. */
static uint32_t find_missing(const struct walk *walk, const struct job_place *place)
{
	uint32_t found = WORLD_NONE;

	for (uint32_t i = 0; i < place->comm->member_count; i++) {
		const struct world_member *member = &place->comm->members[i];
		const struct world_rank *rank = &walk->world->ranks[member->rank];
		if (member->rank < found && walk->stands[member->rank] && rank->life == RW_MESSAGE_ALIVE &&
		    job_place_presence(walk->world, place, member, walk->now_ns) == JOB_PLACE_MISSING)
			found = member->rank;
	}
	return found;
}

/* For whom the members of a communicator wait in a collective, which is the same for all of them. */
static void look_at(const struct walk *walk, const struct world_comm *comm, struct awaited *awaited)
{
	struct job_place place;

	*awaited = (struct awaited){ .known = true, .rank = WORLD_NONE };
	bool found = job_place_find(walk->world, comm, walk->now_ns, &place);
	awaited->parted = comm->parted_ns || (found && place.parted);
	if (found)
		awaited->rank = find_missing(walk, &place);
}

static const struct awaited *awaited_in_collective(const struct walk *walk, const struct world_comm *comm)
{
	struct awaited *awaited = &walk->awaited[comm->index];

	if (!awaited->known)
		look_at(walk, comm, awaited);
	return awaited;
}

static uint32_t awaited_in_transfer(const struct walk *walk, const struct world_comm *comm,
				    const struct world_member *member, const struct world_flight *flight)
{
	const struct job_place place = { .comm = comm, .flight = *flight, .waiter = member->comm_rank };

	return find_missing(walk, &place);
}

/* For whom a member waits in this operation: the lowest rank of those that wait elsewhere. WORLD_NONE: for none that is
 * known. */
static uint32_t find_awaited(const struct walk *walk, const struct world_comm *comm, const struct world_member *member,
			     const struct world_flight *flight)
{
	const struct awaited *collective = job_place_is_transfer(flight) ? NULL : awaited_in_collective(walk, comm);

	if (collective && collective->parted)
		return WORLD_NONE;
	if (flight->awaits != WORLD_NONE)
		return world_rank(walk->world, flight->awaits) && walk->stands[flight->awaits] ? flight->awaits : WORLD_NONE;
	return collective ? collective->rank : awaited_in_transfer(walk, comm, member, flight);
}

/* The operation in which the rank has waited longest, and for whom. WORLD_NONE: it waits nowhere, or in one of its
 * operations for nobody that is known: that one may end by itself. */
static uint32_t follow(const struct walk *walk, uint32_t number, struct circles_link *link)
{
	const struct world_rank *rank = &walk->world->ranks[number];
	uint32_t next = WORLD_NONE;

	*link = (struct circles_link){ .rank = number };
	for (uint32_t i = 0; i < rank->membership_count; i++) {
		const struct world_comm *comm = world_joined(walk->world, rank, i);
		const struct world_member *member = &comm->members[rank->memberships[i].member];
		const struct world_flight *flight = job_place_waits_in(walk->world, member, walk->now_ns);
		if (!flight)
			continue;
		uint32_t awaited = find_awaited(walk, comm, member, flight);
		if (awaited == WORLD_NONE || !(flight->flags & RW_MESSAGE_STILL))
			return WORLD_NONE;
		if (link->flight && flight->since_ns >= link->flight->since_ns)
			continue;
		link->comm = comm;
		link->flight = flight;
		next = awaited;
	}
	return next;
}

static uint32_t whom_the_rank_awaits(const void *argument, uint32_t rank)
{
	struct circles_link link;
	uint32_t awaited = follow(argument, rank, &link);

	return awaited == WORLD_NONE ? CIRCLE_NOBODY : awaited;
}

/* Goes from this rank over ranks that were not met. False: that leads into no circle. */
static bool search(const struct walk *walk, uint32_t rank, struct circles_found *circle)
{
	uint32_t ranks[CIRCLE_RANKS_MAX];

	*circle = (struct circles_found){ .count = circle_walk(rank, whom_the_rank_awaits, walk, walk->met, ranks) };
	for (uint32_t i = 0; i < circle->count; i++) {
		follow(walk, ranks[i], &circle->links[i]);
		if (circle->links[i].flight->since_ns > circle->since_ns)
			circle->since_ns = circle->links[i].flight->since_ns;
	}
	return circle->count;
}

/* One host finds by itself what lies on it. */
static bool spans_hosts(const struct world *world, const struct circles_found *circle)
{
	for (uint32_t i = 1; i < circle->count; i++)
		if (world->ranks[circle->links[i].rank].host != world->ranks[circle->links[0].rank].host)
			return true;
	return false;
}

/* Messages are of different moments: each rank must have been reported to wait there well after the last one had
 * come. */
static bool is_lasting(const struct circles_found *circle)
{
	for (uint32_t i = 0; i < circle->count; i++)
		if (circle->links[i].flight->heard_ns < circle->since_ns + STAND_GONE_NS)
			return false;
	return true;
}

bool circles_find(const struct world *world, const bool *stands, uint64_t now_ns, struct circles_found *circle)
{
	struct walk walk = {
		.world = world, .stands = stands, .now_ns = now_ns,
		.met = calloc(world->rank_room + 1, sizeof(*walk.met)),
		.awaited = calloc(world->comm_count + 1, sizeof(*walk.awaited)),
	};
	bool found = false;

	for (uint32_t rank = 0; walk.met && walk.awaited && rank < world->rank_room && !found; rank++)
		found = stands[rank] && search(&walk, rank, circle) && spans_hosts(world, circle) && is_lasting(circle);
	free(walk.met);
	free(walk.awaited);
	return found;
}

static void write_text(struct record *record, const struct circles_found *circle)
{
	struct text_circle_link links[TEXT_CIRCLE_LINKS];

	for (uint32_t i = 0; i < circle->count && i < TEXT_CIRCLE_LINKS; i++) {
		const struct circles_link *link = &circle->links[i];
		links[i] = (struct text_circle_link){
			.rank = (int32_t)link->rank,
			.awaited = (int32_t)circle->links[(i + 1) % circle->count].rank,
			.function = link->flight->function & (uint8_t)~RW_MESSAGE_APART,
			.sequence = link->flight->sequence,
		};
		told_comm_name(links[i].comm_name, sizeof(links[i].comm_name), link->comm);
	}
	text_circle(record, links, circle->count);
}

static uint32_t watchdog_ms(const struct world *world, const struct circles_found *circle)
{
	uint32_t shortest_ms = 0;

	for (uint32_t i = 0; i < circle->count; i++) {
		uint32_t ms = world->ranks[circle->links[i].rank].watchdog_ms;
		if (ms && (!shortest_ms || ms < shortest_ms))
			shortest_ms = ms;
	}
	return shortest_ms;
}

struct record *circles_record(const struct world *world, const struct circles_found *circle, uint64_t now_ns)
{
	const struct circles_link *first = &circle->links[0];
	struct record *record = told_new(world, RW_KIND_HANG, RW_SCOPE_JOB, NULL, 0);
	uint32_t ranks[CIRCLE_RANKS_MAX];

	for (uint32_t i = 0; i < circle->count; i++)
		ranks[i] = circle->links[i].rank;
	if (!record || told_set_waiting(record, ranks, circle->count)) {
		record_free(record);
		return NULL;
	}
	struct rw_finding *finding = &record->finding;
	record->subject = TOLD_CIRCLE;
	finding->standing = RW_STANDING_CIRCLE;
	finding->severity = RW_WARNING;
	finding->confidence = RW_INCONCLUSIVE;
	finding->arrival = first->flight->flags & RW_MESSAGE_BY_HOST ? RW_ARRIVAL_HOST : RW_ARRIVAL_GPU;
	finding->first_seen_ns = circle->since_ns;
	finding->detect_ms = (double)(now_ns - circle->since_ns) / 1e6;
	finding->late.present = true;
	finding->late.by_ms = finding->detect_ms;
	told_set_operation(record, first->comm, first->flight->function, first->flight->sequence, RW_PHASE_RUNNING);
	finding->operation.dtype = first->flight->dtype;
	finding->operation.count = first->flight->count;
	finding->operation.peer_or_root = first->flight->peer_or_root;
	told_set_watchdog(record, watchdog_ms(world, circle), now_ns - circle->since_ns);
	record_add_evidence(record, "messages", finding->late.by_ms, "each waits there, by the messages of their hosts");
	write_text(record, circle);
	return record;
}
