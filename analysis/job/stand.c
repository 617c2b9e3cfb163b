/* SPDX-License-Identifier: MIT */
#include "analysis/job/stand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/known/call_order.h"
#include "analysis/known/ending.h"
#include "analysis/job/circles.h"
#include "analysis/job/ends.h"
#include "analysis/job/order.h"
#include "analysis/job/silence.h"
#include "analysis/job/told.h"
#include "analysis/report/naming.h"
#include "analysis/numbers/sorting.h"
#include "analysis/report/text.h"

/* Whom others wait for, and the place where they have waited longest. */
struct root {
	uint32_t rank;
	const struct job_place *place;
};

struct look {
	struct stand *stand;
	struct world *world;
	struct findings *findings;
	uint64_t now_ns;
	struct job_place *places;
	uint32_t place_count;
	struct root *roots;
	uint32_t root_count;
	struct ends_first first; /* of those that have ended */
	uint32_t *ranks; /* room for those of one finding */
	bool *stands;    /* by world rank */
	bool *listed;    /* … is a root */
};

static bool is_silent(const struct world *world, uint32_t rank, uint64_t now_ns)
{
	return world_is_silent(world_host(world, rank), now_ns);
}

static void find_places(struct look *look)
{
	struct world *world = look->world;

	for (uint32_t i = 0; i < world->comm_count; i++) {
		struct world_comm *comm = world->comms[i];
		struct job_place *place = &look->places[look->place_count];
		if (!comm->standing || !job_place_find(world, comm, look->now_ns, place))
			continue;
		look->place_count += !comm->mixed; /* who waits there does so for somebody, and who that is is not known */
		for (uint32_t k = 0; k < comm->member_count; k++)
			look->stands[comm->members[k].rank] |= job_place_waits_in(world, &comm->members[k], look->now_ns) != NULL;
	}
	/* Who waits in the init of another communicator comes nowhere else, and for the sake of others:
	 * analysis/job/births.h. */
	for (uint32_t i = 0; world->birth_count && i < world->rank_room; i++)
		look->stands[i] |= job_place_waits_in_init(world_rank(world, i), look->now_ns);
}

/* Where more are missing than wait, nobody is judged (tell_hang()): such a place counts only where there is no
 * other. */
static bool is_better(const struct job_place *place, const struct job_place *than)
{
	bool judged = place->missing <= place->waiters;

	return judged != (than->missing <= than->waiters) ? judged : place->since_ns < than->since_ns;
}

static void add_root(struct look *look, uint32_t rank, const struct job_place *place)
{
	if (!look->listed[rank]) {
		look->listed[rank] = true;
		look->roots[look->root_count++] = (struct root){ .rank = rank, .place = place };
		return;
	}
	for (uint32_t i = 0; i < look->root_count; i++)
		if (look->roots[i].rank == rank && is_better(place, look->roots[i].place))
			look->roots[i].place = place;
}

static void count_missing(struct look *look, struct job_place *place)
{
	for (uint32_t i = 0; i < place->comm->member_count; i++) {
		enum job_place_presence presence = job_place_presence(look->world, place, &place->comm->members[i], look->now_ns);
		place->unknown += presence == JOB_PLACE_UNKNOWN;
		place->missing += presence == JOB_PLACE_MISSING;
	}
}

/* Who is missing and stands nowhere itself. */
static void find_roots(struct look *look)
{
	for (uint32_t i = 0; i < look->place_count; i++) {
		struct job_place *place = &look->places[i];
		if (place->parted)
			continue;
		count_missing(look, place);
		for (uint32_t k = 0; k < place->comm->member_count; k++) {
			const struct world_member *member = &place->comm->members[k];
			if (!look->stands[member->rank] && job_place_presence(look->world, place, member, look->now_ns) == JOB_PLACE_MISSING)
				add_root(look, member->rank, place);
		}
	}
}

