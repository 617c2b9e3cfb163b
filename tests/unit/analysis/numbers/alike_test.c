/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analysis/numbers/alike.h"

enum { RANKS = 16, COMMUNICATORS = 32 };

static struct job job;

static void open_job(void)
{
	job = (struct job){ .rank_count = RANKS };
	job.communicators = calloc(COMMUNICATORS, sizeof(struct communicator *));
}

static void close_job(void)
{
	for (uint32_t i = 0; i < job.communicator_count; i++) {
		free(job.communicators[i]->members);
		free(job.communicators[i]);
	}
	free(job.communicators);
}

/* Ranks first, first + by … */
static void add(bool point_to_point, uint32_t first, uint32_t by, uint32_t count)
{
	struct communicator *communicator = calloc(1, sizeof(*communicator));

	communicator->index = job.communicator_count;
	communicator->point_to_point = point_to_point;
	communicator->members = calloc(count, sizeof(*communicator->members));
	communicator->member_count = count;
	for (uint32_t i = 0; i < count; i++)
		communicator->members[i].rank = first + i * by;
	job.communicators[job.communicator_count++] = communicator;
}

static uint32_t groups[RANKS];

Test(alike, all_ranks_are_where_nobody_sends, .init = open_job, .fini = close_job)
{
	for (uint32_t i = 0; i < 4; i++) {
		add(false, i * 4, 1, 4); /* tensor parallel */
		add(false, i, 4, 4);     /* data parallel */
	}
	cr_assert_eq(alike_find(&job, true, groups), 0);
	for (uint32_t i = 1; i < RANKS; i++)
		cr_expect_eq(groups[i], groups[0]);
}

/* Four stages, four replicas; the world, and the first and last stage of each replica, reduce together, too. */
Test(alike, stages_are_not_and_the_same_stage_of_all_replicas_is, .init = open_job, .fini = close_job)
{
	for (uint32_t i = 0; i < 4; i++) {
		for (uint32_t k = 0; k < 3; k++)
			add(true, i * 4 + k, 1, 2); /* a communicator for each two neighbours */
		add(false, i * 4, 3, 2);
		add(false, i, 4, 4);
	}
	add(false, 0, 1, RANKS);
	cr_assert_eq(alike_find(&job, true, groups), 0);
	for (uint32_t i = 0; i < RANKS; i++)
		for (uint32_t k = 0; k < i; k++)
			cr_expect_eq(groups[i] == groups[k], i % 4 == k % 4, "%u, %u", i, k);
}

Test(alike, ranks_that_share_nothing_are_not, .init = open_job, .fini = close_job)
{
	add(false, 0, 1, 8);
	add(false, 8, 1, 8);
	cr_assert_eq(alike_find(&job, true, groups), 0);
	cr_expect_eq(groups[0], groups[7]);
	cr_expect_neq(groups[0], groups[8]);
}

static void send_to(uint32_t communicator, uint32_t member, uint64_t itself, uint64_t others)
{
	job.communicators[communicator]->members[member].sent += itself + others;
	job.communicators[communicator]->members[member].sent_itself += itself;
}

/* Two groups of experts, and all ranks reduce together. */
static void add_experts(void)
{
	for (uint32_t i = 0; i < 2; i++)
		add(true, i * 8, 1, 8);
	add(false, 0, 1, RANKS);
	for (uint32_t i = 0; i < RANKS; i++)
		send_to(i / 8, i % 8, 10, 70);
}

static bool are_all_alike(void)
{
	cr_assert_eq(alike_find(&job, true, groups), 0);
	for (uint32_t i = 1; i < RANKS; i++)
		if (groups[i] != groups[0])
			return false;
	return true;
}

Test(alike, ranks_that_exchange_with_all_are, .init = open_job, .fini = close_job)
{
	add_experts();
	cr_expect(are_all_alike());
	cr_assert_eq(alike_find(&job, false, groups),
		     0); /* by their work only with those that have the same experts, which are none here */
	for (uint32_t i = 1; i < RANKS; i++)
		cr_expect_neq(groups[i], groups[0]);
	for (uint32_t i = 0; i < 2; i++) /* not all of its members were seen */
		job.communicators[i]->size = 16;
	cr_expect(are_all_alike());
}

/* Of the 8 parts of AlltoAll one is the rank's own, or none where it has no token for its own expert. */
Test(alike, who_sends_much_else_may_be_a_stage, .init = open_job, .fini = close_job)
{
	add_experts();
	send_to(0, 3, 0, 80);
	cr_expect(are_all_alike());
	send_to(0, 3, 0, 1);
	cr_expect_not(are_all_alike());
}

Test(alike, who_sends_nothing_to_itself_may_be_a_stage, .init = open_job, .fini = close_job)
{
	add(true, 0, 1, 8);
	add(false, 0, 1, RANKS);
	for (uint32_t i = 0; i < 8; i++)
		send_to(0, i, i ? 0 : 10, i ? 10 : 70); /* a Gather: its root has a part for itself */
	cr_expect_not(are_all_alike());
	job.communicators[0]->members[7].sent = job.communicators[0]->members[7].sent_itself = 0;
	cr_expect_not(are_all_alike());
}
