/* SPDX-License-Identifier: MIT */
#include "analysis/job/lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/course.h"
#include "analysis/job/spread.h"
#include "analysis/measure/lateness.h"
#include "analysis/late/peers.h"
#include "analysis/numbers/sorting.h"

static const double keeps = 15 / 16.0;

/* What one member did in a cut. */
struct entry {
	uint32_t member;
	uint64_t own_us, inside_us, host_us, device_us, lasted_us, operations;
	uint64_t late_us; /* than the members' median */
};

static uint32_t find(uint32_t *sets, uint32_t rank)
{
	while (sets[rank] != rank) {
		sets[rank] = sets[sets[rank]];
		rank = sets[rank];
	}
	return rank;
}

static uint32_t count_sending(const struct world *world, const struct world_rank *rank)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < rank->membership_count; i++)
		count += world_joined(world, rank, i)->sends;
	return count;
}

/* Are no two of its members in one pipeline, as far as all was told that may make them so? `seen`: by rank, zeroed
 * once. */
static bool is_across(const struct world *world, uint32_t *pipelines, uint32_t *seen, const struct world_comm *comm)
{
	for (uint32_t i = 0; i < comm->member_count; i++) {
		uint32_t number = comm->members[i].rank;
		const struct world_rank *rank = &world->ranks[number];
		uint32_t *pipeline = &seen[find(pipelines, number)];
		if (*pipeline == comm->index + 1 || !rank->told || count_sending(world, rank) < rank->sending)
			return false;
		*pipeline = comm->index + 1;
	}
	return true;
}

static uint32_t count_hosts(const struct world *world, const struct world_comm *comm)
{
	uint32_t first = WORLD_NONE;

	for (uint32_t i = 0; i < comm->member_count; i++) {
		uint32_t host = world->ranks[comm->members[i].rank].host;
		if (first != WORLD_NONE && host != first)
			return 2;
		first = host;
	}
	return 1;
}

/* The larger the better, where cuts come often; else the more often. */
static int by_worth(const void *left, const void *right)
{
	const struct world_comm *a = *(struct world_comm *const *)left, *b = *(struct world_comm *const *)right;
	bool a_often = a->period_ms <= LANES_OFTEN_MS, b_often = b->period_ms <= LANES_OFTEN_MS;

	if (a_often != b_often)
		return a_often ? -1 : 1;
	if (!a_often && a->period_ms != b->period_ms)
		return a->period_ms < b->period_ms ? -1 : 1;
	if (a->member_count != b->member_count)
		return a->member_count > b->member_count ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static void forget_lane(struct world_comm *comm)
{
	if (!comm->lane)
		return;
	stragglers_free(&comm->lane->watched);
	free(comm->lane->members);
	free(comm->lane);
	comm->lane = NULL;
}

static bool is_cut(const struct world_comm *comm, uint64_t now_ns)
{
	uint64_t period_ns = (uint64_t)comm->period_ms * 1000000;

	return period_ns && now_ns < comm->cut_ns + LANES_GONE_NS + 4 * period_ns;
}

/* `taken`: by rank, those that have a lane. */
static bool adds_ranks(const struct world_comm *comm, const bool *taken)
{
	for (uint32_t i = 0; i < comm->member_count; i++)
		if (!taken[comm->members[i].rank])
			return true;
	return false;
}

static void note_across(struct world *world, uint32_t *pipelines, uint32_t *seen)
{
	for (uint32_t i = 0; i < world->rank_room; i++)
		pipelines[i] = i;
	for (uint32_t i = 0; i < world->comm_count; i++) {
		const struct world_comm *comm = world->comms[i];
		for (uint32_t k = 1; comm->sends && k < comm->member_count; k++)
			pipelines[find(pipelines, comm->members[k].rank)] = find(pipelines, comm->members[0].rank);
	}
	for (uint32_t i = 0; i < world->comm_count; i++) {
		struct world_comm *comm = world->comms[i];
		comm->across = is_across(world, pipelines, seen, comm);
		comm->hosts = count_hosts(world, comm);
	}
}

static void choose_among(struct lanes *lanes, struct world *world, struct world_comm **comms, bool *taken, uint64_t now_ns)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < world->comm_count; i++)
		world->comms[i]->chosen = false;
	for (uint32_t i = 0; i < world->comm_count; i++)
		if (world->comms[i]->across && world->comms[i]->hosts > 1 && is_cut(world->comms[i], now_ns))
			comms[count++] = world->comms[i];
	qsort(comms, count, sizeof(struct world_comm *), by_worth);
	lanes->count = 0;
	for (uint32_t i = 0; i < count; i++) {
		if (!adds_ranks(comms[i], taken))
			continue;
		for (uint32_t k = 0; k < comms[i]->member_count; k++)
			taken[comms[i]->members[k].rank] = true;
		if (!comms[i]->lane)
			comms[i]->lane = calloc(1, sizeof(*comms[i]->lane));
		comms[i]->chosen = comms[i]->lane != NULL;
		if (comms[i]->lane)
			lanes->judged[lanes->count++] = comms[i]->index;
	}
}

