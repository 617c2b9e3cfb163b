/* SPDX-License-Identifier: MIT */
#include "console/html/around.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "console/trace/operation_arguments.h"
#include "finding/value.h"

enum { SLICES_LEAST = 200, TEXT = 448 };
static const uint64_t SECOND_NS = 1000000000, WINDOW_MOST_NS = UINT64_C(60000000000);

static void want(struct around *around, int32_t rank)
{
	char key[16];

	snprintf(key, sizeof(key), "%" PRId32, rank);
	if (rank >= 0 && json_object_size(around->ranks) < AROUND_RANKS && replay_find(&around->view->replay, rank))
		json_object_set_new(around->ranks, key, json_null());
}

static void want_list(struct around *around, const json_t *ranks)
{
	size_t i;
	json_t *rank;

	json_array_foreach(ranks, i, rank) want(around, (int32_t)json_integer_value(rank));
}

/* Those that are named, those that waited, and as many others as there is room for. */
static void choose_ranks(struct around *around, const json_t *finding)
{
	want_list(around, json_object_get(finding, "ranks"));
	want_list(around, json_object_get(finding, "victims"));
	for (size_t i = 0; i < around->view->replay.count; i++)
		want(around, around->view->replay.processes[i].rank);
	size_t count = json_object_size(around->ranks);

	around->slices_most = AROUND_SLICES / (count ? count : 1);
	if (around->slices_most < SLICES_LEAST)
		around->slices_most = SLICES_LEAST;
}

/* Two steps and the lateness before it, two steps behind; what is hung is shown up to its end. */
static void choose_time(struct around *around, const json_t *finding)
{
	const struct run_view *view = around->view;
	struct analysis_summary summary;

	replay_summarise(&view->replay, &summary);
	uint64_t step_ns = summary.step_ms > 0 && summary.step_ms < 1e5 ? (uint64_t)(summary.step_ms * 1e6) : SECOND_NS;
	double late_ms = value_number(json_object_get(finding, "late"), "by_ms", 0);
	json_int_t at_us = run_view_us_of(view, value_time(finding, "first_seen"));
	uint64_t at_ns = at_us > 0 ? view->base_ns + (uint64_t)at_us * 1000 : 0;
	bool stands = value_is(finding, "kind", "hang") || value_is(finding, "kind", "gone") ||
		      value_is(finding, "kind", "desync");

	if (!finding || !at_us || at_ns > view->end_ns)
		at_ns = view->end_ns;
	uint64_t before_ns = 2 * step_ns + (late_ms > 0 && late_ms < 1e5 ? (uint64_t)(late_ms * 1e6) : 0);

	if (before_ns > WINDOW_MOST_NS / 2)
		before_ns = WINDOW_MOST_NS / 2;
	around->from_ns = at_ns > view->base_ns + before_ns ? at_ns - before_ns : view->base_ns;
	around->until_ns = stands ? view->end_ns : at_ns + 2 * step_ns;
	if (around->until_ns > around->from_ns + WINDOW_MOST_NS)
		around->until_ns = around->from_ns + WINDOW_MOST_NS;
	if (around->until_ns > view->end_ns)
		around->until_ns = view->end_ns;
}

int around_begin(struct around *around, const struct run_view *view, const json_t *finding)
{
	*around = (struct around){ .view = view };
	around->ranks = json_object();
	around->names = json_array();
	around->numbers = json_object();
	if (!around->ranks || !around->names || !around->numbers)
		return -ENOMEM;
	choose_ranks(around, finding);
	choose_time(around, finding);
	return 0;
}

static json_int_t name_number(struct around *around, const char *text)
{
	const json_t *number = json_object_get(around->numbers, text);

	if (number)
		return json_integer_value(number);
	json_int_t next = (json_int_t)json_array_size(around->names);

	if (json_array_append_new(around->names, json_string(text)) != 0)
		json_array_append_new(around->names, json_string("?"));
	json_object_set_new(around->numbers, text, json_integer(next));
	return next;
}

