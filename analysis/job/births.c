/* SPDX-License-Identifier: MIT */
#include "analysis/job/births.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/hang/gatherings.h"
#include "analysis/hang/init_circle.h"
#include "analysis/hang/init_finding.h"
#include "analysis/job/place.h"
#include "analysis/job/told.h"
#include "analysis/report/naming.h"
#include "analysis/report/text.h"

struct look {
	struct births *births;
	struct world *world;
	bool stands; /* a critical finding about operations is open */
	struct findings *findings;
	struct gatherings gatherings;
	uint64_t now_ns;
};

/* What is known of a missing rank. */
struct state {
	enum analysis_absence absence; /* UNKNOWN: no host tells anything of it */
	bool waits;                    /* elsewhere, so that it is not the one */
	bool other; /* likewise as far as is known: what its host has told answers a question about another split */
	bool passed;                   /* it has been through the split that the others are in: so all have come to that */
	uint64_t since_ns, seen_ns;    /* of the reader's clock: it was so from then to then */
	uint64_t word_ns;              /* when something was last heard of it in or out of an init; 0: never */
};

static bool is_fresh(uint64_t heard_ns, uint64_t now_ns)
{
	return heard_ns && now_ns < heard_ns + JOB_PLACE_FRESH_NS;
}

static bool is_shown_dead(const struct world_rank *rank, const struct world_birth *birth)
{
	return world_is_dead(rank) || (birth && birth->life >= RW_MESSAGE_EXITED);
}

static uint32_t collect(const struct look *look, struct comer *comers)
{
	const struct world *world = look->world;
	uint32_t count = 0;

	for (uint32_t i = 0; i < world->rank_room; i++) {
		const struct world_rank *rank = world_rank(world, i);
		if (!job_place_waits_in_init(rank, look->now_ns))
			continue;
		const struct world_birth *birth = rank->birth;
		comers[count++] = (struct comer){ .id = birth->id,
						  .since_ns = birth->since_ns,
						  .rank = birth->comm_rank,
						  .size = birth->size,
						  .world_rank = (int32_t)i,
						  .world_size = birth->world_size,
						  .index = i,
						  .split = birth->parent != 0 };
	}
	return count;
}

/* In an operation that its host reports. */
static bool is_in_flight(const struct look *look, const struct world_rank *rank)
{
	for (uint32_t i = 0; i < rank->membership_count; i++) {
		const struct world_comm *comm = world_joined(look->world, rank, i);
		if (job_place_flight(look->world, &comm->members[rank->memberships[i].member], look->now_ns))
			return true;
	}
	return false;
}

/* What the first of those who are in it says of it. */
static const struct world_birth *birth_of(const struct look *look, const struct gathering *gathering)
{
	return look->world->ranks[gathering->first].birth;
}

/* Whether it ended there. One that has been through a split may have ended as it should. */
static bool ended_in(const struct world_rank *rank, const struct gathering *gathering)
{
	return !gathering->split ||
	       (rank->birth && rank->birth->id == gathering->id && rank->birth->life >= RW_MESSAGE_EXITED);
}

/* Its host has lately told what it does out of inits. */
static void take_absence(const struct look *look, const struct gathering *gathering, const struct world_birth *told,
			 struct state *state)
{
	static const enum analysis_absence absences[] = {
		[RW_MESSAGE_ABSENT_STOPPED] = ANALYSIS_ABSENT_STOPPED,
		[RW_MESSAGE_ABSENT_IDLE] = ANALYSIS_ABSENT_IDLE,
		[RW_MESSAGE_ABSENT_BUSY] = ANALYSIS_ABSENT_BUSY,
		[RW_MESSAGE_ABSENT_PASSED] = ANALYSIS_ABSENT_UNKNOWN,
	};
	const struct world_birth *birth = birth_of(look, gathering);

	if (told->of != rw_message_split(birth->parent, birth->splits)) {
		state->other = true;
		return;
	}
	state->passed = told->absence == RW_MESSAGE_ABSENT_PASSED;
	state->absence = absences[told->absence];
	state->since_ns = told->absent_since_ns;
	state->seen_ns = told->absent_heard_ns;
}

static struct state state_of(const struct look *look, const struct gathering *gathering, int32_t number)
{
	const struct world_rank *rank = world_rank(look->world, (uint32_t)number);
	const struct world_birth *birth = job_place_init(rank, look->now_ns);
	struct state state = { .absence = ANALYSIS_ABSENT_UNKNOWN, .seen_ns = look->now_ns };

