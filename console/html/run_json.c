/* SPDX-License-Identifier: MIT */
#include "console/html/run_json.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "console/dump/box_json.h"
#include "console/replay/seen_live.h"
#include "console/report/flight.h"
#include "console/report/inits.h"
#include "console/report/run_head.h"
#include "protocol/account_text.h"
#include "protocol/explanation.h"

enum {
	LABEL = 10,   /* columns of a label in the head */
	WIDE = 10000, /* its lines are broken by the browser */
};

static const char *skip_spaces(const char *text)
{
	return text + strspn(text, " ");
}

/* "ranks     8 of 8 left …" → ["ranks", "8 of 8 left …"] */
static void add_line(json_t *lines, const char *line)
{
	char label[LABEL + 1] = "";
	size_t length = strlen(line) < LABEL ? strlen(line) : LABEL;

	memcpy(label, line, length);
	while (length && label[length - 1] == ' ')
		label[--length] = '\0';
	json_array_append_new(lines, json_pack("[s, s]", label, strlen(line) < LABEL ? "" : skip_spaces(line + LABEL)));
}

static json_t *lines_json(char *text)
{
	json_t *lines = json_array();
	char *rest = NULL;

	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
		add_line(lines, line);
	return lines;
}

/* What looks like a failure and is none: it stands in the story, too. */
static json_t *explanation_lines(const struct run_view *view)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; out && i < view->replay.machine_count; i++) {
		json_t *explanation = explanation_json(view->replay.machines[i].analysis);

		explanation_print_shown(out, "", LABEL, explanation);
		json_decref(explanation);
	}
	if (out)
		fclose(out);
	json_t *lines = lines_json(text);

	free(text);
	return lines;
}

static json_t *head_json(const struct run_view *view)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	/* Without a now: "ago" grows old in a file. */
	if (out) {
		run_head_print_job(out, &view->replay, WIDE);
		run_head_print_record(out, &view->replay, 0, WIDE);
		fclose(out);
	}
	json_t *lines = lines_json(text);

	free(text);
	return lines;
}

/* Communicators that were still being made. */
static json_t *inits_json(const struct run_view *view)
{
	json_t *lines = json_array();
	char *text = NULL, *rest = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (out) {
		inits_print(out, &view->replay);
		fclose(out);
	}
	for (char *line = text ? strtok_r(text, "\n", &rest) : NULL; line; line = strtok_r(NULL, "\n", &rest))
		json_array_append_new(lines, json_string(skip_spaces(line)));
	free(text);
	return lines;
}

/* Shares of several machines cannot be put together: the head has those of each. */
static json_t *account(const struct run_view *view)
{
	struct analysis_account account;

	if (view->replay.machine_count > 1)
		return json_null();
	analysis_tell_account(view->replay.machines[0].analysis, &account);
	seen_live_correct(&view->replay, &account);
	return account_json(&account);
}

static json_t *operations_json(const struct run_view *view)
{
	struct analysis_summary summary;

	replay_summarise(&view->replay, &summary);
	return json_pack("{s:i, s:I, s:I, s:I, s:I, s:i, s:I, s:f, s:i}", "ranks_total", summary.ranks_total,
			 "operations", (json_int_t)summary.operations, "untracked", (json_int_t)summary.untracked,
			 "dropped", (json_int_t)summary.dropped, "captured", (json_int_t)summary.captured,
			 "communicators", (int)summary.communicators, "steps", (json_int_t)summary.steps, "step_ms",
			 summary.step_ms, "xids", (int)summary.xids);
}

/* What a ring has overwritten is missing at the begin of the page. */
static bool is_whole(const struct run_view *view)
{
	for (size_t i = 0; i < view->replay.count; i++) {
		const struct rw_box_header *header = replay_header(&view->replay.processes[i]);

		if (header->head > header->ring_slots)
			return false;
	}
	return true;
}

json_t *run_json(const struct run_view *view)
{
	const struct rw_box_header *header = replay_header(&view->replay.processes[0]);
	int64_t offset_ns = host_clocks_sane(view->replay.realtime_offset_ns);
	json_t *job =
	    json_pack("{s:o, s:i, s:I, s:I, s:I, s:I, s:b, s:I, s:o, s:o, s:o, s:o}", "id",
		      box_json_text(header->job, sizeof(header->job)), "generation", header->generation, "clocks",
		      (json_int_t)view->replay.machine_count, "ranks_seen", (json_int_t)view->replay.count, "began_ms",
		      ((json_int_t)view->base_ns + offset_ns) / 1000000, "end", run_view_us(view, view->end_ns),
		      "whole", is_whole(view), "made_ms", (json_int_t)time(NULL) * 1000, "head", head_json(view),
		      "inits", inits_json(view), "account", account(view), "shown", explanation_lines(view));

	json_object_update_new(job, operations_json(view));
	return job;
}

struct flights {
	const struct run_view *view;
	json_t *list;
};

static void take_flight(void *argument, const struct analysis_flight *flight)
{
	struct flights *flights = argument;

	json_array_append_new(flights->list, flight_to_json(&flights->view->replay, flight));
}

json_t *flights_json(const struct run_view *view)
{
	struct flights flights = { view, json_array() };

	replay_visit_flights(&view->replay, take_flight, &flights);
	return flights.list;
}
