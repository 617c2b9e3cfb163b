/* SPDX-License-Identifier: MIT */
#include "console/html/magnitudes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "console/trace/operation_arguments.h"
#include "feed/operation_view.h"
#include "finding/finding_json.h"

static struct magnitude_group *find(struct magnitudes *magnitudes, const struct rw_communicator *communicator)
{
	struct magnitude_group *group = NULL;

	for (size_t i = 0; i < magnitudes->count; i++)
		if (magnitudes->groups[i]->communicator == communicator->id)
			return magnitudes->groups[i];
	if (magnitudes->count < MAGNITUDE_GROUPS)
		group = calloc(1, sizeof(*group));
	if (!group) {
		magnitudes->more = true;
		return NULL;
	}
	group->communicator = communicator->id;
	group->name = run_view_group(magnitudes->view, communicator);
	for (size_t i = 0; i < MAGNITUDE_COLUMNS; i++)
		group->largest[i] = -1;
	return magnitudes->groups[magnitudes->count++] = group;
}

static size_t column_of(const struct magnitudes *magnitudes, uint64_t at_ns)
{
	const struct run_view *view = magnitudes->view;
	uint64_t length_ns = view->end_ns > view->base_ns ? view->end_ns - view->base_ns : 1;

	if (at_ns <= view->base_ns)
		return 0;
	double place = (double)(at_ns - view->base_ns) / (double)length_ns * MAGNITUDE_COLUMNS;

	return place < MAGNITUDE_COLUMNS ? (size_t)place : MAGNITUDE_COLUMNS - 1;
}

static void note(struct magnitude_group *group, size_t column, const struct rw_scan *scan, int32_t rank)
{
	group->scans++;
	if (isfinite(scan->absmax) && scan->absmax > group->largest[column]) {
		group->largest[column] = scan->absmax;
		group->rank[column] = rank;
	}
}

static bool is_bad(const struct rw_scan *scan)
{
	return scan->nan || scan->inf;
}

/* The first of each rank: where it came from there is for the finding to say. */
static void add_birth(struct magnitudes *magnitudes, const struct replay_process *process,
		      const struct rw_operation *operation, const char *name, uint64_t at_ns, bool output)
{
	const struct rw_scan *scan = output ? &operation->scan_out : &operation->scan_in;

	if (!magnitudes->births)
		magnitudes->births = json_array();
	if (json_array_size(magnitudes->births) >= MAGNITUDE_BIRTHS) {
		magnitudes->more_births++;
		return;
	}
	json_array_append_new(
	    magnitudes->births,
	    json_pack("{s:i, s:I, s:s, s:I, s:s?, s:s, s:I, s:I, s:o}", "rank", process->rank, "at",
		      run_view_us(magnitudes->view, at_ns), "function", operation_name(operation), "sequence",
		      (json_int_t)(operation->sequence & ~RW_CAPTURED_SEQUENCE), "group", name, "side",
		      output ? "result" : "input", "nan", (json_int_t)scan->nan, "inf", (json_int_t)scan->inf, "first",
		      scan->first_bad <= INT64_MAX ? json_integer((json_int_t)scan->first_bad) : json_null()));
}

void magnitudes_add(struct magnitudes *magnitudes, const struct replay_process *process,
		    const struct rank_slices *slices)
{
	bool born = false;

	for (size_t i = 0; i < slices->operations.count; i++) {
		const struct rw_operation *operation = &slices->operations.list[i];
		const struct rw_communicator *communicator =
		    box_operations_communicator(&slices->operations, operation);
		bool in = operation->known & RW_KNOWN_SCAN_IN, out = operation->known & RW_KNOWN_SCAN_OUT;
		struct magnitude_group *group = communicator && (in || out) ? find(magnitudes, communicator) : NULL;

		if (!group)
			continue;
		uint64_t at_ns = run_view_time(magnitudes->view, process, operation_last_ns(operation));
		size_t column = column_of(magnitudes, at_ns);

		if (in)
			note(group, column, &operation->scan_in, process->rank);
		if (out)
			note(group, column, &operation->scan_out, process->rank);
		bool bad_in = in && is_bad(&operation->scan_in), bad_out = out && is_bad(&operation->scan_out);

		if (!born && (bad_in || bad_out))
			add_birth(magnitudes, process, operation, group->name, at_ns, !bad_in);
		born |= bad_in || bad_out;
	}
}

/* Nothing but the columns in which something was scanned. */
static json_t *group_json(const struct magnitude_group *group)
{
	json_t *columns = json_array();

	for (size_t i = 0; i < MAGNITUDE_COLUMNS; i++)
		if (group->largest[i] >= 0)
			json_array_append_new(
			    columns, json_pack("[i, f, i]", (int)i, (double)group->largest[i], group->rank[i]));
	return json_pack("{s:s?, s:I, s:o}", "name", group->name, "scans", (json_int_t)group->scans, "columns",
			 columns);
}

json_t *magnitudes_take(struct magnitudes *magnitudes)
{
	json_t *groups = json_array();

	for (size_t i = 0; i < magnitudes->count; i++) {
		json_array_append_new(groups, group_json(magnitudes->groups[i]));
		free(magnitudes->groups[i]->name);
		free(magnitudes->groups[i]);
	}
	return json_pack("{s:i, s:o, s:b, s:o, s:I}", "of_columns", MAGNITUDE_COLUMNS, "groups", groups, "more",
			 magnitudes->more, "births", magnitudes->births ? magnitudes->births : json_array(),
			 "more_births", (json_int_t)magnitudes->more_births);
}
