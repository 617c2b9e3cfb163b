/* SPDX-License-Identifier: MIT */
#include "protocol/snapshot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/view/view.h"
#include "protocol/account_text.h"
#include "protocol/explanation.h"
#include "finding/finding_json.h"
#include "finding/json_text.h"

/* Walks the analysis, for one list of the snapshot. */
struct list {
	const struct snapshot_source *source;
	json_t *rows;
	int32_t wanted; /* rank; -1 all */
};

static void visit_ranks(const struct snapshot_source *source, analysis_rank_visit *visit, void *argument)
{
	if (source->messages)
		job_view_ranks(source->messages, visit, argument);
	else
		analysis_visit_ranks(source->analysis, visit, argument);
}

static const struct cells *cells_of(const struct snapshot_source *source)
{
	return source->messages ? job_view_cells(source->messages) : analysis_cells(source->analysis);
}

/* Microseconds are enough: they keep the lines short. */
static json_t *milliseconds(double ms)
{
	return json_real(round(ms * 1000) / 1000);
}

static json_t *duration(uint64_t ns)
{
	return milliseconds((double)ns / 1e6);
}

static json_t *unix_ms(const struct snapshot_source *source, uint64_t ns)
{
	return ns ? milliseconds((double)((int64_t)ns + source->realtime_offset_ns) / 1e6) : json_null();
}

static json_t *known(int64_t number)
{
	return number < 0 ? json_null() : json_integer(number);
}

static const char *const doing_names[] = {
	[ANALYSIS_DOING_UNKNOWN] = "unknown", [ANALYSIS_DOING_GONE] = "gone",	[ANALYSIS_DOING_STOPPED] = "stopped",
	[ANALYSIS_DOING_INIT] = "init",	      [ANALYSIS_DOING_MISSING] = "missing", [ANALYSIS_DOING_WAITS] = "waits",
	[ANALYSIS_DOING_INSIDE] = "inside",   [ANALYSIS_DOING_WORKS] = "works",
};

static const char *const life_names[] = {
	[ANALYSIS_ALIVE] = "alive", [ANALYSIS_STOPPED] = "stopped", [ANALYSIS_EXITED] = "exited",
	[ANALYSIS_KILLED] = "killed",
};

static json_t *operation_json(const char *comm, uint8_t function, uint64_t sequence)
{
	if (!*comm)
		return json_null();
	return json_pack("{s:o, s:s?, s:I}", "comm_name", json_name(comm), "function", finding_function_name(function),
			 "sequence", (json_int_t)sequence);
}

static json_t *thread_json(const struct snapshot_source *source, const struct analysis_rank_view *rank)
{
	if (!rank->seen_ns)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "thread", json_name(rank->thread), "system_call",
			 json_name(rank->system_call), "path", json_name(rank->path), "seen_unix_ms",
			 unix_ms(source, rank->seen_ns));
}

/* Of what is not known here there is no key, or null. */
static json_t *reported_rank_json(const struct snapshot_source *source, const struct analysis_rank_view *rank)
{
	const struct account_parts *parts = &rank->parts;

	return json_pack(
	    "{s:i, s:o, s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o}", "rank",
	    (int)rank->rank, "host", json_name(rank->host), "pid", (int)rank->pid, "life", life_names[rank->life],
	    "doing", doing_names[rank->doing], "since_unix_ms", unix_ms(source, rank->since_ns), "operation",
	    operation_json(rank->comm_name, rank->function, rank->sequence), "why", json_name(rank->why),
	    "seen_unix_ms", unix_ms(source, rank->seen_ns), "exit_status", known(rank->exit_status), "own_ms",
	    duration(parts->own_ns), "inside_ms", duration(parts->wait_ns), "unseen_ms", duration(parts->unseen_ns),
	    "lost_ms", rank->compared ? duration(rank->lost_ns) : json_null(), "operations",
	    (json_int_t)rank->operations, "compared", rank->compared ? json_integer(rank->compared) : json_null(),
	    "heard_unix_ms", unix_ms(source, rank->heard_ns));
}

