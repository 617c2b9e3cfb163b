/* SPDX-License-Identifier: MIT */
#include "console/trace/kineto_merge.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIDS = 256, PID_TEXT = 64, CLOCK_TEXT = 32 };

/* What the first reading finds out. Times: µs as in the file. */
struct seen {
	int64_t pid; /* of the process whose threads are in it; -1 not found */
	double first, last;
	bool any;
};

static const char *text_of(const json_t *event, const char *key)
{
	const char *text = json_string_value(json_object_get(event, key));

	return text ? text : "";
}

static int see(void *argument, json_t *event)
{
	struct seen *seen = argument;
	const json_t *ts = json_object_get(event, "ts"), *pid = json_object_get(event, "pid");

	/* GPUs are processes of the trace, too, numbered from 0. */
	if (!strcmp(text_of(event, "name"), "process_labels") && json_is_integer(pid) &&
	    !strcmp(text_of(json_object_get(event, "args"), "labels"), "CPU"))
		seen->pid = json_integer_value(pid);
	if (strcmp(text_of(event, "ph"), "X") != 0 || !json_is_number(ts))
		return 0;
	double begin = json_number_value(ts), end = begin + json_number_value(json_object_get(event, "dur"));

	seen->first = seen->any && seen->first < begin ? seen->first : begin;
	seen->last = seen->any && seen->last > end ? seen->last : end;
	seen->any = true;
	return 0;
}

static char *time_text(char text[CLOCK_TEXT], double unix_us)
{
	time_t seconds = fabs(unix_us) < 1e17 ? (time_t)(unix_us / 1e6) : -1;
	struct tm parts;

	if (seconds < 0 || !gmtime_r(&seconds, &parts) || !strftime(text, CLOCK_TEXT, "%Y-%m-%d %H:%M:%S UTC", &parts))
		snprintf(text, CLOCK_TEXT, "?");
	return text;
}

static double record_begin_us(const struct rw_box_header *header)
{
	return (double)((int64_t)header->created_ns + box_realtime_offset(header)) / 1e3;
}

/* The run's last sign of life. */
static double record_end_us(const struct replay *replay)
{
	return (double)((int64_t)replay->last_ns + replay->realtime_offset_ns) / 1e3;
}

static bool is_of(const struct replay_process *process, const struct kineto_head *head, const struct seen *seen)
{
	return (head->rank < 0 || head->rank == process->rank) && replay_header(process)->pid == seen->pid;
}

static int find_process(struct kineto_merge *merge, const struct replay *replay, const struct seen *seen,
			char why[KINETO_WHY])
{
	size_t found = 0;
	char rank[32] = "a rank that it does not name";

	for (size_t i = 0; i < replay->count; i++)
		if (is_of(&replay->processes[i], &merge->head, seen)) {
			merge->process = i;
			found++;
		}
	if (found == 1)
		return 0;
	if (merge->head.rank >= 0)
		snprintf(rank, sizeof(rank), "rank %" PRId32, merge->head.rank);
	snprintf(why, KINETO_WHY, "it is of %s, process %" PRId64 ": %s of this run %s", rank, seen->pid,
		 found ? "more than one black box" : "no black box", found ? "may be" : "is");
	return -EBADMSG;
}

static int check_time(const struct kineto_merge *merge, const struct replay *replay, const struct seen *seen,
		      char why[KINETO_WHY])
{
	const struct rw_box_header *header = replay_header(&replay->processes[merge->process]);
	double base_us = (double)merge->head.base_ns / 1e3;
	char first[CLOCK_TEXT], last[CLOCK_TEXT], begin[CLOCK_TEXT], end[CLOCK_TEXT];

	if (base_us + seen->first <= record_end_us(replay) && base_us + seen->last >= record_begin_us(header))
		return 0;
	snprintf(why, KINETO_WHY,
		 "its events, %s to %s, lie outside of the record of that process, %s to %s: it is of another run",
		 time_text(first, base_us + seen->first), time_text(last, base_us + seen->last),
		 time_text(begin, record_begin_us(header)), time_text(end, record_end_us(replay)));
	return -EBADMSG;
}

int kineto_merge_open(struct kineto_merge *merge, const char *path, const struct replay *replay, char why[KINETO_WHY])
{
	struct seen seen = { .pid = -1 };

	*merge = (struct kineto_merge){ .path = path };
	int err = kineto_read(path, &merge->head, see, &seen, why);

	if (err)
		return err;
	if (!seen.any || seen.pid < 0) {
		snprintf(why, KINETO_WHY, "%s",
			 seen.any ? "it does not say which process it is of (process_labels \"CPU\")"
				  : "there is no event in it");
		return -EBADMSG;
	}
	err = find_process(merge, replay, &seen, why);
	return err ? err : check_time(merge, replay, &seen, why);
}