static uint64_t waited_ns(const struct look *look, const struct job_place *place)
{
	return look->now_ns > place->since_ns ? look->now_ns - place->since_ns : 0;
}

/* Since a critical one was told, others that end or stand are its consequence. */
static bool is_consequence(const struct stand *stand, enum rw_kind kind, uint32_t subject)
{
	return !open_has(&stand->open, kind, subject) && open_has_critical(&stand->open);
}

static void tell(struct look *look, struct record *record)
{
	if (record->finding.severity == RW_CRITICAL)
		look->stand->critical_ns = look->now_ns;
	open_tell(&look->stand->open, look->findings, record, look->now_ns);
}

/* Those who stand there. */
static int set_waiting(struct look *look, struct record *record, const struct job_place *place)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < place->comm->member_count; i++) {
		const struct world_member *member = &place->comm->members[i];
		const struct world_flight *flight = job_place_waits_in(look->world, member, look->now_ns);
		if (flight && job_place_is_same_call(flight, &place->flight))
			look->ranks[count++] = member->rank;
	}
	return told_set_waiting(record, look->ranks, count);
}

/* The shortest of those who wait there; where none of theirs is known, that of the one they wait for. */
static uint32_t watchdog_ms(const struct look *look, const struct rw_finding *finding, uint32_t awaited)
{
	uint32_t shortest_ms = 0;

	for (size_t i = 0; i < finding->late.waiting_count; i++) {
		uint32_t ms = look->world->ranks[finding->late.waiting[i]].watchdog_ms;
		if (ms && (!shortest_ms || ms < shortest_ms))
			shortest_ms = ms;
	}
	return shortest_ms ? shortest_ms : look->world->ranks[awaited].watchdog_ms;
}

static struct record *make(struct look *look, enum rw_kind kind, enum rw_scope scope, const uint32_t *ranks,
			   uint32_t count, const struct job_place *place)
{
	struct record *record = told_new(look->world, kind, scope, ranks, count);
	char what[224];

	if (!record || set_waiting(look, record, place)) {
		record_free(record);
		return NULL;
	}
	const struct world_flight *flight = &place->flight;
	told_set_operation(record, place->comm, flight->function, flight->sequence, RW_PHASE_NONE);
	record->finding.operation.dtype = flight->dtype;
	record->finding.operation.count = flight->count;
	record->finding.operation.peer_or_root = flight->peer_or_root;
	record->finding.first_seen_ns = place->since_ns;
	record->finding.detect_ms = (double)waited_ns(look, place) / 1e6;
	record->finding.late.present = true;
	record->finding.late.by_ms = (double)waited_ns(look, place) / 1e6;
	record->finding.arrival = place->by_gpu ? RW_ARRIVAL_GPU : RW_ARRIVAL_HOST;
	snprintf(what, sizeof(what), "%u ranks wait there, by the messages of their hosts", place->waiters);
	record_add_evidence(record, "messages", (double)waited_ns(look, place) / 1e6, what);
	if (count)
		told_set_watchdog(record, watchdog_ms(look, &record->finding, ranks[0]), waited_ns(look, place));
	return record;
}

static void tell_gone(struct look *look, const struct root *root)
{
	const struct world_rank *rank = &look->world->ranks[root->rank];
	bool stopped = rank->life == RW_MESSAGE_STOPPED;
	char end[96];

	if (waited_ns(look, root->place) < STAND_GONE_NS || look->now_ns < rank->life_ns + STAND_GONE_NS)
		return;
	struct record *record = make(look, RW_KIND_GONE, RW_SCOPE_RANK, &root->rank, 1, root->place);
	if (!record)
		return;
	record->subject = root->rank;
	record->finding.severity = RW_CRITICAL;
	record->finding.confidence = stopped ? RW_CERTAIN : look->first.confidence;
	if (!stopped && look->first.confidence == RW_INCONCLUSIVE)
		record_add_missing(record, "which rank was the first to end: several ended within a second of each other, "
					   "or a host is not heard");
	else if (!stopped && look->first.confidence == RW_LIKELY)
		record_add_missing(record, "whether it was the first to end: several ended within a second of each other, "
					   "and it alone was killed");
	told_set_cause(record, stopped ? RW_CAUSE_STOPPED : RW_CAUSE_GONE, RW_LEVEL_PROC,
		       stopped ? "stopped by a signal, a debugger or the freezer" : told_end(end, sizeof(end), rank));
	text_gone(record);
	tell(look, record);
}

