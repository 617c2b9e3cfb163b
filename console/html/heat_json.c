/* SPDX-License-Identifier: MIT */
#include "console/html/heat_json.h"

#include <stdint.h>
#include <stdlib.h>

#include "analysis/explain/levels.h"

static const char *const heat_names[HEAT_KINDS] = {
	[HEAT_OWN] = "own",       [HEAT_WAIT] = "wait", [HEAT_TRANSFER] = "transfer",
	[HEAT_UNSEEN] = "unseen", [HEAT_LATE] = "late", [HEAT_OPEN] = "open",
};

static char *base64(const uint8_t *bytes, size_t count)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	char *text = malloc((count + 2) / 3 * 4 + 1), *to = text;

	for (size_t i = 0; text && i < count; i += 3) {
		uint32_t second = i + 1 < count ? bytes[i + 1] : 0, third = i + 2 < count ? bytes[i + 2] : 0;
		uint32_t word = (uint32_t)bytes[i] << 16 | second << 8 | third;

		*to++ = digits[word >> 18];
		*to++ = digits[word >> 12 & 63];
		*to++ = i + 1 < count ? digits[word >> 6 & 63] : '=';
		*to++ = i + 2 < count ? digits[word & 63] : '=';
	}
	if (text)
		*to = '\0';
	return text;
}

static int by_rank(const void *a, const void *b)
{
	const struct heat_row *left = *(const struct heat_row *const *)a, *right = *(const struct heat_row *const *)b;

	if (left->world_rank != right->world_rank)
		return left->world_rank < right->world_rank ? -1 : 1;
	return (left->process > right->process) - (left->process < right->process);
}

/* What is more than nothing is seen. */
static uint8_t share_of(const struct heat *heat, uint32_t us)
{
	uint64_t share = ((uint64_t)us * 255000 + heat->bucket_ns / 2) / heat->bucket_ns;

	return share > 255 ? 255 : us && !share ? 1 : (uint8_t)share;
}

static json_t *kind_json(const struct heat *heat, const struct heat_row *const *rows, size_t count, size_t kind)
{
	uint8_t *bytes = malloc((size_t)heat->used * count + 1);
	json_t *json = NULL;

	for (size_t row = 0; bytes && row < count; row++)
		for (uint32_t i = 0; i < heat->used; i++)
			bytes[row * heat->used + i] = share_of(heat, rows[row]->us[kind][i]);
	char *text = bytes ? base64(bytes, heat->used * count) : NULL;

	if (text)
		json = json_string(text);
	free(text);
	free(bytes);
	return json;
}

static json_t *totals_json(const struct heat_row *row)
{
	json_t *list = json_array();

	for (size_t kind = 0; kind < HEAT_KINDS; kind++)
		if (kind != HEAT_LATE)
			json_array_append_new(list, json_integer((json_int_t)(row->total_ns[kind] / 1000)));
	return list;
}

json_t *heat_json(const struct run_view *view)
{
	const struct heat *heat = &view->heat;
	const struct heat_row **rows = calloc((size_t)heat->row_count + 1, sizeof(struct heat_row *));
	json_t *json = json_pack("{s:I, s:I, s:i}", "from", run_view_us(view, heat->from_ns), "bucket",
				 (json_int_t)(heat->bucket_ns / 1000), "columns", (int)heat->used);
	json_t *ranks = json_array(), *totals = json_array();
	size_t count = 0;

	for (uint32_t i = 0; rows && i < heat->row_count; i++)
		if (heat->rows[i].process)
			rows[count++] = &heat->rows[i];
	if (count)
		qsort(rows, count, sizeof(*rows), by_rank);
	for (size_t i = 0; i < count; i++) {
		json_array_append_new(ranks, json_integer(rows[i]->world_rank));
		json_array_append_new(totals, totals_json(rows[i]));
	}
	json_object_set_new(json, "ranks", ranks);
	json_object_set_new(json, "totals", totals);
	for (size_t kind = 0; rows && kind < HEAT_KINDS; kind++)
		json_object_set_new(json, heat_names[kind], kind_json(heat, rows, count, kind));
	free(rows);
	return json;
}

struct steps_table {
	double us[LEVELS_VALUES];
	uint64_t at_ns[LEVELS_VALUES];
	size_t count;
};

static int by_value(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* The median of those that are known of `every` steps from i on; 0 none. */
static uint64_t group_ns(const struct step_series *series, size_t i, size_t every)
{
	uint64_t durations[1024];
	size_t count = 0;

	for (size_t j = i; j < i + every && j < series->count && count < 1024; j++) {
		durations[count] = step_series_duration_ns(series, j);
		count += durations[count] != 0;
	}
	if (count)
		qsort(durations, count, sizeof(*durations), by_value);
	return count ? durations[count / 2] : 0;
}

static void gather(struct steps_table *table, const struct step_series *series, size_t every)
{
	for (size_t i = 0; i < series->count && table->count < LEVELS_VALUES; i += every) {
		uint64_t ns = group_ns(series, i, every);

		if (!ns || series->starts[i] == UINT64_MAX)
			continue;
		table->us[table->count] = (double)ns / 1000;
		table->at_ns[table->count++] = series->starts[i];
	}
}

static json_t *levels_json(const struct steps_table *table)
{
	struct lasting_level levels[LEVELS_MOST];
	size_t count = levels_find(NULL, table->us, table->count, levels);
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_pack("{s:I, s:I, s:f, s:f}", "begin", (json_int_t)levels[i].begin,
						      "end", (json_int_t)levels[i].end, "median", levels[i].median,
						      "slope", levels[i].slope));
	return list;
}

json_t *steps_json(const struct run_view *view)
{
	const struct step_series *series = &view->steps;
	size_t every = (series->count + LEVELS_VALUES - 1) / LEVELS_VALUES;
	struct steps_table *table = calloc(1, sizeof(*table));
	json_t *at = json_array(), *us = json_array(), *json;

	if (table)
		gather(table, series, every ? every : 1);
	for (size_t i = 0; table && i < table->count; i++) {
		json_array_append_new(at, json_integer(run_view_us(view, table->at_ns[i])));
		json_array_append_new(us, json_integer((json_int_t)table->us[i]));
	}
	json = json_pack("{s:I, s:I, s:I, s:o, s:o, s:o}", "first", (json_int_t)series->first, "every",
			 (json_int_t)(every ? every : 1), "count", (json_int_t)series->count, "at", at, "us", us,
			 "levels", table ? levels_json(table) : json_array());
	free(table);
	return json;
}
