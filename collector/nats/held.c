/* SPDX-License-Identifier: MIT */
#include "collector/nats/held.h"

#include "finding/value.h"

static bool is_closed(const json_t *finding)
{
	return value_is(finding, "state", "closed");
}

static bool was_told(const struct held *held, const char *id)
{
	return json_object_get(held->told, id) != NULL;
}

static void tell(struct held *held, const char *id, const json_t *finding)
{
	bool begins = !was_told(held, id) && !is_closed(finding);
	bool known = begins && (held->is_told(held->argument, id) || json_object_get(held->past, id));
	json_t *copy = json_copy((json_t *)finding);

	/* Whoever reads all judges' lines finds one beginning. */
	if (copy && begins)
		json_object_set_new(copy, "state", json_string(known ? "update" : "open"));
	if (!held->told)
		held->told = json_object();
	if (is_closed(finding))
		json_object_del(held->told, id);
	else
		json_object_set_new(held->told, id, json_true());
	json_object_del(held->past, id);
	held->emit(held->argument, copy ? copy : finding, known);
	json_decref(copy);
}

void held_note(struct held *held, const json_t *finding)
{
	const char *id = value_text(finding, "id");

	if (!held->past)
		held->past = json_object();
	/* The newest is the last. */
	json_object_del(held->past, id);
	if (json_object_size(held->past) >= HELD_PAST)
		json_object_del(held->past, json_object_iter_key(json_object_iter(held->past)));
	json_object_set_new(held->past, id, json_deep_copy(finding));
}

/* What is over has a beginning, too, for whoever hears of it now. */
static void tell_over(struct held *held, const json_t *finding)
{
	json_t *begin = json_copy((json_t *)finding);

	if (begin && !json_object_set_new(begin, "state", json_string("update")))
		held->emit(held->argument, begin, true);
	held->emit(held->argument, finding, true);
	json_decref(begin);
}

/* What is open is told when it is heard of. */
static void tell_past(struct held *held)
{
	json_t *finding;
	const char *id;
	void *next;

	json_object_foreach_safe(held->past, next, id, finding)
	{
		if (!is_closed(finding))
			continue;
		if (!was_told(held, id) && !json_object_get(held->waiting, id))
			tell_over(held, finding);
		json_object_del(held->past, id);
	}
}

/* What has come and gone meanwhile was another judge's to tell. */
static void keep(struct held *held, const char *id, const json_t *finding)
{
	if (!held->waiting)
		held->waiting = json_object();
	if (is_closed(finding) && !was_told(held, id))
		json_object_del(held->waiting, id);
	else
		json_object_set_new(held->waiting, id, json_deep_copy(finding));
}

void held_put(struct held *held, const json_t *finding)
{
	const char *id = value_text(finding, "id");

	if (!id)
		return;
	if (held->holds)
		keep(held, id, finding);
	else
		tell(held, id, finding);
}

void held_set(struct held *held, bool holds)
{
	json_t *waiting = holds ? NULL : held->waiting, *finding;
	const char *id;

	held->holds = holds;
	if (holds)
		return;
	tell_past(held);
	held->waiting = NULL;
	json_object_foreach(waiting, id, finding) tell(held, id, finding);
	json_decref(waiting);
}

json_t *held_open(const struct held *held, size_t most)
{
	json_t *ids = json_array(), *value;
	const char *id;

	json_object_foreach(held->told, id, value) if (json_array_size(ids) < most)
	    json_array_append_new(ids, json_string(id));
	return ids;
}

void held_free(struct held *held)
{
	json_decref(held->waiting);
	json_decref(held->told);
	json_decref(held->past);
	held->waiting = held->told = held->past = NULL;
}
