/* SPDX-License-Identifier: MIT */
#include "analysis/numbers/row_judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/numbers/late_level.h"
#include "analysis/numbers/sorting.h"

enum {
	FOLLOWS = 256, /* what is usual of a stage follows it by such a part a row, at most */
};

/* What one rank of a host was late by. */
struct at_host {
	uint32_t place;
	double longer_ms, less_ms;
};

/* The stages of a row. */
struct stages {
	uint64_t *values;       /* room for two of each rank */
	uint32_t *numbers;      /* of those that were judged, … */
	double *own_ms, *times; /* … their work, and room for one of each rank */
	uint32_t count;
	struct at_host *at_hosts; /* room for each rank */
};

/* Stage by stage, and in each group by group. */
static int by_place(const void *left, const void *right)
{
	const struct row_entry *a = left, *b = right;

	if (a->stage != b->stage)
		return a->stage < b->stage ? -1 : 1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->rank > b->rank) - (a->rank < b->rank);
}

bool row_judge_has(struct row_judge *judge, uint32_t count)
{
	if (count <= judge->count)
		return true;
	struct row_judge_rank *ranks = realloc(judge->ranks, count * sizeof(*ranks));
	if (!ranks)
		return false;
	judge->ranks = ranks;
	struct row_judge_stage *stages = realloc(judge->stages, count * sizeof(*stages));
	if (!stages)
		return false;
	judge->stages = stages;
	if (!late_series_has(&judge->late, count) || !late_series_has(&judge->stages_late, count))
		return false;
	memset(ranks + judge->count, 0, (count - judge->count) * sizeof(*ranks));
	memset(stages + judge->count, 0, (count - judge->count) * sizeof(*stages));
	judge->count = count;
	return true;
}

/* An account without gaps: what a rank did in unseen time is no work, and no wait. */
static bool is_whole(const struct row_entry *entry)
{
	uint64_t sum_ns = entry->own_ns + entry->inside_ns + entry->unseen_ns;

	return (double)entry->unseen_ns <= ROW_JUDGE_UNSEEN * (double)sum_ns;
}

/* A row that is not known of a rank, or not whole, says nothing of how many it makes. */
static void count_operations(struct row_judge *judge, const struct row_entry *entries, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct row_judge_rank *rank = &judge->ranks[entries[i].rank];
		rank->operations = rank->operations * ROW_JUDGE_KEEPS + entries[i].operations;
		rank->rows = rank->rows * ROW_JUDGE_KEEPS + 1;
	}
}

static double operations_in_row(const struct row_judge *judge, const struct row_entry *entry)
{
	return judge->ranks[entry->rank].operations / judge->ranks[entry->rank].rows;
}

/* Whose account is whole, to the front; how many. */
static uint32_t keep_whole(struct row_entry *entries, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct row_entry entry = entries[i];
		if (!is_whole(&entry))
			continue;
		entries[i] = entries[kept];
		entries[kept++] = entry;
	}
	return kept;
}

/* Who makes as many operations as most of the group, to the front; how many. Of a single row some may count in the next
 * one. */
static uint32_t keep_alike(const struct row_judge *judge, struct row_entry *entries, uint32_t count, double *values)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		values[i] = operations_in_row(judge, &entries[i]);
	sort_doubles(values, count);
	double usual = values[count / 2];
	for (uint32_t i = 0; i < count; i++) {
		struct row_entry entry = entries[i];
		if (fabs(operations_in_row(judge, &entry) - usual) > ROW_JUDGE_UNLIKE * usual)
			continue;
		entries[i] = entries[kept];
		entries[kept++] = entry;
	}
	return kept;
}

/* Of sorted values, the median of all but one that equals `own`. */
static double median_but(const uint64_t *sorted, uint32_t count, uint64_t own)
{
	uint32_t others = count - 1, low = (others - 1) / 2, high = others / 2;

	return ((double)sorted[sorted[low] < own ? low : low + 1] +
		(double)sorted[sorted[high] < own ? high : high + 1]) / 2;
}

