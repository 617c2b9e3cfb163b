/* SPDX-License-Identifier: MIT */
#include "console/top/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/sight.h"
#include "console/top/field.h"
#include "console/top/finding_time.h"
#include "console/top/model_columns.h"

static void copy_operation(char *out, size_t size, const json_t *operation)
{
	char comm[MODEL_NAME], function[24];

	*out = '\0';
	if (!json_is_object(operation))
		return;
	field_copy(comm, sizeof(comm), field_get(operation, "comm_name"));
	field_copy(function, sizeof(function), field_get(operation, "function"));
	snprintf(out, size, "%s #%lld on %s", *function ? function : "operation",
		 (long long)field_integer(operation, "sequence", 0), comm);
}

static void copy_thread(struct model_rank *rank, const json_t *thread)
{
	char name[MODEL_NAME], call[24], path[MODEL_TEXT];

	if (!json_is_object(thread))
		return;
	field_copy(name, sizeof(name), field_get(thread, "thread"));
	field_copy(call, sizeof(call), field_get(thread, "system_call"));
	field_copy(path, sizeof(path), field_get(thread, "path"));
	rank->seen_ms = field_number(thread, "seen_unix_ms", 0);
	if (*call)
		snprintf(rank->thread, sizeof(rank->thread), "%.*s in %s(2)%s%.*s", 32, name, call, *path ? " on " : "",
			 120, path);
}

/* Waits and transfers are one where messages report them. */
static double wait_of(const json_t *row)
{
	return field_number(row, "wait_ms", field_number(row, "inside_ms", 0));
}

/* As its host says: "fsync(2)". */
static void copy_why(struct model_rank *rank, const json_t *row)
{
	if (!json_is_string(field_get(row, "why")))
		return;
	field_copy(rank->thread, sizeof(rank->thread), field_get(row, "why"));
	rank->seen_ms = field_number(row, "seen_unix_ms", 0);
}

static struct model_scanning scanning_of(const json_t *row)
{
	const json_t *scanning = field_get(row, "scanning");

	return (struct model_scanning){ .buffers = field_integer(scanning, "buffers", -1),
					.left_out = field_integer(scanning, "left_out", -1),
					.host_ms = field_number(scanning, "host_ms", 0),
					.gpu_ms = field_number(scanning, "gpu_ms", 0) };
}

static void take_rank(struct model_rank *rank, const json_t *row)
{
	*rank = (struct model_rank){
		.rank = field_small(row, "rank", -1),
		.pid = field_small(row, "pid", 0),
		.exit_status = field_small(row, "exit_status", -1),
		.step = field_integer(row, "step", -1),
		.since_ms = field_number(row, "since_unix_ms", 0),
		.own_ms = field_number(row, "own_ms", 0),
		.wait_ms = wait_of(row),
		.transfer_ms = field_number(row, "transfer_ms", 0),
		.unseen_ms = field_number(row, "unseen_ms", 0),
		.lost_ms = field_number(row, "lost_ms", 0),
		.operations = (uint64_t)field_integer(row, "operations", 0),
		.clean_scans = (uint64_t)field_integer(row, "clean_scans", 0),
		.compared = (uint32_t)field_small(row, "compared", 0),
		.scanning = scanning_of(row),
	};
	field_copy(rank->host, sizeof(rank->host), field_get(row, "host"));
	field_copy(rank->doing, sizeof(rank->doing), field_get(row, "doing"));
	field_copy(rank->life, sizeof(rank->life), field_get(row, "life"));
	copy_operation(rank->operation, sizeof(rank->operation), field_get(row, "operation"));
	copy_thread(rank, field_get(row, "thread"));
	copy_why(rank, row);
}

static void take_ranks(struct model *model, const json_t *rows)
{
	size_t count = json_array_size(rows);
	struct model_rank *ranks = json_is_array(rows) ? calloc(count + 1, sizeof(*ranks)) : NULL;

	if (!ranks)
		return;
	for (size_t i = 0; i < count; i++)
		take_rank(&ranks[i], json_array_get(rows, i));
	free(model->ranks);
	model->ranks = ranks;
	model->rank_count = count;
}

