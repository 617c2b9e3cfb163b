/* SPDX-License-Identifier: MIT */
#include "console/report/flight.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "base/paragraph.h"
#include "console/dump/box_json.h"
#include "console/report/last_seen.h"
#include "finding/finding_json.h"
#include "finding/rank_list.h"

enum { LIST = 256, COLUMN = 12, THREAD_COLUMN = 16, MISSING_SHOWN = 8, THREADS_SHOWN = 6 };

static const uint64_t OLD_NS = 1000000000;

static const char *or_unknown(const char *name)
{
	return name ? name : "unknown";
}

/* 4194304 → "4,194,304". */
static char *grouped(uint64_t number, char *text)
{
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number), out = 0;

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			text[out++] = ',';
		text[out++] = digits[i];
	}
	text[out] = '\0';
	return text;
}

static void print_title(FILE *out, const struct analysis_flight *flight)
{
	char count[32];

	fprintf(out, "  %s #%" PRIu64 " on ", or_unknown(finding_function_name(flight->function)), flight->sequence);
	if (flight->comm_name && *flight->comm_name)
		foreign_put(out, flight->comm_name);
	else
		fprintf(out, "0x%" PRIx64, flight->comm);
	if (flight->comm_size > 0)
		fprintf(out, " (%d ranks), ", flight->comm_size);
	else
		fputs(" (size not known), ", out);
	fprintf(out, "%s × %s\n", grouped(flight->count, count), or_unknown(finding_dtype_name(flight->dtype)));
}

/* One line per phase, in the order in which the phases appear. */
static void print_joined(FILE *out, const struct analysis_flight *flight)
{
	int32_t *ranks = calloc(flight->joined_count + 1, sizeof(*ranks));
	bool *done = calloc(flight->joined_count + 1, sizeof(*done));
	char list[LIST];

	for (size_t i = 0; ranks && done && i < flight->joined_count; i++) {
		size_t count = 0;

		for (size_t j = i; j < flight->joined_count && !done[i]; j++) {
			if (strcmp(flight->joined_phase[i], flight->joined_phase[j]))
				continue;
			ranks[count++] = flight->joined[j];
			done[j] = j != i;
		}
		if (count)
			fprintf(out, "    %-8srank%s %s: %s\n", i ? "" : "joined", count > 1 ? "s" : "",
				rank_list_text(list, sizeof(list), ranks, count), flight->joined_phase[i]);
	}
	free(ranks);
	free(done);
}

const char *flight_life_text(const struct replay_process *process)
{
	if (replay_header(process)->end == RW_BOX_EXITED)
		return "left through exit()";
	if (replay_header(process)->end == RW_BOX_COPIED)
		return "still ran when this copy was made";
	switch (process->life) {
	case BOX_ALIVE:
		return "alive";
	case BOX_ORPHANED:
		return "ended without exit(): killed, crashed, or left by _exit or exec";
	default:
		return "its end is not known";
	}
}

/* A process that was stopped, or too busy, has no samples of its end: then how old the last ones are is said. */
static void print_age(FILE *out, const struct last_seen *seen, uint64_t end_ns)
{
	uint64_t newest_ns = 0;

	for (size_t i = 0; i < seen->count; i++) {
		if (seen->threads[i].wait.end_ns > newest_ns)
			newest_ns = seen->threads[i].wait.end_ns;
	}
	if (seen->count && end_ns > newest_ns + OLD_NS)
		fprintf(out, "%*sthe last samples of its threads are %.1f s older than the end:\n", COLUMN + 2, "",
			(double)(end_ns - newest_ns) / 1e9);
}

static void print_threads(FILE *out, const struct replay *replay, const struct replay_process *process, int width)
{
	struct last_seen seen;
	char text[1024];

	if (last_seen_read(&seen, feed_reader(process->feed)) != 0 || !seen.count)
		fprintf(out, "%*sno samples of its threads\n", COLUMN + 2, "");
	print_age(out, &seen, replay_machine_of(replay, process)->last_ns);
	for (size_t i = 0; i < seen.count && i < THREADS_SHOWN; i++) {
		char *name = foreign_text(seen.threads[i].wait.thread);

		fprintf(out, "%*s%-*s ", COLUMN + 2, "", THREAD_COLUMN, name && *name ? name : "a thread");
		paragraph_print(out, last_seen_text(&seen.threads[i], text, sizeof(text)), COLUMN + 3 + THREAD_COLUMN,
				COLUMN + 3 + THREAD_COLUMN, width);
		free(name);
	}
	last_seen_free(&seen);
}