static void judge_group(struct row_judge *judge, struct row_entry *entries, uint32_t count, const struct stages *stages)
{
	uint64_t *values = stages->values, *inside = values + count;

	count = keep_alike(judge, entries, count, stages->times);
	for (uint32_t i = 0; i < count; i++) {
		entries[i].judged = true;
		values[i] = entries[i].own_ns;
		inside[i] = entries[i].inside_ns;
	}
	if (count < 2)
		return;
	sort_u64(values, count);
	sort_u64(inside, count);
	for (uint32_t i = 0; i < count; i++) {
		double longer_ns = (double)entries[i].own_ns - median_but(values, count, entries[i].own_ns);
		double less_ns = median_but(inside, count, entries[i].inside_ns) - (double)entries[i].inside_ns;
		late_series_put(&judge->late, entries[i].rank, longer_ns / 1e6, less_ns / 1e6, count);
	}
}

static double median_of_row(const struct row_entry *entries, uint32_t count, uint64_t *values)
{
	for (uint32_t i = 0; i < count; i++)
		values[i] = entries[i].own_ns;
	sort_u64(values, count);
	return (double)values[(count - 1) / 2] / 1e6;
}

/* The first rows of a stage say what is usual; then that follows, but only slowly: a lateness shall not become usual.
 */
static void learn(struct row_judge_stage *stage, double own_ms, double all)
{
	const uint32_t firsts = sizeof(stage->firsts_ms) / sizeof(*stage->firsts_ms);

	if (stage->known < firsts) {
		double sorted[sizeof(stage->firsts_ms) / sizeof(*stage->firsts_ms)];
		stage->firsts_ms[stage->known++] = own_ms;
		memcpy(sorted, stage->firsts_ms, sizeof(sorted));
		sort_doubles(sorted, firsts);
		stage->usual_ms = stage->known == firsts ? sorted[firsts / 2] : 0;
		return;
	}
	double away_ms = own_ms - stage->usual_ms * all;
	stage->usual_ms += copysign(fmin(fabs(away_ms), stage->usual_ms / FOLLOWS), away_ms);
}

/* How many times as long as usual the stages work in this row, but for one of them: that one for which it is least but
 * half of them; 0 not known. but: an index, or how many there are for none. */
static double find_all(const struct row_judge *judge, const struct stages *stages, uint32_t but)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < stages->count; i++)
		if (i != but && judge->stages[stages->numbers[i]].usual_ms > 0)
			stages->times[known++] = stages->own_ms[i] / judge->stages[stages->numbers[i]].usual_ms;
	sort_doubles(stages->times, known);
	return known ? stages->times[(known - 1) / 2] : 0;
}

/* Stages of a pipeline do different work: each is compared with its own past, and that with what the others do. */
static void judge_stages(struct row_judge *judge, const struct stages *stages)
{
	double all = find_all(judge, stages, stages->count);

	for (uint32_t i = 0; i < stages->count; i++) {
		const struct row_judge_stage *stage = &judge->stages[stages->numbers[i]];
		double others = find_all(judge, stages, i);
		double late_ms = stages->own_ms[i] - stage->usual_ms * fmax(others, 1);
		if (others > 0 && stage->usual_ms > 0)
			late_series_put(&judge->stages_late, stages->numbers[i], late_ms, late_ms, stages->count);
	}
	for (uint32_t i = 0; i < stages->count; i++)
		learn(&judge->stages[stages->numbers[i]], stages->own_ms[i], all > 0 ? all : 1);
}

/* Who seems to be late is compared with all ranks. */
static bool may_compare(struct row_judge *judge)
{
	judge->pairs += judge->count;
	return judge->pairs <= ROW_JUDGE_PAIRS || judge->pairs <= judge->count;
}

/* Late beyond chance from now on, or no longer. */
static void decide(struct row_judge *judge, struct late_series *series, uint32_t index, double lasts_ms, uint64_t at_ns,
		   uint64_t *decided_ns, uint32_t *clean)
{
	bool late = late_series_is_late(series, index, lasts_ms);

	if (late && !*decided_ns && may_compare(judge) && late_series_is_proven(series, index, lasts_ms)) {
		*decided_ns = at_ns;
		*clean = 0;
	} else if (*decided_ns) {
		*clean = late ? 0 : *clean + 1;
		if (*clean >= ROW_JUDGE_CLEAN)
			*decided_ns = 0;
	}
	late_series_open(series, index, *decided_ns);
}

