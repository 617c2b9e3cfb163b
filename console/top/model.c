/* SPDX-License-Identifier: MIT */
#include "console/top/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "collector/sight.h"
#include "console/top/finding_time.h"

static bool is_plain(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || (unsigned char)*text >= 0x7f)
			return false;
	return true;
}

static void copy_text(char *out, size_t size, const json_t *value)
{
	const char *text = json_string_value(value);

	/* Nearly always so, and there are tens of thousands of them. */
	if (text && is_plain(text)) {
		snprintf(out, size, "%s", text);
		return;
	}
	char *escaped = text ? foreign_text(text) : NULL;

	snprintf(out, size, "%s", escaped ? escaped : "");
	free(escaped);
}

static const json_t *get(const json_t *object, const char *key)
{
	return json_object_get(object, key);
}

static double number(const json_t *object, const char *key, double otherwise)
{
	const json_t *value = get(object, key);

	return json_is_number(value) && isfinite(json_number_value(value)) ? json_number_value(value) : otherwise;
}

static int64_t integer(const json_t *object, const char *key, int64_t otherwise)
{
	const json_t *value = get(object, key);

	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

static int32_t small(const json_t *object, const char *key, int32_t otherwise)
{
	int64_t value = integer(object, key, otherwise);

	return value < INT32_MIN || value > INT32_MAX ? otherwise : (int32_t)value;
}

static void copy_operation(char *out, size_t size, const json_t *operation)
{
	char comm[MODEL_NAME], function[24];

	*out = '\0';
	if (!json_is_object(operation))
		return;
	copy_text(comm, sizeof(comm), get(operation, "comm_name"));
	copy_text(function, sizeof(function), get(operation, "function"));
	snprintf(out, size, "%s #%lld on %s", *function ? function : "operation", (long long)integer(operation, "sequence", 0), comm);
}

static void copy_thread(struct model_rank *rank, const json_t *thread)
{
	char name[MODEL_NAME], call[24], path[MODEL_TEXT];

	if (!json_is_object(thread))
		return;
	copy_text(name, sizeof(name), get(thread, "thread"));
	copy_text(call, sizeof(call), get(thread, "system_call"));
	copy_text(path, sizeof(path), get(thread, "path"));
	rank->seen_ms = number(thread, "seen_unix_ms", 0);
	if (*call)
		snprintf(rank->thread, sizeof(rank->thread), "%.*s in %s(2)%s%.*s", 32, name, call, *path ? " on " : "", 120, path);
}

static void take_rank(struct model_rank *rank, const json_t *row)
{
	*rank = (struct model_rank){
		.rank = small(row, "rank", -1),
		.pid = small(row, "pid", 0),
		.exit_status = small(row, "exit_status", -1),
		.step = integer(row, "step", -1),
		.since_ms = number(row, "since_unix_ms", 0),
		.own_ms = number(row, "own_ms", 0),
		.wait_ms = number(row, "wait_ms", 0),
		.transfer_ms = number(row, "transfer_ms", 0),
		.unseen_ms = number(row, "unseen_ms", 0),
		.lost_ms = number(row, "lost_ms", 0),
		.operations = (uint64_t)integer(row, "operations", 0),
		.clean_scans = (uint64_t)integer(row, "clean_scans", 0),
	};
	copy_text(rank->host, sizeof(rank->host), get(row, "host"));
	copy_text(rank->doing, sizeof(rank->doing), get(row, "doing"));
	copy_text(rank->life, sizeof(rank->life), get(row, "life"));
	copy_operation(rank->operation, sizeof(rank->operation), get(row, "operation"));
	copy_thread(rank, get(row, "thread"));
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

		copy_text(name, sizeof(name), reason);
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
		.sm_mhz = small(row, "sm_mhz", -1),
		.sm_mhz_max = small(row, "sm_mhz_max", -1),
		.celsius = small(row, "celsius", -1),
		.watts = small(row, "watts", -1),
		.watts_cap = small(row, "watts_cap", -1),
		.memory_used = number(row, "memory_used", -1),
		.memory_total = number(row, "memory_total", -1),
		.xid = integer(row, "xid", 0),
	};
	copy_throttle(gpu, get(row, "clock_reasons"));
}