/* A power cap and idling are as usual. */
static void copy_throttle(struct model_gpu *gpu, const json_t *reasons)
{
	size_t i;
	const json_t *reason;

	json_array_foreach(reasons, i, reason)
	{
		char name[24];

		field_copy(name, sizeof(name), reason);
		if (!strcmp(name, "idle") || !strcmp(name, "power_cap") || !strcmp(name, "application"))
			continue;
		size_t used = strlen(gpu->throttle);

		snprintf(gpu->throttle + used, sizeof(gpu->throttle) - used, "%s%s", used ? "," : "", name);
	}
}

static void take_gpu(struct model_gpu *gpu, const json_t *row)
{
	*gpu = (struct model_gpu){
		.known = true,
		.sm_mhz = field_small(row, "sm_mhz", -1),
		.sm_mhz_max = field_small(row, "sm_mhz_max", -1),
		.celsius = field_small(row, "celsius", -1),
		.watts = field_small(row, "watts", -1),
		.watts_cap = field_small(row, "watts_cap", -1),
		.memory_used = field_number(row, "memory_used", -1),
		.memory_total = field_number(row, "memory_total", -1),
		.xid = field_integer(row, "xid", 0),
	};
	copy_throttle(gpu, field_get(row, "clock_reasons"));
}

static void take_gpus(struct model *model, const json_t *rows)
{
	size_t i, at = 0;
	const json_t *row;

	/* Both lists are in the same order. */
	json_array_foreach(rows, i, row)
	{
		int32_t rank = field_small(row, "rank", -1);

		while (at < model->rank_count && model->ranks[at].rank != rank)
			at++;
		if (at < model->rank_count)
			take_gpu(&model->ranks[at].gpu, row);
	}
}

static void free_communicators(struct model *model)
{
	for (size_t i = 0; i < model->communicator_count; i++) {
		free(model->communicators[i].members);
		free(model->communicators[i].missing);
	}
	free(model->communicators);
	model->communicators = NULL;
	model->communicator_count = 0;
}

static int by_rank(const void *left, const void *right)
{
	int32_t a = ((const struct model_member *)left)->rank, b = ((const struct model_member *)right)->rank;

	return (a > b) - (a < b);
}

static void take_communicator(struct model_communicator *communicator, const json_t *row)
{
	const json_t *members = field_get(row, "members");
	size_t count = json_array_size(members);

	field_copy(communicator->id, sizeof(communicator->id), field_get(row, "comm"));
	field_copy(communicator->name, sizeof(communicator->name), field_get(row, "name"));
	communicator->size = field_small(row, "size", 0);
	communicator->members = calloc(count + 1, sizeof(*communicator->members));
	for (size_t i = 0; communicator->members && i < count; i++, communicator->member_count++) {
		const json_t *member = json_array_get(members, i);

		communicator->members[i] = (struct model_member){ field_small(member, "rank", -1),
								  (uint64_t)field_integer(member, "calls", -1),
								  json_is_true(field_get(member, "captured")) };
	}
	if (communicator->members)
		qsort(communicator->members, communicator->member_count, sizeof(*communicator->members), by_rank);
}

static void take_flight(struct model *model, const json_t *row)
{
	const json_t *missing = field_get(row, "missing");
	char id[24];

	field_copy(id, sizeof(id), field_get(row, "comm"));
	for (size_t i = 0; i < model->communicator_count; i++) {
		struct model_communicator *communicator = &model->communicators[i];

		if (strcmp(communicator->id, id) != 0 || communicator->missing)
			continue;
		copy_operation(communicator->flight, sizeof(communicator->flight), row);
		communicator->joined_count = json_array_size(field_get(row, "joined"));
		communicator->unseen = field_small(row, "unseen", -1);
		communicator->missing = calloc(json_array_size(missing) + 1, sizeof(*communicator->missing));
		for (size_t k = 0; communicator->missing && k < json_array_size(missing); k++)
			communicator->missing[communicator->missing_count++] =
			    (int32_t)json_integer_value(json_array_get(missing, k));
		return;
	}
}

