/* SPDX-License-Identifier: MIT */
#include "collector/nats/merged.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/nats/port_pieces.h"
#include "finding/value.h"

static struct merged_voice *find_voice(const struct merged *merged, const char *host, const char *id)
{
	for (size_t i = 0; i < merged->voice_count; i++)
		if (strcmp(merged->voices[i].id, id) == 0 && strcmp(merged->voices[i].host, host) == 0)
			return &merged->voices[i];
	return NULL;
}

static struct merged_told *find_told(const struct merged *merged, const char *id)
{
	for (size_t i = 0; i < merged->told_count; i++)
		if (strcmp(merged->told[i].id, id) == 0)
			return &merged->told[i];
	return NULL;
}

static int make_room(void **entries, size_t *room, size_t count, size_t size)
{
	if (count < *room)
		return 0;

	size_t more = *room ? *room * 2 : 16;
	void *grown = realloc(*entries, more * size);

	if (!grown)
		return -ENOMEM;
	*entries = grown;
	*room = more;
	return 0;
}

/* How much a voice knows of what it says. */
static int knowledge(const struct merged_voice *voice)
{
	const json_t *cause = json_object_get(voice->finding, "cause");
	const char *class_ = value_text(cause, "class");
	const char *host = value_text(json_array_get(json_object_get(voice->finding, "where"), 0), "host");

	return (class_ && strcmp(class_, "unknown") != 0 ? 4 : 0) + (*voice->host ? 2 : 0) +
	       (host && strcmp(host, voice->host) == 0 ? 1 : 0);
}

static const struct merged_voice *best_voice(const struct merged *merged, const struct merged_told *told)
{
	const struct merged_voice *best = find_voice(merged, told->host, told->id);

	for (size_t i = 0; i < merged->voice_count; i++)
		if (strcmp(merged->voices[i].id, told->id) == 0 &&
		    (!best || knowledge(&merged->voices[i]) > knowledge(best)))
			best = &merged->voices[i];
	return best;
}

static void tell(struct merged *merged, struct merged_told *told, const json_t *finding, const char *state)
{
	json_t *copy = json_copy((json_t *)finding), *evidence = port_pieces_evidence(told->ports, told->host, finding);

	told->revision++;
	if (copy && evidence)
		json_object_set(copy, "evidence", evidence);
	json_decref(evidence);
	if (copy && !json_object_set_new(copy, "state", json_string(state)) &&
	    !json_object_set_new(copy, "revision", json_integer(told->revision)))
		merged->emit(merged->argument, copy);
	json_decref(copy);
}

static void speak(struct merged *merged, struct merged_told *told, const struct merged_voice *voice)
{
	snprintf(told->host, sizeof(told->host), "%s", voice->host);
	tell(merged, told, voice->finding, told->revision ? "update" : "open");
}

/* A voice has changed, or is new. */
static int raise_voice(struct merged *merged, const struct merged_voice *voice)
{
	struct merged_told *told = find_told(merged, voice->id);

	if (!told) {
		if (make_room((void **)&merged->told, &merged->told_room, merged->told_count, sizeof(*merged->told)))
			return -ENOMEM;
		told = &merged->told[merged->told_count++];
		*told = (struct merged_told){ .ports = json_object() };
		snprintf(told->id, sizeof(told->id), "%s", voice->id);
	}

	bool ports_changed = port_pieces_note(told->ports, voice->host, voice->finding);
	const struct merged_voice *best = best_voice(merged, told);

	if (best == voice || ports_changed)
		speak(merged, told, best);
	return 0;
}

static void forget_told(struct merged *merged, struct merged_told *told)
{
	json_decref(told->ports);
	*told = merged->told[--merged->told_count];
}

/* finding: as it ends; its voice is gone when this returns. */
static void end_voice(struct merged *merged, struct merged_voice *voice, const json_t *finding)
{
	struct merged_told *told = find_told(merged, voice->id);
	bool spoke = told && strcmp(told->host, voice->host) == 0;

	json_decref(voice->finding);
	*voice = merged->voices[--merged->voice_count];
	if (!told)
		return;

	const struct merged_voice *other = best_voice(merged, told);

	if (other && spoke)
		speak(merged, told, other);
	if (other)
		return;
	tell(merged, told, finding, "closed");
	forget_told(merged, told);
}

static int take_open(struct merged *merged, const char *host, const char *id, const json_t *finding)
{
	struct merged_voice *voice = find_voice(merged, host, id);

	if (voice && json_equal(voice->finding, finding))
		return 0; /* said again for those who come late */
	json_t *copy = json_deep_copy(finding);

	if (!copy)
		return -ENOMEM;
	if (voice) {
		json_decref(voice->finding);
		voice->finding = copy;
		return raise_voice(merged, voice);
	}
	int err = merged->voice_count >= MERGED_MOST ? -EMFILE
						     : make_room((void **)&merged->voices, &merged->voice_room,
								 merged->voice_count, sizeof(*merged->voices));
	if (err) {
		json_decref(copy);
		return err;
	}
	voice = &merged->voices[merged->voice_count++];
	*voice = (struct merged_voice){ .finding = copy };
	snprintf(voice->host, sizeof(voice->host), "%s", host);
	snprintf(voice->id, sizeof(voice->id), "%s", id);
	return raise_voice(merged, voice);
}

int merged_take(struct merged *merged, const char *host, const json_t *finding, char why[FINDING_HEAD_WHY])
{
	struct rw_finding head;
	int err = finding_head_read(finding, &head, why);

	if (err)
		return err;
	if (head.state == RW_FINDING_CLOSED) {
		struct merged_voice *voice = find_voice(merged, host, head.id);

		if (voice)
			end_voice(merged, voice, finding);
		return 0;
	}
	err = take_open(merged, host, head.id, finding);
	if (err)
		snprintf(why, FINDING_HEAD_WHY, "%s", err == -EMFILE ? "is one too many" : "finds no memory");
	return err;
}

void merged_end(struct merged *merged, const char *host, const char *id)
{
	struct merged_voice *voice = find_voice(merged, host, id);
	json_t *finding = voice ? json_incref(voice->finding) : NULL;

	if (voice)
		end_voice(merged, voice, finding);
	json_decref(finding);
}

static bool has_id(const json_t *ids, const char *id)
{
	size_t i;
	json_t *value;

	json_array_foreach(ids, i, value)
		if (json_is_string(value) && strcmp(json_string_value(value), id) == 0)
			return true;
	return false;
}

void merged_keep_only(struct merged *merged, const char *host, const json_t *ids)
{
	for (size_t i = merged->voice_count; i-- > 0;) {
		struct merged_voice *voice = &merged->voices[i];

		if (strcmp(voice->host, host) != 0 || has_id(ids, voice->id))
			continue;
		json_t *finding = json_incref(voice->finding);

		end_voice(merged, voice, finding);
		json_decref(finding);
	}
}

void merged_free(struct merged *merged)
{
	for (size_t i = 0; i < merged->voice_count; i++)
		json_decref(merged->voices[i].finding);
	for (size_t i = 0; i < merged->told_count; i++)
		json_decref(merged->told[i].ports);
	free(merged->voices);
	free(merged->told);
	merged->voices = NULL;
	merged->told = NULL;
	merged->voice_count = merged->voice_room = merged->told_count = merged->told_room = 0;
}
