/* SPDX-License-Identifier: MIT */
#include "finding/finding_text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/foreign_text.h"
#include "base/paragraph.h"
#include "finding/cause_text.h"
#include "finding/evidence_text.h"
#include "finding/forecast_text.h"
#include "finding/incident_text.h"
#include "finding/python_text.h"
#include "finding/seen_live_text.h"
#include "finding/value.h"
#include "finding/values_text.h"

static void print_duration(FILE *out, double ms)
{
	if (ms < 1000)
		fprintf(out, "%.0f ms", ms);
	else
		fprintf(out, "%.*f s", ms < 10000 ? 2 : ms < 100000 ? 1 : 0, ms / 1000);
}

/* "rank 0 makes …" becomes "rank 0 (host a, pid 4711) makes …": who to look for belongs on the first line. */
static void print_who(FILE *out, const json_t *finding, const char *text)
{
	const json_t *where = json_array_get(json_object_get(finding, "where"), 0);
	const char *host = value_text(where, "host");
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

/* Seconds since 1970; -1 not known. */
static double seconds_of(const json_t *finding, const char *key)
{
	const char *text = value_text(finding, key), *rest;
	struct tm utc = { 0 };

	rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &utc) : NULL;
	return rest ? (double)timegm(&utc) + strtod(*rest == '.' ? rest : "0", NULL) : -1;
}

/* "closed after 8.20 s: " */
static void write_closed(FILE *out, const json_t *finding)
{
	double from = seconds_of(finding, "first_seen"), to = seconds_of(finding, "time");

	fputs("closed", out);
	if (from >= 0 && to > from) {
		fputs(" after ", out);
		print_duration(out, (to - from) * 1000);
	}
	fputs(": ", out);
}

static bool is_closed(const json_t *finding)
{
	return value_is(finding, "state", "closed");
}

static bool is_unsure(const json_t *finding)
{
	return value_is(finding, "confidence", "likely") || value_is(finding, "confidence", "inconclusive");
}

static void write_head(FILE *out, const json_t *finding)
{
	const char *text = value_text(finding, "text");

	if (is_closed(finding))
		write_closed(out, finding);
	print_who(out, finding, text ? text : "(no text)");
	if (is_unsure(finding))
		fprintf(out, " (%s)", value_text(finding, "confidence"));
}

static const char *job_of(const json_t *finding)
{
	return value_text(json_object_get(finding, "job"), "id");
}

static bool names_job(const struct finding_style *style, const json_t *finding)
{
	const char *job = job_of(finding);

	return style->job && job && strcmp(job, style->job) != 0;
}

/* "job slurm-81123: rank 0 (host a, pid 4711) makes …" */
static void write_head_of_job(FILE *out, const json_t *finding)
{
	fprintf(out, "job %s: ", job_of(finding));
	write_head(out, finding);
}

/* In these the ranks are still waiting; the others report waits that came and went. */
static bool is_stuck(const json_t *finding)
{
	return value_is(finding, "kind", "hang") || value_is(finding, "kind", "gone") ||
	       value_is(finding, "kind", "desync");
}

/* In these a rank came late; slow transfers hold up ranks that all came in time. */
static bool is_late(const json_t *finding)
{
	return !is_stuck(finding) && !value_is(json_object_get(finding, "late"), "kind", "transfer");
}

/* 100 s (RANKWATCH_TIMEOUT): 88 s left. Of a job that is over nothing is left. */
static void write_watchdog(FILE *out, const json_t *finding)
{
	const json_t *watchdog = json_object_get(finding, "watchdog");
	double left = value_number(watchdog, "left_ms", -1);
	double longest = value_number(watchdog, "longest_wait_ms", -1);
	const char *from = value_text(watchdog, "from");

	fprintf(out, "%.0f s", value_number(watchdog, "timeout_ms", 0) / 1000);
	if (from && *from)
		fprintf(out, " (%s)", from);
	if (is_stuck(finding) && left >= 0 && !is_closed(finding))
		fprintf(out, ": %.0f s left", left / 1000);
	else if (longest >= 0)
		fprintf(out, left >= 0 ? ": longest wait so far %.1f s" : ": longest wait %.1f s", longest / 1000);
	if (!is_stuck(finding))
		forecast_text_print(out, ", ", json_object_get(watchdog, "reached"));
}

/* Some launchers have it in a file that nobody here reads: who waits for the job's end wants to know how to get a
 * countdown. */
static void write_no_watchdog(FILE *out, const json_t *finding)
{
	(void)finding;
	fputs("its time is not known: start the job with RANKWATCH_TIMEOUT=SECONDS for a countdown", out);
}

