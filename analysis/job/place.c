/* SPDX-License-Identifier: MIT */
#include "analysis/job/place.h"

#include <rankwatch/operation.h>

bool job_place_is_transfer(const struct world_flight *flight)
{
	uint8_t plain = flight->function & (uint8_t)~RW_MESSAGE_APART;

	return plain == RW_FUNCTION_SEND || plain == RW_FUNCTION_RECV || plain == RW_FUNCTION_SEND_RECV;
}

const struct world_birth *job_place_init(const struct world_rank *rank, uint64_t now_ns)
{
	const struct world_birth *birth = rank ? rank->birth : NULL;

	return birth && birth->heard_ns && now_ns < birth->heard_ns + JOB_PLACE_FRESH_NS ? birth : NULL;
}

bool job_place_waits_in_init(const struct world_rank *rank, uint64_t now_ns)
{
	const struct world_birth *birth = job_place_init(rank, now_ns);

	return birth && birth->life == RW_MESSAGE_ALIVE && rank->life == RW_MESSAGE_ALIVE;
}

const struct world_flight *job_place_flight(const struct world *world, const struct world_member *member,
					    uint64_t now_ns)
{
	const struct world_flight *flight = member->standing ? &member->standing->flight : NULL;

	if (!flight || !flight->heard_ns || now_ns >= flight->heard_ns + JOB_PLACE_FRESH_NS ||
	    world_is_dead(&world->ranks[member->rank]))
		return NULL;
	return flight;
}

const struct world_flight *job_place_waits_in(const struct world *world, const struct world_member *member,
					      uint64_t now_ns)
{
	const struct world_flight *flight = job_place_flight(world, member, now_ns);

	if (!flight || !(flight->flags & RW_MESSAGE_ARRIVED) || world->ranks[member->rank].life == RW_MESSAGE_STOPPED)
		return NULL;
	return flight->flags & RW_MESSAGE_HOLDS || job_place_is_transfer(flight) ? flight : NULL;
}

bool job_place_is_same(const struct world_flight *left, const struct world_flight *right)
{
	bool are_transfers = job_place_is_transfer(left) && job_place_is_transfer(right);

	return left->sequence == right->sequence && (are_transfers || left->function == right->function);
}

struct call job_place_call(const struct world_flight *flight)
{
	return (struct call){
		.known = true,
		.sequence = flight->sequence,
		.count = flight->count,
		.root = flight->peer_or_root,
		.function = flight->function & (uint8_t)~RW_MESSAGE_APART,
		.dtype = flight->dtype,
		.unannounced = flight->function & RW_MESSAGE_APART,
	};
}

bool job_place_is_same_call(const struct world_flight *left, const struct world_flight *right)
{
	const struct call call = job_place_call(left), other = job_place_call(right);

	return job_place_is_same(left, right) && (job_place_is_transfer(left) || call_is_same(&call, &other));
}

static const struct world_flight *waits_in_one(const struct world *world, const struct world_member *member,
					       bool transfer, uint64_t now_ns)
{
	const struct world_flight *flight = job_place_waits_in(world, member, now_ns);

	return flight && job_place_is_transfer(flight) == transfer ? flight : NULL;
}

static bool find_place(const struct world *world, const struct world_comm *comm, bool transfers, uint64_t now_ns,
		       struct job_place *place)
{
	*place = (struct job_place){ .comm = comm, .by_gpu = true };
	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_flight *flight = waits_in_one(world, &comm->members[i], transfers, now_ns);
		if (!flight)
			continue;
		place->parted |= place->waiters && !job_place_is_same_call(flight, &place->flight);
		if (!place->waiters || flight->since_ns < place->flight.since_ns) {
			place->flight = *flight;
			place->waiter = comm->members[i].comm_rank;
		}
		place->waiters++;
	}
	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_flight *flight = waits_in_one(world, &comm->members[i], transfers, now_ns);
		if (!flight || !job_place_is_same(flight, &place->flight))
			continue;
		place->since_ns = flight->since_ns > place->since_ns ? flight->since_ns : place->since_ns;
		place->by_gpu &= !(flight->flags & RW_MESSAGE_BY_HOST) && flight->phase == RW_PHASE_RUNNING;
	}
	return place->waiters > 0;
}

bool job_place_find(const struct world *world, const struct world_comm *comm, uint64_t now_ns, struct job_place *place)
{
	return find_place(world, comm, false, now_ns, place) || find_place(world, comm, true, now_ns, place);
}

static bool has_not_called(const struct world_member *member, const struct world_flight *flight)
{
	for (uint32_t i = 0; member->standing && i < WORLD_FUNCTIONS; i++)
		if (member->standing->calls[i].function == flight->function)
			return member->standing->calls[i].next <= flight->sequence;
	return false;
}

/* In a transfer between two, only the other end is needed. */
static bool is_needed(const struct job_place *place, const struct world_member *member)
{
	return !job_place_is_transfer(&place->flight) || member->comm_rank == place->flight.peer_or_root;
}

/* It waits in another operation than the transfer of `place`, and its GPU has not reached that. */
static bool waits_elsewhere(const struct job_place *place, const struct world_flight *flight)
{
	const uint8_t waits = RW_MESSAGE_ARRIVED | RW_MESSAGE_NO_OTHER_TRANSFER;
	bool is_other_end = job_place_is_transfer(flight) && flight->peer_or_root == place->waiter &&
			    flight->function != place->flight.function;

	return (flight->flags & waits) == waits && place->waiter >= 0 && !is_other_end;
}

enum job_place_presence job_place_presence(const struct world *world, const struct job_place *place,
					   const struct world_member *member, uint64_t now_ns)
{
	const struct world_rank *rank = &world->ranks[member->rank];
	const struct world_flight *flight = job_place_flight(world, member, now_ns);

	if (!is_needed(place, member) || member->left)
		return JOB_PLACE_HERE;
	if (world_is_awaited(world_host(world, member->rank), now_ns) && !world_is_dead(rank))
		return JOB_PLACE_UNKNOWN;
	if (job_place_is_transfer(&place->flight)) {
		if (world_is_dead(rank) || rank->life == RW_MESSAGE_STOPPED || (flight && waits_elsewhere(place, flight)))
			return JOB_PLACE_MISSING;
		return flight ? JOB_PLACE_HERE : member->unfollowed ? JOB_PLACE_UNKNOWN : JOB_PLACE_MISSING;
	}
	if (world_is_dead(rank) || (rank->told && rank->life == RW_MESSAGE_STOPPED) ||
	    world_is_silent(world_host(world, member->rank), now_ns))
		return JOB_PLACE_MISSING;
	if (flight && job_place_is_same(flight, &place->flight)) {
		if (flight->flags & RW_MESSAGE_ARRIVED)
			return JOB_PLACE_HERE;
		return flight->flags & RW_MESSAGE_BEHIND ? JOB_PLACE_UNKNOWN : JOB_PLACE_MISSING;
	}
	return has_not_called(member, &place->flight) ? JOB_PLACE_MISSING : JOB_PLACE_UNKNOWN;
}