/* After three rows of this length, as far as that is known. */
static uint64_t after_rows_ns(uint32_t period_ms)
{
	uint64_t rows_ns = 3 * (uint64_t)period_ms * 1000000;

	if (!rows_ns)
		return STAND_UNKNOWN_NS;
	if (rows_ns > STAND_AFTER_MAX_NS)
		return STAND_AFTER_MAX_NS;
	return rows_ns > STAND_AFTER_NS ? rows_ns : STAND_AFTER_NS;
}

static uint64_t after_ns(const struct world_comm *comm)
{
	return after_rows_ns(comm->period_ms);
}

static uint64_t limit_of(const struct rw_finding *finding)
{
	double watchdog_ns = finding->watchdog.present ? finding->watchdog.timeout_ms * 1e6 : 0;
	uint64_t share_ns = (uint64_t)(STAND_LIMIT_SHARE * watchdog_ns), most_ns = (uint64_t)(STAND_LIMIT_MOST * watchdog_ns);
	uint64_t limit_ns = share_ns > STAND_LIMIT_NS ? share_ns : STAND_LIMIT_NS;

	return most_ns && limit_ns > most_ns ? most_ns : limit_ns;
}

static void tell_hang(struct look *look, const struct root *root)
{
	struct world_rank *rank = &look->world->ranks[root->rank];
	const struct job_place *place = root->place;
	bool known = rank->why_ns && look->now_ns < rank->why_ns + STAND_WHY_NS;
	uint8_t progress = known ? rank->progress : RW_MESSAGE_PROGRESS_UNKNOWN;
	uint64_t waited = waited_ns(look, place), after = after_ns(place->comm);

	rank->wanted_ns = look->now_ns;
	rank->wanted_of_host = false;

	if (progress != RW_MESSAGE_STANDS && after < STAND_UNKNOWN_NS)
		after = STAND_UNKNOWN_NS;
	if (waited < after || place->missing > place->waiters)
		return;
	struct record *record = make(look, RW_KIND_HANG, RW_SCOPE_RANK, &root->rank, 1, place);
	if (!record)
		return;
	const struct world_member *member = world_member(look->world, place->comm, root->rank);
	const struct world_flight *flight = member ? job_place_flight(look->world, member, look->now_ns) : NULL;
	record->subject = root->rank;
	record->finding.severity =
	    progress == RW_MESSAGE_STANDS || waited >= limit_of(&record->finding) ? RW_CRITICAL : RW_NOTICE;
	record->finding.confidence = RW_LIKELY;
	if (flight && job_place_is_same(flight, &place->flight))
		record->finding.operation.phase = flight->phase;
	const struct world_reason *reason = told_set_reason(record, rank, look->now_ns);
	if (known && (!reason || reason->class_ == RW_CAUSE_UNKNOWN))
		told_set_cause(record, rank->class_, rank->level, rank->why);
	else if (!reason)
		told_set_cause(record, RW_CAUSE_UNKNOWN, RW_LEVEL_NONE, "");
	if (progress == RW_MESSAGE_PROGRESS_UNKNOWN)
		record_add_missing(record, "what its threads do: its host has not reported it");
	else
		record_add_missing(record, "what it does between two messages: a host reports the latest call of each "
					   "rank, and not every call");
	text_hang(record);
	tell(look, record);
}

/* About all that is missing of one host that sends nothing any more: which of its ranks it is nobody knows. */
static struct record *make_lost(struct look *look, enum rw_kind kind, uint32_t at)
{
	const struct root *first = &look->roots[at];
	uint32_t host = look->world->ranks[first->rank].host, count = 0;
	uint32_t *ranks = calloc(look->root_count, sizeof(*ranks));

