/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <rankwatch/operation.h>

#include "plugin/gpu/scan_sampling.h"

static struct scan_name name_of(uint64_t sequence)
{
	return (struct scan_name){ .communicator = 0x5eed, .function = RW_FUNCTION_ALL_REDUCE, .sequence = sequence };
}

Test(scan_sampling, one_scans_all_and_none_nothing)
{
	for (uint64_t i = 0; i < 1000; i++) {
		struct scan_name name = name_of(i);

		cr_assert(scan_sampled(&name, 1));
		cr_assert_not(scan_sampled(&name, 0));
	}
}

Test(scan_sampling, a_sparser_set_lies_within_every_denser_one)
{
	for (uint64_t i = 0; i < 100000; i++) {
		struct scan_name name = name_of(i);

		for (uint32_t every = 2; every <= 1024; every *= 2)
			cr_assert(!scan_sampled(&name, every) || scan_sampled(&name, every / 2));
	}
}

Test(scan_sampling, the_share_is_what_was_asked_for)
{
	for (uint32_t every = 2; every <= 256; every *= 2) {
		uint32_t sampled = 0, expected = 262144 / every;

		for (uint64_t i = 0; i < 262144; i++) {
			struct scan_name name = name_of(i);

			sampled += scan_sampled(&name, every);
		}
		cr_expect(sampled > expected * 9 / 10 && sampled < expected * 11 / 10, "%u of %u", sampled, expected);
	}
}

/* Or a step whose operations repeat would have the same ones scanned for ever. */
Test(scan_sampling, no_place_in_a_step_is_left_out)
{
	enum { PLACES = 64, STEPS = 4096, EVERY = 16 };

	for (uint64_t place = 0; place < PLACES; place++) {
		uint32_t sampled = 0;

		for (uint64_t step = 0; step < STEPS; step++) {
			struct scan_name name = name_of(step * PLACES + place);

			sampled += scan_sampled(&name, EVERY);
		}
		cr_expect(sampled > STEPS / EVERY / 2 && sampled < STEPS / EVERY * 2, "place %lu: %u", place, sampled);
	}
}