/* Any number may stand in a box. */
static json_t *count_json(uint64_t count)
{
	return json_integer(count < INT64_MAX ? (json_int_t)count : INT64_MAX);
}

static json_t *scanning_json(const struct analysis_scanning *scanning)
{
	return json_pack("{s:o, s:o, s:o, s:o}", "buffers", count_json(scanning->buffers), "left_out",
			 count_json(scanning->left_out), "host_ms", duration(scanning->host_ns), "gpu_ms",
			 duration(scanning->gpu_ns));
}

static json_t *rank_json(const struct snapshot_source *source, const struct analysis_rank_view *rank)
{
	const struct account_parts *parts = &rank->parts;

	if (rank->by_messages)
		return reported_rank_json(source, rank);

	return json_pack(
	    "{s:i, s:o, s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o}",
	    "rank", (int)rank->rank, "host", json_name(rank->host), "pid", (int)rank->pid, "life",
	    life_names[rank->life], "doing", doing_names[rank->doing], "since_unix_ms", unix_ms(source, rank->since_ns),
	    "operation", operation_json(rank->comm_name, rank->function, rank->sequence), "thread",
	    thread_json(source, rank), "exit_status", known(rank->exit_status), "step", known(rank->step), "own_ms",
	    duration(parts->own_ns), "wait_ms", duration(parts->wait_ns), "transfer_ms", duration(parts->transfer_ns),
	    "unseen_ms", duration(parts->unseen_ns), "lost_ms", duration(rank->lost_ns), "callback_ms",
	    duration(rank->scanning.callback_ns), "operations", (json_int_t)rank->operations, "bytes",
	    (json_int_t)rank->bytes, "clean_scans", (json_int_t)rank->clean_scans, "scanning",
	    scanning_json(&rank->scanning));
}

static void add_rank(void *argument, const struct analysis_rank_view *rank)
{
	struct list *list = argument;

	if (list->wanted < 0 || list->wanted == rank->rank)
		json_array_append_new(list->rows, rank_json(list->source, rank));
}

static const struct {
	enum analysis_clock_reason reason;
	const char *name;
} reasons[] = {
	{ ANALYSIS_CLOCK_IDLE, "idle" },	      { ANALYSIS_CLOCK_APPLICATION, "application" },
	{ ANALYSIS_CLOCK_POWER_CAP, "power_cap" },    { ANALYSIS_CLOCK_HW_SLOWDOWN, "hw_slowdown" },
	{ ANALYSIS_CLOCK_SYNC_BOOST, "sync_boost" },  { ANALYSIS_CLOCK_SW_THERMAL, "sw_thermal" },
	{ ANALYSIS_CLOCK_HW_THERMAL, "hw_thermal" },  { ANALYSIS_CLOCK_HW_POWER_BRAKE, "hw_power_brake" },
};

static json_t *reasons_json(int64_t bits)
{
	json_t *names = json_array();

	for (size_t i = 0; bits > 0 && i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (bits & reasons[i].reason)
			json_array_append_new(names, json_string(reasons[i].name));
	return names;
}

static void add_gpu(void *argument, const struct analysis_rank_view *rank)
{
	struct list *list = argument;
	const struct analysis_gpu_state *gpu = rank->gpu;

	if (!gpu && !rank->xid)
		return;
	json_t *row =
	    json_pack("{s:i, s:o}", "rank", (int)rank->rank, "xid", rank->xid ? json_integer(rank->xid) : json_null());

	if (row && gpu)
		json_object_update_new(
		    row,
		    json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "index",
			      known(gpu->index), "uuid", json_name(gpu->uuid), "pci", json_name(gpu->pci), "sm_mhz",
			      known(gpu->sm_mhz), "sm_mhz_max", known(gpu->sm_mhz_max), "celsius", known(gpu->celsius),
			      "watts", known(gpu->watts), "watts_cap", known(gpu->watts_cap), "memory_used",
			      known(gpu->memory_used), "memory_total", known(gpu->memory_total), "ecc_uncorrected",
			      known(gpu->ecc_uncorrected), "clock_reasons", reasons_json(gpu->clock_reasons)));
	json_array_append_new(list->rows, row);
}

