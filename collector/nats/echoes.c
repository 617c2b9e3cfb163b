/* SPDX-License-Identifier: MIT */
#include "collector/nats/echoes.h"

#include <stdio.h>
#include <string.h>

#include <rankwatch/finding.h>

#include "finding/value.h"

static bool is_of_values(const json_t *finding)
{
	return value_is(finding, "kind", "nan") || value_is(finding, "kind", "inf") || value_is(finding, "kind", "overflow");
}

static const json_t *values_of(const json_t *finding)
{
	return json_object_get(finding, "values");
}

/* Whoever saw all members knows as much as anybody. */
static bool sees_all(const json_t *finding)
{
	const json_t *missing = json_object_get(finding, "missing");
	size_t i;
	json_t *value;

	json_array_foreach(missing, i, value)
		if (json_is_string(value) && strstr(json_string_value(value), RW_MISSING_MEMBERS))
			return false;
	return true;
}

static bool is_echo(const json_t *finding)
{
	return is_of_values(finding) && value_is(finding, "confidence", "inconclusive") &&
	       value_is(values_of(finding), "side", "output") && !sees_all(finding);
}

/* A value that was an input was there before; who made it may still be open. */
static bool is_birth(const json_t *finding)
{
	return is_of_values(finding) && !value_is(finding, "state", "closed") && !value_is(finding, "severity", "notice") &&
	       (value_is(values_of(finding), "side", "input") || !value_is(finding, "confidence", "inconclusive"));
}

static void write_place(char place[96], const json_t *finding)
{
	const json_t *operation = json_object_get(finding, "operation");
	const char *comm = value_text(operation, "comm"), *function = value_text(operation, "function");

	snprintf(place, 96, "%.30s %.30s %lld", comm ? comm : "", function ? function : "",
		 (long long)json_integer_value(json_object_get(operation, "sequence")));
}

static bool is_of(const struct echo *echo, const struct echo_birth *birth)
{
	uint64_t apart_ns = echo->heard_ns > birth->heard_ns ? echo->heard_ns - birth->heard_ns : birth->heard_ns - echo->heard_ns;

	return strcmp(echo->host, birth->host) != 0 && strcmp(echo->kind, birth->kind) == 0 && apart_ns <= ECHOES_REACH_NS &&
	       (birth->certain || strcmp(echo->place, birth->place) == 0);
}

static bool is_explained(const struct echoes *echoes, const struct echo *echo)
{
	for (uint64_t i = 0; i < ECHOES_BIRTHS && i < echoes->birth_count; i++)
		if (is_of(echo, &echoes->births[i]))
			return true;
	return false;
}

/* Open findings are said again and again: the first time counts. */
static void note_birth(struct echoes *echoes, const char *host, const json_t *finding, uint64_t now_ns)
{
	struct echo_birth birth = { .certain = !value_is(finding, "confidence", "inconclusive"), .heard_ns = now_ns };

	snprintf(birth.host, sizeof(birth.host), "%s", host);
	snprintf(birth.kind, sizeof(birth.kind), "%s", value_text(finding, "kind"));
	write_place(birth.place, finding);
	for (uint64_t i = 0; i < ECHOES_BIRTHS && i < echoes->birth_count; i++) {
		struct echo_birth *known = &echoes->births[i];
		if (strcmp(known->host, birth.host) != 0 || strcmp(known->kind, birth.kind) != 0 ||
		    strcmp(known->place, birth.place) != 0)
			continue;
		known->certain |= birth.certain;
		return;
	}
	echoes->births[echoes->birth_count++ % ECHOES_BIRTHS] = birth;
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
	*echo = (struct echo){ .heard_ns = now_ns };
	snprintf(echo->host, sizeof(echo->host), "%s", host);
	snprintf(echo->id, sizeof(echo->id), "%s", id);
	snprintf(echo->kind, sizeof(echo->kind), "%s", value_text(finding, "kind"));
	write_place(echo->place, finding);
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

	if (echo && (value_is(finding, "state", "closed") || !is_echo(finding)))
		forget(echoes, echo);
}

bool echoes_pass(struct echoes *echoes, const char *host, const json_t *finding, uint64_t now_ns)
{
	const char *id = value_text(finding, "id");

	if (!id || !is_of_values(finding))
		return true;
	bool was_told = !find(echoes, host, id) || find(echoes, host, id)->told;
	end(echoes, host, id, finding);
	if (is_birth(finding))
		note_birth(echoes, host, finding, now_ns);
	if (value_is(finding, "state", "closed"))
		return was_told;
	return !is_echo(finding) || pass_echo(echoes, host, id, finding, now_ns);
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
		if (now_ns < echo->heard_ns + ECHOES_HOLD_NS)
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
