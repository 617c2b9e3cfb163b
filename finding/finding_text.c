/* SPDX-License-Identifier: MIT */
#include "finding/finding_text.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "finding/path_text.h"

enum { COLUMNS = 100 };

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static double number_of(const json_t *object, const char *key, double absent)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : absent;
}

static bool is_text(const json_t *object, const char *key, const char *expected)
{
	const char *text = text_of(object, key);

	return text && strcmp(text, expected) == 0;
}

static void print_duration(FILE *out, double ms)
{
	if (ms < 1000)
		fprintf(out, "%.0f ms", ms);
	else
		fprintf(out, "%.*f s", ms < 10000 ? 2 : ms < 100000 ? 1 : 0, ms / 1000);
}

/* "0", "1-7", "0,2-5": the list is ascending. */
static void print_ranks(FILE *out, const json_t *ranks)
{
	size_t count = json_array_size(ranks);

	for (size_t i = 0; i < count; i++) {
		json_int_t first = json_integer_value(json_array_get(ranks, i));
		json_int_t last = first;

		fprintf(out, "%s%lld", i ? "," : "", (long long)first);
		while (i + 1 < count && last < INT32_MAX &&
		       json_integer_value(json_array_get(ranks, i + 1)) == last + 1) {
			last++;
			i++;
		}
		if (last > first)
			fprintf(out, "-%lld", (long long)last);
	}
}

/* "rank 0 makes …" becomes "rank 0 (host a, pid 4711) makes …": who to look for belongs on the first line. */
static void print_who(FILE *out, const json_t *finding, const char *text)
{
	const json_t *where = json_array_get(json_object_get(finding, "where"), 0);
	const char *host = text_of(where, "host");
	const json_t *pid = json_object_get(where, "pid");
	char prefix[32];
	int length = snprintf(prefix, sizeof(prefix), "rank %lld ",
			      (long long)json_integer_value(json_object_get(where, "rank")));

	if (!host || !json_is_integer(pid) || strncmp(text, prefix, (size_t)length) != 0) {
		fputs(text, out);
		return;
	}
	fprintf(out, "%s(host %s, pid %lld) %s", prefix, host, (long long)json_integer_value(pid), text + length);
}

static void write_head(FILE *out, const json_t *finding)
{
	const char *text = text_of(finding, "text");

	if (is_text(finding, "state", "closed"))
		fputs("closed: ", out);
	print_who(out, finding, text ? text : "(no text)");
	if (is_text(finding, "confidence", "likely") || is_text(finding, "confidence", "inconclusive"))
		fprintf(out, " (%s)", text_of(finding, "confidence"));
}

/* Nothing that one thread does: the whole process has ended or stands still, or nobody knows. */
static bool is_whole_process(const json_t *cause)
{
	return is_text(cause, "class", "gone") || is_text(cause, "class", "stopped") ||
	       is_text(cause, "class", "unknown");
}

/* its thread "python-main" waits for its thread "tb-writer", which waits for …, */
static void write_chain(FILE *out, const json_t *cause)
{
	const char *thread = text_of(cause, "thread");
	const json_t *link;
	size_t i;

	if (!thread || is_whole_process(cause))
		return;
	fprintf(out, "its thread \"%s\"", thread);
	json_array_foreach(json_object_get(cause, "chain"), i, link)
	{
		const char *target = text_of(link, "waits_for");

		if (!target)
			continue;
		fputs(i ? ", which waits for " : " waits for ", out);
		if (strncmp(target, "thread ", 7) == 0)
			fprintf(out, "its thread \"%s\"", target + 7);
		else
			fputs(target, out);
	}
	fputs(", ", out);
}

/* A system call is something that a thread is "in"; every other text stands for itself. */
static void write_what(FILE *out, const json_t *cause)
{
	const char *text = text_of(cause, "text");
	const char *system_call = text_of(cause, "syscall");
	double share = number_of(cause, "share", -1);

	if (share >= 0 && !is_whole_process(cause))
		fprintf(out, "%.0f %% ", share * 100);
	if (text && system_call && strncmp(text, system_call, strlen(system_call)) == 0)
		fputs("in ", out);
	fputs(text ? text : text_of(cause, "class") ? text_of(cause, "class") : "unknown", out);
}

/* What would settle it. */
static void write_missing(FILE *out, const json_t *finding)
{
	const char *missing = json_string_value(json_array_get(json_object_get(finding, "missing"), 0));

	if (missing)
		fprintf(out, ": %s", missing);
}

static void write_device(FILE *out, const json_t *cause)
{
	const char *file_system = text_of(cause, "fs"), *device = text_of(cause, "device");

	if (file_system && device)
		fprintf(out, " (%s, %s)", file_system, device);
	else if (file_system || device)
		fprintf(out, " (%s)", file_system ? file_system : device);
}

static void write_cause(FILE *out, const json_t *finding)
{
	const json_t *cause = json_object_get(finding, "cause");
	const char *path = text_of(cause, "path");
	char *before = NULL, *after = NULL;
	size_t before_size, after_size;
	FILE *stream = open_memstream(&before, &before_size);

	if (stream) {
		write_chain(stream, cause);
		write_what(stream, cause);
		if (is_text(cause, "class", "unknown"))
			write_missing(stream, finding);
		fclose(stream);
	}
	stream = open_memstream(&after, &after_size);
	if (stream) {
		write_device(stream, cause);
		fclose(stream);
	}
	if (before && after) {
		size_t used = strlen("  because   on ") + path_text_columns(before) + path_text_columns(after);

		fputs(before, out);
		if (path) {
			fputs(" on ", out);
			path_text_print(out, path, used < COLUMNS ? COLUMNS - used : 0);
		}
		fputs(after, out);
	}
	free(before);
	free(after);
}

