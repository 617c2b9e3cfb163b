/* SPDX-License-Identifier: MIT */
#include "analysis/known/call_history.h"

#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 256 };

static struct past_call *entry(const struct call_history *history, uint64_t place)
{
	return &history->calls[place & (history->room - 1)]; /* a power of two */
}

const struct past_call *call_history_at(const struct call_history *history, uint64_t place)
{
	return place >= history->begin && place < history->end ? entry(history, place) : NULL;
}

static void give_up(struct call_history *history)
{
	free(history->calls);
	*history = (struct call_history){ .broken = true };
}

static bool make_room(struct call_history *history)
{
	struct call_history larger = *history;

	if (history->end - history->begin < history->room || history->room == CALL_HISTORY_MAX)
		return true;
	larger.room = history->room ? history->room * 2 : ROOM_FIRST;
	larger.calls = calloc(larger.room, sizeof(*larger.calls));
	if (!larger.calls)
		return false;
	for (uint64_t place = history->begin; place < history->end; place++)
		*entry(&larger, place) = *entry(history, place);
	free(history->calls);
	*history = larger;
	return true;
}

static bool is_equal(const struct past_call *left, const struct past_call *right)
{
	return left->function == right->function && left->count == right->count && left->dtype == right->dtype &&
	       left->root == right->root;
}

bool call_history_add(struct call_history *history, uint64_t place, const struct past_call *call)
{
	if (history->broken || place < history->begin)
		return true;
	if (!history->room)
		history->begin = history->end = place;
	if (place < history->end)
		return is_equal(entry(history, place), call);
	if (place > history->end || !make_room(history)) {
		give_up(history);
		return true;
	}
	if (history->end - history->begin == history->room)
		history->begin++;
	*entry(history, place) = *call;
	history->end++;
	return true;
}

void call_history_copy(const struct call_history *history, uint64_t place, struct call_history *copy)
{
	*copy = *history;
	copy->calls = malloc(history->room * sizeof(*copy->calls));
	if (!copy->calls) {
		*copy = (struct call_history){ .broken = true };
		return;
	}
	memcpy(copy->calls, history->calls, history->room * sizeof(*copy->calls));
	copy->end = place;
}

void call_history_free(struct call_history *history)
{
	free(history->calls);
	*history = (struct call_history){ 0 };
}