	for (uint32_t i = at; ranks && i < look->root_count; i++)
		if (look->world->ranks[look->roots[i].rank].host == host)
			ranks[count++] = look->roots[i].rank;
	struct record *record = ranks ? make(look, kind, RW_SCOPE_HOST, ranks, count, first->place) : NULL;
	free(ranks);
	if (!record)
		return NULL;
	record->subject = TOLD_HOST | host;
	record->finding.severity = RW_CRITICAL;
	record->finding.confidence = RW_LIKELY;
	record_add_evidence(record, "messages", (double)(look->now_ns - look->world->hosts[host].heard_ns) / 1e6,
			    "the host sends nothing");
	return record;
}

static void write_lost(const struct look *look, struct record *record, const char *before,
		       const struct job_place *place)
{
	const struct world_host *lost = &look->world->hosts[record->subject & ~TOLD_HOST];
	const struct rw_finding *finding = &record->finding;
	char ranks[128], operation[128], waiting[128];

	told_comm_name(operation, sizeof(operation), place->comm);
	snprintf(record->text, sizeof(record->text),
		 "host %s (%s) has sent nothing for %.0f s%s: %s %s for it in %s #%llu on %s", lost->name,
		 naming_ranks(ranks, sizeof(ranks), finding->ranks, finding->rank_count),
		 (double)(look->now_ns - lost->heard_ns) / 1e9, before,
		 naming_ranks(waiting, sizeof(waiting), finding->late.waiting, finding->late.waiting_count),
		 finding->late.waiting_count == 1 ? "waits" : "wait", naming_function(finding->operation.function),
		 (unsigned long long)finding->operation.sequence, operation);
}

/* For so long others may wait for the host's ranks while all is well: by the longest rows of all communicators of the
 * missing one. */
static uint64_t after_of_rank_ns(const struct world *world, const struct world_rank *rank)
{
	uint32_t longest_ms = 0;

	for (uint32_t i = 0; i < rank->membership_count; i++) {
		uint32_t period_ms = world_joined(world, rank, i)->period_ms;
		longest_ms = period_ms > longest_ms ? period_ms : longest_ms;
	}
	return after_rows_ns(longest_ms);
}

static void tell_lost(struct look *look, uint32_t at)
{
	const struct job_place *place = look->roots[at].place;
	bool due = waited_ns(look, place) >= after_of_rank_ns(look->world, &look->world->ranks[look->roots[at].rank]);
	struct record *record = due ? make_lost(look, RW_KIND_GONE, at) : NULL;

	if (!record)
		return;
	told_set_cause(record, RW_CAUSE_UNKNOWN, RW_LEVEL_NONE, "not known: the host or its collector is lost");
	record_add_missing(
	    record,
	    "whether the host is down, or only its collector, and a rank there stands still: check the host itself");
	write_lost(look, record, "", place);
	tell(look, record);
}

/* Its ranks have gone on without a word of it before: that it sends nothing is no reason for the others to wait. */
static void tell_unheard(struct look *look, uint32_t at)
{
	const struct job_place *place = look->roots[at].place;
	uint32_t host = look->world->ranks[look->roots[at].rank].host;

	for (uint32_t i = 0; i < look->root_count; i++)
		if (!is_silent(look->world, look->roots[i].rank, look->now_ns))
			return; /* it may be this one */
	if (waited_ns(look, place) < STAND_UNKNOWN_NS || place->missing > place->waiters ||
	    is_consequence(look->stand, RW_KIND_HANG, TOLD_HOST | host))
		return;
	struct record *record = make_lost(look, RW_KIND_HANG, at);
	if (!record)
		return;
	if (waited_ns(look, place) < limit_of(&record->finding))
		record->finding.severity = RW_NOTICE;
	if (place->unknown || place->missing > record->finding.rank_count)
		record->finding.confidence = RW_INCONCLUSIVE;
	told_set_cause(record, RW_CAUSE_UNKNOWN, RW_LEVEL_NONE, "not known: its collector is lost");
	record_add_missing(record, "what the ranks of this host do: no collector there reports it");
	bool went_on = silence_went_on(look->world, host);
	write_lost(look, record,
		   went_on ? ", and its ranks have gone on without a collector" : ", as before it was heard again",
		   place);
	tell(look, record);
}

