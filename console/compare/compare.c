/* SPDX-License-Identifier: MIT */
#include "console/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "console/compare/line_pair.h"
#include "console/compare/rank_sum.h"

/* One rank of both runs. */
struct pair {
	struct comparison *comparison;
	struct side_rank ranks[TIMES_SIDES];
	int32_t rank;
	uint64_t first_ns[TIMES_SIDES], last_ns[TIMES_SIDES]; /* of what was compared */
};

static void note_span(struct pair *pair, const struct rw_operation *const operations[TIMES_SIDES])
{
	for (int side = 0; side < TIMES_SIDES; side++) {
		uint64_t at_ns = operations[side]->api_ns;

		if (!pair->first_ns[side] || at_ns < pair->first_ns[side])
			pair->first_ns[side] = at_ns;
		if (at_ns > pair->last_ns[side])
			pair->last_ns[side] = at_ns;
	}
}

static int add_times(struct pair *pair, const struct side_line *line,
		     const struct rw_operation *const operations[TIMES_SIDES])
{
	int err = 0;

	for (int side = 0; side < TIMES_SIDES && !err; side++)
		err = times_add(&pair->comparison->times, (enum times_side)side, line, operations[side]);
	return err;
}

static int add_parting(struct pair *pair, const struct side_line *line, enum parting_kind kind,
		       const struct line_pair_news *news)
{
	const struct side_rank *rank = &pair->ranks[TIMES_A];
	uint64_t at_ns = news->call->api_ns;

	return partings_add(&pair->comparison->partings,
			    &(struct parting){ .kind = kind,
					       .where = line->name,
					       .in_a = (char *)news->texts[TIMES_A],
					       .in_b = (char *)news->texts[TIMES_B],
					       .before = (uint64_t)(news->call - rank->operations.list),
					       .in_result = news->result,
					       .at_ns = at_ns > rank->begin_ns ? at_ns - rank->begin_ns : 0 },
			    pair->rank);
}

static int compare_line(struct pair *pair, const struct side_line *const lines[TIMES_SIDES])
{
	struct comparison *comparison = pair->comparison;
	struct line_pair walk;
	int err = 0;

	line_pair_begin(&walk, lines, pair->ranks[TIMES_A].whole && pair->ranks[TIMES_B].whole);
	comparison->lines++;
	while (!err && line_pair_next(&walk)) {
		for (int kind = 0; kind < PARTING_KINDS && !err; kind++)
			if (walk.news & 1u << kind)
				err = add_parting(pair, lines[TIMES_A], (enum parting_kind)kind, &walk.reported[kind]);
		if (!err && !walk.parted) {
			comparison->calls++;
			note_span(pair, walk.now);
			err = add_times(pair, lines[TIMES_A], walk.now);
		}
	}
	comparison->scans += walk.scans;
	comparison->digests += walk.digests;
	for (int side = 0; side < TIMES_SIDES && !walk.parted; side++)
		comparison->more[side] += line_pair_left(&walk, (enum times_side)side);
	return err;
}

static int compare_lines(struct pair *pair)
{
	int err = 0;

	for (size_t i = 0; i < pair->ranks[TIMES_A].line_count && !err; i++) {
		const struct side_line *line = &pair->ranks[TIMES_A].lines[i];
		const struct side_line *const lines[] = { line, side_rank_line(&pair->ranks[TIMES_B], line->key) };

		if (lines[TIMES_B])
			err = compare_line(pair, lines);
		else
			pair->comparison->lines_only[TIMES_A]++;
	}
	for (size_t i = 0; i < pair->ranks[TIMES_B].line_count; i++)
		pair->comparison->lines_only[TIMES_B] +=
		    !side_rank_line(&pair->ranks[TIMES_A], pair->ranks[TIMES_B].lines[i].key);
	return err;
}

static int read_side(struct pair *pair, enum times_side at, const struct side *side, const struct box_entry *entry,
		     bool announced, const char *command)
{
	int err = side_rank_read(&pair->ranks[at], side, entry, announced);

	if (!err || err == -ENOMEM)
		return err;
	pair->comparison->truncated = true;
	foreign_line(stderr, "%s: %s: could not be read to its end: %s", command, entry->path, strerror(-err));
	return 0;
}