static json_t *calls_json(uint64_t calls)
{
	return calls == UINT64_MAX ? json_null() : json_integer((json_int_t)calls);
}

static void add_communicator(void *argument, const struct analysis_communicator_view *communicator)
{
	struct list *list = argument;
	json_t *members = json_array();
	char id[24];

	snprintf(id, sizeof(id), "0x%" PRIx64, communicator->id);
	for (uint32_t i = 0; i < communicator->member_count; i++)
		json_array_append_new(members, json_pack("{s:i, s:o, s:b}", "rank", (int)communicator->ranks[i],
							 "calls", calls_json(communicator->calls[i]), "captured",
							 (int)communicator->captured[i]));
	json_array_append_new(list->rows,
			      json_pack("{s:s, s:o, s:o, s:o}", "comm", id, "name", json_name(communicator->name),
					"size", communicator->size ? json_integer(communicator->size) : json_null(),
					"members", members));
}

static json_t *ranks_array(const int32_t *ranks, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_integer(ranks[i]));
	return array;
}

static void add_flight(void *argument, const struct analysis_flight *flight)
{
	struct list *list = argument;
	json_t *phases = json_array();
	char id[24];

	snprintf(id, sizeof(id), "0x%" PRIx64, flight->comm);
	for (size_t i = 0; i < flight->joined_count; i++)
		json_array_append_new(phases, json_string(flight->joined_phase[i]));
	json_array_append_new(
	    list->rows,
	    json_pack("{s:s, s:o, s:o, s:s?, s:I, s:s?, s:I, s:o, s:o, s:o, s:o}", "comm", id, "comm_name",
		      json_name(flight->comm_name), "size",
		      flight->comm_size ? json_integer(flight->comm_size) : json_null(), "function",
		      finding_function_name(flight->function), "sequence", (json_int_t)flight->sequence, "dtype",
		      finding_dtype_name(flight->dtype), "count", (json_int_t)flight->count, "joined",
		      ranks_array(flight->joined, flight->joined_count), "phases", phases, "missing",
		      ranks_array(flight->missing, flight->missing_count), "unseen", known(flight->unseen)));
}

/* NULL where all of them are 0: most of a healthy job's. */
static json_t *parts_json(const struct column *column, uint32_t ranks, size_t offset)
{
	json_t *array = json_array();
	bool any = false;

	for (uint32_t i = 0; i < ranks; i++) {
		float ms = i < column->rank_count ? *(const float *)((const char *)&column->cells[i] + offset) : 0;
		any |= ms > 0;
		json_array_append_new(array, milliseconds(ms));
	}
	if (any)
		return array;
	json_decref(array);
	return NULL;
}

static json_t *bad_json(const struct column *column)
{
	json_t *array = json_array();
	uint32_t bad = 0;

	for (uint32_t i = 0; i < column->rank_count; i++) {
		bad += column->cells[i].bad;
		json_array_append_new(array, json_integer(column->cells[i].bad));
	}
	if (bad)
		return array;
	json_decref(array);
	return NULL;
}

/* 0 is null: nothing was scanned, or nothing but zeros. */
static json_t *magnitude_json(float largest)
{
	return largest > 0 ? json_real((double)largest) : json_null();
}

