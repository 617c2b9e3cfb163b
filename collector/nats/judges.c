/* SPDX-License-Identifier: MIT */
#include "collector/nats/judges.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const uint64_t ms_ns = 1000000;

void judges_listen(struct judges *judges, uint64_t now_ns)
{
	judges->listening_ns = now_ns;
	for (size_t i = 0; i < judges->count; i++)
		judges->others[i].heard_ns = now_ns;
}

static struct judge *find(struct judges *judges, const char *name)
{
	for (size_t i = 0; i < judges->count; i++)
		if (!strcmp(judges->others[i].name, name))
			return &judges->others[i];
	return NULL;
}

/* In place of the one that was heard least of late, where there are too many. */
static struct judge *add(struct judges *judges, const char *name)
{
	struct judge *place = &judges->others[0];

	if (judges->count < JUDGES_MOST)
		place = &judges->others[judges->count++];
	for (size_t i = 0; judges->count == JUDGES_MOST && i < judges->count; i++)
		if (judges->others[i].heard_ns < place->heard_ns)
			place = &judges->others[i];
	json_decref(place->open);
	*place = (struct judge){ 0 };
	snprintf(place->name, sizeof(place->name), "%s", name);
	return place;
}

int judges_hear(struct judges *judges, const char *name, const json_t *life, uint64_t now_ns, char why[JUDGES_WHY])
{
	json_int_t started_ms = json_integer_value(json_object_get(life, "started"));
	const json_t *open = json_object_get(life, "open");

	if (json_integer_value(json_object_get(life, "version")) != 1 || started_ms <= 0 || !json_is_array(open)) {
		snprintf(why, JUDGES_WHY, "has another version, or no beginning");
		return -EPROTO;
	}
	if (!strstr(name, JUDGES_MARK)) {
		snprintf(why, JUDGES_WHY, "has the name of a host");
		return -EPROTO;
	}
	if (!strcmp(name, judges->name))
		return 0;
	struct judge *judge = find(judges, name);
	if (!judge)
		judge = add(judges, name);
	judge->started_ms = (uint64_t)started_ms;
	judge->heard_ns = now_ns;
	judge->left = json_is_true(json_object_get(life, "last"));
	if (!json_is_true(json_object_get(life, "active")))
		return 0;
	json_t *copy = json_deep_copy(open);
	snprintf(why, JUDGES_WHY, "finds no memory");
	if (!copy)
		return -ENOMEM;
	json_decref(judge->open);
	judge->open = copy;
	return 0;
}

static bool is_before(const struct judge *other, const struct judges *judges)
{
	return other->started_ms != judges->started_ms ? other->started_ms < judges->started_ms
						       : strcmp(other->name, judges->name) < 0;
}

static bool is_heard(const struct judge *other, uint64_t now_ns)
{
	return !other->left && now_ns < other->heard_ns + JUDGES_SILENT_MS * ms_ns;
}

const struct judge *judges_before(const struct judges *judges, uint64_t now_ns)
{
	for (size_t i = 0; i < judges->count; i++)
		if (is_before(&judges->others[i], judges) && is_heard(&judges->others[i], now_ns))
			return &judges->others[i];
	return NULL;
}

/* Who has just begun to hear does not know who else there is, unless it was alone before. */
bool judges_tick(struct judges *judges, uint64_t now_ns)
{
	bool listens = now_ns < judges->listening_ns + JUDGES_LISTEN_MS * ms_ns, was_active = judges->active;
	bool others = false;

	for (size_t i = 0; i < judges->count; i++)
		others |= is_heard(&judges->others[i], now_ns);
	if (judges_before(judges, now_ns))
		judges->active = false;
	else if (listens)
		judges->active &= !others;
	else
		judges->active = true;
	return judges->active != was_active;
}

bool judges_take_told(struct judges *judges, const char *id)
{
	bool told = false;

	for (size_t i = 0; i < judges->count; i++)
		for (size_t k = json_array_size(judges->others[i].open); k-- > 0;) {
			const char *other = json_string_value(json_array_get(judges->others[i].open, k));
			if (!other || strcmp(other, id) != 0)
				continue;
			told = true;
			json_array_remove(judges->others[i].open, k);
		}
	return told;
}

char *judges_life(struct judges *judges, json_t *open, bool last, uint64_t now_ns)
{
	judges->next_life_ns = now_ns + JUDGES_EVERY_MS * ms_ns;
	json_t *life = json_pack("{s:i, s:I, s:I, s:i, s:b, s:b, s:o}", "version", 1, "started",
				 (json_int_t)judges->started_ms, "number", (json_int_t)++judges->number, "every_ms",
				 (int)JUDGES_EVERY_MS, "active", judges->active, "last", last, "open", open);
	char *line = life ? json_dumps(life, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	json_decref(life);
	return line;
}

void judges_free(struct judges *judges)
{
	for (size_t i = 0; i < judges->count; i++)
		json_decref(judges->others[i].open);
	judges->count = 0;
}
