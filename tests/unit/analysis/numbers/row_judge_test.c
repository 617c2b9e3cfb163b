/* SPDX-License-Identifier: MIT */
/* Hosts of several ranks, which are late together. Ranks by themselves: late_series_test.c, late_level_test.c. */
#include <criterion/criterion.h>

#include "analysis/numbers/row_judge.h"
#include "base/numbers/splitmix.h"

enum { HOSTS = 4, PER_HOST = 8, RANKS = HOSTS * PER_HOST, ROW_MS = 600, NOISE_MS = 24, LATE_MS = 36 };

static struct row_judge judge;
static uint64_t row;
static double late_ms[RANKS], host_noise_ms;

static void begin(void)
{
	row = 0;
	host_noise_ms = 0;
	cr_assert(row_judge_has(&judge, RANKS));
	for (uint32_t i = 0; i < RANKS; i++) {
		late_series_place(&judge.late, i, 1 + i / PER_HOST);
		late_ms[i] = 0;
	}
}

static void end(void)
{
	row_judge_free(&judge);
}

/* Another number for each two, from -1 to 1. */
static double drawn(uint64_t at, uint32_t which)
{
	return (double)(splitmix_mix((at << 8 | which) * SPLITMIX_STEP) >> 11) / 4503599627370496.0 - 1;
}

/* Noise of each rank, and of all ranks of a host together. */
static double own_of(uint32_t rank)
{
	return ROW_MS * 0.7 + NOISE_MS * drawn(row, rank) + host_noise_ms * drawn(row / 7, 90 + rank / PER_HOST) +
	       late_ms[rank];
}

static void play(int count)
{
	while (count--) {
		struct row_entry entries[RANKS];
		row++;
		for (uint32_t i = 0; i < RANKS; i++) {
			uint64_t own_ns = (uint64_t)(own_of(i) * 1e6);
			entries[i] = (struct row_entry){ .rank = i, .own_ns = own_ns, .inside_ns = ROW_MS * UINT64_C(1000000) - own_ns,
							 .until_ns = row, .operations = 20 };
		}
		row_judge(&judge, entries, RANKS, ROW_MS, false);
	}
}

static uint32_t decided(void)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < RANKS; i++)
		found |= judge.ranks[i].decided_ns ? 1u << i : 0;
	return found;
}

static void make_late(uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		late_ms[i] = LATE_MS;
}

Test(row_judge, a_host_is_late_by_little_more_than_the_noise_of_each_of_its_ranks, .init = begin, .fini = end)
{
	play(30);
	cr_expect_eq(decided(), 0);
	make_late(16, PER_HOST);
	play(40);
	cr_expect(row_judge_is_host_late(&judge, 16));
	cr_expect_not(row_judge_is_host_late(&judge, 15));
	cr_expect_eq(decided() & ~0xff0000u, 0, "%x", decided());
	cr_expect_geq(__builtin_popcount(decided()), 6, "%x", decided());
	for (uint32_t i = 0; i < RANKS; i++)
		late_ms[i] = 0;
	play(12);
	cr_expect_eq(decided(), 0, "%x", decided());
}

Test(row_judge, a_host_is_not_late_with_a_few_of_its_ranks, .init = begin, .fini = end)
{
	play(30);
	make_late(16, 3);
	play(60);
	cr_expect_not(row_judge_is_host_late(&judge, 16));
	cr_expect_eq(decided() & ~0x70000u, 0, "%x", decided());
}

Test(row_judge, noise_of_whole_hosts_names_none, .init = begin, .fini = end)
{
	host_noise_ms = 30;
	play(300);
	cr_expect_eq(decided(), 0, "%x", decided());
}

/* Of two, nobody knows which one is as it should be. */
Test(row_judge, of_two_hosts_none_is_late_as_a_whole, .init = begin, .fini = end)
{
	for (uint32_t i = 0; i < RANKS; i++)
		late_series_place(&judge.late, i, 1 + i / (RANKS / 2));
	play(30);
	make_late(16, RANKS / 2);
	play(60);
	cr_expect_not(row_judge_is_host_late(&judge, 16));
}
