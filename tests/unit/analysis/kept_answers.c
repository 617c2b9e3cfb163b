/* SPDX-License-Identifier: MIT */
#include "kept_answers.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "finding/finding_json.h"
#include "tests/kept_text.h"

enum { DIGITS = 6, WORDS = 1024 };

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

/* Is it known already that something has changed? Where nobody wants to read everything, the jobs behind it need not be played. */
static bool is_enough(const char *said, size_t length, const char *before)
{
	return before && !getenv("ANSWERS_SEEN") && strncmp(said, before, length);
}

void kept_compare(const char *name, bool play_one(unsigned int number))
{
	char *said = NULL, *all = NULL, *everything = NULL;
	size_t length, room, most;
	FILE *full = open_memstream(&everything, &most);
	char *before = kept_text_read(ANSWERS, name);
	bool more = true;

	kept.answers = open_memstream(&said, &length);
	cr_assert(full && kept.answers);
	for (unsigned int number = 0; more; number++) {
		kept.all = open_memstream(&all, &room);
		fprintf(kept.answers, "%s %u\n", name, number);
		more = play_one(number);
		fclose(kept.all);
		fprintf(full, "%s %u\n%s", name, number, all);
		fprintf(kept.answers, "  all of it: %016lx\n", number_of(all));
		free(all);
		fflush(kept.answers);
		more = more && !is_enough(said, length, before);
	}
	fclose(kept.answers);
	fclose(full);
	if (getenv("ANSWERS_SEEN"))
		write_everything(getenv("ANSWERS_SEEN"), name, everything);
	kept_text_compare(ANSWERS, name, said, "ninja -C build analysis-answers");
	free(before);
	free(said);
	free(everything);
}
