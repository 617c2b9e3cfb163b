/* SPDX-License-Identifier: MIT */
/* Which communicator an entry of a box's table is. */
#include <criterion/criterion.h>

#include "analysis/model.h"

static int enter(struct analysis *analysis, int process, uint32_t index, int rank, uint64_t created_ns)
{
	const struct rw_communicator communicator = {
		.id = 77, .rank = rank, .nranks = 3, .nnodes = 1, .created_ns = created_ns
	};
	return analysis_add_communicator(analysis, (analysis_process_id)process + 1, index, &communicator);
}

static struct analysis *begin_three(void)
{
	struct analysis *analysis = analysis_new(true, NULL, NULL);
	static struct rw_box_header box = { .host = "a", .job = "test", .world_size = 4 };
	for (int i = 0; i < 4; i++) {
		box.world_rank = i;
		cr_assert_eq(
		    analysis_add_process(
			analysis, &(struct analysis_process){ .id = (uint32_t)i + 1, .pid = i + 1, .box = &box }),
		    0);
	}
	return analysis;
}

/* As all that were shrunk of one parent have (NCCL 2.27 to 2.30: only splits are counted). */
Test(job, two_communicators_of_one_id_are_two)
{
	struct analysis *analysis = begin_three();
	for (uint32_t index = 0; index < 2; index++)
		for (int i = 0; i < 3; i++)
			cr_expect_eq(enter(analysis, i, index, i, 1 + index), 0, "rank %d in the communicator %u", i, index);
	cr_assert_eq(analysis->job.communicator_count, 2);
	for (int i = 0; i < 2; i++) {
		cr_expect_eq(analysis->job.communicators[i]->member_count, 3);
		cr_expect_not(analysis->job.communicators[i]->mixed);
	}
	cr_expect_eq(analysis->job.communicators[0]->told_id, 77);
	cr_expect_neq(analysis->job.communicators[1]->told_id, 77, "and so they are to other hosts");
	analysis_free(analysis);
}

/* Of other hosts it may not be known yet which size the first one has. */
Test(job, to_other_hosts_a_smaller_one_of_the_same_id_is_another_one)
{
	struct analysis *analysis = begin_three();
	for (int i = 0; i < 2; i++) {
		const struct rw_communicator smaller = { .id = 77, .rank = i, .nranks = 2, .nnodes = 1, .created_ns = 2 };
		cr_assert_eq(enter(analysis, i, 0, i, 1), 0);
		cr_assert_eq(analysis_add_communicator(analysis, (analysis_process_id)i + 1, 1, &smaller), 0);
	}
	cr_assert_eq(analysis->job.communicator_count, 2);
	cr_expect_eq(analysis->job.communicators[0]->told_id, 77);
	cr_expect_neq(analysis->job.communicators[1]->told_id, 77);
	cr_expect_eq(analysis->job.communicators[1]->occurrence, 0);
	analysis_free(analysis);
}

/* Rank 3 was left out of the first one, in place of rank 2 of the second. */
Test(job, calls_are_not_compared_where_it_is_not_known_which_of_one_id_a_rank_is_in)
{
	struct analysis *analysis = begin_three();
	for (int i = 0; i < 3; i++)
		cr_assert_eq(enter(analysis, i, 0, i, 1), 0);
	cr_expect_neq(enter(analysis, 3, 0, 2, 2), 0);
	cr_expect(analysis->job.communicators[0]->mixed);
	analysis_free(analysis);
	analysis = begin_three();
	cr_assert_eq(enter(analysis, 0, 0, 0, 1), 0);
	cr_assert_eq(enter(analysis, 0, 1, 2, 2), 0);
	cr_expect(analysis->job.communicators[0]->mixed, "one that claims two places");
	analysis_free(analysis);
}
