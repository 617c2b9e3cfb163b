/* SPDX-License-Identifier: MIT */
/* Which communicators the wrappers know, through a NCCL that makes as many as the test wants. */
#include <criterion/criterion.h>
#include <time.h>

#include "course.h"
#include "played_nccl.h"
#include "plugin/preload/membership.h"

enum {
	COMMUNICATORS = 4096 /* twice as many as the table has places */,
	LIVING = 200,
	ROUNDS = 200,
	SEARCHES = 100,
	FACTOR = 10
};

static _Alignas(16) char memory[COMMUNICATORS][16];
static void *communicators[COMMUNICATORS];

static void make(int number)
{
	played_nccl.next = memory[number];
	cr_assert_eq(ncclCommInitRank(&communicators[number], 2, (struct nccl_unique_id){ .bytes = { 1 } }, 0), 0);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The least of many rounds: what else the machine did meanwhile does not count. */
static uint64_t search_for_unknown(void)
{
	static char unknown[SEARCHES * 16];
	uint64_t least = UINT64_MAX;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t before = now_ns();

		for (int i = 0; i < SEARCHES; i++)
			cr_assert_null(membership_find((nccl_comm)&unknown[i * 16]));
		uint64_t took = now_ns() - before;
		least = took < least ? took : least;
	}
	return least;
}

Test(membership, of_a_communicator_that_nobody_has_seen_is_sought_no_longer_after_thousands_have_ended)
{
	course_begin(1);
	uint64_t at_first = search_for_unknown();

	for (int i = 0; i < COMMUNICATORS; i++) {
		make(i);
		cr_assert_eq(ncclCommDestroy(communicators[i]), 0);
	}
	uint64_t at_last = search_for_unknown();
	cr_expect_lt(at_last, at_first * FACTOR + 10000, "%lu ns, and %lu ns at first", (unsigned long)at_last,
		     (unsigned long)at_first);
}

/* Chains of the table cross: each that ends shortens one, and none that lives may be lost by that. */
Test(membership, is_kept_whatever_ends_before_and_after_it)
{
	course_begin(2);
	for (int i = 0; i < COMMUNICATORS; i++) {
		int ends = i - LIVING + (int)course_draw(20);

		make(i);
		for (int j = i < LIVING ? 0 : i - LIVING; j <= i; j++)
			cr_assert(!communicators[j] || membership_find(communicators[j]), "%d after %d", j, i);
		for (int j = i - LIVING; j <= ends && j < i; j++)
			if (j >= 0 && communicators[j]) {
				cr_assert_eq(ncclCommDestroy(communicators[j]), 0);
				cr_assert_null(membership_find(communicators[j]));
				communicators[j] = NULL;
			}
	}
}
