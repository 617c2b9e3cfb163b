/* SPDX-License-Identifier: MIT */
#include "finding/cause_text.h"

#include <stdlib.h>
#include <string.h>

#include "finding/path_text.h"
#include "finding/value.h"

enum { COLUMNS = 100 };

bool cause_text_is_whole_process(const json_t *cause)
{
	return value_is(cause, "class", "gone") || value_is(cause, "class", "stopped") ||
	       value_is(cause, "class", "gpu") || value_is(cause, "class", "throttle") ||
	       value_is(cause, "class", "unknown");
}

static bool is_chain(const json_t *cause)
{
	return value_text(json_array_get(json_object_get(cause, "chain"), 0), "waits_for") != NULL;
}

static bool is_thread_named(const json_t *link, const char *name)
{
	const char *target = value_text(link, "waits_for");

	return name && target && !strncmp(target, "thread ", 7) && !strcmp(target + 7, name);
}

/* Before version 3.14 Python names no thread: all are called as the program is. */
static bool is_shared_name(const json_t *cause, const char *name)
{
	const json_t *chain = json_object_get(cause, "chain"), *link;
	int bearers = 0;
	size_t i;

	bearers += value_is(cause, "thread", name);
	json_array_foreach(chain, i, link)
		bearers += is_thread_named(link, name);
	return bearers > 1;
}

static void write_number(FILE *out, const json_t *object, const char *key)
{
	if (json_is_integer(json_object_get(object, key)))
		fprintf(out, " (tid %lld)", (long long)json_integer_value(json_object_get(object, key)));
}

/* "its ", or of a host, whose ranks have a cause in common that is shown as it was seen on one of them: "rank 9's " */
static void write_whose(FILE *out, const json_t *cause)
{
	const json_t *rank = json_object_get(cause, "rank");

	if (json_is_integer(rank))
		fprintf(out, "rank %lld's ", (long long)json_integer_value(rank));
	else
		fputs("its ", out);
}

/* its thread "python-main"; where others are called the same: its main thread, or its thread "python3" (tid 4711) */
static void write_first_thread(FILE *out, const json_t *finding, const char *name)
{
	const json_t *cause = json_object_get(finding, "cause");
	const json_t *where = json_array_get(json_object_get(finding, "where"), 0);
	json_int_t tid = json_integer_value(json_object_get(cause, "tid"));

	write_whose(out, cause);
	if (!is_shared_name(cause, name)) {
		fprintf(out, "thread \"%s\"", name);
	} else if (tid && tid == json_integer_value(json_object_get(where, "pid"))) {
		fputs("main thread", out);
	} else {
		fprintf(out, "thread \"%s\"", name);
		write_number(out, cause, "tid");
	}
}

/* What a process does that is waited for: only the last of a chain is one, and what follows is about who waits for
 * it. */
static const char *write_doing(FILE *out, const json_t *link)
{
	const char *does = value_text(link, "does");

	if (!does)
		return ", ";
	fprintf(out, ", which %s", does);
	return "; ";
}

/* its thread "python-main" waits for its thread "tb-writer", which waits for …,
 * The class is that of the last wait: a lock is held by the thread at the end. */
static void write_chain(FILE *out, const json_t *cause)
{
	const json_t *chain = json_object_get(cause, "chain"), *link;
	bool is_lock = value_is(cause, "class", "lock");
	const char *end = ", ";
	size_t i;

	json_array_foreach(chain, i, link)
	{
		const char *target = value_text(link, "waits_for");
		bool is_thread = target && strncmp(target, "thread ", 7) == 0;
		bool is_holder = is_thread && is_lock && i + 1 == json_array_size(chain);

		fputs(i ? ", which waits for " : " waits for ", out);
		if (!is_thread) {
			fputs(target ? target : "?", out);
			end = write_doing(out, link);
			continue;
		}
		fprintf(out, "%sits thread \"%s\"", is_holder ? "a lock that " : "", target + 7);
		if (is_shared_name(cause, target + 7))
			write_number(out, link, "waits_for_tid");
		fputs(is_holder ? " holds" : "", out);
	}
	fputs(end, out);
}

/* A system call is something that a thread is "in"; every other text stands for itself. */
static const char *preposition(const json_t *cause)
{
	const char *text = value_text(cause, "text"), *system_call = value_text(cause, "syscall");

	return text && system_call && strncmp(text, system_call, strlen(system_call)) == 0 ? "in " : "";
}

static const char *what_of(const json_t *cause)
{
	const char *text = value_text(cause, "text"), *class_ = value_text(cause, "class");

	return text ? text : class_ ? class_ : "unknown";
}

/* its thread "python-main" was 96 % of the time in fsync(2); … waited 75 % of the time for a CPU */
static void write_own_wait(FILE *out, const json_t *cause, const char *percent)
{
	static const char waiting[] = "waiting ";
	const char *what = what_of(cause);
	bool waits = strncmp(what, waiting, strlen(waiting)) == 0;

	fprintf(out, " %s ", waits ? "waited" : "was");
	if (*percent)
		fprintf(out, "%s of the time ", percent);
	fprintf(out, "%s%s", preposition(cause), waits ? what + strlen(waiting) : what);
}

static void write_wait(FILE *out, const json_t *finding)
{
	const json_t *cause = json_object_get(finding, "cause");
	const char *thread = value_text(cause, "thread");
	double share = value_number(cause, "share", -1);
	char percent[16] = "";

	if (cause_text_is_whole_process(cause)) {
		if (json_is_integer(json_object_get(cause, "rank")))
			fprintf(out, "rank %lld: ", (long long)json_integer_value(json_object_get(cause, "rank")));
		fputs(what_of(cause), out);
		return;
	}
	if (share >= 0 && share <= 1)
		snprintf(percent, sizeof(percent), "%.0f %%", share * 100);
	if (thread)
		write_first_thread(out, finding, thread);
	if (thread && !is_chain(cause)) {
		write_own_wait(out, cause, percent);
		return;
	}
	if (thread)
		write_chain(out, cause);
	fprintf(out, "%s%s%s%s", percent, *percent ? " " : "", preposition(cause), what_of(cause));
}

/* What would settle it. Where the finding is not certain, that has a line of its own. */
static void write_missing(FILE *out, const json_t *finding)
{
	const char *missing = json_string_value(json_array_get(json_object_get(finding, "missing"), 0));

	if (missing)
		fprintf(out, ": %s", missing);
}

static void write_device(FILE *out, const json_t *cause)
{
	const char *file_system = value_text(cause, "fs"), *device = value_text(cause, "device");

	if (file_system && device)
		fprintf(out, " (%s, %s)", file_system, device);
	else if (file_system || device)
		fprintf(out, " (%s)", file_system ? file_system : device);
}

void cause_text_write(FILE *out, const json_t *finding)
{
	const json_t *cause = json_object_get(finding, "cause");
	const char *path = value_text(cause, "path");
	char *before = NULL, *after = NULL;
	size_t before_size, after_size;
	FILE *stream = open_memstream(&before, &before_size);

	if (stream) {
		write_wait(stream, finding);
		if (value_is(cause, "class", "unknown") && value_is(finding, "confidence", "certain"))
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
