/* SPDX-License-Identifier: MIT */
#include "console/replay/seen_live_match.h"

#include <string.h>

#include "finding/value.h"

/* The live times were written with the clock as it was then, those of the boxes go by their last anchor. */
#define SLACK_NS     UINT64_C(2000000000)
#define RUN_SLACK_NS UINT64_C(10000000000)

static bool has_rank(const struct seen_live_run *run, const json_t *rank)
{
	json_int_t number = json_integer_value(rank);

	if (!json_is_integer(rank) || number < 0)
		return false;
	if (run->ranks > 0)
		return number < run->ranks;
	for (size_t i = 0; i < run->count; i++)
		if (run->processes[i].rank == number)
			return true;
	return false;
}

static bool has_all(const struct seen_live_run *run, const json_t *ranks)
{
	const json_t *rank;
	size_t i;

	json_array_foreach(ranks, i, rank)
		if (!has_rank(run, rank))
			return false;
	return true;
}

bool seen_live_match_has_ranks(const struct seen_live_run *run, const json_t *live)
{
	const json_t *where;
	size_t i;

	json_array_foreach(json_object_get(live, "where"), i, where)
	{
		const json_t *rank = json_object_get(where, "rank");

		if (!json_is_null(rank) && !has_rank(run, rank))
			return false;
	}
	return has_all(run, json_object_get(live, "ranks")) && has_all(run, json_object_get(live, "victims")) &&
	       has_all(run, json_object_get(json_object_get(live, "late"), "waiting"));
}

static bool has_process(const struct seen_live_run *run, const json_t *where)
{
	for (size_t i = 0; i < run->count; i++) {
		const struct seen_live_process *process = &run->processes[i];

		if (process->rank == json_integer_value(json_object_get(where, "rank")) &&
		    process->pid == json_integer_value(json_object_get(where, "pid")) &&
		    value_is(where, "host", process->host))
			return true;
	}
	return false;
}

static bool has_processes(const struct seen_live_run *run, const json_t *live)
{
	const json_t *list = json_object_get(live, "where"), *where;
	size_t i;

	json_array_foreach(list, i, where)
		if (!has_process(run, where))
			return false;
	return json_array_size(list) > 0;
}

static bool is_in_its_time(const struct seen_live_run *run, uint64_t at_ns)
{
	for (size_t i = 0; i < run->count; i++)
		if (at_ns + RUN_SLACK_NS >= run->processes[i].begin_ns &&
		    at_ns <= run->processes[i].end_ns + RUN_SLACK_NS)
			return true;
	return false;
}

/* In containers the collector may know a process by another number than the process itself. */
bool seen_live_match_is_of(const struct seen_live_run *run, const json_t *live)
{
	const char *communicator = value_text(json_object_get(live, "operation"), "comm");

	if (!is_in_its_time(run, value_time(live, "first_seen")))
		return false;
	return (communicator && json_object_get(run->communicators, communicator)) || has_processes(run, live);
}

bool seen_live_match_is_over(const struct seen_live_run *run)
{
	for (size_t i = 0; i < run->count; i++)
		if (!run->processes[i].ended)
			return false;
	return true;
}

/* From when the finding is true to when it was so last. */
static bool overlap(const json_t *finding, const json_t *live)
{
	uint64_t begin_ns = value_time(finding, "first_seen"),
		 end_ns = value_is(finding, "state", "closed") ? value_time(finding, "time") : UINT64_MAX;

	return value_time(live, "first_seen") <= (end_ns > UINT64_MAX - SLACK_NS ? end_ns : end_ns + SLACK_NS) &&
	       begin_ns <= value_time(live, "time") + SLACK_NS;
}

static bool is_same_operation(const json_t *left, const json_t *right)
{
	static const char *const keys[] = { "comm", "function", "sequence" };
	const json_t *here = json_object_get(left, "operation"), *there = json_object_get(right, "operation");

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!json_object_get(here, keys[i]) ||
		    !json_equal(json_object_get(here, keys[i]), json_object_get(there, keys[i])))
			return false;
	return true;
}

/* Of values each time they were bad is a finding of its own, under one id. */
static bool is_same(const json_t *finding, const json_t *live)
{
	if (!value_is(finding, "kind", value_text(live, "kind")) ||
	    !json_equal(json_object_get(finding, "ranks"), json_object_get(live, "ranks")))
		return false;
	if (json_is_object(json_object_get(live, "values")))
		return is_same_operation(finding, live);
	return overlap(finding, live);
}

typedef bool match(const json_t *finding, const json_t *live);

static const char *find(json_t *findings, const json_t *live, match *is)
{
	const char *key;
	json_t *finding;

	json_object_foreach(findings, key, finding)
		if (is(finding, live))
			return key;
	return NULL;
}

const char *seen_live_match_same(json_t *findings, const json_t *live)
{
	return find(findings, live, is_same);
}

static bool is_stuck(const json_t *finding)
{
	return value_is(finding, "kind", "hang") || value_is(finding, "kind", "gone") ||
	       value_is(finding, "kind", "desync");
}

static bool is_other(const json_t *finding, const json_t *live)
{
	return is_stuck(finding) && is_stuck(live) && is_same_operation(finding, live) &&
	       !json_equal(json_object_get(finding, "ranks"), json_object_get(live, "ranks"));
}

const char *seen_live_match_other(json_t *findings, const json_t *live)
{
	return find(findings, live, is_other);
}

static bool is_before(const json_t *finding, const json_t *live)
{
	const char *id = value_text(live, "id");

	return id && value_is(finding, "id", id) && !json_is_object(json_object_get(live, "values")) &&
	       json_is_false(json_object_get(json_object_get(finding, "seen_live"), "in_boxes")) &&
	       value_time(finding, "first_seen") <= value_time(live, "first_seen");
}

const char *seen_live_match_before(json_t *findings, const json_t *live)
{
	return find(findings, live, is_before);
}

static int sureness(const json_t *finding)
{
	return value_is(finding, "confidence", "certain") ? 2 : value_is(finding, "confidence", "likely");
}

bool seen_live_match_is_surer(const json_t *left, const json_t *right)
{
	return sureness(left) > sureness(right);
}