static void choose(struct lanes *lanes, struct world *world, uint64_t now_ns)
{
	uint32_t ranks = world->rank_room + 1;
	uint32_t *pipelines = calloc(ranks, sizeof(*pipelines)), *seen = calloc(ranks, sizeof(*seen));
	bool *taken = calloc(ranks, sizeof(*taken));
	struct world_comm **comms = calloc(world->comm_count + 1, sizeof(struct world_comm *));
	uint32_t *judged = realloc(lanes->judged, (world->comm_count + 1) * sizeof(*judged));

	if (judged)
		lanes->judged = judged;
	if (pipelines && seen && taken && comms && judged) {
		note_across(world, pipelines, seen);
		choose_among(lanes, world, comms, taken, now_ns);
		for (uint32_t i = 0; i < world->comm_count; i++)
			if (world->comms[i]->lane && !world->comms[i]->chosen)
				forget_lane(world->comms[i]);
	}
	free(pipelines);
	free(seen);
	free(taken);
	free(comms);
}

static bool has_members(struct lane *lane, uint32_t count)
{
	if (count <= lane->room)
		return true;
	struct lane_member *members = realloc(lane->members, count * sizeof(*members));
	if (!members)
		return false;
	lane->members = members;
	struct suspect *suspects = realloc(lane->watched.suspects, count * sizeof(*suspects));
	if (!suspects)
		return false;
	lane->watched.suspects = suspects;
	memset(&members[lane->room], 0, (count - lane->room) * sizeof(*members));
	memset(&suspects[lane->room], 0, (count - lane->room) * sizeof(*suspects));
	lane->room = lane->watched.suspect_count = count;
	return true;
}

/* Members of whom a cut is to be expected. */
static uint32_t count_expected(const struct world *world, const struct world_comm *comm, uint64_t now_ns)
{
	uint64_t gone_ns = LANES_GONE_NS + 2 * (uint64_t)comm->period_ms * 1000000;
	uint32_t count = 0;

	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_member *member = &comm->members[i];
		const struct world_host *host = world_host(world, member->rank);
		count += !member->left && member->cut_ns && now_ns < member->cut_ns + gone_ns && !host->ended &&
			 now_ns < host->heard_ns + WORLD_SILENT_NS;
	}
	return count;
}

static bool is_behind(const struct world_mark *mark, const struct world_mark *base)
{
	if (!mark->function || !base->function)
		return mark->function;
	if (mark->function == base->function)
		return mark->sequence > base->sequence;
	return mark->first_ns > base->first_ns;
}

/* From the base to there on one member; false: it was not cut at both. */
static bool measure(const struct world *world, const struct world_comm *comm, uint32_t i, const struct world_mark *mark,
		    struct entry *entry)
{
	const struct world_mark *base = &comm->lane->base;
	const struct world_cut *from = world_cut(world, &comm->members[i], base->function, base->sequence);
	const struct world_cut *to = world_cut(world, &comm->members[i], mark->function, mark->sequence);

	if (!from || !to)
		return false;
	uint32_t own_us = to->own_us - from->own_us, inside_us = to->inside_us - from->inside_us,
		 unseen_us = to->unseen_us - from->unseen_us;
	*entry = (struct entry){
		.member = i,
		.own_us = own_us,
		.inside_us = inside_us,
		.host_us = to->host_us - from->host_us,
		.device_us = to->device_us - from->device_us,
		.lasted_us = (uint64_t)own_us + inside_us + unseen_us,
		.operations = to->operations - from->operations,
	};
	return true;
}

static bool is_long_enough(const struct world *world, const struct world_comm *comm, const struct world_mark *mark)
{
	struct entry entry;

	for (uint32_t i = 0; i < comm->member_count; i++)
		if (measure(world, comm, i, mark, &entry))
			return entry.lasted_us >= LANES_CUT_MIN_US;
	return true; /* nothing to go on from: it may as well be the new beginning */
}