static void take_communicators(struct model *model, const json_t *rows, const json_t *flights)
{
	size_t count = json_array_size(rows), i;
	const json_t *flight;

	if (!json_is_array(rows))
		return;
	free_communicators(model);
	model->communicators = calloc(count + 1, sizeof(*model->communicators));
	for (i = 0; model->communicators && i < count; i++, model->communicator_count++)
		take_communicator(&model->communicators[i], json_array_get(rows, i));
	json_array_foreach(flights, i, flight) take_flight(model, flight);
}

static const char *short_level(const char *name)
{
	static const struct {
		const char *name, *text;
	} levels[] = { { "ebpf", "eBPF" },
		       { "root", "/proc (root)" },
		       { "proc", "/proc" },
		       { "self", "black boxes" },
		       { "none", "unseen" } };

	for (size_t i = 0; name && i < sizeof(levels) / sizeof(levels[0]); i++)
		if (!strcmp(levels[i].name, name))
			return levels[i].text;
	return "";
}

/* Of all nodes: the host of which least is seen, and that of which most is. */
static void copy_lowest_level(struct model *model)
{
	static const char *const order[] = { "none", "self", "proc", "root", "ebpf" };
	const char *lowest = NULL, *highest = NULL;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		for (size_t k = 0; k < model->host_count; k++)
			if (!strcmp(model->hosts[k].level, order[i])) {
				lowest = lowest ? lowest : order[i];
				highest = order[i];
			}
	snprintf(model->level, sizeof(model->level), "%s%s%s", short_level(lowest), lowest != highest ? " to " : "",
		 lowest != highest ? short_level(highest) : "");
}

static void take_hosts(struct model *model, const json_t *rows)
{
	size_t count = json_array_size(rows);
	struct model_host *hosts = json_is_array(rows) ? calloc(count + 1, sizeof(*hosts)) : NULL;

	if (!hosts)
		return;
	for (size_t i = 0; i < count; i++) {
		const json_t *row = json_array_get(rows, i);

		field_copy(hosts[i].name, sizeof(hosts[i].name), field_get(row, "host"));
		field_copy(hosts[i].state, sizeof(hosts[i].state), field_get(row, "state"));
		field_copy(hosts[i].level, sizeof(hosts[i].level), field_get(row, "level"));
		hosts[i].heard_ms = field_number(row, "heard_unix_ms", 0);
		hosts[i].ranks = field_integer(row, "ranks", 0);
	}
	free(model->hosts);
	model->hosts = hosts;
	model->host_count = count;
	copy_lowest_level(model);
}

static void take_job(struct model *model, const json_t *job)
{
	if (json_is_string(field_get(job, "id")))
		field_copy(model->job, sizeof(model->job), field_get(job, "id"));
	model->all_nodes = json_is_true(field_get(job, "all_nodes"));
	model->processes = field_integer(job, "processes", 0);
	model->ranks_total = field_integer(job, "ranks_total", -1);
	model->communicators_made = field_integer(job, "communicators", 0);
	model->operations = field_integer(job, "operations", 0);
	model->dropped = field_integer(job, "dropped", 0);
	model->captured = field_integer(job, "captured", 0);
	model->steps = field_integer(job, "steps", 0);
	model->step = field_integer(job, "step", model->steps ? model->steps : -1); /* earlier versions do not say */
	model->step_ms = field_number(job, "step_ms", -1);
	model->first_step_ms = field_number(job, "first_step_ms", -1);
}

/* Where not all ranks are seen so deep it says how many are. */
static void copy_level(struct model *model, const json_t *sight)
{
	const char *level = short_level(json_string_value(field_get(sight, "level")));
	int64_t all = field_integer(sight, "processes", 0), with = field_integer(sight, "with_ebpf", 0);

	if (with > 0 && with < all)
		snprintf(model->level, sizeof(model->level), "eBPF %lld of %lld", (long long)with, (long long)all);
	else
		snprintf(model->level, sizeof(model->level), "%s", level);
}

static void take_sight(struct model *model, const json_t *sight)
{
	char line[SIGHT_LINE];

	if (!json_is_object(sight))
		return;
	copy_level(model, sight);
	sight_describe(sight, SIGHT_LINE - 1, line);
	snprintf(model->sight, sizeof(model->sight), "%s", line);
}

