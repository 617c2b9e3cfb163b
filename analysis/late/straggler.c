/* SPDX-License-Identifier: MIT */
#include "analysis/late/straggler.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/numbers/alike.h"
#include "analysis/late/excursion.h"
#include "analysis/measure/lateness.h"
#include "analysis/model.h"
#include "analysis/late/peers.h"
#include "analysis/numbers/sorting.h"

enum {
	STEPS_LATER = 2,
	STEPS_BEHIND = 4, /* steps of another process begin, and none of the clock's in the time of as many: then the
			   * other one becomes the clock */
	NOTED_WITHIN = STRAGGLER_STEPS - 16, /* an older step is not counted any more: the 12 before it, over which
					      * ranks are looked at, are not all kept */
	UNKNOWN_SHARE_FORGETS = 8, /* this part of it with each step */
	MINOR = 8, /* a lateness below 1/8 of what the step lost so far says nothing about the cause */
};

static bool grow_to(void **array, uint32_t *count, uint32_t wanted, size_t size)
{
	if (wanted <= *count)
		return true;
	char *grown = realloc(*array, wanted * size);
	if (!grown)
		return false;
	memset(grown + *count * size, 0, (wanted - *count) * size);
	*array = grown;
	*count = wanted;
	return true;
}

static void forget_places(struct places *places)
{
	for (uint32_t i = 0; i < places->count; i++)
		free(places->items[i].work_us);
	free(places->items);
	places->items = NULL;
	places->count = 0;
}

/* Steps have been numbered anew: nothing that was counted by the old numbers holds. */
static void forget_steps(struct stragglers *stragglers)
{
	stragglers->first_step = stragglers->newest_step = stragglers->weighed_step =
	    stragglers->noted_step = 0;
	stragglers->clock = JOB_NONE;
	stragglers->numberings++;
	stragglers->pace = (struct pace){ 0 };
	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		struct suspect *suspect = &stragglers->suspects[i];
		memset(suspect->blames, 0, sizeof(suspect->blames));
		suspect->clean = 0;
		suspect->since_step = 0;
		suspect->striking_ns = 0;
		intermittent_forget(suspect);
		excursions_forget(suspect);
		if (!suspect->open)
			suspect->decided_ns = 0;
	}
}

static struct places *places_of(struct stragglers *stragglers, const struct process *process, uint32_t version)
{
	if (!grow_to((void **)&stragglers->places, &stragglers->places_count, process->index + 1,
		     sizeof(*stragglers->places)))
		return NULL;
	struct places *places = &stragglers->places[process->index];
	if (places->version != version) {
		if (places->version)
			forget_steps(stragglers);
		forget_places(places);
		places->version = version;
	}
	return places;
}

static struct place *place_of(struct places *places, const struct instance *instance)
{
	uint32_t members = instance->communicator->member_count;
	if (!grow_to((void **)&places->items, &places->count, instance->place.place + 1, sizeof(*places->items)))
		return NULL;
	struct place *place = &places->items[instance->place.place];
	if (members > place->member_room) {
		uint32_t work_room = place->member_room * STRAGGLER_OWN_WORK;
		if (!grow_to((void **)&place->work_us, &work_room, members * STRAGGLER_OWN_WORK,
			     sizeof(*place->work_us)))
			return NULL;
		place->member_room = members;
	}
	return place;
}

/* What is usual follows what it does, but what is not near it only slowly: a lateness shall not become usual, nor what
 * is seldom as quick as that; and all work becomes longer with a job's sequences. */
static uint32_t usual_follows(uint32_t usual_us, uint32_t work_us)
{
	const uint32_t near_us = LATENESS_NOISE_NS / 1000;

	if (work_us > usual_us + near_us)
		return usual_us + usual_us / STRAGGLER_LEARNS;
	if (work_us + near_us < usual_us)
		return usual_us - usual_us / STRAGGLER_LEARNS_LESS;
	return work_us;
}

/* In a pipeline waiting for the neighbour stage is the schedule: only work beyond one's own history is lateness. */
static uint64_t beyond_own_history(struct place *place, uint32_t member, const struct operation *operation)
{
	uint32_t *history = &place->work_us[member * STRAGGLER_OWN_WORK];
	uint64_t sorted[STRAGGLER_OWN_WORK], late_us = operation->late_us;
	uint32_t known = place->count < STRAGGLER_OWN_WORK ? place->count : STRAGGLER_OWN_WORK;
	for (uint32_t i = 0; i < known; i++)
		sorted[i] = history[i];
	sort_u64(sorted, known);
	uint64_t usual = known ? sorted[known / 2] : 0;
	uint64_t beyond = operation->work_us > usual ? operation->work_us - usual : 0;
	bool learning = known < STRAGGLER_HISTORY_MIN;
	history[place->count % STRAGGLER_OWN_WORK] =
	    learning ? operation->work_us : usual_follows((uint32_t)usual, operation->work_us);
	if (learning)
		return 0;
	return beyond < late_us ? beyond : late_us;
}