static int by_rank(const void *left, const void *right)
{
	const struct root *a = left, *b = right;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

/* What another part has found, or this one before, is what ended the job. */
static bool is_explained(const struct look *look, uint32_t rank)
{
	if (open_has(&look->stand->open, RW_KIND_GONE, rank))
		return false;
	bool explained = look->stand->critical_ns > look->world->begun_ns;

	for (uint32_t i = 0; i < look->findings->count; i++) {
		const struct record *record = look->findings->records[i];
		explained |= record->open && record->finding.severity == RW_CRITICAL;
	}
	for (uint32_t i = 0; i < look->world->rank_room; i++)
		explained |= world_is_named(&look->world->ranks[i]);
	return explained;
}

static uint32_t list_others(struct look *look, uint32_t rank)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < look->world->rank_room; i++)
		if (i != rank && world_is_dead(&look->world->ranks[i]))
			look->ranks[count++] = i;
	return count;
}

/* All have ended, and nobody waits any more. */
static void tell_ended(struct look *look)
{
	uint32_t first = look->first.rank;
	bool missed = look->first.missed;
	char end[96];

	if (first == WORLD_NONE || (look->first.confidence == RW_INCONCLUSIVE && !missed) || !ends_all(look->world) ||
	    is_explained(look, first))
		return;
	const struct world_rank *rank = &look->world->ranks[first];
	bool by_time = look->first.before_ns, asked = ending_of_status(rank->exit_status) == ENDING_ASKED;
	if (asked || (look->first.confidence == RW_CERTAIN && !by_time))
		return;
	struct record *record = told_new(look->world, RW_KIND_GONE, RW_SCOPE_RANK, &first, 1);
	if (!record || told_set_waiting(record, look->ranks, list_others(look, first))) {
		record_free(record);
		return;
	}
	record->subject = first;
	record->finding.severity = missed ? RW_WARNING : RW_CRITICAL;
	record->finding.confidence = missed ? RW_INCONCLUSIVE : RW_LIKELY;
	record->finding.arrival = RW_ARRIVAL_NONE;
	record->finding.first_seen_ns = rank->life_ns;
	record->finding.detect_ms = (double)(look->now_ns - rank->life_ns) / 1e6;
	record_add_missing(record, by_time  ? "whether it ended the others: all have ended, and only the order shows it"
				   : missed ? "whether it was the first to end: others waited for it, and the times of the ends do "
					      "not tell"
					    : "whether it was the first to end: all have ended within a second of each other, "
					      "and it alone was killed");
	told_set_cause(record, RW_CAUSE_GONE, RW_LEVEL_PROC, told_end(end, sizeof(end), rank));
	text_ended_first(record, by_time ? (double)look->first.before_ns / 1e6 : -1);
	tell(look, record);
}

static bool has_dead_root(const struct look *look)
{
	bool dead = false;

	for (uint32_t i = 0; i < look->root_count; i++)
		dead |= world_is_dead(&look->world->ranks[look->roots[i].rank]);
	return dead;
}