/* A straggler is found some steps after it began to be late. Looking back it is there from its first step on. */
static void date_back(const struct model *model, struct model_finding *finding)
{
	for (size_t i = 0; finding->since_step && i < model->column_count; i++)
		if (model->columns[i].step && model->columns[i].last_step >= finding->since_step) {
			/* Its middle: the step before ends where it begins. */
			double in_step_ms = (model->columns[i].from_ms + model->columns[i].until_ms) / 2;

			finding->first_ms = in_step_ms < finding->first_ms ? in_step_ms : finding->first_ms;
			return;
		}
}

/* What is no longer open was closed while nobody listened. */
static void close_others(struct model *model, const json_t *open)
{
	for (size_t i = 0; json_is_array(open) && i < model->finding_count; i++) {
		struct model_finding *finding = &model->findings[i];
		bool found = false;
		const json_t *id;
		size_t k;

		json_array_foreach(open, k, id) found |=
		    json_is_string(id) && !strcmp(json_string_value(id), finding->id);
		if (!found && !finding->closed_ms)
			finding->closed_ms = model->at_ms;
	}
}

static void take_snapshot(struct model *model, const json_t *snapshot)
{
	const json_t *watchdog = field_get(snapshot, "watchdog");

	json_decref(model->snapshot);
	model->snapshot = json_incref((json_t *)snapshot);
	model->at_ms = field_number(snapshot, "unix_ms", model->at_ms);
	take_job(model, field_get(snapshot, "job"));
	take_sight(model, field_get(snapshot, "sight"));
	model->watchdog.timeout_ms = field_number(watchdog, "timeout_ms", 0);
	model->watchdog.deadline_ms = field_number(watchdog, "deadline_unix_ms", 0);
	model->watchdog.since_ms = field_number(watchdog, "since_unix_ms", 0);
	field_copy(model->watchdog.from, sizeof(model->watchdog.from), field_get(watchdog, "from"));
	take_ranks(model, field_get(snapshot, "ranks"));
	take_gpus(model, field_get(snapshot, "gpus"));
	take_hosts(model, field_get(snapshot, "hosts"));
	take_communicators(model, field_get(snapshot, "communicators"), field_get(snapshot, "flights"));
	model_columns_take(model, field_get(snapshot, "cells"));
	for (size_t i = 0; i < model->finding_count; i++)
		date_back(model, &model->findings[i]);
	close_others(model, field_get(snapshot, "findings"));
}

/* The newest that has this id. */
static struct model_finding *find_finding(struct model *model, const char *id)
{
	for (size_t i = model->finding_count; i-- > 0;)
		if (!strcmp(model->findings[i].id, id))
			return &model->findings[i];
	return NULL;
}

static struct model_finding *add_finding(struct model *model, const char *id)
{
	if (model->finding_count == model->finding_room) {
		size_t room = model->finding_room ? model->finding_room * 2 : 32;
		struct model_finding *findings = realloc(model->findings, room * sizeof(*findings));

		if (!findings)
			return NULL;
		model->findings = findings;
		model->finding_room = room;
	}
	struct model_finding *made = &model->findings[model->finding_count++];

	*made = (struct model_finding){ 0 };
	snprintf(made->id, sizeof(made->id), "%s", id);
	return made;
}

static int severity_of(const json_t *finding)
{
	const char *severity = json_string_value(field_get(finding, "severity"));

	return !severity ? 1 : !strcmp(severity, "critical") ? 2 : !strcmp(severity, "notice") ? 0 : 1;
}

static size_t count_of(const struct model *model, const char *id)
{
	size_t count = 0;

	for (size_t i = 0; i < model->finding_count; i++)
		count += !strcmp(model->findings[i].id, id);
	return count;
}

/* Bad values that a rank makes after it was clean again, or after some that harmed nothing. Of many the first and the
 * last are kept. */
static bool is_another(const struct model *model, const struct model_finding *before, const json_t *json)
{
	return json_is_object(field_get(json, "values")) && (before->closed_ms > 0 || !before->severity) &&
	       !json_equal(field_get(before->json, "first_seen"), field_get(json, "first_seen")) &&
	       count_of(model, before->id) < MODEL_TIMES;
}

