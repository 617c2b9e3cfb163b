/* SPDX-License-Identifier: MIT */
#include "console/top/ranking.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FOLD_FROM = 33 /* ranks */ };

/* Of the others' time: a rank that they wait for so long has a row of its own, whatever is found. */
#define LOST_SHARE 0.05

bool ranking_is_open(const struct model_finding *finding, double at_ms)
{
	return finding->first_ms <= at_ms && (!finding->closed_ms || finding->closed_ms > at_ms);
}

/* What is only suspected of somebody comes behind what is known of somebody else. */
static int weight_of(const struct model_finding *finding)
{
	const char *confidence = json_string_value(json_object_get(finding->json, "confidence"));

	return finding->severity * 2 + !(confidence && !strcmp(confidence, "inconclusive"));
}

const struct model_finding *ranking_worst_finding(const struct model *model, double at_ms)
{
	const struct model_finding *worst = NULL;

	for (size_t i = 0; i < model->finding_count; i++) {
		const struct model_finding *finding = &model->findings[i];

		if (finding->severity > 0 && ranking_is_open(finding, at_ms) &&
		    (!worst || weight_of(finding) > weight_of(worst)))
			worst = finding;
	}
	return worst;
}

static const struct {
	const char *kind;
	char letter;
} kinds[] = { { "straggler", 'L' }, { "hang", 'H' }, { "gone", 'X' }, { "desync", 'D' }, { "nan", 'N' }, { "inf", 'N' },
	      { "overflow", 'N' }, { "corruption", 'N' }, { "gpu", 'G' } };

static char letter_of(const json_t *finding)
{
	const char *kind = json_string_value(json_object_get(finding, "kind"));

	for (size_t i = 0; kind && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strcmp(kinds[i].kind, kind))
			return kinds[i].letter;
	return '!';
}

/* Of a world rank; ranks are in order as a rule. model->rank_count: none. */
static size_t index_of(const struct model *model, json_int_t rank)
{
	if (rank >= 0 && (size_t)rank < model->rank_count && model->ranks[rank].rank == rank)
		return (size_t)rank;
	for (size_t i = 0; i < model->rank_count; i++)
		if (model->ranks[i].rank == rank)
			return i;
	return model->rank_count;
}

/* By rank index: the letter of an open finding that names it; 0 none. The worst finding last. */
static void mark_named(const struct model *model, double at_ms, char *letters)
{
	for (int severity = 1; severity <= 2; severity++)
		for (size_t i = model->finding_count; i > 0; i--) {
			const struct model_finding *finding = &model->findings[i - 1];
			const json_t *ranks = json_object_get(finding->json, "ranks");

			if (finding->severity != severity || !ranking_is_open(finding, at_ms))
				continue;
			for (size_t k = 0; k < json_array_size(ranks); k++)
				letters[index_of(model, json_integer_value(json_array_get(ranks, k)))] =
				    letter_of(finding->json);
		}
}

static bool stands(const struct model_rank *rank, double now_ms)
{
	return rank->since_ms > 0 && now_ms - rank->since_ms >= MODEL_STANDS_MS;
}

static struct standing standing_now(const struct model_rank *rank, double now_ms)
{
	static const struct {
		const char *doing;
		struct standing standing;
		bool only_long;
	} known[] = {
		{ "stopped", { 'T', STYLE_BAD, true }, false },   { "missing", { 'M', STYLE_WARN, true }, true },
		{ "waits", { 'W', STYLE_WAIT, false }, true },    { "init", { 'I', STYLE_PLAIN, false }, false },
		{ "unknown", { '?', STYLE_DIM, false }, false },
	};

	if (!strcmp(rank->doing, "gone"))
		return !strcmp(rank->life, "exited") || rank->exit_status == 0
			   ? (struct standing){ 'E', STYLE_DIM, false }
			   : (struct standing){ 'X', STYLE_BAD, true };
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(known[i].doing, rank->doing) && (!known[i].only_long || stands(rank, now_ms)))
			return known[i].standing;
	return (struct standing){ 'R', STYLE_GOOD, false };
}

static void add_lately(const struct model *model, long at, size_t index, struct ranking_row *row)
{
	long last = at < 0 ? (long)model->column_count - 1 : at, first = last - MODEL_LATELY + 1;
	double own = 0, wait = 0, transfer = 0, unseen = 0, lost = 0, steps = 0;
	double others = model_others(model, index);

	for (long i = first > 0 ? first : 0; i <= last; i++) {
		const struct model_column *column = &model->columns[i];

		if (index >= column->rank_count)
			continue;
		const struct model_cell *cell = &column->cells[index];

		own += (double)cell->own_ms;
		wait += (double)cell->wait_ms;
		transfer += (double)cell->transfer_ms;
		unseen += (double)cell->unseen_ms;
		lost += (double)cell->lost_ms;
		row->bad += cell->bad;
		steps += model_steps(column);
	}
	double whole = own + wait + transfer + unseen;

	if (steps <= 0 || whole <= 0)
		return;
	row->step_ms = whole / steps;
	row->lost_ms = lost / others / steps;
	row->lost_share = lost / others / whole;
	row->own_share = own / whole;
	row->wait_share = wait / whole;
	row->transfer_share = transfer / whole;
	row->unseen_share = unseen / whole;
}

