/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/heard.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "finding/finding_json.h"
#include "tests/fuzz/told.h"

enum { MOST_OPEN = 512, ID_SIZE = 48, DIGITS = 6 /* as many as every compiler agrees about */ };

bool heard_prints;

static struct {
	char ids[MOST_OPEN][ID_SIZE];
	size_t count;
} open_now;

static ssize_t take(void *cookie, const char *text, size_t length)
{
	(void)cookie;
	told(text, length);
	if (heard_prints)
		fwrite(text, 1, length, stdout);
	return (ssize_t)length;
}

FILE *heard_file(void)
{
	static FILE *file;

	if (!file && !(file = fopencookie(NULL, "w", (cookie_io_functions_t){ .write = take })))
		abort();
	return file;
}

void heard_nothing_yet(void)
{
	open_now.count = 0;
}

void heard_all(void)
{
	fflush(heard_file());
}

static void require(bool promise, const struct rw_finding *finding, const char *what)
{
	if (promise)
		return;
	fprintf(stderr, "%s: %s (%s, state %d)\n", what, finding->text, finding->id, (int)finding->state);
	abort();
}

static void follow(const char *by, const struct rw_finding *finding)
{
	char id[ID_SIZE];
	size_t at = 0;

	snprintf(id, sizeof(id), "%s %s", by, finding->id);
	while (at < open_now.count && strcmp(open_now.ids[at], id))
		at++;
	require((finding->state == RW_FINDING_OPEN) == (at == open_now.count), finding,
		"is opened while it is open, or continued while it is not");
	if (finding->state == RW_FINDING_CLOSED)
		memcpy(open_now.ids[at], open_now.ids[--open_now.count], ID_SIZE);
	else if (finding->state == RW_FINDING_OPEN && open_now.count < MOST_OPEN)
		memcpy(open_now.ids[open_now.count++], id, ID_SIZE);
}

void heard_finding(const char *by, const struct rw_finding *finding, int ranks)
{
	json_t *object = finding_to_json(finding, 0);
	char *line = object ? json_dumps(object, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(DIGITS)) : NULL;

	if (!line)
		abort();
	follow(by, finding);
	require(finding->text[0], finding, "nothing is said");
	for (size_t i = 0; i < finding->rank_count; i++)
		require(finding->ranks[i] >= 0 && finding->ranks[i] < ranks &&
			    (!i || finding->ranks[i] >= finding->ranks[i - 1]),
			finding, "ranks");
	require(finding->late.lost_share <= 1 && finding->cause.share <= 1, finding, "a share above 1");
	fprintf(heard_file(), "%s: %s\n", by, line);
	free(line);
	json_decref(object);
}