void model_take_finding(struct model *model, const json_t *json)
{
	const char *id = json_string_value(field_get(json, "id")), *state = json_string_value(field_get(json, "state"));
	struct model_finding *finding = id ? find_finding(model, id) : NULL;
	double time_ms = finding_time_ms(field_get(json, "time"));

	if (finding && is_another(model, finding, json)) {
		finding->closed_ms = finding->closed_ms > 0 ? finding->closed_ms : time_ms;
		finding = NULL;
	}
	if (id && !finding)
		finding = add_finding(model, id);
	if (!finding)
		return;
	json_decref(finding->json);
	finding->json = json_deep_copy(json);
	finding->severity = severity_of(json);
	finding->first_ms = finding_time_ms(field_get(json, "first_seen"));
	finding->first_ms = finding->first_ms > 0 ? finding->first_ms : time_ms;
	finding->since_step = (uint64_t)field_integer(field_get(json, "late"), "since_step", 0);
	date_back(model, finding);
	finding->closed_ms = state && !strcmp(state, "closed") ? (time_ms > 0 ? time_ms : model->at_ms) : 0;
}

static void take_detail(struct model *model, const json_t *rank)
{
	json_decref(model->detail);
	model->detail = json_deep_copy(rank);
	model->detail_rank = field_small(rank, "rank", -1);
}

void model_take(struct model *model, const json_t *message, double now_ms)
{
	const json_t *hello = field_get(message, "hello");

	if (hello) {
		field_copy(model->job, sizeof(model->job), field_get(hello, "job"));
		model->all_nodes = json_is_true(field_get(hello, "all_nodes"));
		if (!model->all_nodes)
			take_sight(model, hello);
		model->greeted = true;
		model->over = false;
		model->gone_ms = 0;
		model->at_ms = model->at_ms > 0 ? model->at_ms : now_ms;
	} else if (json_is_true(field_get(field_get(message, "summary"), "last"))) {
		model->over = true;
	} else if (field_get(message, "watching")) {
		take_sight(model, field_get(message, "watching"));
	} else if (json_is_object(field_get(message, "snapshot"))) {
		take_snapshot(model, field_get(message, "snapshot"));
	} else if (field_get(message, "schema")) {
		model_take_finding(model, message);
	} else if (json_is_object(field_get(message, "rank"))) {
		take_detail(model, field_get(message, "rank"));
	}
}

void model_lose(struct model *model, double now_ms)
{
	if (!model->gone_ms)
		model->gone_ms = now_ms;
}

const struct model_column *model_column(const struct model *model, long at)
{
	if (!model->column_count)
		return NULL;
	if (at < 0 || (size_t)at >= model->column_count)
		at = (long)model->column_count - 1;
	return &model->columns[at];
}

double model_others(const struct model *model, size_t index)
{
	size_t compared = model->ranks[index].compared ? model->ranks[index].compared : model->rank_count;

	return compared > 1 ? (double)compared - 1 : 1;
}

const char *model_scan_state(const struct model_scanning *scanning)
{
	return scanning->buffers < 0 ? "" : !scanning->buffers ? "none" : scanning->left_out > 0 ? "part" : "on";
}

double model_steps(const struct model_column *column)
{
	if (column->step)
		return (double)(column->last_step - column->step + 1);
	/* Merged ones reach from the beginning of their first second to that of their last. */
	return column->until_ms > column->from_ms + 1000 ? (column->until_ms - column->from_ms) / 1000 + 1 : 1;
}

bool model_has_hosts(const struct model *model)
{
	for (size_t i = 1; i < model->rank_count; i++)
		if (strcmp(model->ranks[i].host, model->ranks[0].host) != 0)
			return true;
	return false;
}

double model_time(const struct model *model, long at)
{
	const struct model_column *column = at >= 0 ? model_column(model, at) : NULL;

	return column ? column->until_ms : model->at_ms;
}

void model_free(struct model *model)
{
	free(model->ranks);
	free(model->hosts);
	free_communicators(model);
	while (model->column_count)
		model_columns_drop(model, model->column_count - 1);
	free(model->columns);
	for (size_t i = 0; i < model->finding_count; i++)
		json_decref(model->findings[i].json);
	free(model->findings);
	json_decref(model->snapshot);
	json_decref(model->detail);
	*model = (struct model){ 0 };
}