static void add_window(struct suspect *suspect, const struct operation *operation)
{
	uint32_t at = suspect->window_count++ % CAUSE_WINDOWS;

	suspect->windows[at] = suspect_window(operation);
	suspect->host_windows[at] = suspect_host_window(operation);
}

static struct blame *blame_in(struct suspect *suspect, uint64_t step)
{
	struct blame *blame = &suspect->blames[step % STRAGGLER_STEPS];
	if (blame->step != step)
		*blame = (struct blame){ .step = step };
	return blame;
}

static void add_blame(struct suspect *suspect, const struct instance *instance, uint32_t member, uint64_t late_ns)
{
	struct blame *blame = blame_in(suspect, instance->place.step);
	const struct operation *operation = &instance->operations[member];
	/* The finding shows, and asks for the cause of, what weighs: not the noise beside it. */
	if (late_ns * MINOR >= blame->late_ns)
		add_window(suspect, operation);
	/* Below LATENESS_NOISE_NS nobody is seen late: as much may be missing of the others at each operation but
	 * one. */
	blame->shown_ns += blame->late_ns ? late_ns - LATENESS_NOISE_NS : late_ns;
	blame->late_ns += late_ns;
	if (late_ns > blame->worst_ns) {
		blame->worst_ns = late_ns;
		blame->worst = instance;
		blame->serial = instance->serial;
		blame->member = member;
	}
	blame->untold = blame->untold || instance_step(instance) < 0;
	if (operation_is_host_late(operation))
		blame->host_ns += late_ns;
	else if (late_ns > blame->device_most_ns)
		blame->device_most_ns = late_ns;
	bool minor = operation->late_us * 2 < suspect->last_operation.late_us;
	if (!minor || instance->place.step > suspect->last.place.step + 1) {
		suspect->last = *instance;
		suspect->last.operations = NULL;
		suspect->last.room = 0;
		suspect->last_operation = *operation;
	}
	suspect->step = instance->place.step;
}

static void add_to_unknown_share(struct unknown_share *share, uint64_t step, uint64_t late_ns, bool after_unknown_end)
{
	if (share->step != step) {
		share->late_ns -= share->late_ns / UNKNOWN_SHARE_FORGETS;
		share->after_unknown_ns -= share->after_unknown_ns / UNKNOWN_SHARE_FORGETS;
	}
	share->step = step;
	share->late_ns += late_ns;
	share->after_unknown_ns += after_unknown_end ? late_ns : 0;
}

/* The job's clock and the suspect may number steps some apart: clean is who was late neither in this step nor in the
 * one before, nor in any other since the last one ended. */
static bool is_clean(const struct suspect *suspect, uint64_t step, uint64_t limit_ns)
{
	if (suspect_blame(suspect, step).late_ns >= limit_ns ||
	    suspect_blame(suspect, step - 1).late_ns >= limit_ns)
		return false;
	return suspect->step == suspect->ended_step || suspect_blame(suspect, suspect->step).late_ns < limit_ns;
}

/* A step has ended: five clean ones in a row acquit. */
static void end_step(struct stragglers *stragglers, uint64_t ended)
{
	uint64_t limit_ns = suspect_limit_ns(pace_step_ns(&stragglers->pace, PACE_USUAL));
	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		struct suspect *suspect = &stragglers->suspects[i];
		if ((!suspect->decided_ns && !suspect->striking_ns) || suspect->intermittent->decided)
			continue;
		suspect->clean = is_clean(suspect, ended, limit_ns) ? suspect->clean + 1 : 0;
		suspect->ended_step = suspect->step;
		if (suspect->clean)
			suspect->striking_ns = 0;
		if (suspect->clean >= STRAGGLER_CLEAN)
			suspect->decided_ns = 0;
	}
}

/* What everybody was late by is known once the step is over; ranks may number steps one apart. */
static void note_steps(struct stragglers *stragglers)
{
	uint64_t oldest = stragglers->newest_step > NOTED_WITHIN ? stragglers->newest_step - NOTED_WITHIN : 1;

	if (oldest < stragglers->first_step)
		oldest = stragglers->first_step;
	if (stragglers->noted_step + 1 < oldest)
		stragglers->noted_step = oldest - 1;
	while (stragglers->noted_step + 1 + STEPS_LATER <= stragglers->newest_step)
		excursions_note(stragglers, ++stragglers->noted_step);
}

