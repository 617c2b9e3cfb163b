/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <rankwatch/operation.h>

#include "plugin/cost/sampling.h"

static struct sampling_name name_of(uint64_t sequence)
{
	return (struct sampling_name){ .communicator = 0x5eed, .function = RW_FUNCTION_ALL_REDUCE, .sequence = sequence };
}

Test(sampling, one_scans_all_and_none_nothing)
{
	for (uint64_t i = 0; i < 1000; i++) {
		struct sampling_name name = name_of(i);

		cr_assert(sampling_takes(&name, 1));
		cr_assert_not(sampling_takes(&name, 0));
	}
}

Test(sampling, a_sparser_set_lies_within_every_denser_one)
{
	for (uint64_t i = 0; i < 100000; i++) {
		struct sampling_name name = name_of(i);

		for (uint32_t every = 2; every <= 1024; every *= 2)
			cr_assert(!sampling_takes(&name, every) || sampling_takes(&name, every / 2));
	}
}

Test(sampling, the_share_is_what_was_asked_for)
{
	for (uint32_t every = 2; every <= 256; every *= 2) {
		uint32_t sampled = 0, expected = 262144 / every;

		for (uint64_t i = 0; i < 262144; i++) {
			struct sampling_name name = name_of(i);

			sampled += sampling_takes(&name, every);
		}
		cr_expect(sampled > expected * 9 / 10 && sampled < expected * 11 / 10, "%u of %u", sampled, expected);
	}
}

/* Or a step whose operations repeat would have the same ones scanned for ever. */
Test(sampling, no_place_in_a_step_is_left_out)
{
	enum { PLACES = 64, STEPS = 4096, EVERY = 16 };

	for (uint64_t place = 0; place < PLACES; place++) {
		uint32_t sampled = 0;

		for (uint64_t step = 0; step < STEPS; step++) {
			struct sampling_name name = name_of(step * PLACES + place);

			sampled += sampling_takes(&name, EVERY);
		}
		cr_expect(sampled > STEPS / EVERY / 2 && sampled < STEPS / EVERY * 2, "place %lu: %u", place, sampled);
	}
}

enum { SMALL = 8, LARGE = SAMPLING_SMALL_BYTES };

Test(sampling, a_row_of_small_operations_is_sampled_from_its_ninth_on)
{
	struct sampling_row row = { 0 };

	for (int i = 0; i < SAMPLING_ROW; i++)
		cr_expect_eq(sampling_least(&row, SMALL), 1, "%d", i);
	for (int i = 0; i < 1000; i++)
		cr_expect_eq(sampling_least(&row, SAMPLING_SMALL_BYTES - 1), SAMPLING_SMALL_EVERY);
	cr_expect_eq(sampling_least(&row, LARGE), 1);
	for (int i = 0; i < SAMPLING_ROW; i++)
		cr_expect_eq(sampling_least(&row, SMALL), 1, "behind a large one, %d", i);
	cr_expect_eq(sampling_least(&row, SMALL), SAMPLING_SMALL_EVERY);
}

Test(sampling, the_bytes_are_those_of_all_ranks)
{
	cr_expect_eq(sampling_bytes(RW_FUNCTION_ALL_REDUCE, RW_DTYPE_FLOAT32, 2, 8), 8);
	cr_expect_eq(sampling_bytes(RW_FUNCTION_BROADCAST, RW_DTYPE_BFLOAT16, 100, 8), 200);
	cr_expect_eq(sampling_bytes(RW_FUNCTION_ALL_GATHER, RW_DTYPE_BFLOAT16, 100, 8), 1600);
	cr_expect_eq(sampling_bytes(RW_FUNCTION_REDUCE_SCATTER, RW_DTYPE_FLOAT64, 100, 8), 6400);
	cr_expect_eq(sampling_bytes(RW_FUNCTION_ALL_TO_ALL, RW_DTYPE_INT8, 100, 8), 800);
	cr_expect_eq(sampling_bytes(RW_FUNCTION_GATHER, RW_DTYPE_INT8, 100, 8), 800);
	cr_expect_eq(sampling_bytes(RW_FUNCTION_SCATTER, RW_DTYPE_INT8, 100, 8), 800);
	cr_expect_eq(sampling_bytes(RW_FUNCTION_ALL_GATHER, RW_DTYPE_UNKNOWN, 100, 0), 100);
	cr_expect_eq(sampling_bytes(RW_FUNCTION_ALL_GATHER, RW_DTYPE_FLOAT64, UINT64_MAX / 4, 8), UINT64_MAX);
}

