/* SPDX-License-Identifier: MIT */
#include "collector/nats/merged.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/nats/partial.h"
#include "collector/nats/port_pieces.h"
#include "collector/nats/value_parts.h"
#include "finding/value.h"

static const uint64_t parts_every_ns = 1000000000;

/* own: the host's id. */
static struct merged_voice *find_voice(const struct merged *merged, const char *host, const char *own)
{
	for (size_t i = 0; i < merged->voice_count; i++)
		if (strcmp(merged->voices[i].own, own) == 0 && strcmp(merged->voices[i].host, host) == 0)
			return &merged->voices[i];
	return NULL;
}

static const struct merged_voice *teller(const struct merged *merged, const struct merged_told *told)
{
	for (size_t i = 0; i < merged->voice_count; i++)
		if (strcmp(merged->voices[i].id, told->id) == 0 && strcmp(merged->voices[i].host, told->host) == 0)
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
	const struct merged_voice *best = teller(merged, told);

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

static int by_host(const void *left, const void *right)
{
	const struct value_part *a = left, *b = right;

	return strcmp(a->host, b->host);
}

/* The finding of this voice, with the parts that the other hosts saw. NULL on lack of memory. */
static json_t *join(const struct merged *merged, const struct merged_voice *voice)
{
	struct value_part *parts = calloc(merged->voice_count + 1, sizeof(*parts));
	size_t count = 0;

	for (size_t i = 0; parts && i < merged->voice_count; i++)
		if (strcmp(merged->voices[i].id, voice->id) == 0)
			parts[count++] = (struct value_part){ merged->voices[i].host, merged->voices[i].finding };
	if (count)
		qsort(parts, count, sizeof(*parts), by_host);
	json_t *whole = count ? value_parts_join(parts, count) : NULL;
	free(parts);
	return whole;
}

static void speak(struct merged *merged, struct merged_told *told, const struct merged_voice *voice)
{
	bool is_part = value_parts_is_part(voice->finding);
	json_t *finding = is_part ? join(merged, voice) : json_incref(voice->finding);

	snprintf(told->host, sizeof(told->host), "%s", voice->host);
	told->is_due = false;
	if (finding)
		tell(merged, told, finding, told->revision ? "update" : "open");
	json_decref(finding);
}

void merged_tick(struct merged *merged, uint64_t now_ns)
{
	for (size_t i = 0; i < merged->told_count; i++) {
		struct merged_told *told = &merged->told[i];
		const struct merged_voice *best = told->is_due ? best_voice(merged, told) : NULL;

		if (!best || (told->spoke_ns && now_ns < told->spoke_ns + parts_every_ns))
			continue;
		told->spoke_ns = now_ns;
		speak(merged, told, best);
	}
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

	if (value_parts_is_part(voice->finding))
		told->is_due = true;
	else if (best == voice || ports_changed)
		speak(merged, told, best);
	return 0;
}

static void forget_told(struct merged *merged, struct merged_told *told)
{
	json_decref(told->ports);
	*told = merged->told[--merged->told_count];
}

static void remove_voice(struct merged *merged, struct merged_voice *voice)
{
	json_decref(voice->finding);
	*voice = merged->voices[--merged->voice_count];
}

static void remove_all(struct merged *merged, const char *id)
{
	for (size_t i = merged->voice_count; i-- > 0;)
		if (strcmp(merged->voices[i].id, id) == 0)
			remove_voice(merged, &merged->voices[i]);
}

/* Closes what hosts saw in parts once it is over for all of them. last: as it ends where no host's part is left. */
static void close_parts(struct merged *merged, struct merged_told *told, const json_t *last)
{
	const struct merged_voice *best = best_voice(merged, told);
	json_t *whole = best ? join(merged, best) : json_incref((json_t *)last);

	for (size_t i = 0; i < merged->voice_count; i++)
		if (strcmp(merged->voices[i].id, told->id) == 0 && !merged->voices[i].is_over) {
			json_decref(whole);
			return;
		}
	if (whole && told->revision)
		tell(merged, told, whole, "closed");
	json_decref(whole);
	remove_all(merged, told->id);
	forget_told(merged, told);
}

/* What a host saw stays part of it as long as it is open for another one, unless it has turned out to be nothing of its
 * own. */
static void end_part(struct merged *merged, struct merged_voice *voice, bool stays)
{
	struct merged_told *told = find_told(merged, voice->id);
	json_t *last = json_incref(voice->finding);

	if (stays)
		voice->is_over = true;
	else
		remove_voice(merged, voice);
	if (told) {
		told->is_due |= !stays;
		close_parts(merged, told, last);
	}
	json_decref(last);
}

/* finding: as it ends; its voice is gone when this returns. */
static void end_voice(struct merged *merged, struct merged_voice *voice, const json_t *finding)
{
	struct merged_told *told = find_told(merged, voice->id);
	bool spoke = told && strcmp(told->host, voice->host) == 0;

	remove_voice(merged, voice);
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

static void end_as_it_is(struct merged *merged, struct merged_voice *voice, bool stays)
{
	json_t *finding = json_incref(voice->finding);

	if (value_parts_is_part(finding))
		end_part(merged, voice, stays);
	else
		end_voice(merged, voice, finding);
	json_decref(finding);
}

/* finding: as partial_finding() makes it. */
static int take_open(struct merged *merged, const char *host, const char *own, const char *id, const json_t *finding)
{
	struct merged_voice *voice = find_voice(merged, host, own);

	if (voice && !voice->is_over && json_equal(voice->finding, finding))
		return 0; /* said again for those who come late */
	json_t *copy = json_deep_copy(finding);

	if (!copy)
		return -ENOMEM;
	/* The host has found out more, and its part is a finding of its own now; or it was of another operation. */
	if (voice && strcmp(voice->id, id) != 0) {
		end_as_it_is(merged, voice, false);
		voice = NULL;
	}
	if (voice) {
		json_decref(voice->finding);
		voice->finding = copy;
		voice->is_over = false;
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
	snprintf(voice->own, sizeof(voice->own), "%s", own);
	snprintf(voice->id, sizeof(voice->id), "%s", id);
	return raise_voice(merged, voice);
}

static int take_part(struct merged *merged, const char *host, const char *own, const json_t *finding)
{
	json_t *part = partial_finding(finding);
	int err = part ? take_open(merged, host, own, value_text(part, "id"), part) : -ENOMEM;

	json_decref(part);
	return err;
}

static void take_closed(struct merged *merged, struct merged_voice *voice, const json_t *finding)
{
	json_t *copy = json_copy((json_t *)finding);

	if (value_parts_is_part(voice->finding) || !copy || json_object_set_new(copy, "id", json_string(voice->id)))
		end_as_it_is(merged, voice, true);
	else
		end_voice(merged, voice, copy);
	json_decref(copy);
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
			take_closed(merged, voice, finding);
		return 0;
	}
	err = take_part(merged, host, head.id, finding);
	if (err)
		snprintf(why, FINDING_HEAD_WHY, "%s", err == -EMFILE ? "is one too many" : "finds no memory");
	return err;
}

void merged_end(struct merged *merged, const char *host, const char *id)
{
	struct merged_voice *voice = find_voice(merged, host, id);

	if (voice)
		end_as_it_is(merged, voice, false);
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
	/* The end of one may take others of the list along. */
	for (size_t i = merged->voice_count; i-- > 0;) {
		struct merged_voice *voice = i < merged->voice_count ? &merged->voices[i] : NULL;

		if (voice && !voice->is_over && strcmp(voice->host, host) == 0 && !has_id(ids, voice->own))
			end_as_it_is(merged, voice, true);
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
