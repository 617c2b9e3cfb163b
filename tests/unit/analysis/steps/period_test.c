/* SPDX-License-Identifier: MIT */
/* What repeats at the end of a sequence of operations, and whether it is a step. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "analysis/steps/period.h"

enum { MOST = 2048 };

struct sequence {
	uint32_t items[MOST], count;
};

static void put(struct sequence *sequence, uint32_t hash, uint32_t marks)
{
	sequence->items[sequence->count++] = hash << 3 | marks;
}

/* `times` times the operations hash, hash + 1, … */
static void repeat(struct sequence *sequence, uint32_t hash, uint32_t length, uint32_t times)
{
	for (uint32_t i = 0; i < length * times; i++)
		put(sequence, hash + i % length, PERIOD_FIRST_THREAD);
}

static struct period find(const struct sequence *sequence)
{
	return period_find(sequence->items, sequence->count);
}

Test(period, three_repetitions_of_enough_operations_are_one)
{
	for (uint32_t length = 16; length <= 100; length += 7) {
		struct sequence sequence = { .count = 0 };

		repeat(&sequence, 1000, 5, 1); /* what came before */
		repeat(&sequence, 1, length, 3);
		struct period period = find(&sequence);
		cr_expect_eq(period.length, length, "%u", length);
		cr_expect_eq(period.explained, 3 * length);
		cr_expect_eq(period.start, 5);
		cr_expect_not(period.step, "nothing shows that it is a step");
	}
}

Test(period, two_repetitions_of_anything_but_a_step_are_none)
{
	struct sequence sequence = { .count = 0 };

	repeat(&sequence, 1, 20, 2);
	cr_expect_eq(find(&sequence).length, 0);
	repeat(&sequence, 1, 19, 1);
	cr_expect_eq(find(&sequence).length, 0, "one operation of the third is missing");
	put(&sequence, 20, PERIOD_FIRST_THREAD);
	cr_expect_eq(find(&sequence).length, 20);
}

Test(period, one_and_the_same_operation_is_one_only_when_there_are_more_than_layers)
{
	struct sequence sequence = { .count = 0 };

	repeat(&sequence, 1, 1, 127);
	cr_expect_eq(find(&sequence).length, 0);
	repeat(&sequence, 1, 1, 1);
	cr_expect_eq(find(&sequence).length, 1, "128");
}

/* Fifteen operations, seven eighths of all that came: shorter ones that explain less may be layers. */
Test(period, a_short_one_must_explain_nearly_all)
{
	for (uint32_t before = 5; before <= 8; before++) {
		struct sequence sequence = { .count = 0 };

		repeat(&sequence, 1000, before, 1);
		repeat(&sequence, 1, 15, 3);
		cr_expect_eq(find(&sequence).length, before <= 6 ? 15 : 0, "%u before them", before);
	}
}

/* Layers, then autograd's thread, then the norm of the gradients by the first thread. */
static void step(struct sequence *sequence, uint32_t forward, uint32_t backward)
{
	for (uint32_t i = 0; i < forward; i++)
		put(sequence, 1 + i, PERIOD_FIRST_THREAD);
	for (uint32_t i = 0; i < backward; i++)
		put(sequence, 100 + i, 0);
	put(sequence, 500, PERIOD_FIRST_THREAD | PERIOD_NUMBER);
}

Test(period, two_steps_are_enough_where_numbers_of_the_training_loop_end_them)
{
	struct sequence sequence = { .count = 0 };

	put(&sequence, 77, PERIOD_FIRST_THREAD); /* comes once */
	step(&sequence, 3, 4);
	step(&sequence, 3, 4);
	struct period period = find(&sequence);
	cr_expect_eq(period.length, 8);
	cr_expect(period.step);
	cr_expect_eq(period.start, 1);
	cr_expect_eq(period.explained, 16);
	sequence.count--;
	cr_expect_eq(find(&sequence).length, 0, "the second one has not ended");
}

/* Else a loop whose number is reduced at its beginning would be taken for one. */
Test(period, a_step_begins_behind_its_end_wherever_its_history_does)
{
	struct sequence sequence = { .count = 0 };

	put(&sequence, 500, PERIOD_FIRST_THREAD | PERIOD_NUMBER);
	step(&sequence, 3, 4);
	step(&sequence, 3, 4);
	struct period period = find(&sequence);
	cr_expect(period.step);
	cr_expect_eq(period.length, 8);
	cr_expect_eq(period.start, 1, "the number before it ends another step");
	cr_expect_eq(period.explained, 17);
}