/* Stages of a pipeline do different things, and their noise is not seen alike. Without memory they stay what they
 * were. */
static void find_groups(struct stragglers *stragglers, const struct job *job)
{
	uint32_t *groups = calloc(job->rank_count + 1, sizeof(*groups));

	if (groups && !alike_find(job, true, groups))
		for (uint32_t i = 0; i < stragglers->suspect_count && i < job->rank_count; i++)
			stragglers->suspects[i].group = groups[i];
	free(groups);
}

/* The process that appeared first is the clock of the job's steps, as long as they are begun by it: who lends its steps
 * to an operation may change when those of another member become known. Stages of a pipeline may be a step or two
 * apart. */
static bool is_clock(const struct stragglers *stragglers, const struct process *process, uint64_t step,
		     uint64_t start_ns)
{
	if (stragglers->clock == JOB_NONE || process->index <= stragglers->clock)
		return true;
	/* The count alone does not show it: where a process reports only a part of the calls, what repeats there is
	 * shorter than a step, and it counts faster than a clock whose steps go on. */
	uint64_t step_ns = pace_step_ns(&stragglers->pace, PACE_USUAL);

	return step > stragglers->newest_step + STEPS_BEHIND &&
	       start_ns > stragglers->clock_ns + STEPS_BEHIND * step_ns;
}

static void start_step(struct stragglers *stragglers, const struct job *job, const struct process *process,
		       const struct instance *instance)
{
	uint64_t step = instance->place.step;
	if (!is_clock(stragglers, process, step, instance->start_ns))
		return;
	stragglers->clock = process->index;
	stragglers->clock_ns = instance->start_ns;
	pace_note(&stragglers->pace, step, instance->start_ns);
	if (step > stragglers->newest_step) {
		stragglers->newest_step = step;
		find_groups(stragglers, job);
	}
	note_steps(stragglers);
	end_step(stragglers, step - 1);
}

/* What repeats in a pipeline may be its passes, of which a step has many: what one step is late by, all of them are. */
static bool is_a_step(const struct job *job, const struct stragglers *stragglers, const struct instance *instance)
{
	return !job->pipelined || instance_is_regular(instance) ||
	       instance->place.step >= stragglers->first_step + STRAGGLER_PASSES;
}

static void test(const struct job *job, struct suspect *suspect, struct peers *peers, const struct instance *instance)
{
	if (suspect->decided_ns || !peers->step_ns)
		return;
	uint64_t limit_ns = suspect_limit_ns(peers->step_ns);
	if (is_a_step(job, peers->stragglers, instance) && excursion_is_proven(peers, suspect, limit_ns))
		suspect_decide(suspect, instance->start_ns);
	else if (!suspect->striking_ns && excursion_is_striking(peers, suspect, limit_ns))
		suspect->striking_ns = instance->start_ns;
}

/* All that were late in it, once the lateness of all is noted. */
static void test_members(struct stragglers *stragglers, const struct job *job, const struct instance *instance,
			 uint32_t count)
{
	struct peers peers = peers_in(stragglers, instance->place.step);

	peers.partial = job_is_partial(job);
	for (uint32_t i = 0; i < count; i++)
		if ((uint64_t)instance->operations[i].late_us * 1000 >= LATENESS_NOISE_NS)
			test(job, &stragglers->suspects[instance->communicator->members[i].rank], &peers, instance);
	peers_forget(&peers);
}

static uint32_t latest_us(const struct instance *instance)
{
	uint32_t most = 0;
	for (uint32_t i = 0; i < instance->room; i++)
		most = instance->operations[i].late_us > most ? instance->operations[i].late_us : most;
	return most;
}

static void note_unfollowed(struct stragglers *stragglers, const struct instance *instance)
{
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		if (instance_joined(instance, i))
			blame_in(&stragglers->suspects[instance->communicator->members[i].rank], instance->place.step)
			    ->partly = true;
}

/* While it is not known what a step is, passes there and back look alike, and their work is not. */
static bool is_between_the_same(struct place *place, const struct instance *instance)
{
	if (!place->count) {
		place->source = instance->source;
		place->target = instance->target;
	}
	return place->source == instance->source && place->target == instance->target;
}

