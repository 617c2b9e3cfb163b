/* SPDX-License-Identifier: MIT */
#include "analysis/late/sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/numbers/alike.h"
#include "analysis/numbers/evenly.h"
#include "analysis/measure/lateness.h"
#include "analysis/model.h"
#include "analysis/late/peers.h"
#include "analysis/numbers/sorting.h"
#include "analysis/numbers/steadiness.h"

enum { NOT_JUDGED, JUDGED };

/* One rank in the window that is judged. */
struct entry {
	uint32_t rank, group;
	const struct sums_window *window;
};

static int by_group(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

static bool has_rank(struct sums *sums, uint32_t rank)
{
	if (rank < sums->rank_count)
		return true;
	uint32_t count = sums->job->rank_count > rank ? sums->job->rank_count : rank + 1;
	struct sums_rank *ranks = realloc(sums->ranks, count * sizeof(*ranks));
	if (!ranks)
		return false;
	memset(ranks + sums->rank_count, 0, (count - sums->rank_count) * sizeof(*ranks));
	sums->ranks = ranks;
	struct suspect *suspects = realloc(sums->watched.suspects, count * sizeof(*suspects));
	if (!suspects)
		return false;
	memset(suspects + sums->rank_count, 0, (count - sums->rank_count) * sizeof(*suspects));
	sums->watched.suspects = suspects;
	sums->watched.suspect_count = sums->rank_count = count;
	return true;
}

/* Whole, by an account without gaps: what a rank did not tell of is no wait, and no work. */
static bool is_whole(const struct sums *sums, const struct sums_window *window, uint64_t number)
{
	uint64_t sum_ns = window->own_ns + window->inside_ns + window->unseen_ns;

	return window->number == number && (double)sum_ns >= SUMS_WHOLE * (double)sums->window_ns;
}

static uint32_t collect(struct sums *sums, uint64_t number, const uint32_t *groups, struct entry *entries)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < sums->rank_count && i < sums->job->rank_count; i++) {
		const struct sums_window *window = &sums->ranks[i].windows[number % SUMS_KEPT];
		sums->ranks[i].group = groups[i];
		sums->watched.suspects[i].group = NOT_JUDGED;
		sums->ranks[i].operations *= SUMS_KEEPS;
		if (window->number == number)
			sums->ranks[i].operations += window->operations;
		if (is_whole(sums, window, number))
			entries[count++] = (struct entry){ .rank = i, .group = groups[i], .window = window };
	}
	return count;
}

/* Who makes as many operations as most of the group, to the front; how many. Replicas can be up to a step apart, so
 * that a single window says little. */
static uint32_t keep_alike(const struct sums *sums, struct entry *entries, uint32_t count, uint64_t *values)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		values[i] = (uint64_t)sums->ranks[entries[i].rank].operations;
	sort_u64(values, count);
	double usual = (double)values[count / 2];
	for (uint32_t i = 0; i < count; i++)
		if (fabs(sums->ranks[entries[i].rank].operations - usual) * SUMS_UNLIKE <= usual)
			entries[kept++] = entries[i];
	return kept;
}

static uint64_t beyond(uint64_t value, uint64_t other)
{
	return value > other ? value - other : 0;
}

static void blame(struct sums *sums, const struct entry *entry, uint64_t late_ns)
{
	uint64_t number = entry->window->number;
	struct suspect *suspect = &sums->watched.suspects[entry->rank];
	struct sums_rank *rank = &sums->ranks[entry->rank];

	/* What each is beyond its own peers is compared with what all others are beyond theirs. */
	suspect->group = JUDGED;
	suspect->blames[number % STRAGGLER_STEPS] = (struct blame){ .step = number, .late_ns = late_ns, .shown_ns = late_ns };
	rank->host_ns[number % STRAGGLER_STEPS] = entry->window->host_ns;
	rank->device_ns[number % STRAGGLER_STEPS] = entry->window->device_ns;
	rank->unlaunched_ns[number % STRAGGLER_STEPS] = entry->window->unlaunched_ns;
	rank->single_ns[number % STRAGGLER_STEPS] = entry->window->single_ns;
	rank->stepped_ns[number % STRAGGLER_STEPS] = entry->window->stepped_ns;
	rank->shift_ns[number % STRAGGLER_STEPS] = entry->window->shift_ns;
	rank->met_ns[number % STRAGGLER_STEPS] = entry->window->met_ns;
	rank->held_ns[number % STRAGGLER_STEPS] = entry->window->held_ns;
	suspect->step = number;
	suspect->host = sums->job->ranks[entry->rank].process->host;
}

