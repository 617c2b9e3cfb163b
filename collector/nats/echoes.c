/* SPDX-License-Identifier: MIT */
#include "collector/nats/echoes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "finding/value.h"

/* Whoever does not say what it saw, but knows who made it, has seen that. */
static enum value_sight sight_of(const json_t *finding)
{
	enum value_sight sight = value_parts_sight(finding);

	return sight == VALUE_SIGHT_NONE && !value_is(finding, "confidence", "inconclusive") ? VALUE_SIGHT_MAKER
											     : sight;
}

/* What harmed nothing explains nothing. */
static bool explains(const json_t *finding)
{
	return value_parts_is_value(finding) && !value_is(finding, "state", "closed") &&
	       !value_is(finding, "severity", "notice");
}

static bool is_of(const struct echo *echo, const struct echo_birth *birth)
{
	uint64_t apart_ns =
	    echo->heard_ns > birth->heard_ns ? echo->heard_ns - birth->heard_ns : birth->heard_ns - echo->heard_ns;

	return strcmp(echo->host, birth->host) != 0 && strcmp(echo->kind, birth->kind) == 0 &&
	       apart_ns <= ECHOES_REACH_NS && birth->sight > echo->sight &&
	       (birth->sight == VALUE_SIGHT_MAKER || strcmp(echo->place, birth->place) == 0);
}

/* In the same step, or the next: hosts may count from different ones. */
static bool is_near(const struct echo *echo, uint64_t heard_ns, json_int_t step)
{
	uint64_t apart_ns = echo->heard_ns > heard_ns ? echo->heard_ns - heard_ns : heard_ns - echo->heard_ns;

	if (echo->step && step)
		return apart_ns <= ECHOES_REACH_NS && llabs((long long)(echo->step - step)) <= 1;
	return apart_ns <= ECHOES_NEAR_NS;
}

/* Another host took part in the operation of whose result this one speaks, and had met the value elsewhere before: it
 * brought it there, or whoever did is nearer to that. */
static bool is_before(const struct echoes *echoes, const struct echo *echo, const struct echo_birth *birth)
{
	return echoes->is_member && echo->sight <= VALUE_SIGHT_UNSCANNED && strcmp(echo->host, birth->host) != 0 &&
	       strcmp(echo->kind, birth->kind) == 0 && strcmp(echo->place, birth->place) != 0 &&
	       is_near(echo, birth->heard_ns, birth->step) &&
	       echoes->is_member(echoes->argument, birth->host, echo->comm);
}

/* Whether somebody else tells of the value, or is about to: hosts that saw operations in different orders may each come
 * before the other. */
static bool others_remain(const struct echoes *echoes, const struct echo *echo)
{
	for (uint32_t i = 0; i < echoes->count; i++) {
		const struct echo *other = &echoes->heard[i];
		if (other != echo && !other->left_out && strcmp(other->kind, echo->kind) == 0 &&
		    is_near(echo, other->heard_ns, other->step))
			return true;
	}
	return false;
}

static bool is_explained(const struct echoes *echoes, const struct echo *echo)
{
	bool remain = others_remain(echoes, echo);

	for (uint32_t i = 0; i < ECHOES_BIRTHS; i++) {
		const struct echo_birth *birth = &echoes->births[i];
		if (birth->heard_ns && (is_of(echo, birth) || (remain && is_before(echoes, echo, birth))))
			return true;
	}
	return false;
}

static json_int_t step_of(const json_t *finding)
{
	json_int_t step = json_integer_value(json_object_get(json_object_get(finding, "operation"), "step"));

	return step > 0 ? step : 0;
}

/* A place for a new one: a free one, one that is over, or the oldest of those that know least. NULL: all know more. */
static struct echo_birth *find_room(struct echoes *echoes, enum value_sight sight, uint64_t now_ns)
{
	struct echo_birth *least = &echoes->births[0];

	for (uint32_t i = 0; i < ECHOES_BIRTHS; i++) {
		struct echo_birth *birth = &echoes->births[i];
		if (!birth->heard_ns || now_ns > birth->heard_ns + ECHOES_REACH_NS)
			return birth;
		if (birth->sight < least->sight || (birth->sight == least->sight && birth->heard_ns < least->heard_ns))
			least = birth;
	}
	return least->sight <= sight ? least : NULL;
}

/* Open findings are said again and again: the first time counts. */
static void note_birth(struct echoes *echoes, const char *host, const json_t *finding, uint64_t now_ns)
{
	struct echo_birth birth = { .sight = sight_of(finding), .heard_ns = now_ns, .step = step_of(finding) };

	snprintf(birth.host, sizeof(birth.host), "%s", host);
	snprintf(birth.kind, sizeof(birth.kind), "%s", value_text(finding, "kind"));
	value_parts_place(birth.place, finding);
	for (uint32_t i = 0; i < ECHOES_BIRTHS; i++) {
		struct echo_birth *known = &echoes->births[i];
		if (!known->heard_ns || strcmp(known->host, birth.host) != 0 || strcmp(known->kind, birth.kind) != 0 ||
		    strcmp(known->place, birth.place) != 0)
			continue;
		known->sight = birth.sight > known->sight ? birth.sight : known->sight;
		return;
	}
	struct echo_birth *room = find_room(echoes, birth.sight, now_ns);
	if (room)
		*room = birth;
}