/* The earliest that all members have come to, else the one that most have, once others have had their time. */
static const struct world_mark *next_mark(const struct world *world, const struct world_comm *comm, uint64_t now_ns)
{
	const struct world_mark *whole = NULL, *most = NULL, *base = &comm->lane->base;
	uint32_t expected = count_expected(world, comm, now_ns);

	for (uint32_t i = 0; i < WORLD_MARKS; i++) {
		const struct world_mark *mark = &comm->marks[i];
		if (!is_behind(mark, base) || mark->members < 2 || (base->function && !is_long_enough(world, comm, mark)))
			continue;
		if (mark->members >= expected && (!whole || is_behind(whole, mark)))
			whole = mark;
		if (now_ns >= mark->first_ns + LANES_WAIT_NS && mark->members * 2 > expected &&
		    (!most || mark->members > most->members || (mark->members == most->members && is_behind(most, mark))))
			most = mark;
	}
	return whole ? whole : most;
}

static uint64_t median(const struct entry *entries, uint32_t count, size_t field, uint64_t *values, bool upper)
{
	for (uint32_t i = 0; i < count; i++)
		memcpy(&values[i], (const char *)&entries[i] + field, sizeof(*values));
	sort_u64(values, count);
	return values[upper ? count / 2 : (count - 1) / 2];
}

/* Who was cut with the others, and does as many operations, to the front; how many. */
static uint32_t keep_alike(struct lanes *lanes, struct entry *entries, uint32_t count, uint64_t *values)
{
	uint64_t lasted_us = median(entries, count, offsetof(struct entry, lasted_us), values, true),
		 operations = median(entries, count, offsetof(struct entry, operations), values, true);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		double apart_us = fabs((double)entries[i].lasted_us - (double)lasted_us),
		       other = fabs((double)entries[i].operations - (double)operations);
		bool equal = apart_us <= LANES_UNEVEN_US || apart_us <= LANES_UNEVEN * (double)lasted_us;
		lanes->unaligned += !equal;
		if (equal && other * LANES_UNLIKE <= (double)operations)
			entries[kept++] = entries[i];
	}
	return kept;
}

static uint64_t beyond(uint64_t value, uint64_t other)
{
	return value > other ? value - other : 0;
}

static double apart(uint64_t value, uint64_t other)
{
	return (double)value - (double)other;
}

static void blame(struct lane *lane, const struct world *world, const struct world_comm *comm, const struct entry *entry,
		  uint64_t late_us, double scale)
{
	struct suspect *suspect = &lane->watched.suspects[entry->member];
	struct lane_member *member = &lane->members[entry->member];
	uint64_t late_ns = (uint64_t)((double)late_us * scale * 1000);

	suspect->blames[lane->number % STRAGGLER_STEPS] =
	    (struct blame){ .step = lane->number, .late_ns = late_ns, .shown_ns = late_ns };
	suspect->step = lane->number;
	suspect->host = world->ranks[comm->members[entry->member].rank].host;
	member->judged = true;
	member->late = member->late * keeps + (double)late_us;
	member->host = member->host * keeps + (late_us ? (double)entry->host_us : 0);
	member->device = member->device * keeps + (late_us ? (double)entry->device_us : 0);
}

/* As in analysis/late/sums.c: of the two medians of an even number the one that makes less late. */
static void blame_all(struct lane *lane, const struct world *world, const struct world_comm *comm, struct entry *entries,
		      uint32_t count, uint64_t *values)
{
	uint64_t own_us = median(entries, count, offsetof(struct entry, own_us), values, false),
		 inside_us = median(entries, count, offsetof(struct entry, inside_us), values, true),
		 lasted_us = median(entries, count, offsetof(struct entry, lasted_us), values, true);
	double scale = LANES_WINDOW_NS / 1e3 / (double)(lasted_us ? lasted_us : 1);

	for (uint32_t i = 0; i < count; i++) {
		uint64_t works_us = beyond(entries[i].own_us, own_us), waits_us = beyond(inside_us, entries[i].inside_us);
		entries[i].late_us = works_us < waits_us ? works_us : waits_us;
		blame(lane, world, comm, &entries[i], entries[i].late_us, scale);
		if (lasted_us)
			parts_note(&lane->members[entries[i].member].parts, apart(entries[i].own_us, own_us) / (double)lasted_us,
				   apart(inside_us, entries[i].inside_us) / (double)lasted_us, apart(entries[i].lasted_us, lasted_us));
	}
	lane->lasted_s = (double)lasted_us / 1e6;
	lane->compared = count;
}

