/* SPDX-License-Identifier: MIT */
#include "protocol/sight.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"

static const uint64_t settled_ns = 1000000000;

static const struct {
	const char *name, *words;
} levels[] = {
	[RW_LEVEL_NONE] = { "none", "not at all" },
	[RW_LEVEL_SELF] = { "self", "through their black boxes only" },
	[RW_LEVEL_PROC] = { "proc", "through /proc only" },
	[RW_LEVEL_ROOT] = { "root", "through /proc only (as root)" },
	[RW_LEVEL_EBPF] = { "ebpf", "with eBPF" },
};

const char *sight_level_name(enum rw_level level)
{
	return levels[level].name;
}

static bool is_same(const struct sight *one, const struct sight *other)
{
	return one->processes == other->processes && one->with_ebpf == other->with_ebpf;
}

bool sight_news_take(struct sight_news *news, const struct sight *sight, uint64_t now_ns)
{
	unsigned without = sight->processes - sight->with_ebpf;

	if (!is_same(&news->seen, sight))
		news->since_ns = now_ns;
	news->seen = *sight;
	if (sight->processes && (sight->processes > news->most.processes || (sight->processes == news->most.processes &&
									     sight->with_ebpf <= news->most.with_ebpf)))
		news->most = *sight;
	if (!sight->processes || now_ns - news->since_ns < settled_ns ||
	    (sight->processes <= news->reported_processes && without <= news->reported_without))
		return false;
	news->reported_processes = sight->processes;
	news->reported_without = without;
	return true;
}

json_t *sight_json(const struct sight *sight)
{
	return json_pack("{s:s, s:s, s:I, s:I, s:b, s:s?}", "level", sight_level_name(sight->level), "below",
			 sight_level_name(sight->below), "processes", (json_int_t)sight->processes, "with_ebpf",
			 (json_int_t)sight->with_ebpf, "helper", sight->by_helper, "why",
			 *sight->why ? sight->why : NULL);
}

static const char *words_of(const json_t *sight, const char *key)
{
	const char *name = json_string_value(json_object_get(sight, key));

	for (size_t i = 0; name && i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(levels[i].name, name) == 0)
			return levels[i].words;
	return "in a way that this release does not know";
}

/* How the kernel is asked; said where it is. */
static const char *means(const json_t *sight)
{
	return json_is_true(json_object_get(sight, "helper")) ? "eBPF (rankwatchd)" : "eBPF";
}

static void write_ranks(FILE *out, const json_t *sight)
{
	long long all = json_integer_value(json_object_get(sight, "processes")),
		  with = json_integer_value(json_object_get(sight, "with_ebpf"));

	if (with && with < all)
		fprintf(out, "watching %lld of %lld ranks with %s, the others %s", with, all, means(sight),
			words_of(sight, "below"));
	else if (with)
		fprintf(out, "watching %lld rank%s with %s", all, all == 1 ? "" : "s", means(sight));
	else if (all)
		fprintf(out, "watching %lld rank%s %s", all, all == 1 ? "" : "s", words_of(sight, "level"));
	else
		fprintf(out, "watching %s", words_of(sight, "level"));
}

void sight_write(FILE *out, const json_t *sight)
{
	const char *why = json_string_value(json_object_get(sight, "why"));

	write_ranks(out, sight);
	if (why && *why)
		fprintf(out, ": %s", why);
}

/* Of "what is missing; what would help" the second part only where there is room for it. */
static size_t fitting(const char *why, size_t room)
{
	const char *help = strstr(why, "; ");

	return strlen(why) <= room || !help ? strlen(why) : (size_t)(help - why);
}

void sight_describe(const json_t *sight, size_t columns, char line[SIGHT_LINE])
{
	char text[256] = "";
	const char *why = json_string_value(json_object_get(sight, "why"));
	FILE *out = fmemopen(text, sizeof(text), "w");
	char *escaped;

	if (columns > SIGHT_LINE - 1)
		columns = SIGHT_LINE - 1;
	if (out) {
		write_ranks(out, sight);
		fclose(out);
	}
	escaped = foreign_text(why ? why : "");
	if (escaped && *escaped && strlen(text) + 2 < columns)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ": %.*s",
			 (int)fitting(escaped, columns - strlen(text) - 2), escaped);
	free(escaped);
	if (strlen(text) > columns)
		strcpy(text + columns - 3, "...");
	snprintf(line, columns + 1, "%s", text);
}