Test(sampling, a_pause_pays_for_what_comes_behind_it)
{
	struct sampling_row row = { 0 };
	uint64_t now = 1000000000;

	for (int i = 0; i < SAMPLING_PAUSES; i++)
		cr_expect(sampling_after_pause(&row, now += 1000), "the first ones, %d", i);
	for (int i = 0; i < 100; i++)
		cr_expect_not(sampling_after_pause(&row, now += 1000), "%d", i);
	cr_expect(sampling_after_pause(&row, now += SAMPLING_PAUSE_NS));
	cr_expect_not(sampling_after_pause(&row, now += 1000));
	now += 1000ull * SAMPLING_PAUSE_NS;
	for (int i = 0; i < SAMPLING_PAUSES; i++)
		cr_expect(sampling_after_pause(&row, now), "what a long one saves up has an end, %d", i);
	cr_expect_not(sampling_after_pause(&row, now));
	now += (SAMPLING_PAUSES - 2) * (uint64_t)SAMPLING_PAUSE_NS;
	cr_expect(sampling_after_pause(&row, now));
	/* with what is left they are more than can be saved */
	now += (SAMPLING_PAUSES - 2) * (uint64_t)SAMPLING_PAUSE_NS;
	int paid = 0;
	while (sampling_after_pause(&row, now))
		paid++;
	cr_expect_eq(paid, SAMPLING_PAUSES);
}

/* Of one loop the pauses pay for a share that its speed does not raise. */
Test(sampling, a_loop_without_pauses_has_one_in_so_much_time)
{
	struct sampling_row row = { .paid_ns = 1000000000 };
	uint64_t now = row.paid_ns;
	int paid = 0;

	for (int i = 0; i < 100000; i++)
		paid += sampling_after_pause(&row, now += 20000);
	cr_expect(paid >= 999 && paid <= 1000, "%d in two seconds", paid);
}

/* Which ones are taken is agreed between ranks that may run different builds: it may not change. */
Test(sampling, the_same_ones_are_taken_by_every_build)
{
	uint64_t taken = 0, other_function = 0, other_communicator = 0, other_ranks = 0;

	for (uint64_t i = 0; i < 64; i++) {
		struct sampling_name name = name_of(i);

		taken |= (uint64_t)sampling_takes(&name, 4) << i;
		name.function = RW_FUNCTION_ALL_GATHER;
		other_function |= (uint64_t)sampling_takes(&name, 4) << i;
		name = name_of(i);
		name.communicator = UINT64_MAX;
		other_communicator |= (uint64_t)sampling_takes(&name, 4) << i;
		name = name_of(i);
		name.ranks = UINT64_C(3) << 32 | 5;
		other_ranks |= (uint64_t)sampling_takes(&name, 4) << i;
	}
	cr_expect_eq(taken, UINT64_C(0x020a0200298c8828), "%#lx", (unsigned long)taken);
	cr_expect_eq(other_function, UINT64_C(0x8024002880101881), "%#lx", (unsigned long)other_function);
	cr_expect_eq(other_communicator, UINT64_C(0x8424814907d0882c), "%#lx", (unsigned long)other_communicator);
	cr_expect_eq(other_ranks, UINT64_C(0x2020068081490041), "%#lx", (unsigned long)other_ranks);
}

Test(sampling, a_collective_of_one_rank_or_of_a_size_nobody_knows_has_one_part)
{
	cr_expect_eq(sampling_bytes(RW_FUNCTION_ALL_GATHER, RW_DTYPE_FLOAT32, 100, 1), 400);
	cr_expect_eq(sampling_bytes(RW_FUNCTION_ALL_GATHER, RW_DTYPE_FLOAT32, 100, 2), 800);
	cr_expect_eq(sampling_bytes(RW_FUNCTION_REDUCE, RW_DTYPE_FLOAT32, 100, 2), 400);
	cr_expect_eq(sampling_bytes(RW_FUNCTION_ALL_GATHER, RW_DTYPE_FLOAT32, 100, -1), 400);
}

Test(sampling, a_pause_of_exactly_so_long_pays_for_one_and_a_clock_that_goes_back_for_none)
{
	const uint64_t begin = 1000000000;
	struct sampling_row row = { .paid_ns = begin };

	cr_expect_not(sampling_after_pause(&row, begin + SAMPLING_PAUSE_NS - 1));
	cr_expect(sampling_after_pause(&row, begin + SAMPLING_PAUSE_NS));
	cr_expect_not(sampling_after_pause(&row, begin + SAMPLING_PAUSE_NS));
	cr_expect_not(sampling_after_pause(&row, begin - 10 * (uint64_t)SAMPLING_PAUSE_NS));
	cr_expect_not(sampling_after_pause(&row, begin + 2 * (uint64_t)SAMPLING_PAUSE_NS - 1));
	cr_expect(sampling_after_pause(&row, begin + 2 * (uint64_t)SAMPLING_PAUSE_NS));
}
