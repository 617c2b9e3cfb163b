/* SPDX-License-Identifier: MIT */
#include "analysis/job/job_view.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/job/course.h"
#include "analysis/job/stand.h"
#include "analysis/job/told.h"
#include "analysis/job/world.h"

/* What is in flight is told every second: what was not for so long is over. (Who judges waits longer, for what is lost
 * on the way.) */
#define FRESH_NS 1300000000u
/* … unless nothing at all has come from its host since, which sends once a second: one batch is lost or late, and what
 * it said last is the latest that is known. From two on, nothing is. */
#define LOST_NS  2300000000u
/* What a host sends sooner after the flight belongs to the same second: it need not hold it again. */
#define SAME_NS  500000000u
/* How far each rank has come is told when it has called nothing for 1, 2, 4 … s: until then it is of an earlier
 * standstill. */
#define SETTLED_NS 3000000000u

/* Where a rank stands, or is missing, longest. */
struct standing {
	const struct world_comm *comm; /* NULL: nowhere */
	struct world_flight flight;
	uint64_t since_ns;
};

/* By world rank. */
struct whereabouts {
	struct standing waits, inside, missing;
};

static bool is_told(const struct world_rank *rank, uint8_t life)
{
	return rank->told && rank->life == life;
}

static const struct world_flight *flight_of(const struct job_view *view, const struct world_member *member)
{
	const struct world_flight *flight = job_place_flight(view->world, member, view->now_ns);

	if (!flight)
		return NULL;
	bool unheard = world_host(view->world, member->rank)->heard_ns < flight->heard_ns + SAME_NS;
	return view->now_ns < flight->heard_ns + (unheard ? LOST_NS : FRESH_NS) ? flight : NULL;
}

/* Is anybody still there? */
static bool find_place(const struct job_view *view, const struct world_comm *comm, struct job_place *place)
{
	if (!comm->standing || !job_place_find(view->world, comm, view->now_ns, place))
		return false;
	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_flight *flight = flight_of(view, &comm->members[i]);
		if (flight && job_place_is_same(flight, &place->flight))
			return true;
	}
	return false;
}

static bool is_settled(const struct job_view *view, const struct job_place *place)
{
	return view->now_ns >= place->since_ns + SETTLED_NS;
}

static void keep_longest(struct standing *standing, const struct world_comm *comm, const struct world_flight *flight,
			 uint64_t since_ns)
{
	if (!standing->comm || since_ns < standing->since_ns)
		*standing = (struct standing){ comm, *flight, since_ns };
}

static void look_at_member(const struct job_view *view, const struct job_place *place, bool short_of,
			   const struct world_member *member, struct whereabouts *where)
{
	const struct world_flight *flight = flight_of(view, member);

	if (flight && short_of && job_place_waits_in(view->world, member, view->now_ns))
		keep_longest(&where->waits, place->comm, flight, flight->since_ns);
	else if (flight)
		keep_longest(&where->inside, place->comm, flight, flight->since_ns);
	if (!place->parted && is_settled(view, place) &&
	    job_place_presence(view->world, place, member, view->now_ns) == JOB_PLACE_MISSING)
		keep_longest(&where->missing, place->comm, &place->flight, place->since_ns);
}

static void look_at_place(const struct job_view *view, const struct job_place *place, struct whereabouts *all)
{
	const struct world_comm *comm = place->comm;
	uint32_t present = 0;

	for (uint32_t i = 0; i < comm->member_count; i++)
		present += job_place_presence(view->world, place, &comm->members[i], view->now_ns) == JOB_PLACE_HERE;
	bool short_of = place->parted || present < comm->member_count || (int32_t)comm->member_count < comm->size;
	for (uint32_t i = 0; i < comm->member_count; i++)
		look_at_member(view, place, short_of, &comm->members[i], &all[comm->members[i].rank]);
}

/* NULL on lack of memory. */
static struct whereabouts *look_around(const struct job_view *view)
{
	const struct world *world = view->world;
	struct whereabouts *all = calloc(world->rank_room + 1, sizeof(*all));
	struct job_place place;

	for (uint32_t i = 0; all && i < world->comm_count; i++)
		if (find_place(view, world->comms[i], &place))
			look_at_place(view, &place, all);
	return all;
}