/* For what a rank works longer at the end of a window the others may wait in the next one: of few long steps, that is
 * much. */
static uint64_t late_of(struct sums_rank *rank, const struct sums_window *window, uint64_t works_ns, uint64_t waits_ns)
{
	uint64_t before_ns = rank->unmet_number + 1 == window->number ? rank->unmet_ns : 0, all_ns = works_ns + before_ns;
	uint64_t late_ns = all_ns < waits_ns ? all_ns : waits_ns;

	rank->unmet_number = window->number;
	rank->unmet_ns = all_ns - late_ns < works_ns ? all_ns - late_ns : works_ns;
	return late_ns;
}

/* The median of the others is, for one of the upper half, values[(count - 1) / 2] of all, and for one of the lower half
 * values[count / 2]: of two the one that makes it less late. */
static void judge_group(struct sums *sums, struct entry *entries, uint32_t count, uint64_t *values)
{
	count = keep_alike(sums, entries, count, values);
	if (count < 2)
		return;
	for (uint32_t i = 0; i < count; i++)
		values[i] = entries[i].window->own_ns;
	sort_u64(values, count);
	uint64_t own_ns = values[(count - 1) / 2];
	for (uint32_t i = 0; i < count; i++)
		values[i] = entries[i].window->inside_ns;
	sort_u64(values, count);
	uint64_t inside_ns = values[count / 2];
	for (uint32_t i = 0; i < count; i++) {
		struct sums_rank *rank = &sums->ranks[entries[i].rank];
		uint64_t at = entries[i].window->number % STRAGGLER_STEPS;
		rank->of_two = count == 2;
		rank->longer_ns[at] = (int64_t)(entries[i].window->own_ns - own_ns);
		rank->less_ns[at] = (int64_t)(inside_ns - entries[i].window->inside_ns);
	}
	for (uint32_t i = 0; i < count; i++)
		blame(sums, &entries[i],
		      late_of(&sums->ranks[entries[i].rank], entries[i].window, beyond(entries[i].window->own_ns, own_ns),
			      beyond(inside_ns, entries[i].window->inside_ns)));
}

static uint64_t limit_ns(const struct sums *sums)
{
	return (uint64_t)(SUMS_SHARE_MIN * (double)sums->window_ns);
}

double sums_least_share(const struct sums_rank *rank)
{
	return rank->even ? EVENLY_SHARE : SUMS_SHARE_MIN;
}

/* Windows of a part: noise that lasts does so for steps, of which a window may hold few. */
static uint32_t even_part(const struct sums *sums)
{
	uint64_t steps_ns = SUMS_EVEN_STEPS / EVENLY_PARTS * sums->step_ns, windows = (steps_ns + sums->window_ns - 1) / sums->window_ns;

	if (windows < SUMS_EVEN_PART)
		return SUMS_EVEN_PART;
	return windows < SUMS_EVEN_PART_MAX ? (uint32_t)windows : SUMS_EVEN_PART_MAX;
}

/* What a rank was late by in each part of the last windows, at least, and what it was late or early by. */
struct parts {
	struct evenly late, either;
	bool whole; /* it was judged in each of the windows */
};

static struct parts add_parts(const struct sums *sums, uint32_t rank, uint64_t number, uint32_t part)
{
	int64_t longer_ns[EVENLY_PARTS] = { 0 }, less_ns[EVENLY_PARTS] = { 0 };
	double part_ns = (double)part * (double)sums->window_ns;
	struct parts parts = { .whole = true };