static void judge(const struct model *model, long at, double now_ms, const char *named, struct ranking_row *row)
{
	const struct model_rank *rank = &model->ranks[row->index];

	add_lately(model, at, row->index, row);
	/* What a rank does is known of now only. */
	row->standing = at < 0 ? standing_now(rank, model->dead || model->gone_ms > 0 ? model->at_ms : now_ms)
			       : (struct standing){ 'R', STYLE_GOOD, false };
	if (model->dead && row->standing.letter == 'X')
		row->standing = (struct standing){ 'X', STYLE_DIM, false }; /* as all of them, when the job is killed */
	if (row->lost_share >= LOST_SHARE && !row->standing.sick) {
		row->standing.style = STYLE_WARN;
		row->standing.sick = true;
	}
	if (row->bad && row->standing.letter == 'R')
		row->standing = (struct standing){ 'N', STYLE_WARN, true };
	if (!named[row->index])
		return;
	/* That it was stopped or killed says more than what is found of it; in a job that is over it is true of all. */
	bool ended = strchr("TX", row->standing.letter) && !model->dead;

	row->named = named[row->index] != '!';
	row->standing = (struct standing){ ended ? row->standing.letter : named[row->index],
					   row->named ? STYLE_BAD : STYLE_WARN, true };
}

static bool is_wanted(const struct model_rank *rank, const char *search)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", rank->rank);
	return !*search || !strcmp(number, search) || strstr(rank->host, search) || strstr(rank->operation, search) ||
	       strstr(rank->thread, search) || strstr(rank->gpu.throttle, search);
}

static const struct model *sorted_model;
static enum view_sort sorted_by;

static double key_of(const struct ranking_row *row)
{
	switch (sorted_by) {
	case SORT_LOST:
		return (row->named                         ? -3e6
			: row->standing.style == STYLE_BAD ? -2e6
			: row->standing.sick               ? -1e6
							   : 0) -
		       row->lost_share;
	case SORT_WAIT:
		return -row->wait_share;
	case SORT_STATE:
		return row->standing.letter == 'R' ? 2 : row->standing.sick ? 0 : 1;
	default:
		return 0;
	}
}

static int by_sort(const void *left, const void *right)
{
	const struct ranking_row *a = left, *b = right;
	double one = key_of(a), other = key_of(b);
	int32_t first = sorted_model->ranks[a->index].rank, second = sorted_model->ranks[b->index].rank;

	/* A thousandth of a step is no order. */
	if (one - other > 0.001 || other - one > 0.001)
		return one > other ? 1 : -1;
	return (first > second) - (first < second);
}

static int by_host(const void *left, const void *right)
{
	const struct ranking_row *a = left, *b = right;
	int order = strcmp(sorted_model->ranks[a->index].host, sorted_model->ranks[b->index].host);

	if (a->standing.sick != b->standing.sick)
		return a->standing.sick ? -1 : 1;
	return order ? order : (a->index > b->index) - (a->index < b->index);
}

static void add_row(struct ranking_row *sum, const struct ranking_row *row)
{
	double count = (double)sum->count;

	sum->lost_ms = row->lost_ms > sum->lost_ms ? row->lost_ms : sum->lost_ms;
	sum->lost_share = row->lost_share > sum->lost_share ? row->lost_share : sum->lost_share;
	sum->own_share = (sum->own_share * count + row->own_share) / (count + 1);
	sum->wait_share = (sum->wait_share * count + row->wait_share) / (count + 1);
	sum->transfer_share = (sum->transfer_share * count + row->transfer_share) / (count + 1);
	sum->unseen_share = (sum->unseen_share * count + row->unseen_share) / (count + 1);
	if (row->standing.letter != sum->standing.letter && row->standing.letter != 'R')
		sum->standing = row->standing;
	sum->count++;
}

/* The sick ones first, then a row for each host. */
static void fold(struct ranking *ranking)
{
	size_t kept = 0;

	qsort(ranking->rows, ranking->count, sizeof(*ranking->rows), by_host);
	for (size_t i = 0; i < ranking->count; i++) {
		const struct ranking_row *row = &ranking->rows[i];
		struct ranking_row *before = kept ? &ranking->rows[kept - 1] : NULL;

		if (before && !row->standing.sick && !before->standing.sick &&
		    !strcmp(sorted_model->ranks[row->index].host, sorted_model->ranks[before->index].host))
			add_row(before, row);
		else
			ranking->rows[kept++] = *row;
	}
	ranking->count = kept;
}

int ranking_make(struct ranking *ranking, const struct model *model, const struct view *view, long at, double now_ms)
{
	char *named = calloc(model->rank_count + 1, 1);

	*ranking = (struct ranking){ .rows = calloc(model->rank_count + 1, sizeof(*ranking->rows)),
				     .ranks = model->rank_count };
	if (!named || !ranking->rows) {
		free(named);
		return -ENOMEM;
	}
	mark_named(model, at < 0 && !model->dead ? now_ms : model_time(model, at), named);
	for (size_t i = 0; i < model->rank_count; i++) {
		struct ranking_row *row = &ranking->rows[ranking->count];

		*row = (struct ranking_row){ .index = i, .count = 1 };
		judge(model, at, now_ms, named, row);
		ranking->sick += row->standing.sick;
		ranking->count += is_wanted(&model->ranks[i], view->search);
	}
	free(named);
	sorted_model = model;
	sorted_by = view->sort;
	ranking->folded = view->fold == FOLD_ALWAYS || (view->fold == FOLD_AUTO && model->rank_count >= FOLD_FROM);
	if (ranking->folded)
		fold(ranking);
	qsort(ranking->rows, ranking->count, sizeof(*ranking->rows), by_sort);
	return 0;
}

void ranking_free(struct ranking *ranking)
{
	free(ranking->rows);
	*ranking = (struct ranking){ 0 };
}
