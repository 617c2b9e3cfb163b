/* SPDX-License-Identifier: MIT */
#include "protocol/message.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "base/in_time.h"
#include "blackbox/place.h"
#include "protocol/account_text.h"
#include "protocol/course_text.h"
#include "protocol/loss_text.h"
#include "protocol/memory_text.h"
#include "protocol/pace_text.h"
#include "protocol/request.h"
#include "finding/step_text.h"
#include "finding/json_text.h"

static char *dump(json_t *message)
{
	char *line = message ? json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;

	json_decref(message);
	return line;
}

/* Takes `more`; NULL where one of them lacks. */
static json_t *with_keys(json_t *object, json_t *more)
{
	if (!object || !more || json_object_update(object, more)) {
		json_decref(object);
		object = NULL;
	}
	json_decref(more);
	return object;
}

char *message_hello(const char *job, const struct sight *sight, size_t open, const char *save, bool on_finding,
		    bool publishes, const char *directory)
{
	json_t *hello =
	    json_pack("{s:i, s:o, s:i, s:I, s:o, s:b, s:b, s:o}", "protocol", REQUEST_PROTOCOL, "job", json_text(job),
		      "pid", (int)getpid(), "open", (json_int_t)open, "save", json_text(save), "on_finding", on_finding,
		      "publishes", publishes, "directory", json_text(directory));

	return dump(json_pack("{s:o}", "hello", with_keys(hello, sight_json(sight))));
}

char *message_hello_all_nodes(const char *job, size_t open, bool on_finding, size_t hosts, size_t silent,
			      unsigned ranks)
{
	return dump(json_pack("{s:{s:i, s:o, s:i, s:I, s:b, s:b, s:I, s:I, s:I}}", "hello", "protocol",
			      REQUEST_PROTOCOL, "job", json_text(job), "pid", (int)getpid(), "open", (json_int_t)open,
			      "on_finding", on_finding, "all_nodes", 1, "hosts", (json_int_t)hosts, "silent",
			      (json_int_t)silent, "ranks", (json_int_t)ranks));
}

char *message_watching(const struct sight *sight)
{
	return dump(json_pack("{s:o}", "watching", sight_json(sight)));
}

static void compare(const void *argument, void *result)
{
	const char *const *names = argument;
	struct stat one, other;

	*(bool *)result = stat(names[0], &one) == 0 && stat(names[1], &other) == 0 && one.st_dev == other.st_dev &&
			  one.st_ino == other.st_ino;
}

bool message_hello_looks_in(const json_t *hello, const char *directory)
{
	const char *theirs = json_string_value(json_object_get(hello, "directory"));
	bool same = false;

	directory = directory ? directory : "";
	if (!theirs || strcmp(theirs, directory) == 0)
		return true;
	if (*theirs && *directory)
		in_time_call(compare, (const char *[]){ theirs, directory }, &same, sizeof(same), COMPARED_IN_MS);
	return same;
}

bool message_hello_is_of(const json_t *hello, const char *job)
{
	json_t *as_said = json_text(job);
	char theirs[BOX_JOB_COMPONENT], ours[BOX_JOB_COMPONENT];

	box_job_component(json_string_value(json_object_get(hello, "job")), theirs);
	box_job_component(json_string_value(as_said), ours);
	json_decref(as_said);
	return strcmp(theirs, ours) == 0;
}

static json_int_t ranks_seen(const struct message_summary *summary)
{
	uint32_t processes = summary->analysis.processes;

	return processes > summary->given_up ? processes - summary->given_up : 0;
}

char *message_summary(const struct message_summary *summary)
{
	const struct analysis_summary *analysis = &summary->analysis;
	json_t *findings =
	    json_pack("{s:I, s:I, s:I, s:I}", "closed", (json_int_t)summary->findings_closed, "notice",
		      (json_int_t)summary->findings[RW_NOTICE], "warning", (json_int_t)summary->findings[RW_WARNING],
		      "critical", (json_int_t)summary->findings[RW_CRITICAL]);
	json_t *gaps =
	    json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "untracked", (json_int_t)analysis->untracked, "one_sided",
		      (json_int_t)analysis->one_sided, "dropped", (json_int_t)analysis->dropped, "captured",
		      (json_int_t)analysis->captured, "forgotten", (json_int_t)analysis->forgotten, "events_lost",
		      (json_int_t)loss_total(&summary->lost), "given_up", (json_int_t)summary->given_up);
	json_t *body = json_pack(
	    "{s:o, s:o, s:o, s:o, s:I, s:o, s:i, s:I, s:I, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "job",
	    json_text(summary->job), "directory", json_text(summary->directory), "saved", json_text(summary->saved),
	    "no_room", json_text(summary->no_room), "ranks_seen", ranks_seen(summary), "ranks_total",
	    analysis->ranks_total < 0 ? json_null() : json_integer(analysis->ranks_total), "communicators",
	    (int)analysis->communicators, "operations", (json_int_t)analysis->operations, "steps",
	    (json_int_t)analysis->steps, "step_ms", analysis->step_ms < 0 ? json_null() : json_real(analysis->step_ms),
	    "first_step_ms", analysis->first_step_ms < 0 ? json_null() : json_real(analysis->first_step_ms), "findings",
	    findings, "last", summary->last, "lost", loss_json(&summary->lost), "time", account_json(&summary->account),
	    "loss", loss_text_json(&summary->pipeline), "gpu_memory", memory_text_json(&summary->gpu_memory),
	    "step_course", course_text_json(&summary->step_course), "pace", pace_text_json(&summary->pace));

	body = with_keys(with_keys(body, gaps), sight_json(&summary->sight));
	return dump(json_pack("{s:o}", "summary", body));
}