	if (!rank)
		return state;
	if (rank->birth)
		state.word_ns = rank->birth->heard_ns > rank->birth->absent_heard_ns ? rank->birth->heard_ns
										     : rank->birth->absent_heard_ns;
	bool heard = !world_is_silent(&look->world->hosts[rank->host], look->now_ns), told = rank->told && heard;
	if (is_shown_dead(rank, birth)) {
		state.waits = !ended_in(rank, gathering);
		state.absence = ANALYSIS_ABSENT_ENDED;
		state.since_ns = world_is_dead(rank) ? rank->life_ns : birth->since_ns;
	} else if (told && rank->life == RW_MESSAGE_STOPPED && !gathering->split) {
		state.absence = ANALYSIS_ABSENT_STOPPED;
		state.since_ns = rank->life_ns;
	} else if (birth || is_in_flight(look, rank)) {
		state.waits = true;
	} else if (rank->birth && is_fresh(rank->birth->absent_heard_ns, look->now_ns)) {
		take_absence(look, gathering, rank->birth, &state);
	}
	return state;
}

/* One host judges by itself what it sees whole. */
static bool spans_hosts(const struct look *look, const struct gathering *gathering)
{
	uint32_t host = look->world->ranks[gathering->present[0]].host;

	for (uint32_t i = 1; i < gathering->present_count; i++)
		if (look->world->ranks[gathering->present[i]].host != host)
			return true;
	for (uint32_t i = 0; i < gathering->missing_count; i++) {
		const struct world_rank *rank = world_rank(look->world, (uint32_t)gathering->missing[i]);
		if (rank ? rank->host != host : look->world->host_count > 1)
			return true;
	}
	return false;
}

/* Whom ranks wait for in operations is the affair of others, and what happens in inits may be its consequence. */
static void tell(struct look *look, struct record *record)
{
	struct open *open = &look->births->open;

	if (look->stands && !open_has(open, record->finding.kind, record->subject))
		record_free(record);
	else
		open_tell(open, look->findings, record, look->now_ns);
}

static void add_evidence(const struct look *look, struct record *record, const struct gathering *gathering)
{
	char what[64];

	snprintf(what, sizeof(what), "%u ranks wait there, by the messages of their hosts", gathering->present_count);
	record_add_evidence(record, "messages", record->finding.late.by_ms, what);
	told_set_watchdog(record, look->world->ranks[gathering->first].birth->watchdog_ms, look->now_ns - gathering->begun_ns);
}

/* How it ended, or what one of its threads waits for, as its host has seen it. */
static bool set_cause(struct record *record, const struct world_rank *rank, enum analysis_absence absence)
{
	const struct world_birth *birth = rank->birth;
	char end[96];

	if (absence == ANALYSIS_ABSENT_ENDED && rank->told && rank->exit_status >= 0) {
		told_set_cause(record, RW_CAUSE_GONE, RW_LEVEL_PROC, told_end(end, sizeof(end), rank));
		return true;
	}
	if (absence != ANALYSIS_ABSENT_IDLE || birth->level == RW_LEVEL_NONE)
		return false;
	told_set_cause(record, birth->class_, birth->level, birth->text);
	record_add_missing(
	    record,
	    "which of its threads has to call it: the one that enqueued before, or else its main thread, is assumed");
	return true;
}

static void tell_rank(struct look *look, const struct gathering *gathering, int32_t number, const struct state *state)
{
	uint32_t at = (uint32_t)number;
	const struct world_rank *rank = &look->world->ranks[at];
	struct record *record = told_new(look->world, init_finding_kind(state->absence), RW_SCOPE_RANK, &at, 1);

	if (!record || init_finding_begin(record, state->absence, gathering, look->now_ns)) {
		record_free(record);
		return;
	}
	record->subject = TOLD_INIT | at;
	record->finding.level = RW_LEVEL_PROC;
	if (record->finding.confidence == RW_CERTAIN)
		record->finding.confidence = RW_LIKELY; /* messages are of different moments */
	add_evidence(look, record, gathering);
	bool seen = set_cause(record, rank, state->absence);
	init_finding_end(record, state->absence, rank->pid, gathering, seen);
	tell(look, record);
}

/* Nobody is named: what keeps the others may be any of those of which nothing is known. */
static void tell_unknown(struct look *look, const struct gathering *gathering, const int32_t *unknown, uint32_t count)
{
	struct record *record = told_new(look->world, RW_KIND_HANG, RW_SCOPE_JOB, NULL, 0);

	if (!record || init_finding_begin(record, ANALYSIS_ABSENT_NONE, gathering, look->now_ns)) {
		record_free(record);
		return;
	}
	record->subject = TOLD_INIT | TOLD_INIT_UNKNOWN | gathering->first;
	record->finding.level = RW_LEVEL_NONE;
	add_evidence(look, record, gathering);
	text_init_unknown(record, unknown, count);
	tell(look, record);
}