static bool has_watchdog(const json_t *finding)
{
	return value_number(json_object_get(finding, "watchdog"), "timeout_ms", -1) >= 0;
}

static void write_waiting(FILE *out, const json_t *finding)
{
	const json_t *waiting = json_object_get(json_object_get(finding, "late"), "waiting");
	char ranks[128];
	bool one;

	if (!json_array_size(waiting))
		waiting = json_object_get(finding, "victims");
	if (!json_array_size(waiting))
		return;
	one = json_array_size(waiting) == 1;
	fprintf(out, "; rank%s %s", one ? "" : "s", value_ranks(waiting, ranks, sizeof(ranks)));
	fputs(!is_stuck(finding) ? " waited" : one ? " waits" : " wait", out);
}

static void write_operation(FILE *out, const json_t *finding)
{
	const json_t *operation = json_object_get(finding, "operation");
	const char *function = value_text(operation, "function"), *comm = value_text(operation, "comm_name");
	const json_t *sequence = json_object_get(operation, "sequence");
	double by = value_number(json_object_get(finding, "late"), "by_ms", -1);

	fputs(function, out);
	if (json_is_integer(sequence))
		fprintf(out, " #%lld", (long long)json_integer_value(sequence));
	if (json_is_integer(json_object_get(operation, "replay")))
		fputs(" in a CUDA graph", out);
	if (comm)
		fprintf(out, " on %s", comm);
	if (by >= 0 && !is_stuck(finding)) {
		fputs(is_late(finding) ? " by " : " took ", out);
		print_duration(out, by);
	}
	write_waiting(out, finding);
	if (has_watchdog(finding)) {
		fputs(" · watchdog ", out);
		write_watchdog(out, finding);
	}
}

/* "rank 6 was killed by signal 9", "the ranks of b wait 86 % of that time for the network to a": the first line is the
 * cause. */
static bool names_cause(const json_t *finding)
{
	const char *text = value_text(finding, "text"), *cause = value_text(json_object_get(finding, "cause"), "text");

	if (value_is(json_object_get(finding, "late"), "kind", "transfer"))
		return true;
	if (!cause && value_is(json_object_get(finding, "cause"), "class", "gone"))
		return true;
	return text && cause && cause_text_is_whole_process(json_object_get(finding, "cause")) && strstr(text, cause);
}

/* Does the first line say already which operation it is, and who waits? */
static bool names_operation(const json_t *finding)
{
	const char *text = value_text(finding, "text");
	char number[32];

	snprintf(number, sizeof(number), " #%lld",
		 (long long)json_integer_value(json_object_get(json_object_get(finding, "operation"), "sequence")));
	return is_stuck(finding) && text && strstr(text, number);
}

static void write_lost(FILE *out, const json_t *finding)
{
	double lost = value_number(finding, "lost", 0);

	fprintf(out,
		lost < 1.5 ? "%.0f event of that time: a cause may be missing"
			   : "%.0f events of that time: a cause may be missing",
		lost);
}

static void write_advice(FILE *out, const json_t *finding)
{
	fputs(value_text(finding, "advice"), out);
}

/* The day, too: this may be read much later. */
static void write_found(FILE *out, const json_t *finding)
{
	const char *text = value_text(finding, "first_seen");

	fprintf(out, "%.10s %.8s UTC", text, text + 11);
}

typedef void write_line(FILE *out, const json_t *finding);

/* Columns of every label, and of the clock in front of the first line. */
enum { LABEL = 11, CLOCK = 9 };

/* The line is composed as it is and escaped as a whole: nothing from a job reaches `out` on another way. */
static void print_line(FILE *out, const struct finding_style *style, write_line *write, const json_t *finding,
		       int column)
{
	char *line = NULL;
	size_t size;
	FILE *stream = open_memstream(&line, &size);

	if (!stream)
		return;
	write(stream, finding);
	fclose(stream);
	paragraph_print(out, line ? line : "(no memory)", column, LABEL, style->width ? style->width : INT_MAX);
	free(line);
}

static void print_labelled(FILE *out, const struct finding_style *style, const char *label, write_line *write,
			   const json_t *finding)
{
	fputs(label, out);
	print_line(out, style, write, finding, LABEL);
}

static const char *colour_of(const struct finding_style *style, const json_t *finding)
{
	if (is_closed(finding) && !style->whole)
		return "\033[32m";
	if (value_is(finding, "severity", "critical"))
		return "\033[1;31m";
	return value_is(finding, "severity", "notice") ? "\033[36m" : "\033[1;33m";
}