static struct echo *find(struct echoes *echoes, const char *host, const char *id)
{
	for (uint32_t i = 0; i < echoes->count; i++)
		if (strcmp(echoes->heard[i].id, id) == 0 && strcmp(echoes->heard[i].host, host) == 0)
			return &echoes->heard[i];
	return NULL;
}

static void forget(struct echoes *echoes, struct echo *echo)
{
	json_decref(echo->finding);
	*echo = echoes->heard[--echoes->count];
}

static struct echo *add(struct echoes *echoes, const char *host, const char *id, const json_t *finding, uint64_t now_ns)
{
	if (echoes->count == ECHOES_HEARD)
		return NULL;
	struct echo *echo = &echoes->heard[echoes->count++];
	const char *comm = value_text(json_object_get(finding, "operation"), "comm");

	*echo = (struct echo){ .heard_ns = now_ns,
			       .sight = sight_of(finding),
			       .step = step_of(finding),
			       .comm = comm ? strtoull(comm, NULL, 0) : 0 };
	snprintf(echo->host, sizeof(echo->host), "%s", host);
	snprintf(echo->id, sizeof(echo->id), "%s", id);
	snprintf(echo->kind, sizeof(echo->kind), "%s", value_text(finding, "kind"));
	value_parts_place(echo->place, finding);
	return echo;
}

static bool pass_echo(struct echoes *echoes, const char *host, const char *id, const json_t *finding, uint64_t now_ns)
{
	struct echo *echo = find(echoes, host, id);

	if (!echo && value_is(finding, "state", "closed"))
		return true;
	if (!echo)
		echo = add(echoes, host, id, finding, now_ns);
	if (!echo || (echo->told && !echo->left_out))
		return true;
	if (echo->left_out)
		return false;
	json_decref(echo->finding);
	echo->finding = json_deep_copy(finding);
	return false;
}

/* It has become known who, or it is over. */
static void end(struct echoes *echoes, const char *host, const char *id, const json_t *finding)
{
	struct echo *echo = find(echoes, host, id);

	if (echo && (value_is(finding, "state", "closed") || !value_parts_is_part(finding)))
		forget(echoes, echo);
}

/* Its time is over; or another host's part of the same was told, and it belongs to that. */
static bool is_due(const struct echoes *echoes, const struct echo *echo, uint64_t now_ns)
{
	bool due = now_ns >= echo->heard_ns + ECHOES_HOLD_NS;

	for (uint32_t i = 0; !due && i < echoes->count; i++) {
		const struct echo *other = &echoes->heard[i];
		due = other->told && !other->left_out && other->sight == echo->sight &&
		      strcmp(other->kind, echo->kind) == 0 && strcmp(other->place, echo->place) == 0;
	}
	return due;
}

bool echoes_pass(struct echoes *echoes, const char *host, const json_t *finding, uint64_t now_ns)
{
	const char *id = value_text(finding, "id");

	if (!id || !value_parts_is_value(finding))
		return true;
	bool was_told = !find(echoes, host, id) || find(echoes, host, id)->told;
	end(echoes, host, id, finding);
	if (explains(finding))
		note_birth(echoes, host, finding, now_ns);
	if (value_is(finding, "state", "closed"))
		return was_told;
	return !value_parts_is_part(finding) || pass_echo(echoes, host, id, finding, now_ns);
}

json_t *echoes_due(struct echoes *echoes, char host[SUBJECT_NAME], uint64_t now_ns)
{
	for (uint32_t i = 0; i < echoes->count; i++) {
		struct echo *echo = &echoes->heard[i];
		if (echo->told || echo->left_out)
			continue;
		if (is_explained(echoes, echo)) {
			echo->left_out = true;
			json_decref(echo->finding);
			echo->finding = NULL;
			continue;
		}
		if (!is_due(echoes, echo, now_ns))
			continue;
		json_t *finding = echo->finding;
		echo->told = true;
		echo->finding = NULL;
		snprintf(host, SUBJECT_NAME, "%s", echo->host);
		if (finding)
			return finding;
	}
	return NULL;
}

bool echoes_refuted(struct echoes *echoes, char host[SUBJECT_NAME], char id[24])
{
	for (uint32_t i = 0; i < echoes->count; i++) {
		struct echo *echo = &echoes->heard[i];
		if (!echo->told || echo->left_out || !is_explained(echoes, echo))
			continue;
		echo->left_out = true;
		snprintf(host, SUBJECT_NAME, "%s", echo->host);
		snprintf(id, 24, "%s", echo->id);
		return true;
	}
	return false;
}

void echoes_free(struct echoes *echoes)
{
	for (uint32_t i = 0; i < echoes->count; i++)
		json_decref(echoes->heard[i].finding);
	echoes->count = 0;
}