	for (uint32_t i = 0; i < EVENLY_PARTS * part; i++) {
		uint64_t at = (number - i) % STRAGGLER_STEPS;
		const struct blame *blame = &sums->watched.suspects[rank].blames[at];
		if (blame->step != number - i) {
			parts.whole = false;
			continue;
		}
		parts.late.shares[i / part] += (double)blame->late_ns / part_ns;
		longer_ns[i / part] += sums->ranks[rank].longer_ns[at];
		less_ns[i / part] += sums->ranks[rank].less_ns[at];
	}
	for (int i = 0; i < EVENLY_PARTS; i++)
		parts.either.shares[i] = evenly_smaller((double)longer_ns[i], (double)less_ns[i]) / part_ns;
	return parts;
}

/* Another rank that is late, or was so in these windows, makes those wait that work with it, and these come late
 * elsewhere. */
static bool is_late_besides(const struct sums *sums, uint32_t other, uint64_t number)
{
	uint64_t theirs = sums->ranks[other].theirs;

	return sums->watched.suspects[other].open || (theirs && theirs + EVENLY_PARTS * even_part(sums) > number);
}

/* Is it in a communicator of which not all ranks are seen? What it waited for there made it late elsewhere by as
 * little. */
static bool may_wait_unseen(const struct job *job, uint32_t rank)
{
	for (uint32_t i = 0; i < job->communicator_count; i++) {
		const struct communicator *communicator = job->communicators[i];
		if (communicator->ended_ns || !job_unseen(communicator))
			continue;
		for (uint32_t k = 0; k < communicator->member_count; k++)
			if (communicator->members[k].rank == rank)
				return true;
	}
	return false;
}

/* Was the other one, as far as it was judged, later in some part than this one in each? */
static bool is_as_late(const struct evenly *own, const struct evenly *other)
{
	for (int i = 0; i < EVENLY_PARTS; i++)
		if (other->shares[i] >= evenly_least(own))
			return true;
	return false;
}

/* As much in each part, and not by noise that lasts, which wanders, however alike its parts are. Of stages others show
 * too little. */
static bool stays_alike(const struct sums *sums, uint32_t rank, uint32_t windows, const struct evenly *either)
{
	return !sums->job->pipelined && evenly_is_late(either) && evenly_is_alike(either) &&
	       !wanders(&sums->watched.suspects[rank], windows < PEERS_LENGTH_MAX ? windows : PEERS_LENGTH_MAX);
}

/* Late by little, but for a minute as much, and by far more than any other rank: in each part, or on average. One that
 * was not judged in all of the windows, as none is while it stalls, shows in the others whether it is as late: those
 * who work with it are so by what it does. */
static bool is_late_evenly(const struct sums *sums, uint32_t rank, uint64_t number)
{
	uint32_t others = 0, part = even_part(sums);

	if (number < sums->watched.first_step + EVENLY_PARTS * part)
		return false;
	struct parts own = add_parts(sums, rank, number, part);
	if (!own.whole || !evenly_is_late(&own.late))
		return false;
	bool in_each = true, on_average = stays_alike(sums, rank, EVENLY_PARTS * part, &own.either);
	for (uint32_t i = 0; i < sums->rank_count && (in_each || on_average); i++) {
		if (i == rank)
			continue;
		if (is_late_besides(sums, i, number))
			return false;
		struct parts other = add_parts(sums, i, number, part);
		if (!other.whole && is_as_late(&own.late, &other.late))
			return false;
		in_each = in_each && (!other.whole || evenly_is_far_from(&own.late, &other.late));
		on_average = on_average && (!other.whole || evenly_is_far_on_average(&own.either, &other.either));
		others += other.whole;
	}
	return (in_each || on_average) && others >= SUMS_EVEN_OTHERS && !may_wait_unseen(sums->job, rank);
}

/* One of two replicas differs from the other for long by chance, too: it must be late for as long, and as steadily, as
 * a rank that has one other to be compared with. */
static bool is_steady_of_two(const struct sums *sums, const struct suspect *suspect, uint64_t number)
{
	uint64_t level_ns = excursions_level_ns(&sums->watched, suspect, number, EXCURSION_ONE_STEPS);

	return level_ns >= limit_ns(sums) && steadiness(suspect, EXCURSION_ONE_STEPS, level_ns, 0.5) >= EXCURSION_STEADY;
}