static void take_gpus(struct model *model, const json_t *rows)
{
	size_t i, at = 0;
	const json_t *row;

	/* Both lists are in the same order. */
	json_array_foreach(rows, i, row)
	{
		int32_t rank = small(row, "rank", -1);

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

static void take_communicator(struct model_communicator *communicator, const json_t *row)
{
	const json_t *members = get(row, "members");
	size_t count = json_array_size(members);

	copy_text(communicator->id, sizeof(communicator->id), get(row, "comm"));
	copy_text(communicator->name, sizeof(communicator->name), get(row, "name"));
	communicator->size = small(row, "size", 0);
	communicator->members = calloc(count + 1, sizeof(*communicator->members));
	for (size_t i = 0; communicator->members && i < count; i++, communicator->member_count++) {
		const json_t *member = json_array_get(members, i);

		communicator->members[i] = (struct model_member){ small(member, "rank", -1), (uint64_t)integer(member, "calls", 0),
								  json_is_true(get(member, "captured")) };
	}
}

static void take_flight(struct model *model, const json_t *row)
{
	const json_t *missing = get(row, "missing");
	char id[24];

	copy_text(id, sizeof(id), get(row, "comm"));
	for (size_t i = 0; i < model->communicator_count; i++) {
		struct model_communicator *communicator = &model->communicators[i];

		if (strcmp(communicator->id, id) != 0 || communicator->missing)
			continue;
		copy_operation(communicator->flight, sizeof(communicator->flight), row);
		communicator->joined_count = json_array_size(get(row, "joined"));
		communicator->unseen = small(row, "unseen", -1);
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

static void drop_column(struct model *model, size_t at)
{
	model->column_bytes -= model->columns[at].rank_count * sizeof(struct model_cell);
	free(model->columns[at].cells);
	model->column_count--;
	memmove(&model->columns[at], &model->columns[at + 1], (model->column_count - at) * sizeof(*model->columns));
}

static bool covers(const struct model_column *new, const struct model_column *old)
{
	if (new->step && old->step)
		return old->step >= new->step && old->step <= new->last_step;
	return new->step == old->step && new->from_ms == old->from_ms;
}

/* Where it belongs; what it holds the news of goes. Changes are in the newest ones. */
static size_t place_for(struct model *model, const struct model_column *new)
{
	size_t at = model->column_count;

	while (at > 0 && (covers(new, &model->columns[at - 1]) || model->columns[at - 1].from_ms > new->from_ms)) {
		at--;
		if (covers(new, &model->columns[at]))
			drop_column(model, at);
	}
	return at;
}

static void insert_column(struct model *model, const struct model_column *new)
{
	size_t at = place_for(model, new);

	while (model->column_count > 1 && model->column_bytes + new->rank_count * sizeof(struct model_cell) > MODEL_CELLS_BYTES) {
		drop_column(model, 0);
		at -= at > 0;
	}
	if (model->column_count == model->column_room) {
		size_t room = model->column_room ? model->column_room * 2 : 256;
		struct model_column *columns = realloc(model->columns, room * sizeof(*columns));

		if (!columns) {
			free(new->cells);
			return;
		}
		model->columns = columns;
		model->column_room = room;
	}
	memmove(&model->columns[at + 1], &model->columns[at], (model->column_count - at) * sizeof(*model->columns));
	model->columns[at] = *new;
	model->column_count++;
	model->column_bytes += new->rank_count * sizeof(struct model_cell);
}

static float part_of(const json_t *row, const char *key, size_t at)
{
	double value = json_number_value(json_array_get(get(row, key), at));

	return value > 0 && value < 1e15 ? (float)value : 0;
}

static void take_column(struct model *model, const json_t *row, size_t ranks)
{
	struct model_column column = {
		.step = (uint64_t)integer(row, "step", 0),
		.last_step = (uint64_t)integer(row, "last_step", 0),
		.from_ms = number(row, "from_unix_ms", 0),
		.until_ms = number(row, "until_unix_ms", 0),
		.rank_count = ranks,
		.cells = calloc(ranks + 1, sizeof(struct model_cell)),
	};

	if (!column.cells)
		return;
	for (size_t i = 0; i < ranks; i++)
		column.cells[i] = (struct model_cell){
			.own_ms = part_of(row, "own_ms", i),
			.wait_ms = part_of(row, "wait_ms", i),
			.transfer_ms = part_of(row, "transfer_ms", i),
			.unseen_ms = part_of(row, "unseen_ms", i),
			.lost_ms = part_of(row, "lost_ms", i),
			.bad = (uint32_t)json_integer_value(json_array_get(get(row, "bad"), i)),
		};
	insert_column(model, &column);
}

static void take_cells(struct model *model, const json_t *cells)
{
	size_t ranks = json_array_size(get(cells, "ranks")), i;
	const json_t *column;

	json_array_foreach(get(cells, "columns"), i, column) take_column(model, column, ranks);
}

static void take_job(struct model *model, const json_t *job)
{
	if (json_is_string(get(job, "id")))
		copy_text(model->job, sizeof(model->job), get(job, "id"));
	model->processes = integer(job, "processes", 0);
	model->ranks_total = integer(job, "ranks_total", -1);
	model->communicators_made = integer(job, "communicators", 0);
	model->operations = integer(job, "operations", 0);
	model->dropped = integer(job, "dropped", 0);
	model->captured = integer(job, "captured", 0);
	model->steps = integer(job, "steps", 0);
	model->step_ms = number(job, "step_ms", -1);
	model->first_step_ms = number(job, "first_step_ms", -1);
}

static void take_sight(struct model *model, const json_t *sight)
{
	char line[SIGHT_LINE];

	if (!json_is_object(sight))
		return;
	sight_describe(sight, SIGHT_LINE - 1, line);
	snprintf(model->sight, sizeof(model->sight), "%s", line);
}

/* What is no longer open was closed while nobody listened. */
static void close_others(struct model *model, const json_t *open)
{
	for (size_t i = 0; json_is_array(open) && i < model->finding_count; i++) {
		struct model_finding *finding = &model->findings[i];
		bool found = false;
		const json_t *id;
		size_t k;

		json_array_foreach(open, k, id) found |= json_is_string(id) && !strcmp(json_string_value(id), finding->id);
		if (!found && !finding->closed_ms)
			finding->closed_ms = model->at_ms;
	}
}

static void take_snapshot(struct model *model, const json_t *snapshot)
{
	const json_t *watchdog = get(snapshot, "watchdog");

	json_decref(model->snapshot);
	model->snapshot = json_incref((json_t *)snapshot);
	model->at_ms = number(snapshot, "unix_ms", model->at_ms);
	take_job(model, get(snapshot, "job"));
	take_sight(model, get(snapshot, "sight"));
	model->watchdog.timeout_ms = number(watchdog, "timeout_ms", 0);
	model->watchdog.deadline_ms = number(watchdog, "deadline_unix_ms", 0);
	model->watchdog.since_ms = number(watchdog, "since_unix_ms", 0);
	copy_text(model->watchdog.from, sizeof(model->watchdog.from), get(watchdog, "from"));
	take_ranks(model, get(snapshot, "ranks"));
	take_gpus(model, get(snapshot, "gpus"));
	take_communicators(model, get(snapshot, "communicators"), get(snapshot, "flights"));
	take_cells(model, get(snapshot, "cells"));
	close_others(model, get(snapshot, "findings"));
}

static struct model_finding *find_finding(struct model *model, const char *id)
{
	for (size_t i = 0; i < model->finding_count; i++)
		if (!strcmp(model->findings[i].id, id))
			return &model->findings[i];
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
	const char *severity = json_string_value(get(finding, "severity"));

	return !severity ? 1 : !strcmp(severity, "critical") ? 2 : !strcmp(severity, "notice") ? 0 : 1;
}

void model_take_finding(struct model *model, const json_t *json)
{
	const char *id = json_string_value(get(json, "id")), *state = json_string_value(get(json, "state"));
	struct model_finding *finding = id ? find_finding(model, id) : NULL;
	double time_ms = finding_time_ms(get(json, "time"));

	if (!finding)
		return;
	json_decref(finding->json);
	finding->json = json_deep_copy(json);
	finding->severity = severity_of(json);
	finding->first_ms = finding_time_ms(get(json, "first_seen"));
	finding->first_ms = finding->first_ms > 0 ? finding->first_ms : time_ms;
	finding->closed_ms = state && !strcmp(state, "closed") ? (time_ms > 0 ? time_ms : model->at_ms) : 0;
}

static void take_detail(struct model *model, const json_t *rank)
{
	json_decref(model->detail);
	model->detail = json_deep_copy(rank);
	model->detail_rank = small(rank, "rank", -1);
}

void model_take(struct model *model, const json_t *message, double now_ms)
{
	const json_t *hello = get(message, "hello");

	if (hello) {
		copy_text(model->job, sizeof(model->job), get(hello, "job"));
		take_sight(model, hello);
		model->greeted = true;
		model->over = false;
		model->gone_ms = 0;
		model->at_ms = model->at_ms > 0 ? model->at_ms : now_ms;
	} else if (json_is_true(get(get(message, "summary"), "last"))) {
		model->over = true;
	} else if (get(message, "watching")) {
		take_sight(model, get(message, "watching"));
	} else if (json_is_object(get(message, "snapshot"))) {
		take_snapshot(model, get(message, "snapshot"));
	} else if (get(message, "schema")) {
		model_take_finding(model, message);
	} else if (json_is_object(get(message, "rank"))) {
		take_detail(model, get(message, "rank"));
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

double model_time(const struct model *model, long at)
{
	const struct model_column *column = at >= 0 ? model_column(model, at) : NULL;

	return column ? column->until_ms : model->at_ms;
}

void model_free(struct model *model)
{
	free(model->ranks);
	free_communicators(model);
	while (model->column_count)
		drop_column(model, model->column_count - 1);
	free(model->columns);
	for (size_t i = 0; i < model->finding_count; i++)
		json_decref(model->findings[i].json);
	free(model->findings);
	json_decref(model->snapshot);
	json_decref(model->detail);
	*model = (struct model){ 0 };
}