/* By line; NULL where no line has any. */
static json_t *magnitudes_json(const struct column *column, const json_t *ranks)
{
	json_t *brought = json_array(), *by = json_array(), *results = json_array();
	bool any = false;

	for (uint32_t i = 0; i < column->line_count; i++) {
		const struct cell_magnitude *magnitude = &column->magnitudes[i];
		json_t *rank = json_array_get(ranks, magnitude->rank);

		any |= magnitude->brought > 0 || magnitude->result > 0;
		json_array_append_new(brought, magnitude_json(magnitude->brought));
		json_array_append_new(by, rank ? json_incref(rank) : json_null());
		json_array_append_new(results, magnitude_json(magnitude->result));
	}
	json_t *magnitudes = json_pack("{s:o, s:o, s:o}", "brought", brought, "by", by, "result", results);
	if (any)
		return magnitudes;
	json_decref(magnitudes);
	return NULL;
}

static json_t *column_json(const struct snapshot_source *source, const struct column *column, const json_t *ranks)
{
	const char *wait = source->messages ? "inside_ms" : "wait_ms";
	const struct {
		const char *key;
		size_t offset;
	} parts[] = {
		{ "own_ms", offsetof(struct cell, own_ms) },
		{ wait, offsetof(struct cell, wait_ms) },
		{ "transfer_ms", offsetof(struct cell, transfer_ms) },
		{ "unseen_ms", offsetof(struct cell, unseen_ms) },
		{ "lost_ms", offsetof(struct cell, lost_ms) },
	};
	json_t *row = json_pack(
	    "{s:o, s:o, s:o, s:o}", "step", column->step ? json_integer((json_int_t)column->step) : json_null(),
	    "last_step", column->last_step ? json_integer((json_int_t)column->last_step) : json_null(), "from_unix_ms",
	    unix_ms(source, column->from_ns), "until_unix_ms", unix_ms(source, column->until_ns));
	json_t *array;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if ((array = parts_json(column, column->rank_count, parts[i].offset)))
			json_object_set_new(row, parts[i].key, array);
	if ((array = bad_json(column)))
		json_object_set_new(row, "bad", array);
	if ((array = magnitudes_json(column, ranks)))
		json_object_set_new(row, "magnitudes", array);
	return row;
}

static void add_world_rank(void *argument, const struct analysis_rank_view *rank)
{
	json_array_append_new(argument, json_integer(rank->rank));
}

static json_t *lines_json(const struct cells *cells)
{
	json_t *lines = json_array();
	char id[24];

	for (uint32_t i = 0; i < cells->line_count; i++) {
		snprintf(id, sizeof(id), "0x%" PRIx64, cells->lines[i].communicator);
		json_array_append_new(lines,
				      json_pack("{s:s, s:o}", "comm", id, "name", json_name(cells->lines[i].name)));
	}
	return lines;
}

/* Numbers that it takes to write it. */
static size_t numbers_of(const struct column *column)
{
	return column->rank_count + 3 * (size_t)column->line_count;
}

static json_t *cells_json(const struct snapshot_source *source, uint64_t since)
{
	const struct cells *cells = cells_of(source);
	json_t *columns = json_array(), *ranks = json_array();
	size_t first = cells->count, room = SNAPSHOT_CELLS;

	visit_ranks(source, add_world_rank, ranks);
	for (; first > 0; first--) {
		if (room < numbers_of(&cells->columns[first - 1]))
			break;
		room -= numbers_of(&cells->columns[first - 1]);
	}
	for (; first < cells->count; first++)
		if (cells->columns[first].changed > since)
			json_array_append_new(columns, column_json(source, &cells->columns[first], ranks));
	return json_pack("{s:I, s:o, s:o, s:b, s:o}", "changes", (json_int_t)cells->changes, "ranks", ranks, "lines",
			 lines_json(cells), "more_lines", (int)cells->more_lines, "columns", columns);
}

static json_t *deadline_json(const struct snapshot_source *source)
{
	struct analysis_deadline deadline;

	if (source->messages)
		job_view_deadline(source->messages, &deadline);
	else
		analysis_tell_deadline(source->analysis, &deadline);
	if (!deadline.timeout_ms)
		return json_null();
	return json_pack(
	    "{s:I, s:o, s:o, s:o}", "timeout_ms", (json_int_t)deadline.timeout_ms, "from", json_name(deadline.from),
	    "since_unix_ms", unix_ms(source, deadline.since_ns), "deadline_unix_ms",
	    deadline.since_ns ? unix_ms(source, deadline.since_ns + deadline.timeout_ms * UINT64_C(1000000))
			      : json_null());
}