static void tell_root(struct look *look, uint32_t at, bool any_dead)
{
	const struct root *root = &look->roots[at];
	const struct world_rank *rank = &look->world->ranks[root->rank];
	bool dead = world_is_dead(rank), stopped = rank->told && rank->life == RW_MESSAGE_STOPPED;
	bool silent = is_silent(look->world, root->rank, look->now_ns);

	if (world_is_explained(look->world, rank->host))
		return;
	if (silent && !dead) {
		bool first = true;
		for (uint32_t i = 0; i < at; i++)
			first &= look->world->ranks[look->roots[i].rank].host != rank->host;
		if (first && look->world->hosts[rank->host].refuted)
			tell_unheard(look, at);
		else if (first && !is_consequence(look->stand, RW_KIND_GONE, TOLD_HOST | rank->host))
			tell_lost(look, at);
		return;
	}
	/* Those that ended after the first have ended for that. */
	if (dead && root->rank != look->first.rank)
		return;
	if (is_consequence(look->stand, dead || stopped ? RW_KIND_GONE : RW_KIND_HANG, root->rank))
		return;
	if (dead || stopped)
		tell_gone(look, root);
	else if (!any_dead)
		tell_hang(look, root);
}

/* All ranks have come to the oldest operation, and it does not end: nobody is named. */
static void tell_standstill(struct look *look)
{
	const struct job_place *oldest = NULL;

	for (uint32_t i = 0; i < look->place_count; i++) {
		const struct job_place *place = &look->places[i];
		bool whole = !place->missing && !place->unknown && place->comm->size &&
			     place->waiters == (uint32_t)place->comm->size && !job_place_is_transfer(&place->flight);
		if (whole && !place->parted && place->by_gpu && (!oldest || place->since_ns < oldest->since_ns))
			oldest = place;
	}
	if (!oldest || look->root_count || waited_ns(look, oldest) < STAND_UNKNOWN_NS)
		return;
	for (uint32_t i = 0; i < oldest->comm->member_count; i++)
		if (world_is_named(&look->world->ranks[oldest->comm->members[i].rank]))
			return;
	struct record *record = make(look, RW_KIND_HANG, RW_SCOPE_JOB, NULL, 0, oldest);
	if (!record)
		return;
	record->subject = TOLD_COMM | oldest->comm->index;
	record->finding.standing = RW_STANDING_TOGETHER;
	record->finding.severity = RW_WARNING;
	record->finding.confidence = RW_INCONCLUSIVE;
	record->finding.operation.phase = RW_PHASE_RUNNING;
	told_set_cause(record, RW_CAUSE_UNKNOWN, RW_LEVEL_NONE, "");
	record_add_missing(record, "which link, rank or GPU it is: NCCL's progress does not show that");
	text_standstill(record);
	tell(look, record);
}

static bool is_this_call(const struct call *call, const struct call *other)
{
	return call_is_same(call, other) && call->sequence == other->sequence;
}

/* How many stand in this very call. */
static uint32_t count_calls(const struct look *look, const struct world_comm *comm, const struct call *call)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_flight *flight = job_place_waits_in(look->world, &comm->members[i], look->now_ns);
		if (!flight || job_place_is_transfer(flight))
			continue;
		struct call other = job_place_call(flight);
		count += is_this_call(call, &other);
	}
	return count;
}

/* A call that was told at an age of a second may be over since, and the next members stand in a later one: before all
 * of them were told to have waited long, nobody has parted from the others. */
static bool all_last(const struct look *look, const struct world_comm *comm)
{
	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_flight *flight = job_place_waits_in(look->world, &comm->members[i], look->now_ns);
		if (flight && !job_place_is_transfer(flight) && flight->heard_ns < flight->since_ns + STAND_GONE_NS)
			return false;
	}
	return true;
}

/* Members that wait in different calls, and never meet. */
struct parted {
	struct call usual, odd; /* what most of them wait in, and the last of the others */
	struct job_place at;    /* of the usual call */
	uint32_t one;           /* a rank that waits in it */
	uint32_t *ranks, count; /* who is reported: the others, or all where no call has a majority. Room for all members */
	bool majority;          /* more than half of all ranks wait in the usual call */
	bool alike;             /* all others wait in one */
	bool adopted;           /* the host of one of them has found it */
};