static bool has_hosts(struct row_judge *judge)
{
	uint32_t room = judge->late.places;

	if (room <= judge->host_room)
		return true;
	struct row_judge_host *hosts = realloc(judge->hosts, room * sizeof(*hosts));
	if (!hosts)
		return false;
	judge->hosts = hosts;
	if (!late_series_has(&judge->hosts_late, room))
		return false;
	memset(hosts + judge->host_room, 0, (room - judge->host_room) * sizeof(*hosts));
	judge->host_room = room;
	return true;
}

/* Host by host. */
static int by_host(const void *left, const void *right)
{
	const struct at_host *a = left, *b = right;

	return (a->place > b->place) - (a->place < b->place);
}

/* The middle one of several, the lower one of two: a host is no later than half of its ranks are. */
static void put_host(struct row_judge *judge, const struct at_host *ranks, uint32_t count, double *values, uint32_t hosts)
{
	double middle[2];

	for (int which = 0; which < 2; which++) {
		for (uint32_t i = 0; i < count; i++)
			values[i] = which ? ranks[i].less_ms : ranks[i].longer_ms;
		sort_doubles(values, count);
		middle[which] = values[(count - 1) / 2];
	}
	late_series_put(&judge->hosts_late, ranks[0].place, middle[0], middle[1], hosts);
}

/* Those whose lateness in this row is known and whose host is, to the front of `ranks`, host by host. */
static uint32_t collect_at_hosts(const struct row_judge *judge, const struct row_entry *entries, uint32_t count,
				 struct at_host *ranks)
{
	uint32_t known = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct late_past *past = &judge->late.pasts[entries[i].rank];
		uint64_t at = judge->late.row % LATE_SERIES_KEPT;
		if (entries[i].judged && past->place && !isnan(past->longer_ms[at]))
			ranks[known++] = (struct at_host){ past->place, past->longer_ms[at], past->less_ms[at] };
	}
	qsort(ranks, known, sizeof(*ranks), by_host);
	return known;
}

static uint32_t end_of_host(const struct at_host *ranks, uint32_t first, uint32_t count)
{
	uint32_t end = first + 1;

	while (end < count && ranks[end].place == ranks[first].place)
		end++;
	return end;
}

static double recent_ms(const struct late_series *series, uint32_t index)
{
	double sum_ms = 0;

	for (uint32_t back = 0; back < LATE_SERIES_ROWS_MIN; back++)
		sum_ms += late_series_late_ms(series, index, back);
	return sum_ms;
}

static void note_named(struct row_judge *judge)
{
	for (uint32_t place = 0; place < judge->host_room; place++)
		judge->hosts[place].named_ms = 0;
	for (uint32_t i = 0; i < judge->count; i++) {
		const struct late_past *past = &judge->late.pasts[i];
		struct row_judge_host *host = &judge->hosts[past->place];
		if (past->open)
			host->named_ms = fmax(host->named_ms, recent_ms(&judge->late, i));
	}
}

/* Those that work with a late rank of their host come a little late elsewhere. */
static bool is_late_by_one(const struct row_judge *judge, uint32_t place)
{
	return recent_ms(&judge->hosts_late, place) * LATE_SERIES_BESIDE < judge->hosts[place].named_ms;
}

static void judge_hosts(struct row_judge *judge, const struct stages *stages, const struct row_entry *entries,
			uint32_t count, double row_ms)
{
	if (!judge->late.places || !has_hosts(judge))
		return;
	uint32_t known = collect_at_hosts(judge, entries, count, stages->at_hosts), hosts = 0;
	for (uint32_t first = 0, end; first < known; first = end) {
		end = end_of_host(stages->at_hosts, first, known);
		hosts += end - first >= ROW_JUDGE_OF_HOST;
	}
	for (uint32_t first = 0, end; first < known && hosts >= ROW_JUDGE_HOSTS; first = end) {
		end = end_of_host(stages->at_hosts, first, known);
		if (end - first >= ROW_JUDGE_OF_HOST)
			put_host(judge, &stages->at_hosts[first], end - first, stages->times, hosts);
	}
	late_series_end(&judge->hosts_late);
	note_named(judge);
	for (uint32_t place = 1; place < judge->host_room; place++) {
		struct row_judge_host *host = &judge->hosts[place];
		if (!host->decided_ns && is_late_by_one(judge, place))
			continue;
		decide(judge, &judge->hosts_late, place, row_ms, entries[0].until_ns, &host->decided_ns, &host->clean);
	}
}

