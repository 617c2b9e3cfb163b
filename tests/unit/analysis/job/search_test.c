/* SPDX-License-Identifier: MIT */
/* The search for the first call in which two ranks differ, and the calls that their hosts keep for it. */
#include <criterion/criterion.h>

#include <stdlib.h>
#include <string.h>

#include <rankwatch/operation.h>

#include "analysis/known/call_order.h"
#include "analysis/job/search.h"

enum { RANKS = 2, COMM = 7 };

/* What a host of a rank answers: the same calls as the other's, but for one. */
static struct call call_of(uint32_t rank, uint64_t place, uint64_t differs)
{
	return (struct call){ .known = true, .sequence = place, .count = 64 + place % 5 + (rank == 1 && place == differs),
			      .root = -1, .function = RW_FUNCTION_ALL_REDUCE, .dtype = RW_DTYPE_FLOAT32 };
}

static struct rw_message answer_of(uint32_t rank, const struct rw_message_ask_calls *ask, uint8_t index,
				   uint64_t differs)
{
	uint64_t until = ask->from + ((uint64_t)(index + 1) << ask->shift), hash = 0;

	for (uint64_t place = ask->from; place < until; place++)
		hash = call_hash(hash, &(struct call[]){ call_of(rank, place, differs) }[0]);
	const struct call call = call_of(rank, until - 1, differs);
	return (struct rw_message){
		.type = RW_MESSAGE_CALLED,
		.function = call.function,
		.rank = (int32_t)rank,
		.called = { .comm = ask->comm,
			    .count = call.count,
			    .hash = hash,
			    .from = (uint32_t)ask->from,
			    .sequence = (uint32_t)call.sequence,
			    .root = call.root,
			    .shift = ask->shift,
			    .index = index,
			    .dtype = call.dtype },
	};
}

/* Of the answers `lost` in 8 never come; they come in reverse order. Returns the number of asks. */
static unsigned play(struct search *search, uint64_t from, uint64_t until, uint64_t differs, int lost)
{
	unsigned asks = 0;

	search_begin(search, 0, 1, from, until, 1);
	for (uint64_t at_ns = 1; search->state <= SEARCH_FOLLOWS && at_ns < 1000 * SEARCH_FOR_NS;
	     at_ns += SEARCH_AGAIN_NS / 8) {
		for (int side = 0; side < RANKS; side++) {
			struct rw_message_ask_calls ask;
			if (!search_asks(search, &search->sides[side], COMM, &ask, at_ns))
				continue;
			asks++;
			for (int index = RW_CALLED_MAX; index-- > 0;) {
				struct rw_message message = answer_of(search->sides[side].rank, &ask, (uint8_t)index, differs);
				if (rand() % 8 >= lost)
					cr_expect(search_take(search, search->sides[side].rank, &message));
			}
		}
		search_tick(search, at_ns);
	}
	return asks;
}

Test(search, finds_the_first_call_that_differs_wherever_it_lies)
{
	static const uint64_t lengths[] = { 1, 2, 15, 16, 17, 31, 32, 33, 255, 256, 257, 4000, 16384 };
	struct search search;
	struct call calls[RW_CALLED_MAX], odd[RW_CALLED_MAX];

	srand(3);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		for (int turn = 0; turn < 40; turn++) {
			uint64_t from = turn % 2 ? 1000 : 0;
			uint64_t differs = from + (turn < 2 ? 0 : turn < 4 ? lengths[i] - 1 : (uint64_t)rand() % lengths[i]);
			unsigned asks = play(&search, from, from + lengths[i], differs, turn % 4);
			cr_assert_eq(search.state, SEARCH_FOUND, "%lu of %lu", differs, lengths[i]);
			uint32_t known = search_calls(&search, 0, calls), others = search_calls(&search, 1, odd);
			cr_expect_eq(search.from, differs);
			cr_assert(known && others);
			cr_expect_eq(odd[0].count, calls[0].count + 1);
			for (uint32_t k = 0; k < known; k++)
				cr_expect_eq(calls[k].sequence, differs + k, "those that follow");
			if (turn % 4)
				continue;
			cr_expect_eq(known, RW_CALLED_MAX);
			cr_expect_eq(others, RW_CALLED_MAX);
			cr_expect_leq(asks, 10, "%u: 16^4 calls need four rounds, and one for those that follow", asks);
		}
	}
}

