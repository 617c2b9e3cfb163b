/* SPDX-License-Identifier: MIT */
#include "analysis/job/search.h"

#include <string.h>

static void look_between(struct search *search, uint64_t from, uint64_t until)
{
	search->from = from;
	search->until = until;
	search->shift = 0;
	while ((until - from - 1) >> search->shift >= RW_CALLED_MAX)
		search->shift++;
	if (search->shift > RW_CALLED_SHIFT_MAX)
		search->state = SEARCH_GIVEN_UP;
	for (int i = 0; i < 2; i++) {
		search->sides[i].asked_ns = 0;
		search->sides[i].answered = false;
		memset(search->sides[i].answers, 0, sizeof(search->sides[i].answers));
	}
}

void search_begin(struct search *search, uint32_t rank, uint32_t other, uint64_t from, uint64_t until, uint64_t now_ns)
{
	*search = (struct search){ .sides = { { .rank = rank }, { .rank = other } }, .begun_ns = now_ns, .most = until };
	look_between(search, from, until);
}

static struct search_side *side_of(struct search *search, uint32_t rank)
{
	for (int i = 0; i < 2; i++)
		if (search->sides[i].rank == rank)
			return &search->sides[i];
	return NULL;
}

bool search_take(struct search *search, uint32_t rank, const struct rw_message *message)
{
	const struct rw_message_called *called = &message->called;
	struct search_side *side = side_of(search, rank);

	if (!side || !side->asked_ns || search->state > SEARCH_FOLLOWS || called->from != (uint32_t)search->from ||
	    called->shift != search->shift)
		return false;
	if (!message->function) {
		search->state = search->state == SEARCH_FOLLOWS ? SEARCH_FOUND : SEARCH_GIVEN_UP;
		return true;
	}
	side->answered = true;
	side->answers[called->index] = (struct search_answer){
		.hash = called->hash,
		.call = { .known = true, .sequence = called->sequence, .count = called->count, .root = called->root,
			  .function = message->function, .dtype = called->dtype },
	};
	return true;
}

/* The stretch in which the ranks' first different call lies; RW_CALLED_MAX: not known yet. */
static uint64_t find_stretch(const struct search *search)
{
	uint64_t last = (search->until - search->from - 1) >> search->shift;

	for (uint64_t i = 0; i < last; i++) {
		const struct search_answer *left = &search->sides[0].answers[i], *right = &search->sides[1].answers[i];
		if (!left->hash || !right->hash)
			return RW_CALLED_MAX;
		if (left->hash != right->hash)
			return i;
	}
	return last; /* their first `until` calls are known to differ */
}

/* All calls that a host knows come in one batch, and a rank that waits makes no more. */
static void end_following(struct search *search, uint64_t now_ns)
{
	if ((search->sides[0].answered && search->sides[1].answered) || now_ns >= search->found_ns + SEARCH_FOLLOW_NS)
		search->state = SEARCH_FOUND;
}

void search_tick(struct search *search, uint64_t now_ns)
{
	uint64_t stretch = search->state == SEARCH_RUNS ? find_stretch(search) : RW_CALLED_MAX;

	if (search->state == SEARCH_RUNS && now_ns >= search->begun_ns + SEARCH_FOR_NS)
		search->state = SEARCH_GIVEN_UP;
	if (search->state == SEARCH_FOLLOWS)
		end_following(search, now_ns);
	if (search->state != SEARCH_RUNS || stretch == RW_CALLED_MAX)
		return;
	if (search->shift) {
		uint64_t from = search->from + (stretch << search->shift), until = from + (UINT64_C(1) << search->shift);
		look_between(search, from, until < search->until ? until : search->until);
		return;
	}
	const struct search_answer left = search->sides[0].answers[stretch], right = search->sides[1].answers[stretch];
	if (!left.hash || !right.hash)
		return;
	/* Equal calls show that one of the answers is not of the calls that were compared. */
	if (call_is_same(&left.call, &right.call)) {
		search->state = SEARCH_GIVEN_UP;
		return;
	}
	look_between(search, search->from + stretch, search->from + stretch + RW_CALLED_MAX);
	search->state = SEARCH_FOLLOWS;
	search->found_ns = now_ns;
	search->sides[0].answers[0] = left;
	search->sides[1].answers[0] = right;
}

static bool lacks_answers(const struct search *search, const struct search_side *side)
{
	uint64_t last = (search->until - search->from - 1) >> search->shift;

	for (uint64_t i = 0; i < last + !search->shift; i++)
		if (!side->answers[i].hash)
			return true;
	return false;
}

bool search_asks(struct search *search, struct search_side *side, uint64_t comm, struct rw_message_ask_calls *ask,
		 uint64_t now_ns)
{
	if (search->state > SEARCH_FOLLOWS || !lacks_answers(search, side) ||
	    (side->asked_ns && now_ns < side->asked_ns + SEARCH_AGAIN_NS))
		return false;
	side->asked_ns = now_ns;
	*ask = (struct rw_message_ask_calls){ .comm = comm, .from = search->from, .shift = search->shift };
	return true;
}

uint32_t search_calls(const struct search *search, uint32_t rank, struct call *calls)
{
	const struct search_side *side = &search->sides[search->sides[1].rank == rank];
	uint32_t count = 0;

	for (; count < RW_CALLED_MAX && side->answers[count].hash; count++)
		calls[count] = side->answers[count].call;
	return count;
}