/* 0: it is not late. */
static uint64_t host_late_ns(const struct row_judge *judge, uint32_t rank)
{
	uint32_t place = judge->late.pasts[rank].place;

	return place && place < judge->host_room ? judge->hosts[place].decided_ns : 0;
}

bool row_judge_is_host_late(const struct row_judge *judge, uint32_t rank)
{
	return host_late_ns(judge, rank);
}

/* Not every rank of a host need be. */
static uint64_t late_with_host(const struct row_judge *judge, uint32_t rank)
{
	uint32_t place = judge->late.pasts[rank].place;
	uint64_t decided_ns = host_late_ns(judge, rank);

	return decided_ns && recent_ms(&judge->late, rank) * 2 >= recent_ms(&judge->hosts_late, place) ? decided_ns : 0;
}

/* The others would have waited for the next one of them. */
static double beyond_others(const struct row_judge *judge, const struct row_entry *entries, uint32_t count, uint32_t at)
{
	double late_ms = late_series_late_ms(&judge->late, entries[at].rank, 0), next_ms = 0;

	for (uint32_t i = 0; i < count; i++)
		if (i != at && entries[i].group == entries[at].group && !judge->ranks[entries[i].rank].decided_ns)
			next_ms = fmax(next_ms, late_series_late_ms(&judge->late, entries[i].rank, 0));
	return fmax(late_ms - next_ms, 0);
}

/* Who is late by little, row after row, is so for longer than it takes to acquit one that is late by much. */
static void decide_level(struct row_judge *judge, const struct row_entry *entry, double row_ms, uint64_t *decided_ns)
{
	struct row_judge_rank *rank = &judge->ranks[entry->rank];

	if (rank->of_level)
		rank->of_level = late_level_lasts(&judge->late, entry->rank, row_ms);
	else if (!*decided_ns && !entry->ragged && late_level_may_be(&judge->late, entry->rank, row_ms) &&
		 may_compare(judge))
		rank->of_level = late_level_is_proven(&judge->late, entry->rank, row_ms, judge->mostly);
	if (rank->of_level && !*decided_ns)
		*decided_ns = rank->level_ns ? rank->level_ns : entry->until_ns;
	rank->level_ns = rank->of_level ? *decided_ns : 0;
	late_series_open(&judge->late, entry->rank, *decided_ns);
}

static void decide_rank(struct row_judge *judge, struct row_entry *entries, uint32_t count, uint32_t i, double row_ms)
{
	struct row_entry *entry = &entries[i];
	struct row_judge_rank *rank = &judge->ranks[entry->rank];
	const struct row_judge_stage *stage = &judge->stages[entry->stage];
	uint64_t own_ns = rank->of_stage || rank->of_host ? 0 : rank->decided_ns, host_ns = late_with_host(judge, entry->rank);
	bool before = rank->decided_ns;

	decide(judge, &judge->late, entry->rank, row_ms, entry->until_ns, &own_ns, &rank->clean);
	decide_level(judge, entry, row_ms, &own_ns);
	rank->of_stage = !own_ns && stage->decided_ns;
	rank->of_host = !own_ns && !rank->of_stage && host_ns;
	rank->decided_ns = rank->of_stage ? stage->decided_ns : own_ns ? own_ns : host_ns;
	rank->stage = entry->stage;
	entry->late_ms = rank->of_stage ? stage->late_ms : late_series_late_ms(&judge->late, entry->rank, 0);
	if (!rank->of_level && entry->late_ms * 2 < row_judge_cost_ms(row_ms))
		return;
	entry->beyond_ms = rank->of_stage ? stage->late_ms : beyond_others(judge, entries, count, i);
	entry->begins = !before && rank->decided_ns;
}