/* In these the ranks are still waiting; the others tell of waits that came and went. */
static bool is_stuck(const json_t *finding)
{
	return is_text(finding, "kind", "hang") || is_text(finding, "kind", "gone") ||
	       is_text(finding, "kind", "desync");
}

/* 100 s (RANKWATCH_TIMEOUT): 88 s left */
static void write_watchdog(FILE *out, const json_t *finding)
{
	const json_t *watchdog = json_object_get(finding, "watchdog");
	double left = number_of(watchdog, "left_ms", -1);
	double longest = number_of(watchdog, "longest_wait_ms", -1);
	const char *from = text_of(watchdog, "from");

	fprintf(out, "%.0f s", number_of(watchdog, "timeout_ms", 0) / 1000);
	if (from)
		fprintf(out, " (%s)", from);
	if (is_stuck(finding) && left >= 0)
		fprintf(out, ": %.0f s left", left / 1000);
	else if (longest >= 0)
		fprintf(out, ": longest wait so far %.1f s", longest / 1000);
}

static bool has_watchdog(const json_t *finding)
{
	return number_of(json_object_get(finding, "watchdog"), "timeout_ms", -1) >= 0;
}

static void write_waiting(FILE *out, const json_t *finding)
{
	const json_t *waiting = json_object_get(json_object_get(finding, "late"), "waiting");
	bool one;

	if (!json_array_size(waiting))
		waiting = json_object_get(finding, "victims");
	if (!json_array_size(waiting))
		return;
	one = json_array_size(waiting) == 1;
	fprintf(out, "; rank%s ", one ? "" : "s");
	print_ranks(out, waiting);
	fputs(!is_stuck(finding) ? " waited" : one ? " waits" : " wait", out);
}

static void write_operation(FILE *out, const json_t *finding)
{
	const json_t *operation = json_object_get(finding, "operation");
	const char *function = text_of(operation, "function"), *comm = text_of(operation, "comm_name");
	const json_t *sequence = json_object_get(operation, "sequence");
	double by = number_of(json_object_get(finding, "late"), "by_ms", -1);

	fputs(function ? function : "an operation", out);
	if (json_is_integer(sequence))
		fprintf(out, " #%lld", (long long)json_integer_value(sequence));
	if (comm)
		fprintf(out, " on %s", comm);
	if (by >= 0 && !is_stuck(finding)) {
		fputs(" by ", out);
		print_duration(out, by);
	}
	write_waiting(out, finding);
	if (has_watchdog(finding)) {
		fputs(" · watchdog ", out);
		write_watchdog(out, finding);
	}
}

/* "rank 6 was killed by signal 9": the first line is the cause. */
static bool names_cause(const json_t *finding)
{
	const char *text = text_of(finding, "text"), *cause = text_of(json_object_get(finding, "cause"), "text");

	return text && cause && is_whole_process(json_object_get(finding, "cause")) && strstr(text, cause);
}

/* Does the first line say already which operation it is, and who waits? */
static bool names_operation(const json_t *finding)
{
	const char *text = text_of(finding, "text");
	char number[32];

	snprintf(number, sizeof(number), " #%lld",
		 (long long)json_integer_value(json_object_get(json_object_get(finding, "operation"), "sequence")));
	return is_stuck(finding) && text && strstr(text, number);
}

static void write_advice(FILE *out, const json_t *finding)
{
	fputs(text_of(finding, "advice"), out);
}

typedef void write_line(FILE *out, const json_t *finding);

/* The line is composed as it is and escaped as a whole: nothing from a job reaches `out` on another way. */
static void print_line(FILE *out, const char *label, write_line *write, const json_t *finding)
{
	char *line = NULL;
	size_t size;
	FILE *stream = open_memstream(&line, &size);

	if (!stream)
		return;
	write(stream, finding);
	fclose(stream);

	char *escaped = line ? finding_escape(line) : NULL;

	fprintf(out, "%s%s\n", label, escaped ? escaped : "(no memory)");
	free(escaped);
	free(line);
}

static const char *colour_of(const json_t *finding)
{
	if (is_text(finding, "state", "closed"))
		return "\033[32m";
	if (is_text(finding, "severity", "critical"))
		return "\033[1;31m";
	return is_text(finding, "severity", "notice") ? "\033[36m" : "\033[1;33m";
}

static void print_kind(FILE *out, const json_t *finding, bool colour)
{
	char *kind = finding_escape(text_of(finding, "kind"));

	for (char *at = kind; at && *at; at++)
		*at = (char)toupper((unsigned char)*at);
	fprintf(out, "%s%-10s%s ", colour ? colour_of(finding) : "", kind ? kind : "FINDING", colour ? "\033[0m" : "");
	free(kind);
}

int finding_print(FILE *out, const json_t *finding, bool colour)
{
	if (!text_of(finding, "kind") || !json_is_integer(json_object_get(finding, "schema")))
		return -EPROTO;

	print_kind(out, finding, colour);
	print_line(out, "", write_head, finding);
	if (is_text(finding, "state", "closed"))
		return 0;
	if (json_is_object(json_object_get(finding, "cause")) && !names_cause(finding))
		print_line(out, "  because  ", write_cause, finding);
	if (!names_operation(finding) && json_is_object(json_object_get(finding, "operation")))
		print_line(out, is_stuck(finding) ? "  missed   " : "  late for ", write_operation, finding);
	else if (has_watchdog(finding))
		print_line(out, "  watchdog ", write_watchdog, finding);
	if (text_of(finding, "advice"))
		print_line(out, "  do       ", write_advice, finding);
	return 0;
}