/* "AllGather #98 · fsdp" */
static void operation_text(const struct around *around, const struct rank_slices *slices,
			   const struct rw_operation *operation, char text[TEXT])
{
	const struct rw_communicator *communicator = box_operations_communicator(&slices->operations, operation);
	char number[32] = "", *name = NULL;

	if (operation->known & RW_KNOWN_IDENT)
		snprintf(number, sizeof(number), " #%" PRIu64, operation->sequence);
	if (communicator)
		name = run_view_group(around->view, communicator);
	snprintf(text, TEXT, "%s%s%s%s", operation_name(operation), number, name ? " · " : "", name ? name : "");
	free(name);
}

/* "write(5) events.out · tb-writer" */
static void stay_line(const struct stay *stay, char text[TEXT])
{
	char place[320], thread[sizeof(stay->thread) + 1] = "", channel[sizeof(stay->channel) + 1] = "";

	memcpy(thread, stay->thread, sizeof(stay->thread));
	memcpy(channel, stay->channel, sizeof(stay->channel));
	bool has_channel = *channel && strcmp(channel, "0");

	snprintf(text, TEXT, "%s%s%s%s · %s", stay_text(stay, place, sizeof(place)), has_channel ? " (" : "",
		 has_channel ? channel : "", has_channel ? ")" : "", *thread ? thread : "a thread");
}

static bool is_shown(const struct around *around, const struct slice *slice)
{
	bool kind = slice->kind == SLICE_CALL || slice->kind == SLICE_GPU || slice->kind == SLICE_BLOCKED;

	return kind && slice->end_ns >= around->from_ns && slice->begin_ns <= around->until_ns;
}

static int by_length(const void *a, const void *b)
{
	const struct slice *left = *(const struct slice *const *)a, *right = *(const struct slice *const *)b;
	uint64_t left_ns = left->end_ns - left->begin_ns, right_ns = right->end_ns - right->begin_ns;

	return (left_ns < right_ns) - (left_ns > right_ns);
}

/* [lane, begin µs, length µs, text, open, thread]: lane 0 calls, 1 GPU, 2 where a thread stood. */
static json_t *slice_json(struct around *around, const struct rank_slices *slices, const struct slice *slice)
{
	static const int lanes[] = { [SLICE_CALL] = 0, [SLICE_GPU] = 1, [SLICE_BLOCKED] = 2 };
	char text[TEXT];
	json_int_t tid;

	if (slice->kind == SLICE_BLOCKED) {
		stay_line(&slices->stays.list[slice->about], text);
		tid = slices->stays.list[slice->about].tid;
	} else {
		operation_text(around, slices, &slices->operations.list[slice->about], text);
		tid = slices->operations.list[slice->about].api_tid;
	}
	return json_pack("[i, I, I, I, b, I]", lanes[slice->kind], run_view_us(around->view, slice->begin_ns),
			 (json_int_t)((slice->end_ns - slice->begin_ns) / 1000), name_number(around, text), slice->open,
			 tid);
}

void around_add(struct around *around, const struct replay_process *process, const struct rank_slices *slices)
{
	char key[16];

	snprintf(key, sizeof(key), "%" PRId32, process->rank);
	if (process->rank < 0 || !json_is_null(json_object_get(around->ranks, key)))
		return;
	const struct slice **shown = calloc(slices->slices.count + 1, sizeof(struct slice *));
	json_t *list = json_array();
	size_t count = 0;

	for (size_t i = 0; shown && i < slices->slices.count; i++)
		if (is_shown(around, &slices->slices.list[i]))
			shown[count++] = &slices->slices.list[i];
	if (count > around->slices_most) {
		qsort(shown, count, sizeof(*shown), by_length);
		around->left_out += count - around->slices_most;
		count = around->slices_most;
	}
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, slice_json(around, slices, shown[i]));
	free(shown);
	json_object_set_new(around->ranks, key, list);
}

json_t *around_take(struct around *around)
{
	json_t *json = json_pack("{s:I, s:I, s:o, s:o, s:I}", "from", run_view_us(around->view, around->from_ns),
				 "until", run_view_us(around->view, around->until_ns), "names", around->names, "ranks",
				 around->ranks, "left_out", (json_int_t)around->left_out);

	json_decref(around->numbers);
	return json;
}