static void judge_groups(struct row_judge *judge, struct row_entry *entries, uint32_t count,
			 const struct stages *stages)
{
	for (uint32_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && entries[end].group == entries[first].group;)
			end++;
		judge_group(judge, &entries[first], end - first, stages);
	}
}

static void judge_all(struct row_judge *judge, struct stages *stages, struct row_entry *entries, uint32_t count,
		      bool pipelined)
{
	for (uint32_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && entries[end].stage == entries[first].stage;)
			end++;
		stages->numbers[stages->count] = entries[first].stage;
		stages->own_ms[stages->count++] = median_of_row(&entries[first], end - first, stages->values);
		judge_groups(judge, &entries[first], end - first, stages);
	}
	if (pipelined)
		judge_stages(judge, stages);
}

static void judge_row(struct row_judge *judge, struct stages *stages, struct row_entry *entries, uint32_t count,
		      double row_ms, bool pipelined)
{
	judge->pairs = 0;
	late_series_begin(&judge->late);
	late_series_begin(&judge->stages_late);
	late_series_begin(&judge->hosts_late);
	for (uint32_t i = 0; i < judge->count; i++)
		judge->stages[i].late_ms = NAN;
	judge_all(judge, stages, entries, count, pipelined);
	late_series_end(&judge->late);
	late_series_end(&judge->stages_late);
	for (uint32_t i = 0; i < stages->count; i++) {
		struct row_judge_stage *stage = &judge->stages[stages->numbers[i]];
		stage->late_ms = late_series_late_ms(&judge->stages_late, stages->numbers[i], 0);
		decide(judge, &judge->stages_late, stages->numbers[i], row_ms, entries[0].until_ns, &stage->decided_ns,
		       &stage->clean);
	}
	if (count)
		judge_hosts(judge, stages, entries, count, row_ms);
	for (uint32_t i = 0; i < count; i++)
		if (entries[i].judged)
			decide_rank(judge, entries, count, i, row_ms);
}

void row_judge(struct row_judge *judge, struct row_entry *entries, uint32_t count, double row_ms, bool pipelined)
{
	struct stages found = {
		.values = calloc(2 * (size_t)count + 2, sizeof(*found.values)),
		.numbers = calloc(count + 1, sizeof(*found.numbers)),
		.own_ms = calloc(count + 1, sizeof(*found.own_ms)),
		.times = calloc(count + 1, sizeof(*found.times)),
		.at_hosts = calloc(count + 1, sizeof(*found.at_hosts)),
	};

	for (uint32_t i = 0; i < count; i++) {
		entries[i].judged = entries[i].begins = false;
		entries[i].late_ms = entries[i].beyond_ms = 0;
	}
	if (found.values && found.numbers && found.own_ms && found.times && found.at_hosts) {
		count = keep_whole(entries, count);
		count_operations(judge, entries, count);
		qsort(entries, count, sizeof(*entries), by_place);
		judge_row(judge, &found, entries, count, row_ms, pipelined);
	}
	free(found.values);
	free(found.numbers);
	free(found.own_ms);
	free(found.times);
	free(found.at_hosts);
}

void row_judge_scale(struct row_judge *judge, double times)
{
	for (uint32_t i = 0; i < judge->count; i++) {
		struct row_judge_stage *stage = &judge->stages[i];
		stage->usual_ms *= times;
		for (size_t k = 0; k < sizeof(stage->firsts_ms) / sizeof(*stage->firsts_ms); k++)
			stage->firsts_ms[k] *= times;
	}
	late_series_scale(&judge->late, times);
	late_series_scale(&judge->stages_late, times);
	late_series_scale(&judge->hosts_late, times);
}

void row_judge_forget(struct row_judge *judge)
{
	for (uint32_t i = 0; i < judge->count; i++)
		judge->stages[i] = (struct row_judge_stage){ .decided_ns = judge->stages[i].decided_ns };
	late_series_forget(&judge->late);
	late_series_forget(&judge->stages_late);
	late_series_forget(&judge->hosts_late);
}

void row_judge_free(struct row_judge *judge)
{
	free(judge->ranks);
	free(judge->stages);
	free(judge->hosts);
	late_series_free(&judge->late);
	late_series_free(&judge->stages_late);
	late_series_free(&judge->hosts_late);
	*judge = (struct row_judge){ 0 };
}