/* What the second reading needs. */
struct writing {
	struct kineto_merge *merge;
	struct trace_sink *sink;
	double shift_us; /* from the file's times to the trace's */
	int32_t rank;
	uint32_t place; /* number of the rank's own process */
	uint32_t first, count;
	char (*pids)[PID_TEXT]; /* as the file has them, in the order of their numbers */
	char *why;
};

static void put_json(struct writing *writing, json_t *event)
{
	char *text = event ? json_dumps(event, JSON_COMPACT | JSON_REAL_PRECISION(15)) : NULL;

	if (text)
		writing->sink->format->raw(writing->sink, text);
	else
		writing->sink->no_memory = true;
	free(text);
}

static void put_metadata(struct writing *writing, uint32_t number, const char *name, json_t *arguments)
{
	json_t *event = json_pack("{s:s, s:i, s:i, s:s, s:o}", "ph", "M", "pid", (int)number, "tid", 0, "name", name,
				  "args", arguments);

	put_json(writing, event);
	json_decref(event);
}

static json_t *process_name(const struct writing *writing, const char *name)
{
	return json_pack("{s:o}", "name", json_sprintf("rank %" PRId32 " · PyTorch · %s", writing->rank, name));
}

/* Numbers of processes are places in the trace here; in the file they are process ids, GPUs and names. */
static int number_of(struct writing *writing, const json_t *pid, uint32_t *number)
{
	char text[PID_TEXT];

	if (json_string_length(pid) >= sizeof(text)) {
		snprintf(writing->why, KINETO_WHY, "the name of a process is longer than %d bytes", PID_TEXT - 1);
		return -EBADMSG;
	}
	if (json_is_integer(pid))
		snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(pid));
	else
		snprintf(text, sizeof(text), "%s",
			 json_is_string(pid) && *json_string_value(pid) ? json_string_value(pid) : "trace");
	for (uint32_t i = 0; i < writing->count; i++)
		if (!strcmp(writing->pids[i], text)) {
			*number = writing->first + i;
			return 0;
		}
	if (writing->count == PIDS) {
		snprintf(writing->why, KINETO_WHY, "it has more than %d processes", PIDS);
		return -EBADMSG;
	}
	memcpy(writing->pids[writing->count], text, sizeof(text));
	*number = writing->first + writing->count++;
	put_metadata(writing, *number, "process_name", process_name(writing, text));
	put_metadata(writing, *number, "process_sort_index", json_pack("{s:i}", "sort_index", (int)writing->place));
	return 0;
}

/* Ids tie events of one file: those of another one are others. */
static void set_id(const struct writing *writing, json_t *event)
{
	const json_t *id = json_object_get(event, "id");

	if (json_is_integer(id))
		json_object_set_new(
		    event, "id",
		    json_sprintf("%" PRIu32 ".%" JSON_INTEGER_FORMAT, writing->first, json_integer_value(id)));
	else if (json_is_string(id))
		json_object_set_new(event, "id", json_sprintf("%" PRIu32 ".%s", writing->first, json_string_value(id)));
}

static int write_event(void *argument, json_t *event)
{
	struct writing *writing = argument;
	const char *name = text_of(event, "name"), *own = text_of(json_object_get(event, "args"), "name");
	const json_t *ts = json_object_get(event, "ts");
	uint32_t number;

	if (!strcmp(name, "process_sort_index"))
		return 0;
	int err = number_of(writing, json_object_get(event, "pid"), &number);
	if (err)
		return err;
	json_object_set_new(event, "pid", json_integer(number));
	if (!strcmp(name, "process_name"))
		json_object_set_new(event, "args", process_name(writing, own));
	if (json_is_number(ts))
		json_object_set_new(event, "ts", json_real(json_number_value(ts) + writing->shift_us));
	set_id(writing, event);
	put_json(writing, event);
	writing->merge->events++;
	return writing->sink->no_memory ? -ENOMEM : ferror(writing->sink->out) ? -EIO : 0;
}

int kineto_merge_write(struct kineto_merge *merge, struct trace_sink *sink, const struct replay *replay,
		       const struct host_clocks *clocks, uint32_t *next, char why[KINETO_WHY])
{
	struct writing writing = {
		.merge = merge,
		.sink = sink,
		.shift_us = (double)(merge->head.base_ns - clocks->hosts[0].realtime_offset_ns) / 1e3,
		.rank = replay->processes[merge->process].rank,
		.place = (uint32_t)merge->process + 2,
		.first = *next,
		.pids = calloc(PIDS, PID_TEXT),
		.why = why,
	};
	struct kineto_head head;
	int err = writing.pids ? kineto_read(merge->path, &head, write_event, &writing, why) : -ENOMEM;

	*next += writing.count;
	free(writing.pids);
	return err;
}