/* Who is late evenly was compared with the other stages, too: then it must not wander, as noise that lasts does, or not
 * by much. */
static bool is_no_noise_of_two(const struct sums *sums, const struct suspect *suspect, uint64_t number)
{
	uint64_t level_ns = excursions_level_ns(&sums->watched, suspect, number, EXCURSION_ONE_STEPS);

	return !wanders(suspect, EXCURSION_ONE_STEPS) || steadiness(suspect, EXCURSION_ONE_STEPS, level_ns, EXCURSION_STEADY_PART) >= SUMS_STEADY;
}

/* By one of the two tests; notes which. */
static bool is_proven(struct sums *sums, struct peers *peers, uint32_t rank, uint64_t number)
{
	const struct suspect *suspect = &sums->watched.suspects[rank];
	bool of_two = sums->ranks[rank].of_two;
	bool beyond = excursion_is_proven(peers, suspect, limit_ns(sums)) && (!of_two || is_steady_of_two(sums, suspect, number));

	sums->ranks[rank].even = !beyond;
	return beyond || (is_late_evenly(sums, rank, number) && (!of_two || is_no_noise_of_two(sums, suspect, number)));
}

/* Named, acquitted, or neither. */
static void decide(struct sums *sums, struct peers *peers, uint32_t rank, uint64_t number)
{
	struct suspect *suspect = &sums->watched.suspects[rank];
	uint64_t late_ns = suspect_blame(suspect, number).late_ns;

	if (sums->ranks[rank].by_rows)
		return;
	if (suspect->decided_ns) {
		double least_ns = sums_least_share(&sums->ranks[rank]) * (double)sums->window_ns;
		sums->ranks[rank].clean = (double)late_ns * 2 < least_ns ? sums->ranks[rank].clean + 1 : 0;
		if (sums->ranks[rank].clean >= STRAGGLER_CLEAN) {
			suspect->decided_ns = 0;
			suspect->open = false;
			peers_forget(peers);
		}
		return;
	}
	if (suspect->step != number || late_ns < LATENESS_NOISE_NS)
		return;
	if (!is_proven(sums, peers, rank, number))
		return;
	suspect_decide(suspect, (number + 1) * sums->window_ns);
	suspect->open = true;
	excursions_forget(suspect); /* nobody is measured by a fault */
	peers_forget(peers);
	sums->ranks[rank].clean = 0;
}

/* From one window to the next. The fewer steps one holds, the more is left in the next one. */
static double noise_lasts(const struct sums *sums)
{
	double steps = sums->step_ns ? (double)sums->window_ns / (double)sums->step_ns : INFINITY;

	return fmax(pow(SUMS_NOISE_LASTS_STEP, steps), SUMS_NOISE_LASTS);
}

static void test_all(struct sums *sums, uint64_t number)
{
	struct stragglers *watched = &sums->watched;

	if (!watched->first_step)
		watched->first_step = number;
	watched->noise_lasts = noise_lasts(sums);
	pace_note(&watched->pace, number, number * sums->window_ns);
	struct peers peers = peers_in(watched, number);
	for (uint32_t i = 0; i < sums->rank_count; i++)
		decide(sums, &peers, i, number);
	peers_forget(&peers);
	excursions_note(watched, number);
}

static void judge(struct sums *sums, uint64_t number)
{
	uint32_t room = sums->job->rank_count + 1;
	struct entry *entries = calloc(room, sizeof(*entries));
	uint64_t *values = calloc(room, sizeof(*values));
	uint32_t *groups = calloc(room, sizeof(*groups));

	if (entries && values && groups && !alike_find(sums->job, false, groups)) {
		uint32_t count = collect(sums, number, groups, entries);
		qsort(entries, count, sizeof(*entries), by_group);
		for (uint32_t first = 0, end; first < count; first = end) {
			for (end = first + 1; end < count && entries[end].group == entries[first].group;)
				end++;
			judge_group(sums, &entries[first], end - first, values);
		}
		if (count)
			test_all(sums, number);
	}
	free(entries);
	free(values);
	free(groups);
}

