/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/whole/kept_answers.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "finding/finding_json.h"
#include "tests/kept_text.h"
#include "tests/sanitized.h"

enum { DIGITS = 6, WORDS = 1024 };
/* A sanitizer sees the same code in one of so many jobs: a number that has nothing to do with those by which jobs
 * differ. */
enum { STRIDE = 7 };

struct kept kept;

void kept_keys(const struct rw_finding *finding)
{
	json_t *object = finding_to_json(finding, 0);
	char *line;

	cr_assert(object);
	line = json_dumps(object, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
	fprintf(kept.all, "%s\n", line);
	free(line);
	json_decref(object);
}

/* Did the finding before it say the same words? */
static bool repeats(const struct rw_finding *finding)
{
	static char before[WORDS];
	char now[WORDS];
	bool same;

	snprintf(now, sizeof(now), "%s %s %s", finding->id, finding->text, finding->cause.text ? finding->cause.text : "");
	same = finding->state == RW_FINDING_UPDATE && !strcmp(now, before);
	memcpy(before, now, sizeof(before));
	return same;
}

void kept_finding(const struct rw_finding *finding)
{
	static const char *const states[] = { "open", "update", "closed" };
	static const char *const severities[] = { "notice", "warning", "critical" };
	static const char *const confidences[] = { "certain", "likely", "inconclusive" };

	cr_expect(finding->confidence == RW_CERTAIN || finding->missing_count, "%s: not certain, and nothing is missing",
		  finding->text);
	kept_keys(finding);
	if (kept.without_repeats && repeats(finding))
		return;
	fprintf(kept.answers, "  %8.3f %s %s, %s, %s: %s\n", (double)finding->time_ns / 1e9, states[finding->state],
		finding_kind_name(finding->kind), severities[finding->severity], confidences[finding->confidence], finding->text);
	if (finding->cause.text && *finding->cause.text)
		fprintf(kept.answers, "           because %s\n", finding->cause.text);
}

static uint64_t number_of(const char *text)
{
	uint64_t number = 0xcbf29ce484222325;

	for (; *text; text++)
		number = (number ^ (unsigned char)*text) * 0x100000001b3;
	return number;
}

/* All that the numbers stand for: no part of the tree. */
static void write_everything(const char *directory, const char *name, const char *text)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s.all", directory, name);
	FILE *file = fopen(path, "we");
	cr_assert(file, "%s", path);
	fputs(text, file);
	fclose(file);
}

/* Is it known already that something has changed? Where nobody wants to read everything, the jobs behind it need not be
 * played. */
static bool is_enough(const char *said, size_t length, const char *before)
{
	return before && !getenv("ANSWERS_SEEN") && strncmp(said, before, length);
}

/* One job, as it is kept in a file; false: it was the last. */
static bool play(const char *name, unsigned int number, bool play_one(unsigned int number), FILE *full)
{
	char *all = NULL;
	size_t room;
	bool more;

	kept.all = open_memstream(&all, &room);
	fprintf(kept.answers, "%s %u\n", name, number);
	more = play_one(number);
	fclose(kept.all);
	fprintf(full, "%s %u\n%s", name, number, all);
	fprintf(kept.answers, "  all of it: %016lx\n", number_of(all));
	fflush(kept.answers);
	free(all);
	return more;
}

/* Where the file says what is kept of this job; NULL: there is none of this number. */
static const char *find_job(const char *file, const char *name, unsigned int number)
{
	char heading[64];

	snprintf(heading, sizeof(heading), "\n%s %u\n", name, number);
	const char *found = number ? strstr(file, heading) : file;
	return found && number ? found + 1 : found;
}

/* Some of the jobs, each held against its own part of the file. */
static void compare_some(const char *name, bool play_one(unsigned int number))
{
	char *said = NULL, *everything = NULL, *file = kept_text_read(ANSWERS, name);
	size_t length, most;
	const char *expected;

	cr_assert(file, "a build without sanitizers writes the answers");
	for (unsigned int number = 0; (expected = find_job(file, name, number)); number += STRIDE) {
		FILE *full = open_memstream(&everything, &most);
		kept.answers = open_memstream(&said, &length);
		play(name, number, play_one, full);
		fclose(kept.answers);
		fclose(full);
		cr_expect(!strncmp(expected, said, length), "kept is\n%.*s\nand with a sanitizer it is\n%s",
			  (int)length, expected, said);
		free(said);
		free(everything);
	}
	free(file);
}

static void compare_all(const char *name, bool play_one(unsigned int number))
{
	char *said = NULL, *everything = NULL;
	size_t length, most;
	FILE *full = open_memstream(&everything, &most);
	char *before = kept_text_read(ANSWERS, name);
	bool more = true;

	kept.answers = open_memstream(&said, &length);
	cr_assert(full && kept.answers);
	for (unsigned int number = 0; more; number++)
		more = play(name, number, play_one, full) && !is_enough(said, length, before);
	fclose(kept.answers);
	fclose(full);
	if (getenv("ANSWERS_SEEN"))
		write_everything(getenv("ANSWERS_SEEN"), name, everything);
	kept_text_compare(ANSWERS, name, said, "ninja -C build analysis-answers");
	free(before);
	free(said);
	free(everything);
}

void kept_compare(const char *name, bool play_one(unsigned int number))
{
	if (SANITIZED)
		compare_some(name, play_one);
	else
		compare_all(name, play_one);
}