/* Of steps and of what was not seen messages say nothing. */
static json_t *reported_job_json(const struct snapshot_source *source)
{
	struct analysis_summary summary;

	job_view_summary(source->messages, &summary);
	return json_pack("{s:o, s:b, s:I, s:o, s:I, s:I}", "id", json_name(source->job), "all_nodes", 1, "processes",
			 (json_int_t)summary.processes, "ranks_total", known(summary.ranks_total), "communicators",
			 (json_int_t)summary.communicators, "operations", (json_int_t)summary.operations);
}

static json_t *job_json(const struct snapshot_source *source)
{
	struct analysis_summary summary;

	if (source->messages)
		return reported_job_json(source);

	analysis_summarise(source->analysis, &summary);
	return json_pack("{s:o, s:I, s:o, s:I, s:I, s:I, s:o, s:o, s:o, s:I, s:I, s:I, s:I}", "id",
			 json_name(source->job), "processes", (json_int_t)summary.processes, "ranks_total",
			 known(summary.ranks_total), "communicators", (json_int_t)summary.communicators, "operations",
			 (json_int_t)summary.operations, "steps", (json_int_t)summary.steps, "step",
			 known(summary.step), "step_ms",
			 summary.step_ms < 0 ? json_null() : milliseconds(summary.step_ms), "first_step_ms",
			 summary.first_step_ms < 0 ? json_null() : milliseconds(summary.first_step_ms), "untracked",
			 (json_int_t)summary.untracked, "dropped", (json_int_t)summary.dropped, "captured",
			 (json_int_t)summary.captured, "forgotten", (json_int_t)summary.forgotten);
}

static json_t *rows(const struct snapshot_source *source, void (*fill)(struct list *list))
{
	struct list list = { .source = source, .rows = json_array(), .wanted = -1 };

	fill(&list);
	return list.rows;
}

static void fill_ranks(struct list *list)
{
	visit_ranks(list->source, add_rank, list);
}

static void fill_gpus(struct list *list)
{
	visit_ranks(list->source, add_gpu, list);
}

static void fill_communicators(struct list *list)
{
	if (list->source->messages)
		job_view_communicators(list->source->messages, add_communicator, list);
	else
		analysis_visit_communicators(list->source->analysis, add_communicator, list);
}

static void fill_flights(struct list *list)
{
	if (list->source->messages)
		job_view_flights(list->source->messages, add_flight, list);
	else
		analysis_visit_flights(list->source->analysis, add_flight, list);
}

json_t *snapshot_json(const struct snapshot_source *source, unsigned topics, uint64_t since)
{
	json_t *body = json_pack("{s:o, s:o, s:o, s:o}", "unix_ms", unix_ms(source, source->now_ns), "job",
				 job_json(source), "watchdog", deadline_json(source), "sight",
				 source->sight ? sight_json(source->sight) : json_null());

	if (topics & REQUEST_RANKS)
		json_object_set_new(body, "ranks", rows(source, fill_ranks));
	if (topics & REQUEST_GPUS)
		json_object_set_new(body, "gpus", rows(source, fill_gpus));
	if (topics & REQUEST_COMMUNICATORS) {
		json_object_set_new(body, "communicators", rows(source, fill_communicators));
		json_object_set_new(body, "flights", rows(source, fill_flights));
	}
	if (topics & REQUEST_LOSSES)
		json_object_set_new(body, "losses", source->account ? account_json(source->account) : json_null());
	if (topics & REQUEST_CELLS)
		json_object_set_new(body, "cells", cells_json(source, since));
	if (topics & REQUEST_EXPLANATION && source->analysis)
		json_object_set_new(body, "explanation", explanation_json(source->analysis));
	return json_pack("{s:o}", "snapshot", body);
}

