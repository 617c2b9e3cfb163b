/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "plugin/drain/taskless.h"

static struct recording recording;
static struct taskless taskless;

static uint32_t launch_in_new_group(void)
{
	struct glimpse op = { .group = recording_new_group(&recording), .api_tid = 1, .launch_tid = 1 };

	taskless_launched(&taskless, &recording, &op);
	return op.group;
}

static bool was_overtaken(uint32_t group)
{
	return taskless_later(&taskless, &recording, 0, 1, group).launched;
}

Test(taskless, a_launch_of_a_later_group_overtakes_a_call)
{
	uint32_t group = recording_new_group(&recording);

	cr_expect_not(was_overtaken(group));
	launch_in_new_group();
	cr_expect(was_overtaken(group));
}

Test(taskless, group_numbers_begin_again_after_2_to_the_32_and_never_are_0)
{
	atomic_store(&recording.groups, UINT32_MAX - 2);
	uint32_t before = launch_in_new_group(), call = recording_new_group(&recording);

	cr_expect_eq(call, UINT32_MAX);
	cr_expect_not(was_overtaken(call));
	uint32_t behind = launch_in_new_group();
	cr_expect_eq(behind, 1, "not 0, which is no group");
	cr_expect(was_overtaken(call));
	cr_expect(was_overtaken(before));
	cr_expect_not(was_overtaken(recording_new_group(&recording)), "a call of a new group");
}