static void print_missing(FILE *out, const struct replay *replay, const struct analysis_flight *flight, int width)
{
	char list[LIST], who[LIST];

	for (size_t i = 0; i < flight->missing_count && i < MISSING_SHOWN; i++) {
		const struct replay_process *process = replay_find(replay, flight->missing[i]);
		int used = snprintf(who, sizeof(who), "rank %d", flight->missing[i]);

		if (process)
			snprintf(who + used, sizeof(who) - (size_t)used, " (host %.64s, pid %u), %s",
				 replay_header(process)->host, replay_header(process)->pid, flight_life_text(process));
		fprintf(out, "    %-8s", i ? "" : "missing");
		paragraph_print(out, who, COLUMN, COLUMN, width);
		if (process)
			print_threads(out, replay, process, width);
	}
	if (flight->missing_count > MISSING_SHOWN)
		fprintf(out, "%*salso ranks %s\n", COLUMN, "",
			rank_list_text(list, sizeof(list), flight->missing + MISSING_SHOWN,
				       flight->missing_count - MISSING_SHOWN));
}

void flight_print(FILE *out, const struct replay *replay, const struct analysis_flight *flight, int width)
{
	print_title(out, flight);
	print_joined(out, flight);
	print_missing(out, replay, flight, width);
	if (flight->unseen < 0)
		fprintf(out, "    unseen  this NCCL does not report how many ranks this communicator has\n");
	if (flight->unseen > 0)
		fprintf(out, "    unseen  %d rank%s of this communicator left no black box here%s\n", flight->unseen,
			flight->unseen > 1 ? "s" : "",
			replay->machine_count > 1 ? ", or none that shows whether it called this" : "");
}

static json_t *threads_json(const struct replay_process *process)
{
	json_t *list = json_array();
	struct last_seen seen;

	last_seen_read(&seen, feed_reader(process->feed));
	for (size_t i = 0; i < seen.count; i++) {
		const struct analysis_wait *wait = &seen.threads[i].wait;
		json_t *thread = json_pack(
		    "{s:I, s:o, s:o, s:o, s:o, s:f}", "tid", (json_int_t)wait->tid, "thread",
		    box_json_text(wait->thread, sizeof(wait->thread)), "state", box_json_text(&wait->state, 1), "path",
		    *wait->path ? box_json_text(wait->path, sizeof(wait->path)) : json_null(), "wait_channel",
		    box_json_text(wait->wait_channel, sizeof(wait->wait_channel)), "for_ms",
		    (double)(wait->end_ns - seen.threads[i].since_ns) / 1e6);

		json_object_set_new(thread, "system_call",
				    wait->system_call >= 0 ? json_integer(wait->system_call) : json_null());
		json_object_set_new(thread, "fd", wait->fd >= 0 ? json_integer(wait->fd) : json_null());
		json_array_append_new(list, thread);
	}
	last_seen_free(&seen);
	return list;
}

static json_t *missing_json(const struct replay *replay, int32_t rank)
{
	const struct replay_process *process = replay_find(replay, rank);
	json_t *json = json_pack("{s:i}", "rank", rank);

	if (!process)
		return json;
	json_object_set_new(json, "host",
			    box_json_text(replay_header(process)->host, sizeof(replay_header(process)->host)));
	json_object_set_new(json, "pid", json_integer(replay_header(process)->pid));
	json_object_set_new(json, "end", json_string(flight_life_text(process)));
	json_object_set_new(json, "threads", threads_json(process));
	return json;
}

static json_t *name_or_null(const char *name)
{
	return name ? json_string(name) : json_null();
}

json_t *flight_to_json(const struct replay *replay, const struct analysis_flight *flight)
{
	json_t *joined = json_array(), *missing = json_array();
	char comm[24];

	for (size_t i = 0; i < flight->joined_count; i++)
		json_array_append_new(
		    joined, json_pack("{s:i, s:s}", "rank", flight->joined[i], "phase", flight->joined_phase[i]));
	for (size_t i = 0; i < flight->missing_count; i++)
		json_array_append_new(missing, missing_json(replay, flight->missing[i]));
	snprintf(comm, sizeof(comm), "0x%" PRIx64, flight->comm);
	return json_pack("{s:s, s:o, s:o, s:o, s:I, s:o, s:I, s:o, s:o, s:o}", "comm", comm, "comm_name",
			 flight->comm_name ? box_json_text(flight->comm_name, strlen(flight->comm_name)) : json_null(),
			 "comm_size", flight->comm_size > 0 ? json_integer(flight->comm_size) : json_null(), "function",
			 name_or_null(finding_function_name(flight->function)), "sequence",
			 (json_int_t)flight->sequence, "dtype", name_or_null(finding_dtype_name(flight->dtype)),
			 "count", (json_int_t)flight->count, "joined", joined, "missing", missing, "unseen",
			 flight->unseen >= 0 ? json_integer(flight->unseen) : json_null());
}