static uint64_t limit_ns(void)
{
	return (uint64_t)(LANES_SHARE_MIN * LANES_WINDOW_NS);
}

double lane_least_share(const struct lane *lane, uint32_t member)
{
	return lane->members[member].parts.even ? LATE_LEVEL_SHARE : LANES_SHARE_MIN;
}

static void suspect_it(struct lane *lane, uint32_t i, bool even, uint64_t now_ns)
{
	struct suspect *suspect = &lane->watched.suspects[i];

	suspect_decide(suspect, now_ns);
	suspect->open = true;
	excursions_forget(suspect); /* nobody is measured by a fault */
	lane->members[i].clean = 0;
	lane->members[i].parts.even = even;
}

/* So late, or so far from what the others differ by for good. */
static bool is_apart(struct spread *spread, uint32_t i)
{
	return lane_share(spread->comm->lane, i, LANES_TOLD) >= SPREAD_USUAL || spread_is_exceeded(spread, i);
}

static uint64_t late_now_ns(const struct lane *lane, uint32_t i)
{
	return suspect_blame(&lane->watched.suspects[i], lane->number).late_ns;
}

static bool is_late(struct spread *spread, struct peers *peers, uint32_t i)
{
	const struct lane *lane = spread->comm->lane;
	const struct suspect *suspect = &lane->watched.suspects[i];

	return suspect->step == lane->number && late_now_ns(lane, i) >= LATENESS_NOISE_NS && excursion_is_proven(peers, suspect, limit_ns()) &&
	       is_apart(spread, i);
}

/* Has it been in time for long enough? Once a cut. */
static bool is_clean(struct lane *lane, uint32_t i)
{
	double least_ns = lane_least_share(lane, i) * LANES_WINDOW_NS;

	lane->members[i].clean = (double)late_now_ns(lane, i) * 2 < least_ns ? lane->members[i].clean + 1 : 0;
	return lane->members[i].clean >= STRAGGLER_CLEAN;
}

static void acquit(struct lane *lane, uint32_t i)
{
	lane->watched.suspects[i].decided_ns = 0;
	lane->watched.suspects[i].open = false;
	parts_forget(&lane->members[i].parts);
}

static void decide_evenly(const struct lanes *lanes, const struct world *world, struct world_comm *comm, uint64_t now_ns)
{
	struct lane *lane = comm->lane;

	for (uint32_t i = 0; i < lane->watched.suspect_count; i++)
		if (!lane->watched.suspects[i].decided_ns && parts_show_late(lanes, world, comm, i))
			suspect_it(lane, i, true, now_ns);
}

/* Each is judged by what the others were when the cut came, whoever of them is found late in it: what is sorted for one
 * serves all. */
static void decide(const struct lanes *lanes, const struct world *world, struct world_comm *comm, uint64_t now_ns)
{
	struct lane *lane = comm->lane;
	struct stragglers *watched = &lane->watched;
	struct peers peers = peers_in(watched, lane->number);
	struct spread spread = { .lanes = lanes, .world = world, .comm = comm };

	for (uint32_t i = 0; i < watched->suspect_count; i++)
		lane->members[i].turns = watched->suspects[i].decided_ns ? is_clean(lane, i) : is_late(&spread, &peers, i);
	peers_forget(&peers);
	spread_forget(&spread);
	for (uint32_t i = 0; i < watched->suspect_count; i++) {
		if (!lane->members[i].turns)
			continue;
		if (watched->suspects[i].decided_ns)
			acquit(lane, i);
		else
			suspect_it(lane, i, false, now_ns);
	}
}

static void test_all(const struct lanes *lanes, const struct world *world, struct world_comm *comm, uint64_t now_ns)
{
	struct lane *lane = comm->lane;
	struct stragglers *watched = &lane->watched;

	if (!watched->first_step)
		watched->first_step = lane->number;
	watched->noise_lasts = LANES_NOISE_LASTS;
	pace_note(&watched->pace, lane->number, lane->number * LANES_WINDOW_NS);
	decide(lanes, world, comm, now_ns);
	if (parts_end_cut(lane))
		decide_evenly(lanes, world, comm, now_ns);
	excursions_note(watched, lane->number);
}