/* The first one to be two windows ahead closes a window: what is not told of it by then is not judged. */
static void move_on(struct sums *sums, uint64_t number)
{
	if (!sums->newest)
		sums->next = number + 1; /* the first is not whole */
	sums->newest = number;
	if (sums->next + SUMS_KEPT <= number)
		sums->next = number - 2;
	for (; sums->next + 2 <= number; sums->next++)
		if (sums->next > sums->uneven)
			judge(sums, sums->next);
}

/* Of the window with this time. One window has many times in a row. */
static uint64_t number_of(struct sums *sums, uint64_t ns)
{
	if (ns - sums->current_ns >= sums->window_ns) {
		sums->current = ns / sums->window_ns;
		sums->current_ns = sums->current * sums->window_ns;
	}
	return sums->current;
}

/* NULL: it was judged already. */
static struct sums_window *window_of(struct sums *sums, uint32_t rank, uint64_t number)
{
	if (number > sums->newest)
		move_on(sums, number);
	if (number < sums->next)
		return NULL;
	struct sums_window *window = &sums->ranks[rank].windows[number % SUMS_KEPT];
	if (window->number != number)
		*window = (struct sums_window){ .number = number };
	return window;
}

void sums_note(struct sums *sums, uint32_t rank, enum analysis_part part, uint64_t from_ns, uint64_t until_ns)
{
	if (!sums->job || !has_rank(sums, rank))
		return;
	if (!sums->window_ns)
		sums->window_ns = SUMS_WINDOW_NS;
	if (until_ns > INT64_MAX)
		return; /* a damaged box may say any time */
	/* Of one that is longer than the open windows, the others have been closed without it. */
	if (from_ns + SUMS_KEPT * sums->window_ns < until_ns)
		from_ns = until_ns - SUMS_KEPT * sums->window_ns;
	while (from_ns < until_ns) {
		uint64_t number = number_of(sums, from_ns), end_ns = (number + 1) * sums->window_ns;
		uint64_t ns = (end_ns < until_ns ? end_ns : until_ns) - from_ns;
		struct sums_window *window = window_of(sums, rank, number);
		from_ns += ns;
		if (!window)
			continue;
		if (part == ANALYSIS_OWN)
			window->own_ns += ns;
		else if (part == ANALYSIS_UNSEEN)
			window->unseen_ns += ns;
		else
			window->inside_ns += ns;
	}
}

/* Both times are seen by polling: what is near either is not told apart. */
void sums_note_launch(struct sums *sums, uint32_t rank, uint64_t from_ns, uint64_t launch_ns, uint64_t until_ns)
{
	if (!sums->job || !sums->window_ns || until_ns > INT64_MAX || !has_rank(sums, rank))
		return;
	struct sums_window *window = window_of(sums, rank, number_of(sums, until_ns));
	if (!window)
		return;
	if (!launch_ns)
		window->unlaunched_ns += until_ns - from_ns;
	else if (launch_ns > from_ns + LATENESS_NOISE_NS)
		window->host_ns += (launch_ns < until_ns ? launch_ns : until_ns) - from_ns;
	else if (launch_ns + 2 * LATENESS_NOISE_NS < until_ns)
		window->device_ns += until_ns - from_ns;
}

void sums_note_operation(struct sums *sums, uint32_t rank, const struct operation *operation, const struct sums_meeting *meeting)
{
	if (!sums->job || !sums->window_ns || operation->done_ns > INT64_MAX || !has_rank(sums, rank))
		return;
	struct sums_window *window = window_of(sums, rank, number_of(sums, operation->done_ns));
	if (!window)
		return;
	window->operations++;
	if (meeting->mean_ns)
		window->shift_ns += (int64_t)(operation->done_ns - meeting->mean_ns);
	window->met_ns += meeting->late_ns;
	window->held_ns += meeting->held_ns;
	if ((uint64_t)operation->late_us * 1000 < LATENESS_NOISE_NS)
		return;
	window->single_ns += (uint64_t)operation->late_us * 1000;
	window->stepped_ns += meeting->replay ? 0 : (uint64_t)operation->late_us * 1000;
}

void sums_free(struct sums *sums)
{
	stragglers_free(&sums->watched);
	free(sums->ranks);
	*sums = (struct sums){ 0 };
}