/* The collective in which it waits; NULL: in none. */
static const struct world_flight *waits_in_collective(const struct look *look, const struct world_member *member)
{
	const struct world_flight *flight = job_place_waits_in(look->world, member, look->now_ns);

	return flight && !job_place_is_transfer(flight) ? flight : NULL;
}

static void find_usual(const struct look *look, const struct world_comm *comm, struct parted *parted)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_flight *flight = waits_in_collective(look, &comm->members[i]);
		struct call call = flight ? job_place_call(flight) : (struct call){ 0 };
		uint32_t count = flight ? count_calls(look, comm, &call) : 0;
		if (count <= most)
			continue;
		most = count;
		parted->usual = call;
		parted->at.flight = *flight;
		parted->one = comm->members[i].rank;
	}
	parted->majority = comm->size && most * 2 > (uint32_t)comm->size;
}

static void find_others(const struct look *look, const struct world_comm *comm, struct parted *parted)
{
	parted->alike = true;
	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_flight *flight = waits_in_collective(look, &comm->members[i]);
		if (!flight)
			continue;
		struct call call = job_place_call(flight);
		bool same = is_this_call(&parted->usual, &call);
		parted->alike &= same || !parted->odd.known || is_this_call(&parted->odd, &call);
		parted->odd = same ? parted->odd : call;
		parted->adopted |= look->world->ranks[comm->members[i].rank].found & (1u << RW_KIND_DESYNC);
		if (!parted->majority || !same)
			parted->ranks[parted->count++] = comm->members[i].rank;
	}
	sort_u32(parted->ranks, parted->count);
}

/* They parted at some call before those in which they wait, and what they did there is what helps. */
static bool is_searched(const struct parted *parted)
{
	return parted->majority && parted->alike && parted->count;
}

static void tell_parted(struct look *look, const struct parted *parted)
{
	const struct world_comm *comm = parted->at.comm;
	struct record *record = make(look, RW_KIND_DESYNC, RW_SCOPE_RANK, parted->ranks, parted->count, &parted->at);

	if (!record)
		return;
	record->subject = TOLD_COMM | comm->index;
	record->finding.severity = RW_CRITICAL;
	record->finding.confidence = parted->majority ? RW_LIKELY : RW_INCONCLUSIVE;
	told_set_cause(record, RW_CAUSE_UNKNOWN, RW_LEVEL_NONE, "");
	if (!is_searched(parted) || !order_set_call(record, comm, parted->ranks, parted->count)) {
		record_add_missing(record, "whether their calls differed before that: hosts report the latest call of each rank, "
					   "and not every call");
		text_desync(record, &parted->odd, &parted->usual);
	}
	tell(look, record);
}

/* Who makes another call than more than half of all ranks has parted from them. */
static void tell_desync(struct look *look, const struct job_place *place)
{
	struct world_comm *comm = look->world->comms[place->comm->index];
	struct parted parted = { .at = *place, .ranks = calloc(comm->member_count + 1, sizeof(*parted.ranks)) };

	if (!parted.ranks)
		return;
	find_usual(look, comm, &parted);
	find_others(look, comm, &parted);
	/* What the order of calls has told already: analysis/job/order.h. */
	bool told = comm->parting_told && !open_has(&look->stand->open, RW_KIND_DESYNC, TOLD_COMM | comm->index);
	bool differ = parted.odd.known && !parted.adopted && !told, searched = differ && is_searched(&parted);
	if (searched)
		order_search(look->world, comm, parted.one, parted.ranks[0], look->now_ns);
	bool due = !searched || !order_is_searching(comm) || waited_ns(look, place) >= STAND_SEARCH_NS;
	if (differ && due && all_last(look, comm))
		tell_parted(look, &parted);
	free(parted.ranks);
}

static bool is_parted(const struct look *look, const struct world_comm *comm)
{
	for (uint32_t i = 0; i < look->place_count; i++)
		if (look->places[i].comm == comm && look->places[i].parted)
			return true;
	return false;
}