static void add_reason(void *argument, const struct analysis_rank_view *rank)
{
	struct list *list = argument;

	if (rank->rank == list->wanted && rank->reason && *rank->reason)
		json_array_append_new(list->rows, json_name(rank->reason));
}

/* Its threads and operations are known on its host; what that has answered. */
static void set_answer(const struct snapshot_source *source, json_t *row, int32_t rank)
{
	struct list list = { .source = source, .rows = json_array(), .wanted = rank };

	visit_ranks(source, add_reason, &list);
	json_object_set(row, "answer", json_array_size(list.rows) ? json_array_get(list.rows, 0) : json_null());
	json_decref(list.rows);
}

static void add_thread(void *argument, const struct analysis_thread_view *thread)
{
	struct list *list = argument;
	const char state[] = { thread->state, '\0' };
	json_t *stack = json_array();

	for (uint32_t i = 0; i < thread->frame_count; i++)
		json_array_append_new(stack, json_name(thread->frames[i]));
	json_array_append_new(
	    list->rows, json_pack("{s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "tid", (json_int_t)thread->tid,
				  "thread", json_name(thread->thread), "state", json_name(state), "system_call",
				  json_name(thread->system_call), "fd", known(thread->fd), "path",
				  json_name(thread->path), "wait_channel", json_name(thread->wait_channel),
				  "from_unix_ms", unix_ms(list->source, thread->start_ns), "until_unix_ms",
				  unix_ms(list->source, thread->end_ns), "stack", stack));
}

static void add_operation(void *argument, const struct analysis_operation_view *operation)
{
	struct list *list = argument;
	json_t *row = operation_json(*operation->comm_name ? operation->comm_name : "?", operation->function,
				     operation->sequence);

	json_object_update_new(
	    row,
	    json_pack("{s:s?, s:I, s:o, s:s, s:o, s:o, s:o, s:o, s:o}", "dtype", finding_dtype_name(operation->dtype),
		      "count", (json_int_t)operation->count, "step", known(operation->step), "phase", operation->phase,
		      "called_unix_ms", unix_ms(list->source, operation->called_ns), "launched_unix_ms",
		      unix_ms(list->source, operation->launched_ns), "arrived_unix_ms",
		      unix_ms(list->source, operation->arrived_ns), "done_unix_ms",
		      unix_ms(list->source, operation->done_ns), "late_ms", milliseconds(operation->late_us / 1e3)));
	json_array_append_new(list->rows, row);
}

json_t *snapshot_rank_json(const struct snapshot_source *source, int32_t rank)
{
	enum { THREADS = 16, OPERATIONS = 32 };
	struct list found = { .source = source, .rows = json_array(), .wanted = rank };
	struct list threads = { .source = source, .rows = json_array() };
	struct list blocked = { .source = source, .rows = json_array() };
	struct list operations = { .source = source, .rows = json_array() };

	visit_ranks(source, add_rank, &found);
	json_t *row = json_incref(json_array_get(found.rows, 0));

	json_decref(found.rows);
	if (source->analysis) {
		analysis_visit_threads(source->analysis, rank, THREADS, add_thread, &threads);
		analysis_visit_blocked(source->analysis, rank, add_thread, &blocked);
		analysis_visit_operations(source->analysis, rank, OPERATIONS, add_operation, &operations);
	}
	if (row && source->messages)
		set_answer(source, row, rank);
	if (row && source->analysis) {
		json_object_set(row, "threads", threads.rows);
		json_object_set(row, "blocked", blocked.rows);
		json_object_set(row, "last_operations", operations.rows);
	}
	json_decref(threads.rows);
	json_decref(blocked.rows);
	json_decref(operations.rows);
	return row;
}

json_t *snapshot_text(const char *string)
{
	return json_name(string);
}

json_t *snapshot_unix_ms(const struct snapshot_source *source, uint64_t ns)
{
	return unix_ms(source, ns);
}