/* For those who look. */
static void charge(const struct world *world, const struct world_comm *comm, const struct entry *entries, uint32_t count, uint64_t until_ns)
{
	struct course_late *late = world->course ? calloc(count, sizeof(*late)) : NULL;
	uint64_t lasted_ns = (uint64_t)(comm->lane->lasted_s * 1e9);

	for (uint32_t i = 0; late && i < count; i++)
		late[i] = (struct course_late){ comm->members[entries[i].member].rank, entries[i].late_us };
	if (late && lasted_ns)
		course_charge(world->course, late, count, until_ns > lasted_ns ? until_ns - lasted_ns : 0, until_ns);
	free(late);
}

static uint32_t hosts_among(const struct world *world, const struct world_comm *comm, const struct entry *entries, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (world->ranks[comm->members[entries[i].member].rank].host != world->ranks[comm->members[entries[0].member].rank].host)
			return 2;
	return 1;
}

static void judge(struct lanes *lanes, const struct world *world, struct world_comm *comm, const struct world_mark *mark, uint64_t now_ns)
{
	struct lane *lane = comm->lane;
	struct entry *entries = calloc(comm->member_count, sizeof(*entries));
	uint64_t *values = calloc(comm->member_count, sizeof(*values));
	uint32_t count = 0;

	if (entries && values && has_members(lane, comm->member_count)) {
		for (uint32_t i = 0; i < comm->member_count; i++) {
			lane->members[i].judged = false;
			count += measure(world, comm, i, mark, &entries[count]);
		}
		count = count ? keep_alike(lanes, entries, count, values) : 0;
		if (count > 1 && hosts_among(world, comm, entries, count) > 1) {
			lane->number++;
			lanes->cuts++;
			blame_all(lane, world, comm, entries, count, values);
			charge(world, comm, entries, count, mark->first_ns);
			test_all(lanes, world, comm, now_ns);
		}
	}
	lane->base = *mark;
	free(entries);
	free(values);
}

void lanes_tick(struct lanes *lanes, struct world *world, uint64_t now_ns)
{
	if (lanes->changes != world->changes || now_ns >= lanes->looked_ns + LANES_LOOK_NS) {
		lanes->changes = world->changes;
		lanes->looked_ns = now_ns;
		choose(lanes, world, now_ns);
	}
	for (uint32_t i = 0; i < lanes->count; i++) {
		struct world_comm *comm = world->comms[lanes->judged[i]];
		const struct world_mark *mark;
		while ((mark = next_mark(world, comm, now_ns))) {
			if (comm->lane->base.function)
				judge(lanes, world, comm, mark, now_ns);
			else
				comm->lane->base = *mark;
		}
	}
}

double lane_share(const struct lane *lane, uint32_t member, uint32_t count)
{
	const struct suspect *suspect = &lane->watched.suspects[member];
	const struct parts *parts = &lane->members[member].parts;
	uint64_t late_ns = 0, seen = 0;

	if (parts->even && parts_share(parts) > 0)
		return parts_share(parts);
	for (uint64_t back = 0; back < count && suspect->step >= lane->watched.first_step + back; back++) {
		struct blame blame = suspect_blame(suspect, suspect->step - back);
		late_ns += blame.late_ns;
		seen += blame.late_ns != 0;
	}
	return seen ? (double)late_ns / (double)seen / LANES_WINDOW_NS : 0;
}

double lane_recent(const struct lane *lane, uint32_t member)
{
	uint64_t late_ns = 0, count = lane->number < LANES_RECENT ? lane->number : LANES_RECENT;

	if (member >= lane->watched.suspect_count || !count)
		return 0;
	for (uint64_t back = 0; back < count; back++)
		late_ns += suspect_blame(&lane->watched.suspects[member], lane->number - back).late_ns;
	return (double)late_ns / (double)count / LANES_WINDOW_NS;
}

size_t lanes_bytes(const struct lanes *lanes, const struct world *world)
{
	size_t bytes = (world->comm_count + 1) * sizeof(*lanes->judged);

	for (uint32_t i = 0; i < lanes->count; i++) {
		const struct lane *lane = world->comms[lanes->judged[i]]->lane;
		bytes += sizeof(*lane) + lane->room * (sizeof(*lane->members) + sizeof(*lane->watched.suspects));
	}
	return bytes;
}

void lanes_forget(struct lanes *lanes, struct world *world)
{
	for (uint32_t i = 0; i < lanes->count; i++)
		forget_lane(world->comms[lanes->judged[i]]);
	free(lanes->judged);
	lanes->judged = NULL;
	lanes->count = 0;
	lanes->changes = 0;
}