/* Of members that have gone on. */
static void end_searches(struct look *look)
{
	for (uint32_t i = 0; i < look->world->comm_count; i++) {
		struct world_comm *comm = look->world->comms[i];
		if (comm->search && !comm->parted_ns && !is_parted(look, comm))
			order_end_search(comm);
	}
}

static void tell_blind(struct look *look, uint32_t host)
{
	const struct world_host *silent = &look->world->hosts[host];
	uint32_t count = 0;

	if (silent->ended || world_is_awaited(silent, look->now_ns) ||
	    look->now_ns < world_silent_since(silent) + STAND_BLIND_NS || !silent->ranks ||
	    !silence_went_on(look->world, host))
		return;
	for (uint32_t i = 0; i < look->world->rank_room; i++)
		if (look->world->ranks[i].host == host)
			look->ranks[count++] = i;
	struct record *record = told_new(look->world, RW_KIND_BLIND, RW_SCOPE_HOST, look->ranks, count);
	if (!record)
		return;
	record->subject = TOLD_HOST | host;
	record->finding.severity = RW_NOTICE;
	record->finding.confidence = RW_CERTAIN;
	record->finding.first_seen_ns = silent->heard_ns;
	told_set_cause(record, RW_CAUSE_UNKNOWN, RW_LEVEL_NONE, "not known: its collector has ended, or is cut off");
	snprintf(record->text, sizeof(record->text),
		 "host %s sends nothing any more, but its ranks went on: its collector is lost", silent->name);
	tell(look, record);
}

/* Nobody is a root, because each waits for another: nobody is named. */
static bool tell_circle(struct look *look)
{
	struct circles_found circle;

	if (look->root_count || !look->place_count || !circles_find(look->world, look->stands, look->now_ns, &circle) ||
	    look->now_ns < circle.since_ns + STAND_UNKNOWN_NS)
		return false;
	for (uint32_t i = 0; i < circle.count; i++)
		if (world_is_explained(look->world, look->world->ranks[circle.links[i].rank].host))
			return false;
	struct record *record = circles_record(look->world, &circle, look->now_ns);
	if (record)
		tell(look, record);
	return record;
}

static void judge(struct look *look)
{
	silence_refute(look->world, &look->stand->open, look->findings, look->now_ns);
	find_places(look);
	find_roots(look);
	qsort(look->roots, look->root_count, sizeof(*look->roots), by_rank);
	look->first = ends_find_first(look->world, look->listed, look->now_ns);
	bool any_dead = has_dead_root(look);
	for (uint32_t i = 0; i < look->root_count; i++)
		tell_root(look, i, any_dead);
	tell_ended(look);
	for (uint32_t i = 0; i < look->place_count; i++)
		if (look->places[i].parted)
			tell_desync(look, &look->places[i]);
	end_searches(look);
	if (!tell_circle(look))
		tell_standstill(look);
	for (uint32_t i = 0; i < look->world->host_count; i++)
		tell_blind(look, i);
}

void stand_tick(struct stand *stand, struct world *world, struct findings *findings, uint64_t now_ns)
{
	struct look look = { .stand = stand, .world = world, .findings = findings, .now_ns = now_ns };

	if (now_ns < stand->looked_ns + STAND_LOOK_NS)
		return;
	stand->looked_ns = now_ns;
	look.places = calloc(world->comm_count + 1, sizeof(*look.places));
	look.roots = calloc(world->rank_room + 1, sizeof(*look.roots));
	look.ranks = calloc(world->rank_room + 1, sizeof(*look.ranks));
	look.stands = calloc(world->rank_room + 1, sizeof(*look.stands));
	look.listed = calloc(world->rank_room + 1, sizeof(*look.listed));
	if (look.places && look.roots && look.ranks && look.stands && look.listed)
		judge(&look);
	free(look.places);
	free(look.roots);
	free(look.ranks);
	free(look.stands);
	free(look.listed);
	open_close_over(&stand->open, findings, now_ns);
}
