/* SPDX-License-Identifier: MIT */
/* A file of findings (changed_findings.h), as `rankwatch demo` judges it and `rankwatch run` shows it. */
#include "tests/fuzz/box_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/trials/demo_verdict.h"
#include "finding/announcer.h"
#include "tests/fuzz/changed_findings.h"

enum { SECOND = 1000000000 };

static const struct scenario expected[] = {
	{ .name = "healthy", .rank = -1 },
	{ .name = "slow", .kind = "straggler", .cause = "io" },
	{ .name = "nan", .kind = "nan", .origin = "born", .first_bad = 4711 },
	{ .name = "link", .kind = "slowdown", .rank = -1 },
	{ .name = "pair", .kind = "nan", .rank = 0, .peer = 3, .origin = "born", .first_bad = -1 },
};

static void judge(const struct scenario *scenario, char *text, size_t size)
{
	FILE *lines = size ? fmemopen(text, size, "r") : NULL;
	struct demo_verdict verdict;

	if (!lines)
		return;
	demo_judge(&verdict, scenario, lines, size & 1);
	fclose(lines);
	if (!memchr(verdict.text, '\0', sizeof(verdict.text)) || !*verdict.text)
		abort();
	changed_findings_check_text(verdict.text);
}

static void announce(const char *text)
{
	char *shown = NULL;
	size_t size;
	struct announcer announcer = { .text = open_memstream(&shown, &size) };
	uint64_t now_ns = SECOND;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1, now_ns += SECOND) {
		json_t *finding = json_loadb(text, (size_t)(end - text), 0, NULL);

		announcer_take(&announcer, finding, now_ns);
		announcer_tick(&announcer, now_ns);
		json_decref(finding);
	}
	announcer_finish(&announcer);
	fclose(announcer.text);
	changed_findings_check_text(shown);
	free(shown);
}

/* The first byte of the input: which scenario was played. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = NULL;
	size_t length;

	if (size < 2)
		return 0;
	FILE *lines = open_memstream(&text, &length);

	changed_findings_write(lines, data + 1, size - 1);
	fclose(lines);
	judge(&expected[data[0] % (sizeof(expected) / sizeof(*expected))], text, length);
	announce(text);
	free(text);
	return 0;
}
