/* SPDX-License-Identifier: MIT */
#include "finding/best_cause.h"

#include <string.h>

#include "finding/python_text.h"
#include "finding/value.h"

/* A name's place in a list that rises; -1: it is not in it. */
static int place_of(const json_t *finding, const char *key, const char *const *names, int count)
{
	const char *text = value_text(finding, key);

	for (int place = 0; text && place < count; place++)
		if (!strcmp(text, names[place]))
			return place;
	return -1;
}

static bool is_known(const json_t *finding)
{
	const json_t *cause = json_object_get(finding, "cause");

	return value_text(cause, "class") && !value_is(cause, "class", "unknown");
}

/* > 0: left says more. */
static int compare(const json_t *left, const json_t *right)
{
	static const char *const levels[] = { "none", "self", "proc", "root", "ebpf" };
	static const char *const confidences[] = { "inconclusive", "likely", "certain" };
	int more = is_known(left) - is_known(right);

	if (!more)
		more = place_of(left, "level", levels, 5) - place_of(right, "level", levels, 5);
	if (!more)
		more = place_of(left, "confidence", confidences, 3) - place_of(right, "confidence", confidences, 3);
	return more ? more : python_text_is(left) - python_text_is(right);
}

bool best_cause_is_better(const json_t *left, const json_t *right)
{
	return compare(left, right) > 0;
}

static void take(json_t *object, const json_t *from, const char *key)
{
	json_t *value = json_object_get(from, key);

	if (value)
		json_object_set_new(object, key, json_deep_copy(value));
	else
		json_object_del(object, key);
}

/* Whether host or device is late may have been seen with the cause only. The finding's own object may be that of
 * others. */
static void take_kind_of_lateness(json_t *finding, const json_t *from)
{
	json_t *late = json_object_get(finding, "late"), *copy;

	if (!json_is_object(late) || value_text(late, "kind") || !value_text(json_object_get(from, "late"), "kind"))
		return;
	copy = json_copy(late);
	take(copy, json_object_get(from, "late"), "kind");
	json_object_set_new(finding, "late", copy);
}

/* How a rank is gone is what its text says: one that was stopped, and killed as it stood, was stopped. */
static bool text_rests_on_cause(const json_t *finding, const json_t *from)
{
	const json_t *here = json_object_get(finding, "cause"), *there = json_object_get(from, "cause");

	return value_is(finding, "kind", "gone") && value_text(from, "text") &&
	       !json_equal(json_object_get(here, "class"), json_object_get(there, "class"));
}

void best_cause_take(json_t *finding, const json_t *from)
{
	static const char *const keys[] = { "cause", "level", "confidence", "evidence", "missing", "lost", "advice" };

	if (text_rests_on_cause(finding, from))
		take(finding, from, "text");
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		take(finding, from, keys[i]);
	take_kind_of_lateness(finding, from);
}