static void account_members(struct analysis *analysis, struct instance *instance, struct place *place)
{
	struct stragglers *stragglers = &analysis->stragglers;
	if (!is_between_the_same(place, instance))
		return;
	if (instance->unfollowed)
		note_unfollowed(stragglers, instance);
	uint32_t most_us = latest_us(instance);
	if (!most_us && !analysis->job.pipelined)
		return;
	uint32_t count = instance->communicator->member_count < instance->room ? instance->communicator->member_count
									       : instance->room;
	for (uint32_t i = 0; i < count; i++) {
		struct operation *operation = &instance->operations[i];
		struct suspect *suspect = &stragglers->suspects[instance->communicator->members[i].rank];
		if (analysis->job.pipelined && operation->state & OPERATION_STARTED) {
			/* What the history is made of may be its first lateness. */
			if (operation->late_us && place->count < STRAGGLER_HISTORY_MIN)
				blame_in(suspect, instance->place.step)->untold = true;
			operation->late_us = (uint32_t)beyond_own_history(place, i, operation);
		}
		uint64_t late_ns = (uint64_t)operation->late_us * 1000;
		suspect->host = instance->communicator->members[i].process->host;
		if (late_ns < LATENESS_NOISE_NS)
			continue;
		add_blame(suspect, instance, i, late_ns);
		add_to_unknown_share(&stragglers->unknown_shares[instance->communicator->members[i].rank],
				     instance->place.step, late_ns, operation->state & OPERATION_AFTER_UNKNOWN_END);
	}
	place->count++;
	test_members(stragglers, &analysis->job, instance, count);
}

/* What the ranks were late by in a step is known when the one behind the next begins. */
static void note_course(struct analysis *analysis, const struct process *process, const struct instance *instance)
{
	const struct stragglers *stragglers = &analysis->stragglers;
	struct pace_course *course = &analysis->pace_course;
	uint64_t step = instance->place.step;

	if (!instance->place.place && stragglers->clock == process->index) {
		for (uint32_t i = 0; i < stragglers->suspect_count && step > STEPS_LATER; i++)
			pace_course_late(course, step - STEPS_LATER,
					 suspect_blame(&stragglers->suspects[i], step - STEPS_LATER).late_ns);
		pace_course_begin(course, stragglers->numberings, step, instance->start_ns);
	}
	if (instance->created_ns && instance->start_ns > instance->created_ns)
		pace_course_wait(course, step, instance->start_ns - instance->created_ns);
}

/* Never fewer of the other tables than suspects, whatever there is memory for. */
static bool has_ranks(struct stragglers *stragglers, uint32_t count)
{
	if (count <= stragglers->suspect_count)
		return true;
	bool grown =
	    grow_to((void **)&stragglers->unknown_shares, &stragglers->unknown_share_count, count,
		    sizeof(*stragglers->unknown_shares)) &&
	    grow_to((void **)&stragglers->intermittents, &stragglers->intermittent_count, count,
		    sizeof(*stragglers->intermittents)) &&
	    grow_to((void **)&stragglers->suspects, &stragglers->suspect_count, count, sizeof(*stragglers->suspects));
	for (uint32_t i = 0; i < stragglers->suspect_count; i++)
		stragglers->suspects[i].intermittent = &stragglers->intermittents[i];
	return grown;
}

void straggler_account(struct analysis *analysis, struct instance *instance)
{
	struct stragglers *stragglers = &analysis->stragglers;
	const struct process *process = instance->communicator->members[instance->place_member].process;
	struct places *places = places_of(stragglers, process, instance->steps_version);
	if (!places || !has_ranks(stragglers, analysis->job.rank_count))
		return;
	if (!stragglers->first_step)
		stragglers->first_step = instance->place.step;
	if (!instance->place.place)
		start_step(stragglers, &analysis->job, process, instance);
	note_course(analysis, process, instance);
	struct place *place = place_of(places, instance);
	/* In a pipeline nobody is seen to be late before what the ranks usually do is known of some operation. */
	if (place && !stragglers->measured_step && (!analysis->job.pipelined || place->count >= STRAGGLER_HISTORY_MIN))
		stragglers->measured_step = instance->place.step;
	if (place)
		account_members(analysis, instance, place);
}

void stragglers_free(struct stragglers *stragglers)
{
	for (uint32_t i = 0; i < stragglers->places_count; i++)
		forget_places(&stragglers->places[i]);
	free(stragglers->places);
	free(stragglers->suspects);
	free(stragglers->intermittents);
	free(stragglers->unknown_shares);
	*stragglers = (struct stragglers){ 0 };
}