static long long count_of(const json_t *object, const char *key)
{
	return (long long)json_integer_value(json_object_get(object, key));
}

static void print_count(FILE *out, const json_t *object, const char *key, const char *one)
{
	long long count = count_of(object, key);

	fprintf(out, ", %lld %s%s", count, one, count == 1 ? "" : "s");
}

static double milliseconds(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_number(value) ? json_number_value(value) : -1;
}

static void print_ranks(FILE *out, const json_t *summary)
{
	const json_t *total = json_object_get(summary, "ranks_total");

	fprintf(out, "%lld", count_of(summary, "ranks_seen"));
	if (json_is_integer(total))
		fprintf(out, " of %lld", (long long)json_integer_value(total));
	fputs(json_is_integer(total) || count_of(summary, "ranks_seen") != 1 ? " ranks" : " rank", out);
	print_count(out, summary, "communicators", "communicator");
	print_count(out, summary, "operations", "operation");
	step_text_print(out, (uint64_t)count_of(summary, "steps"), milliseconds(summary, "first_step_ms"),
			milliseconds(summary, "step_ms"));
	fputc('\n', out);
}

/* What the record does not hold is said where its size is said. */
static void print_gaps(FILE *out, const json_t *summary)
{
	static const struct {
		const char *key, *one, *many;
	} gaps[] = {
		{ "untracked", "operation that NCCL does not show to plugins",
		  "operations that NCCL does not show to plugins" },
		{ "one_sided",
		  "of these is a one-sided call (ncclPutSignal, ncclWaitSignal): who sends which signal is not known",
		  "of these are one-sided calls (ncclPutSignal, ncclWaitSignal): who sends which signal is not known" },
		{ "captured", "time of a call inside a CUDA graph", "times of calls inside CUDA graphs" },
		{ "dropped", "operation found no room in its black box",
		  "operations found no room in their black box" },
		{ "forgotten",
		  "call of a group was forgotten before all its ranks had ended it: too many had not ended, and nobody "
		  "was judged by it",
		  "calls of groups were forgotten before all their ranks had ended them: too many had not ended, and "
		  "nobody was judged by these" },
		{ "events_lost", "event of the host was lost: a cause may be missing",
		  "events of the host were lost: a cause may be missing" },
		{ "given_up", "rank to its end: its black box could no longer be read",
		  "ranks to their end: their black boxes could no longer be read" },
	};

	for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
		long long count = count_of(summary, gaps[i].key);

		if (count)
			fprintf(out, "  not seen   %lld %s\n", count, count == 1 ? gaps[i].one : gaps[i].many);
	}
}

/* Where all ranks are seen alike a line at the start said so. */
static void print_sight(FILE *out, const json_t *summary)
{
	char line[SIGHT_LINE];

	if (!count_of(summary, "with_ebpf") || count_of(summary, "with_ebpf") == count_of(summary, "processes"))
		return;
	sight_describe(summary, SIGHT_LINE - 1 - strlen("  host       "), line);
	fprintf(out, "  host       %s\n", line);
}

static void print_closed(FILE *out, long long all, long long closed)
{
	if (!closed)
		return;
	if (closed < all)
		fprintf(out, "; %lld of them closed", closed);
	else
		fputs(all == 1 ? "; closed" : all == 2 ? "; both closed" : "; all closed", out);
}

static void print_findings(FILE *out, const json_t *summary)
{
	const json_t *findings = json_object_get(summary, "findings");
	long long critical = count_of(findings, "critical"), warning = count_of(findings, "warning");

	if (!critical && !warning) {
		fprintf(out, "  findings   none%s\n",
			json_is_true(json_object_get(summary, "unjudged"))
			    ? " while the job ran; how it ended was not looked at in time"
			    : "");
		return;
	}
	fprintf(out, "  findings   %lld critical, %lld warning", critical, warning);
	print_closed(out, critical + warning, count_of(findings, "closed"));
	fputc('\n', out);
}

void message_print_figures(FILE *out, const char *who, const json_t *message)
{
	const json_t *summary = json_object_get(message, "summary");

	fprintf(out, "%s: ", who);
	print_ranks(out, summary);
	print_sight(out, summary);
	print_gaps(out, summary);
	print_findings(out, summary);
	account_print(out, "  ", 11, json_object_get(summary, "time"));
	pace_text_print(out, "  ", 11, json_object_get(summary, "pace"));
	loss_text_print(out, "  ", 11, json_object_get(summary, "loss"));
	memory_text_print(out, "  ", 11, json_object_get(summary, "gpu_memory"));
	course_text_print_pauses(out, "  ", 11, json_object_get(summary, "step_course"));
}

void message_print_where(FILE *out, const char *what, const char *directory)
{
	fprintf(out, "  %-10s ", what);
	foreign_put(out, directory);
	fputs("\n  look again rankwatch report ", out);
	foreign_put(out, directory);
	fputc('\n', out);
}

void message_print_summary(FILE *out, const char *who, const json_t *message)
{
	const json_t *summary = json_object_get(message, "summary");
	const char *directory = json_string_value(json_object_get(summary, "directory"));
	const char *saved = json_string_value(json_object_get(summary, "saved"));

	message_print_figures(out, who, message);
	if (directory)
		message_print_where(out, saved ? "saved" : "boxes", saved ? saved : directory);
}