/* The order is that of enum analysis_doing. */
static enum analysis_doing doing_of(const struct job_view *view, const struct world_rank *rank,
				    const struct whereabouts *where, const struct standing **standing)
{
	bool dead = world_is_dead(rank);

	*standing = NULL;
	if (dead)
		return ANALYSIS_DOING_GONE;
	if (is_told(rank, RW_MESSAGE_STOPPED))
		return ANALYSIS_DOING_STOPPED;
	if (job_place_waits_in_init(rank, view->now_ns))
		return ANALYSIS_DOING_INIT;
	if (!rank->told || world_is_silent(&view->world->hosts[rank->host], view->now_ns))
		return ANALYSIS_DOING_UNKNOWN;
	*standing = where->waits.comm     ? &where->waits
		    : where->missing.comm ? &where->missing
		    : where->inside.comm  ? &where->inside
					  : NULL;
	if (where->waits.comm)
		return ANALYSIS_DOING_WAITS;
	if (where->missing.comm)
		return ANALYSIS_DOING_MISSING;
	return where->inside.comm ? ANALYSIS_DOING_INSIDE : ANALYSIS_DOING_WORKS;
}

static void set_standing(struct analysis_rank_view *row, const struct standing *standing)
{
	if (!standing)
		return;
	told_comm_name(row->comm_name, sizeof(row->comm_name), standing->comm);
	row->function = standing->flight.function & (uint8_t)~RW_MESSAGE_APART;
	row->sequence = standing->flight.sequence;
	row->since_ns = standing->since_ns;
}

static void set_time(struct analysis_rank_view *row, const struct course_rank *course)
{
	row->parts.own_ns = course->own_sum_us * 1000;
	row->parts.wait_ns = course->inside_sum_us * 1000;
	row->parts.unseen_ns = course->unseen_sum_us * 1000;
	row->lost_ns = course->lost_sum_us * 1000;
	row->operations = course->operation_sum;
	row->compared = course->compared;
}

static void set_why(struct analysis_rank_view *row, const struct job_view *view, const struct world_rank *rank)
{
	const struct world_reason *reason = rank->reason;

	if (rank->why_ns && view->now_ns < rank->why_ns + STAND_WHY_NS) {
		row->why = rank->why;
		row->seen_ns = rank->why_ns;
	}
	if (reason && reason->heard_ns && view->now_ns < reason->heard_ns + TOLD_REASON_NS)
		row->reason = reason->text;
}

static void visit_rank(const struct job_view *view, uint32_t number, const struct whereabouts *where,
		       analysis_rank_visit *visit, void *argument)
{
	const struct world_rank *rank = world_rank(view->world, number);
	const struct world_host *host = rank ? &view->world->hosts[rank->host] : NULL;
	struct analysis_rank_view row = {
		.rank = (int32_t)number, .host = host ? host->name : "", .exit_status = -1, .step = -1, .why = "", .reason = "",
		.thread = "", .system_call = "", .path = "", .by_messages = true, .doing = ANALYSIS_DOING_UNKNOWN,
	};
	const struct standing *standing;

	set_time(&row, course_rank(view->course, number));
	/* Else it was of an earlier start of the job. */
	if (rank) {
		row.pid = rank->pid;
		row.life = (enum analysis_life)(rank->told ? rank->life : RW_MESSAGE_ALIVE);
		row.exit_status = rank->exit_status;
		row.heard_ns = host->heard_ns;
		row.doing = doing_of(view, rank, where, &standing);
		set_standing(&row, standing);
		if (row.doing == ANALYSIS_DOING_INIT)
			row.since_ns = rank->birth->since_ns;
		set_why(&row, view, rank);
	}
	visit(argument, &row);
}

void job_view_ranks(const struct job_view *view, analysis_rank_visit *visit, void *argument)
{
	struct whereabouts *all = look_around(view), none = { 0 };

	for (uint32_t i = 0; i < view->course->count; i++) {
		uint32_t number = view->course->order[i];
		visit_rank(view, number, all && number < view->world->rank_room ? &all[number] : &none, visit, argument);
	}
	free(all);
}

/* How far it has come, function by function, where it has called nothing for a second; UINT64_MAX: not known. */
static uint64_t calls_of(const struct world_member *member)
{
	uint64_t calls = 0;

	if (!member->standing)
		return UINT64_MAX;
	for (uint32_t i = 0; i < WORLD_FUNCTIONS && member->standing->calls[i].function; i++)
		calls += member->standing->calls[i].next;
	return calls ? calls : UINT64_MAX;
}

static void visit_communicator(const struct job_view *view, const struct world_comm *comm,
			       analysis_communicator_visit *visit, void *argument)
{
	uint32_t count = comm->member_count;
	int32_t *ranks = calloc(count + 1, sizeof(*ranks));
	uint64_t *calls = calloc(count + 1, sizeof(*calls));
	bool *captured = calloc(count + 1, sizeof(*captured));
	struct job_place place;
	bool stands = find_place(view, comm, &place) && is_settled(view, &place);
	char name[96];

	for (uint32_t i = 0; ranks && calls && captured && i < count; i++) {
		ranks[i] = (int32_t)comm->members[i].rank;
		calls[i] = stands ? calls_of(&comm->members[i]) : UINT64_MAX;
	}
	if (ranks && calls && captured)
		visit(argument, &(struct analysis_communicator_view){ .id = comm->id,
								      .name = told_comm_name(name, sizeof(name), comm),
								      .size = comm->size,
								      .member_count = count,
								      .ranks = ranks,
								      .calls = calls,
								      .captured = captured });
	free(ranks);
	free(calls);
	free(captured);
}