Test(period, a_step_starts_behind_numbers_of_the_first_thread_that_follow_another_s)
{
	struct sequence sequence = { .count = 0 };

	step(&sequence, 1, 1);
	put(&sequence, 1, PERIOD_FIRST_THREAD);
	cr_expect(period_starts(sequence.items, 3));
	for (uint32_t at = 0; at < 3; at++)
		cr_expect_not(period_starts(sequence.items, at), "%u", at);
	cr_expect_not(period_starts(sequence.items + 2, 1), "nothing of another thread before");
	sequence.items[1] |= PERIOD_FIRST_THREAD;
	cr_expect_not(period_starts(sequence.items, 3), "the same thread");
	sequence.items[1] &= ~(uint32_t)PERIOD_FIRST_THREAD;
	sequence.items[3] |= PERIOD_NUMBER;
	cr_expect_not(period_starts(sequence.items, 3), "it is one more of the numbers");
}

Test(period, what_the_training_loop_passes_on_may_lie_between_the_backward_pass_and_the_numbers)
{
	struct sequence sequence = { .count = 0 };

	put(&sequence, 1, 0);
	put(&sequence, 2, PERIOD_FIRST_THREAD | PERIOD_TRANSFER);
	put(&sequence, 3, PERIOD_FIRST_THREAD | PERIOD_TRANSFER);
	put(&sequence, 4, PERIOD_FIRST_THREAD | PERIOD_NUMBER);
	put(&sequence, 5, PERIOD_FIRST_THREAD);
	cr_expect(period_starts(sequence.items, 4));
	sequence.items[0] |= PERIOD_FIRST_THREAD;
	cr_expect_not(period_starts(sequence.items, 4));
	sequence.items[0] &= ~(uint32_t)PERIOD_FIRST_THREAD;
	sequence.items[2] &= ~(uint32_t)PERIOD_TRANSFER;
	cr_expect_not(period_starts(sequence.items, 4), "an operation of its own is no transfer");
}

Test(period, one_block_several_times_with_a_single_end_is_passes_that_accumulate)
{
	struct sequence sequence = { .count = 0 };

	for (int i = 0; i < 3; i++) {
		for (int pass = 0; pass < 4; pass++)
			for (uint32_t k = 0; k < 3; k++)
				put(&sequence, 10 + k, k ? 0 : PERIOD_FIRST_THREAD);
		put(&sequence, 500, PERIOD_FIRST_THREAD | PERIOD_NUMBER);
	}
	cr_expect_not(find(&sequence).step);
}

Test(period, what_was_last_seen_in_the_first_quarter_belongs_to_the_warm_up)
{
	struct sequence sequence = { .count = 0 };

	repeat(&sequence, 1000, 1, 4); /* the same operation, last seen at 3 of 16 + … */
	repeat(&sequence, 1, 20, 3);
	cr_expect_eq(find(&sequence).length, 20);
	sequence.count = 0;
	repeat(&sequence, 1, 20, 2);
	repeat(&sequence, 1000, 1, 3);
	repeat(&sequence, 1, 20, 3);
	cr_expect_eq(find(&sequence).length, 0, "it must be in a repetition");
}

Test(period, nothing_repeats_in_nothing)
{
	struct sequence sequence = { .count = 0 };

	cr_expect_eq(find(&sequence).length, 0);
	put(&sequence, 1, 0);
	cr_expect_eq(find(&sequence).length, 0);
}

Test(period, ends_with_its_numbers_where_the_next_one_starts)
{
	enum { CALLS = 4096, FIRST = PERIOD_FIRST_THREAD };
	static const uint32_t kinds[] = { FIRST, FIRST | PERIOD_TRANSFER, FIRST | PERIOD_NUMBER, 0, PERIOD_TRANSFER };
	uint32_t signatures[CALLS], ends = 0, starts = 0;
	struct period_tail tail = { 0 };

	srand(1);
	for (uint32_t i = 0; i < CALLS; i++) {
		signatures[i] = 8 | kinds[(size_t)rand() % (sizeof(kinds) / sizeof(*kinds))];
		bool number = i && signatures[i - 1] & PERIOD_NUMBER;
		starts += period_starts(signatures, i);
		if (number && !(signatures[i] & PERIOD_NUMBER))
			cr_assert_eq(starts, ends, "before call %u", i);
		ends += period_ends(&tail, signatures[i]);
	}
	cr_assert_gt(starts, 100);
}
