/* SPDX-License-Identifier: MIT */
#include "console/html/rank_rows.h"

#include <stdlib.h>
#include <string.h>

#include "console/dump/box_json.h"
#include "console/report/flight.h"
#include "console/report/last_seen.h"
#include "console/trace/operation_arguments.h"

enum { THREADS = 6 };

static const char *state_text(enum operation_state state)
{
	static const char *const texts[] = {
		[OPERATION_ENDED] = "done",
		[OPERATION_IN_CALL] = "in its call",
		[OPERATION_LAUNCHED] = "launched, not begun on the GPU",
		[OPERATION_RUNNING] = "running on the GPU",
		[OPERATION_DONE] = "done",
	};

	return texts[state];
}

static bool has_call(const struct rw_operation *operation)
{
	return operation->known & RW_KNOWN_API && !(operation->flags & RW_FLAG_CAPTURED);
}

static bool is_open(enum operation_state state)
{
	return state != OPERATION_ENDED && state != OPERATION_DONE;
}

static json_t *operation_json(const struct run_view *view, const struct replay_process *process,
			      const struct rank_slices *slices, const struct rw_operation *operation)
{
	const struct rw_communicator *communicator = box_operations_communicator(&slices->operations, operation);
	bool numbered = operation->known & RW_KNOWN_IDENT;
	char *name = communicator ? run_view_group(view, communicator) : NULL;
	json_t *json =
	    json_pack("{s:s, s:o, s:s?, s:s, s:I}", "function", operation_name(operation), "sequence",
		      numbered ? json_integer((json_int_t)(operation->sequence & ~RW_CAPTURED_SEQUENCE)) : json_null(),
		      "group", name, "state", state_text(box_operations_state(&slices->operations, operation)),
		      "called", run_view_us(view, run_view_time(view, process, operation->api_ns)));

	free(name);
	return json;
}

/* The last that was called, and the oldest that had not ended. */
static void add_operations(json_t *row, const struct run_view *view, const struct replay_process *process,
			   const struct rank_slices *slices)
{
	const struct rw_operation *last = NULL, *open = NULL;
	json_int_t in_flight = 0;

	for (size_t i = 0; i < slices->operations.count; i++) {
		const struct rw_operation *operation = &slices->operations.list[i];

		if (!has_call(operation))
			continue;
		last = operation;
		if (!is_open(box_operations_state(&slices->operations, operation)))
			continue;
		in_flight++;
		if (!open)
			open = operation;
	}
	json_object_set_new(row, "operations", json_integer((json_int_t)slices->operations.count));
	json_object_set_new(row, "in_flight", json_integer(in_flight));
	json_object_set_new(row, "last", last ? operation_json(view, process, slices, last) : json_null());
	json_object_set_new(row, "open", open ? operation_json(view, process, slices, open) : json_null());
}

/* "python-main: in futex (futex_do_wait), for 4.01 s" */
static json_t *threads_json(const struct replay_process *process)
{
	json_t *list = json_array();
	struct last_seen seen;

	last_seen_read(&seen, feed_reader(process->feed));
	for (size_t i = 0; i < seen.count && i < THREADS; i++) {
		char place[768];

		json_array_append_new(
		    list,
		    json_pack("[o, s]", box_json_text(seen.threads[i].wait.thread, sizeof(seen.threads[i].wait.thread)),
			      last_seen_text(&seen.threads[i], place, sizeof(place))));
	}
	last_seen_free(&seen);
	return list;
}

static json_t *gpu_json(const struct rw_box_header *header)
{
	const struct rw_device *device = &header->devices[0];

	return device->used ? box_json_text(device->pci, sizeof(device->pci)) : json_null();
}

json_t *rank_row_json(const struct run_view *view, const struct replay_process *process,
		      const struct rank_slices *slices)
{
	const struct rw_box_header *header = replay_header(process);
	json_t *row = json_pack("{s:o, s:o, s:I, s:o, s:s, s:I, s:o}", "rank",
				process->rank >= 0 ? json_integer(process->rank) : json_null(), "host",
				box_json_text(header->host, sizeof(header->host)), "pid", (json_int_t)header->pid,
				"gpu", gpu_json(header), "end", flight_life_text(process), "record_end",
				run_view_us(view, run_view_time(view, process, run_view_record_end(process))),
				"threads", threads_json(process));

	if (row)
		add_operations(row, view, process, slices);
	return row;
}