Test(search, gives_up_where_nothing_is_kept_or_nobody_answers)
{
	struct search search;
	struct rw_message_ask_calls ask;
	struct rw_message gone = { .type = RW_MESSAGE_CALLED, .rank = 0 };

	search_begin(&search, 0, 1, 0, 900, 1);
	cr_expect(!search_take(&search, 0, &gone), "it was not asked yet");
	cr_assert(search_asks(&search, &search.sides[0], COMM, &ask, 1));
	gone.called.shift = ask.shift;
	cr_expect(!search_take(&search, 5, &gone), "another rank");
	cr_expect(search_take(&search, 0, &gone));
	cr_expect_eq(search.state, SEARCH_GIVEN_UP);
	search_begin(&search, 0, 1, 0, 900, 1);
	search_tick(&search, SEARCH_FOR_NS);
	cr_expect_eq(search.state, SEARCH_RUNS);
	search_tick(&search, SEARCH_FOR_NS + 1);
	cr_expect_eq(search.state, SEARCH_GIVEN_UP);
	search_begin(&search, 0, 1, 0, UINT64_MAX, 1);
	cr_expect_eq(search.state, SEARCH_GIVEN_UP, "no rank has made so many calls");
}

/* A host that does not answer about the calls that follow does not keep the one that was found from being reported. */
Test(search, does_not_need_the_calls_that_follow)
{
	struct rw_message gone = { .type = RW_MESSAGE_CALLED, .rank = 1, .called.from = 9 };
	struct call calls[RW_CALLED_MAX];

	for (int says_no = 0; says_no < 2; says_no++) {
		struct search search;
		struct rw_message_ask_calls ask;
		search_begin(&search, 0, 1, 9, 10, 1);
		for (int side = 0; side < RANKS; side++) {
			cr_assert(search_asks(&search, &search.sides[side], COMM, &ask, 1));
			struct rw_message message = answer_of((uint32_t)side, &ask, 0, 9);
			cr_assert(search_take(&search, (uint32_t)side, &message));
		}
		search_tick(&search, 1000);
		cr_assert_eq(search.state, SEARCH_FOLLOWS);
		cr_assert(search_asks(&search, &search.sides[1], COMM, &ask, 1000));
		cr_expect_eq(ask.from, 9);
		cr_expect_eq(ask.shift, 0);
		if (says_no)
			cr_expect(search_take(&search, 1, &gone));
		search_tick(&search, 999 + SEARCH_FOLLOW_NS);
		cr_expect_eq(search.state, says_no ? SEARCH_FOUND : SEARCH_FOLLOWS);
		search_tick(&search, 1000 + SEARCH_FOLLOW_NS);
		cr_expect_eq(search.state, SEARCH_FOUND);
		cr_expect_eq(search_calls(&search, 0, calls), 1);
		cr_expect_eq(calls[0].sequence, 9);
	}
}

/* All answers say that the calls are the same: what their hashes were made of is not what is kept. */
Test(search, names_no_call_where_the_answers_contradict_the_hashes)
{
	struct search search;

	play(&search, 0, 300, UINT64_MAX, 0);
	cr_expect_eq(search.state, SEARCH_GIVEN_UP);
}

static struct past_call past_of(uint64_t place)
{
	return (struct past_call){
		.count = place * 3, .root = -1, .function = RW_FUNCTION_ALL_GATHER, .dtype = RW_DTYPE_INT8
	};
}

Test(call_history, keeps_the_latest_calls)
{
	struct call_history history = { 0 };
	const uint64_t begin = 5, end = begin + 3 * CALL_HISTORY_MAX / 2;

	for (uint64_t place = begin; place < end; place++) {
		const struct past_call call = past_of(place);
		call_history_add(&history, place, &call);
		call_history_add(&history, place, &call); /* of another member on this host */
	}
	cr_expect_null(call_history_at(&history, end));
	cr_expect_null(call_history_at(&history, end - CALL_HISTORY_MAX - 1));
	for (uint64_t place = end - CALL_HISTORY_MAX; place < end; place++) {
		cr_assert_not_null(call_history_at(&history, place));
		cr_assert_eq(call_history_at(&history, place)->count, place * 3);
	}
	call_history_free(&history);
}

Test(call_history, of_members_that_differ_keeps_the_calls_of_each)
{
	struct call_history history = { 0 }, copy;

	for (uint64_t place = 0; place < 10; place++)
		call_history_add(&history, place, &(struct past_call[]){ past_of(place) }[0]);
	cr_expect(call_history_add(&history, 4, &(struct past_call[]){ past_of(4) }[0]));
	cr_expect(!call_history_add(&history, 4, &(struct past_call[]){ past_of(5) }[0]), "two members of one host differ");
	call_history_copy(&history, 4, &copy);
	call_history_add(&copy, 4, &(struct past_call[]){ past_of(5) }[0]);
	cr_expect_eq(call_history_at(&copy, 4)->count, 15);
	cr_expect_eq(call_history_at(&history, 4)->count, 12);
	cr_expect_eq(call_history_at(&copy, 3)->count, 9);
	cr_expect_null(call_history_at(&copy, 5));
	call_history_free(&copy);
	call_history_free(&history);
	call_history_add(&history, 0, &(struct past_call[]){ past_of(0) }[0]);
	call_history_add(&history, 2, &(struct past_call[]){ past_of(2) }[0]);
	cr_expect_null(call_history_at(&history, 0), "a call was not seen");
	call_history_free(&history);
}
