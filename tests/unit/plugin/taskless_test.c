/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "plugin/drain/taskless.h"

enum { A_THREAD = 4711, ANOTHER = A_THREAD + 1, ON_ITS_LANE = A_THREAD + RECORDING_LANES };

static struct recording recording;
static struct taskless taskless;

static void launch(uint64_t ticket, uint32_t group)
{
	taskless_launched(&taskless, &recording, &(struct glimpse){ .group = group, .api_tid = 1, .launch_tid = 1 }, ticket);
}

static bool was_overtaken(uint64_t ticket, uint32_t group)
{
	return taskless_later(&taskless, &recording, 0, ticket, group).launched;
}

Test(taskless, a_launch_of_a_later_group_overtakes_a_call)
{
	recording_open_lanes(&recording);
	uint32_t group = recording_new_group(&recording, A_THREAD), next = recording_new_group(&recording, A_THREAD);

	cr_expect_not(was_overtaken(1, group));
	launch(2, group);
	cr_expect_not(was_overtaken(1, group), "a group can be launched in several plans");
	launch(3, next);
	cr_expect(was_overtaken(1, group));
	cr_expect_not(was_overtaken(4, recording_new_group(&recording, A_THREAD)), "a call of a new group");
}

Test(taskless, a_group_that_was_begun_first_and_calls_last_is_not_overtaken)
{
	recording_open_lanes(&recording);
	uint32_t begun_first = recording_new_group(&recording, A_THREAD);

	launch(1, recording_new_group(&recording, ANOTHER));
	cr_expect_not(was_overtaken(2, begun_first));
	launch(3, recording_new_group(&recording, ANOTHER));
	cr_expect(was_overtaken(2, begun_first));
}

Test(taskless, numbers_of_groups_differ_between_threads_and_are_never_0)
{
	recording_open_lanes(&recording);
	uint32_t first = recording_new_group(&recording, A_THREAD), second = recording_new_group(&recording, ON_ITS_LANE);

	cr_expect_neq(first, second);
	cr_expect_neq(first, recording_new_group(&recording, ANOTHER));
	for (uint32_t lane = 0; lane < RECORDING_LANES; lane++) {
		atomic_store(&recording.lanes[lane].next, atomic_load(&recording.lanes[lane].next) - RECORDING_GROUP_STEP);
		uint32_t last = recording_new_group(&recording, lane), again = recording_new_group(&recording, lane);

		cr_expect_neq(last, 0);
		cr_expect_neq(again, 0, "after the last number of a lane they begin again");
	}
}

Test(taskless, the_end_of_a_group_is_seen_until_the_thread_ends_the_next_one)
{
	recording_open_lanes(&recording);
	uint32_t group = recording_new_group(&recording, A_THREAD);

	cr_expect_not(recording_in_group_end(&recording, group));
	recording_group_end(&recording, group);
	/* A hundred and twenty-eight groups of another thread do not hide it. */
	for (int i = 0; i < 2 * RECORDING_LANES; i++)
		recording_group_end(&recording, recording_new_group(&recording, ANOTHER));
	cr_expect(recording_in_group_end(&recording, group));
	recording_group_end(&recording, recording_new_group(&recording, A_THREAD));
	cr_expect_not(recording_in_group_end(&recording, group));
}