/* Returns the columns that it took. */
static int print_clock(FILE *out, const json_t *finding)
{
	const char *text = value_text(finding, "time");
	struct tm utc = { 0 }, local;
	time_t seconds;

	if (!text || !strptime(text, "%Y-%m-%dT%H:%M:%S", &utc))
		return 0;
	seconds = timegm(&utc);
	if (!localtime_r(&seconds, &local))
		return 0;
	fprintf(out, "%02d:%02d:%02d ", local.tm_hour, local.tm_min, local.tm_sec);
	return CLOCK;
}

static void print_kind(FILE *out, const struct finding_style *style, const json_t *finding)
{
	char *kind = foreign_text(value_text(finding, "kind"));

	for (char *at = kind; at && *at; at++)
		*at = (char)toupper((unsigned char)*at);
	fprintf(out, "%s%-10s%s ", style->colour ? colour_of(style, finding) : "", kind ? kind : "FINDING",
		style->colour ? "\033[0m" : "");
	free(kind);
}

static void print_values(FILE *out, const struct finding_style *style, const json_t *finding)
{
	print_labelled(out, style, "  values   ", values_text_write, finding);
	if (json_array_size(json_object_get(finding, "evidence")))
		print_labelled(out, style, "  seen     ", values_text_write_evidence, finding);
	if (json_array_size(json_object_get(finding, "missing")))
		print_labelled(out, style, "  missing  ", values_text_write_missing, finding);
}

/* Who waits in the birth of a communicator has not called an operation yet. */
static bool is_call(const json_t *finding)
{
	return value_text(json_object_get(finding, "operation"), "function") != NULL;
}

static const char *operation_label(const json_t *finding)
{
	if (is_stuck(finding))
		return "  missed   ";
	return is_late(finding) ? "  late for " : "  slowest  ";
}

/* Sources of pieces of evidence that have a line of their own. */
static const char children[] = "children", ports[] = "port";

static void write_children(FILE *out, const json_t *finding)
{
	evidence_text_write(out, finding, children);
}

static void write_ports(FILE *out, const json_t *finding)
{
	evidence_text_write(out, finding, ports);
}

static void print_lateness(FILE *out, const struct finding_style *style, const json_t *finding)
{
	if (json_is_object(json_object_get(finding, "cause")) && !names_cause(finding))
		print_labelled(out, style, "  because  ", cause_text_write, finding);
	if (python_text_is(finding))
		print_labelled(out, style, "  python   ", python_text_write, finding);
	if (evidence_text_is(finding, children))
		print_labelled(out, style, "  children ", write_children, finding);
	if (evidence_text_is(finding, ports))
		print_labelled(out, style, "  ports    ", write_ports, finding);
	if (value_number(finding, "lost", 0) > 0)
		print_labelled(out, style, "  lost     ", write_lost, finding);
	if (!names_operation(finding) && is_call(finding))
		print_labelled(out, style, operation_label(finding), write_operation, finding);
	else if (has_watchdog(finding))
		print_labelled(out, style, "  watchdog ", write_watchdog, finding);
	else if (value_is(finding, "kind", "hang") && !is_closed(finding) &&
		 json_is_null(json_object_get(finding, "watchdog")))
		print_labelled(out, style, "  watchdog ", write_no_watchdog, finding);
	if (is_unsure(finding) && json_array_size(json_object_get(finding, "missing")))
		print_labelled(out, style, "  missing  ", values_text_write_missing, finding);
}

int finding_print(FILE *out, const json_t *finding, const struct finding_style *style)
{
	static const struct finding_style plain;

	if (!value_text(finding, "kind") || !json_is_integer(json_object_get(finding, "schema")))
		return -EPROTO;
	if (!style)
		style = &plain;

	int clock = style->clock ? print_clock(out, finding) : 0;

	print_kind(out, style, finding);
	print_line(out, style, names_job(style, finding) ? write_head_of_job : write_head, finding, clock + LABEL);
	if (is_closed(finding) && !style->whole)
		return 0;
	if (values_text_is(finding))
		print_values(out, style, finding);
	else
		print_lateness(out, style, finding);
	if (seen_live_text_is(finding))
		print_labelled(out, style, "  live     ", seen_live_text_write, finding);
	if (incident_text_is_story(finding))
		print_labelled(out, style, "  story    ", incident_text_write, finding);
	if (value_text(finding, "advice"))
		print_labelled(out, style, "  do       ", write_advice, finding);
	if (style->whole && seconds_of(finding, "first_seen") >= 0)
		print_labelled(out, style, "  found    ", write_found, finding);
	return 0;
}