/* When it was last heard that somebody is still in it: what is heard of the others may be older, as it is over. */
static uint64_t last_heard(const struct look *look, const struct gathering *gathering)
{
	uint64_t heard_ns = 0;

	for (uint32_t i = 0; i < gathering->present_count; i++) {
		const struct world_birth *birth = look->world->ranks[gathering->present[i]].birth;
		heard_ns = birth->heard_ns > heard_ns ? birth->heard_ns : heard_ns;
	}
	return heard_ns;
}

static bool is_due(const struct gathering *gathering, const struct state *state, uint64_t heard_ns)
{
	uint64_t since_ns = state->since_ns > gathering->since_ns ? state->since_ns : gathering->since_ns;
	uint64_t until_ns = state->seen_ns < heard_ns ? state->seen_ns : heard_ns;

	return until_ns >= since_ns && until_ns - since_ns >= init_finding_after_ns(state->absence);
}

/* A rank that is missing in several counts in the first of them. An idle one is named only where something is known of
 * all that are missing. */
static void judge(struct look *look, const struct gathering *gathering)
{
	int32_t unknown[BIRTHS_MISSING_MAX];
	struct state states[BIRTHS_MISSING_MAX];
	uint32_t unknown_count = 0;
	/* Of whom nothing was heard yet, something may come in the first seconds that a judge hears. */
	uint64_t heard_ns = last_heard(look, gathering), word_ns = look->world->begun_ns;

	if (gathering->early || gathering->missing_count > BIRTHS_MISSING_MAX || !spans_hosts(look, gathering))
		return;
	for (uint32_t i = 0; i < gathering->missing_count; i++) {
		states[i] = state_of(look, gathering, gathering->missing[i]);
		if (states[i].waits || states[i].absence == ANALYSIS_ABSENT_ENDED)
			continue;
		world_want_absence(look->world, (uint32_t)gathering->missing[i], birth_of(look, gathering), look->now_ns);
		if (states[i].passed)
			return;
		if (states[i].other)
			continue;
		if (states[i].absence != ANALYSIS_ABSENT_UNKNOWN)
			continue;
		unknown[unknown_count++] = gathering->missing[i];
		word_ns = states[i].word_ns > word_ns ? states[i].word_ns : word_ns;
	}
	for (uint32_t i = 0; i < gathering->missing_count; i++) {
		int32_t rank = gathering->missing[i];
		bool fact = states[i].absence == ANALYSIS_ABSENT_ENDED || states[i].absence == ANALYSIS_ABSENT_STOPPED;
		if (!states[i].waits && !states[i].other && (fact || !unknown_count) &&
		    is_due(gathering, &states[i], heard_ns) &&
		    gatherings_without(&look->gatherings, rank) == gathering &&
		    !world_is_explained(look->world, look->world->ranks[rank].host))
			tell_rank(look, gathering, rank, &states[i]);
	}
	if (unknown_count && heard_ns >= gathering->since_ns + INIT_UNSEEN_NS && heard_ns >= word_ns + BIRTHS_QUIET_NS)
		tell_unknown(look, gathering, unknown, unknown_count);
}

static void tell_circle(struct look *look)
{
	struct init_circle circle;
	bool spans = false, due = init_circle_find(&look->gatherings, &circle);

	for (uint32_t i = 0; due && i < circle.count; i++) {
		spans |= spans_hosts(look, circle.links[i].gathering);
		due = look->world->ranks[circle.links[i].rank].birth->heard_ns >= circle.since_ns + INIT_AFTER_NS;
	}
	struct record *record = due && spans ? told_new(look->world, RW_KIND_HANG, RW_SCOPE_JOB, NULL, 0) : NULL;
	if (!record || init_finding_write_circle(record, &circle, look->now_ns)) {
		record_free(record);
		return;
	}
	record->subject = TOLD_INIT_CIRCLE;
	add_evidence(look, record, circle.links[0].gathering);
	tell(look, record);
}

void births_tick(struct births *births, struct world *world, const struct stand *stand, struct findings *findings,
		 uint64_t now_ns)
{
	struct look look = { .births = births,
			     .world = world,
			     .findings = findings,
			     .now_ns = now_ns,
			     .stands = open_has_critical(&stand->open) };

	if (now_ns < births->looked_ns + BIRTHS_LOOK_NS || (!world->birth_count && !births->open.count))
		return;
	births->looked_ns = now_ns;
	struct comer *comers = malloc((world->birth_count + 1) * sizeof(*comers));
	if (comers && !gatherings_find(&look.gatherings, comers, collect(&look, comers))) {
		for (uint32_t i = 0; i < look.gatherings.count; i++)
			judge(&look, &look.gatherings.items[i]);
		tell_circle(&look);
		gatherings_free(&look.gatherings);
	}
	free(comers);
	open_close_over(&births->open, findings, now_ns);
}