static int compare_rank(struct pair *pair, const struct side sides[TIMES_SIDES],
			const struct box_entry *const entries[TIMES_SIDES], const char *command)
{
	/* Where one run was seen through NCCL alone, what only the interposer sees has no counterpart. */
	bool announced = entries[TIMES_A]->reader.header.interposed != entries[TIMES_B]->reader.header.interposed;
	int err = 0;

	for (int side = 0; side < TIMES_SIDES && !err; side++)
		err = read_side(pair, (enum times_side)side, &sides[side], entries[side], announced, command);
	if (!err)
		err = compare_lines(pair);
	for (int side = 0; side < TIMES_SIDES; side++)
		side_rank_free(&pair->ranks[side]);
	return err;
}

static int compare_ranks(struct comparison *comparison, const struct side sides[TIMES_SIDES],
			 double *spans[TIMES_SIDES], const char *command, struct progress *progress)
{
	int err = 0;

	progress_begin(progress, "comparing", sides[TIMES_A].count, "rank");
	for (size_t i = 0; i < sides[TIMES_A].count && !err; i++) {
		progress_show(progress, i, sides[TIMES_A].count);
		const struct box_entry *entry = &sides[TIMES_A].boxes.entries[sides[TIMES_A].first + i];
		struct pair pair = { .comparison = comparison, .rank = box_rank(&entry->reader) };
		const struct box_entry *const entries[] = { entry, side_find(&sides[TIMES_B], pair.rank) };

		if (pair.rank < 0 || !entries[TIMES_B]) {
			comparison->only[TIMES_A]++;
			continue;
		}
		err = compare_rank(&pair, sides, entries, command);
		for (int side = 0; side < TIMES_SIDES; side++)
			spans[side][comparison->ranks] = (double)(pair.last_ns[side] - pair.first_ns[side]) / 1e6;
		comparison->ranks++;
	}
	progress_end(progress);
	for (size_t i = 0; i < sides[TIMES_B].count; i++) {
		int32_t rank = box_rank(&sides[TIMES_B].boxes.entries[sides[TIMES_B].first + i].reader);

		comparison->only[TIMES_B] += rank < 0 || !side_find(&sides[TIMES_A], rank);
	}
	return err;
}

int compare_runs(struct comparison *comparison, const struct side sides[TIMES_SIDES], const char *command,
		 struct progress *progress)
{
	double *spans[TIMES_SIDES] = { calloc(sides[TIMES_A].count + 1, sizeof(double)),
				       calloc(sides[TIMES_A].count + 1, sizeof(double)) };
	int err =
	    spans[TIMES_A] && spans[TIMES_B] ? compare_ranks(comparison, sides, spans, command, progress) : -ENOMEM;

	for (int side = 0; side < TIMES_SIDES; side++) {
		comparison->span_ms[side] =
		    !err && comparison->ranks ? rank_sum_median(spans[side], comparison->ranks) : -1;
		free(spans[side]);
	}
	partings_order(&comparison->partings);
	return err ? err : times_judge(&comparison->times);
}

void comparison_free(struct comparison *comparison)
{
	partings_free(&comparison->partings);
	times_free(&comparison->times);
}

bool comparison_differs(const struct comparison *comparison, bool deterministic)
{
	bool differs = comparison->only[TIMES_A] || comparison->only[TIMES_B] || comparison->lines_only[TIMES_A] ||
		       comparison->lines_only[TIMES_B] || partings_count(&comparison->partings, PARTING_CALLS) ||
		       partings_count(&comparison->partings, PARTING_BAD) ||
		       partings_count(&comparison->partings, PARTING_MAGNITUDE) ||
		       (deterministic && partings_count(&comparison->partings, PARTING_BITS));

	for (size_t i = 0; i < comparison->times.kind_count; i++)
		differs |= comparison->times.kinds[i].differs;
	return differs;
}
