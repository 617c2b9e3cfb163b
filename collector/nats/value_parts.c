/* SPDX-License-Identifier: MIT */
#include "collector/nats/value_parts.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "finding/value.h"

static const char *const sights[] = {
	[VALUE_SIGHT_RESULT] = "result",
	[VALUE_SIGHT_UNSCANNED] = "unscanned",
	[VALUE_SIGHT_INPUT] = "input",
	[VALUE_SIGHT_MAKER] = "maker",
};
static const char *const severities[] = { "notice", "warning", "critical" };

bool value_parts_is_value(const json_t *finding)
{
	return value_is(finding, "kind", "nan") || value_is(finding, "kind", "inf") ||
	       value_is(finding, "kind", "overflow");
}

enum value_sight value_parts_sight(const json_t *finding)
{
	const json_t *values = json_object_get(finding, "values");

	for (int sight = VALUE_SIGHT_RESULT; sight <= VALUE_SIGHT_MAKER; sight++)
		if (value_is(values, "seen", sights[sight]))
			return (enum value_sight)sight;
	return VALUE_SIGHT_NONE;
}

bool value_parts_is_part(const json_t *finding)
{
	enum value_sight sight = value_parts_sight(finding);

	return value_parts_is_value(finding) && sight != VALUE_SIGHT_NONE && sight != VALUE_SIGHT_MAKER &&
	       json_is_false(json_object_get(json_object_get(finding, "values"), "whole"));
}

void value_parts_place(char place[VALUE_PARTS_PLACE], const json_t *finding)
{
	const json_t *operation = json_object_get(finding, "operation"), *replay = json_object_get(operation, "replay");
	const char *comm = value_text(operation, "comm"), *function = value_text(operation, "function");

	snprintf(place, VALUE_PARTS_PLACE, "%.30s %.30s %lld %lld", comm ? comm : "", function ? function : "",
		 (long long)json_integer_value(json_object_get(operation, "sequence")),
		 json_is_integer(replay) ? (long long)json_integer_value(replay) : -1LL);
}

/* Ranks, in any order and several times. */
struct ranks {
	int32_t *list;
	size_t count;
};

static int by_number(const void *left, const void *right)
{
	int32_t a = *(const int32_t *)left, b = *(const int32_t *)right;

	return (a > b) - (a < b);
}

static bool add_ranks(struct ranks *ranks, const json_t *list)
{
	size_t count = json_array_size(list);
	int32_t *grown = realloc(ranks->list, (ranks->count + count + 1) * sizeof(*grown));

	if (!grown)
		return false;
	ranks->list = grown;
	for (size_t i = 0; i < count; i++) {
		json_int_t rank = json_integer_value(json_array_get(list, i));

		if (rank >= 0 && rank <= INT32_MAX)
			ranks->list[ranks->count++] = (int32_t)rank;
	}
	return true;
}

static bool has_rank(const struct ranks *ranks, int32_t rank)
{
	return ranks->count && bsearch(&rank, ranks->list, ranks->count, sizeof(rank), by_number);
}

/* Ascending, each once. NULL on lack of memory. */
static json_t *ranks_value(struct ranks *ranks, const struct ranks *without)
{
	json_t *list = json_array();

	if (ranks->count)
		qsort(ranks->list, ranks->count, sizeof(*ranks->list), by_number);
	for (size_t i = 0; list && i < ranks->count; i++)
		if ((!i || ranks->list[i] != ranks->list[i - 1]) && !(without && has_rank(without, ranks->list[i])))
			json_array_append_new(list, json_integer(ranks->list[i]));
	return list;
}

static bool collect(struct ranks *ranks, const struct value_part *parts, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (!add_ranks(ranks, json_object_get(parts[i].finding, key)))
			return false;
	return true;
}

/* Who may have made it, and who only had it. */
static void set_ranks(json_t *whole, const struct value_part *parts, size_t count)
{
	struct ranks named = { 0 }, victims = { 0 };

	if (collect(&named, parts, count, "ranks") && collect(&victims, parts, count, "victims")) {
		json_object_set_new(whole, "ranks", ranks_value(&named, NULL));
		json_object_set_new(whole, "victims", ranks_value(&victims, &named));
	}
	free(named.list);
	free(victims.list);
}

static void set_where(json_t *whole, const struct value_part *parts, size_t count)
{
	json_t *list = json_array(), *entry;
	size_t k;

	for (size_t i = 0; i < count; i++)
		json_array_foreach(json_object_get(parts[i].finding, "where"), k, entry)
			if (json_array_size(list) < VALUE_PARTS_WHERE)
				json_array_append(list, entry);
	json_object_set_new(whole, "where", list);
}

/* The worst of what the hosts saw become of it. */
static void set_severity(json_t *whole, const struct value_part *parts, size_t count)
{
	int worst = 0;

	for (size_t i = 0; i < count; i++)
		for (int severity = worst + 1; severity < 3; severity++)
			if (value_is(parts[i].finding, "severity", severities[severity]))
				worst = severity;
	json_object_set_new(whole, "severity", json_string(severities[worst]));
}