static bool has_left(const struct world_comm *comm)
{
	for (uint32_t i = 0; i < comm->member_count; i++)
		if (!comm->members[i].left)
			return false;
	return true;
}

void job_view_communicators(const struct job_view *view, analysis_communicator_visit *visit, void *argument)
{
	for (uint32_t i = 0; i < view->world->comm_count; i++)
		if (!has_left(view->world->comms[i]))
			visit_communicator(view, view->world->comms[i], visit, argument);
}

/* Of those who are in the place's operation. */
static const char *phase_of(uint8_t phase)
{
	return phase == RW_PHASE_RUNNING ? "running" : phase == RW_PHASE_LAUNCHED ? "launched" : "enqueued";
}

static void visit_flight(const struct job_view *view, const struct job_place *place, analysis_flight_visit *visit,
			 void *argument)
{
	const struct world_comm *comm = place->comm;
	uint32_t count = comm->member_count, joined = 0, missing = 0;
	int32_t *ranks = calloc(2 * (size_t)count + 1, sizeof(*ranks));
	const char **phases = calloc(count + 1, sizeof(*phases));
	char name[96];

	for (uint32_t i = 0; ranks && phases && i < count; i++) {
		const struct world_member *member = &comm->members[i];
		const struct world_flight *flight = flight_of(view, member);
		bool same = flight && job_place_is_same(flight, &place->flight);

		if (same) {
			phases[joined] = phase_of(flight->phase);
			ranks[joined++] = (int32_t)member->rank;
		} else if (is_settled(view, place) &&
			   job_place_presence(view->world, place, member, view->now_ns) == JOB_PLACE_MISSING) {
			ranks[count + missing++] = (int32_t)member->rank;
		}
	}
	if (ranks && phases)
		visit(argument, &(struct analysis_flight){ .comm = comm->id,
							   .comm_name = told_comm_name(name, sizeof(name), comm),
							   .comm_size = comm->size,
							   .function = place->flight.function & (uint8_t)~RW_MESSAGE_APART,
							   .sequence = place->flight.sequence,
							   .dtype = place->flight.dtype,
							   .count = place->flight.count,
							   .joined = ranks,
							   .joined_phase = phases,
							   .joined_count = joined,
							   .missing = ranks + count,
							   .missing_count = missing,
							   .unseen = comm->size ? comm->size - (int32_t)(joined + missing) : -1 });
	free(ranks);
	free(phases);
}

void job_view_flights(const struct job_view *view, analysis_flight_visit *visit, void *argument)
{
	struct job_place place;

	for (uint32_t i = 0; i < view->world->comm_count; i++)
		if (find_place(view, view->world->comms[i], &place))
			visit_flight(view, &place, visit, argument);
}

void job_view_deadline(const struct job_view *view, struct analysis_deadline *deadline)
{
	const struct world *world = view->world;

	*deadline = (struct analysis_deadline){ .from = "as its host says" };
	for (uint32_t i = 0; i < world->rank_room; i++) {
		const struct world_rank *rank = world_rank(world, i);
		if (rank && rank->told && rank->watchdog_ms && (!deadline->timeout_ms || rank->watchdog_ms < deadline->timeout_ms))
			deadline->timeout_ms = rank->watchdog_ms;
	}
	for (uint32_t i = 0; i < world->comm_count; i++)
		for (uint32_t k = 0; world->comms[i]->standing && k < world->comms[i]->member_count; k++) {
			const struct world_flight *flight = flight_of(view, &world->comms[i]->members[k]);
			if (flight && (!deadline->since_ns || flight->since_ns < deadline->since_ns))
				deadline->since_ns = flight->since_ns;
		}
}

void job_view_summary(const struct job_view *view, struct analysis_summary *summary)
{
	*summary = (struct analysis_summary){ .ranks_total = view->world->world_size,
					      .processes = view->world->rank_count,
					      .communicators = view->world->comm_count,
					      .step_ms = -1,
					      .first_step_ms = -1 };
	for (uint32_t i = 0; i < view->course->count; i++)
		summary->operations += view->course->ranks[view->course->order[i]].operation_sum;
}

const struct cells *job_view_cells(const struct job_view *view)
{
	return &view->course->cells;
}