/* What a host did not see, only that host can say. */
static void set_missing(json_t *whole, const struct value_part *parts, size_t count)
{
	json_t *list = json_array(), *entry;
	size_t k;

	for (size_t i = 0; i < count && i < VALUE_PARTS_HOSTS; i++)
		json_array_foreach(json_object_get(parts[i].finding, "missing"), k, entry) if (json_is_string(entry))
		    json_array_append_new(list, json_sprintf("host %s: %s", parts[i].host, json_string_value(entry)));
	if (count > VALUE_PARTS_HOSTS)
		json_array_append_new(list, json_sprintf("what %zu more hosts did not see", count - VALUE_PARTS_HOSTS));
	json_object_set_new(whole, "missing", list);
}

static json_t *describe(const struct value_part *part)
{
	struct ranks ranks = { 0 };
	char list[96];
	json_t *all = NULL;

	if (add_ranks(&ranks, json_object_get(part->finding, "ranks")) &&
	    add_ranks(&ranks, json_object_get(part->finding, "victims")))
		all = ranks_value(&ranks, NULL);
	json_t *what = json_sprintf("host %s saw it on ranks %s", part->host, value_ranks(all, list, sizeof(list)));
	json_decref(all);
	free(ranks.list);
	return json_pack("{s:s, s:n, s:o*}", "source", "messages", "ms", "what", what);
}

static void add_evidence(json_t *whole, const struct value_part *parts, size_t count)
{
	json_t *evidence = json_array();

	json_array_extend(evidence, json_object_get(whole, "evidence"));
	for (size_t i = 0; i < count && i < VALUE_PARTS_HOSTS; i++)
		json_array_append_new(evidence, describe(&parts[i]));
	if (count > VALUE_PARTS_HOSTS)
		json_array_append_new(evidence,
				      json_pack("{s:s, s:n, s:o}", "source", "messages", "ms", "what",
						json_sprintf("%zu more hosts saw it", count - VALUE_PARTS_HOSTS)));
	json_object_set_new(whole, "evidence", evidence);
}

/* How many ranks the hosts see together, and whether these are all of the job. */
static bool set_seen(json_t *whole, const struct value_part *parts, size_t count)
{
	json_t *job = json_deep_copy(json_object_get(whole, "job"));
	json_int_t seen = 0, total = json_integer_value(json_object_get(job, "ranks_total"));

	for (size_t i = 0; i < count && seen < INT32_MAX; i++) {
		json_int_t of_host =
		    json_integer_value(json_object_get(json_object_get(parts[i].finding, "job"), "ranks_seen"));
		seen += of_host > 0 && of_host < INT32_MAX ? of_host : 0;
	}
	if (job && seen)
		json_object_set_new(job, "ranks_seen", json_integer(seen));
	if (job)
		json_object_set_new(whole, "job", job);
	return total > 0 && seen >= total;
}

/* A host names a communicator without a name by its size and by how many of its ranks that host sees. */
static void set_comm_name(json_t *whole)
{
	json_t *operation = json_deep_copy(json_object_get(whole, "operation"));
	json_int_t size = json_integer_value(json_object_get(operation, "comm_size"));
	const char *name = value_text(operation, "comm_name");
	char of_host[64];

	snprintf(of_host, sizeof(of_host), "a communicator of %lld ranks (", (long long)size);
	if (name && strncmp(name, of_host, strlen(of_host)) == 0)
		json_object_set_new(operation, "comm_name",
				    json_sprintf("a communicator of %lld ranks", (long long)size));
	if (operation)
		json_object_set_new(whole, "operation", operation);
}

/* As each host says it, with the ranks of all. */
static void set_text(json_t *whole, bool all_are_seen)
{
	const json_t *operation = json_object_get(whole, "operation"), *ranks = json_object_get(whole, "ranks"),
		     *step = json_object_get(operation, "step");
	const char *function = value_text(operation, "function"), *comm = value_text(operation, "comm_name");
	bool from_input = value_parts_sight(whole) == VALUE_SIGHT_INPUT;
	char list[160], when[40] = "";

	if (!json_array_size(ranks) || !function || !comm)
		return;
	if (json_is_integer(step))
		snprintf(when, sizeof(when), " in step %lld", (long long)json_integer_value(step));
	json_object_set_new(
	    whole, "text",
	    json_sprintf("%s %s %s #%lld on %s%s, made by %s %s%s", value_is(whole, "kind", "inf") ? "Inf" : "NaN",
			 from_input ? "first seen in" : "in the result of", function,
			 (long long)json_integer_value(json_object_get(operation, "sequence")), comm, when,
			 json_array_size(ranks) == 1 ? "rank" : "one of ranks", value_ranks(ranks, list, sizeof(list)),
			 all_are_seen ? "" : ", or by a rank that none of these hosts sees"));
}

json_t *value_parts_join(const struct value_part *parts, size_t count)
{
	json_t *whole = json_copy((json_t *)parts[0].finding);

	if (!whole || count == 1)
		return whole;
	set_ranks(whole, parts, count);
	set_where(whole, parts, count);
	set_severity(whole, parts, count);
	set_missing(whole, parts, count);
	add_evidence(whole, parts, count);
	set_comm_name(whole);
	set_text(whole, set_seen(whole, parts, count));
	return whole;
}
