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

/* Numbers come again after 2^32 groups: which is later is no question of the larger one. */
Test(taskless, a_launch_of_a_later_group_overtakes_a_call_though_its_number_is_smaller)
{
	recording_open_lanes(&recording);
	struct recording_lane *lane = &recording.lanes[A_THREAD % RECORDING_LANES];

	atomic_store(&lane->next, atomic_load(&lane->next) - RECORDING_GROUP_STEP);
	uint32_t group = recording_new_group(&recording, A_THREAD), next = recording_new_group(&recording, A_THREAD);

	cr_assert_lt(next, group);
	recording_group_end(&recording, group);
	cr_expect(recording_in_group_end(&recording, group) && !recording_in_group_end(&recording, next));
	recording_group_end(&recording, next);
	cr_expect(recording_in_group_end(&recording, next) && !recording_in_group_end(&recording, group));
	launch(2, group);
	cr_expect_not(was_overtaken(1, group));
	launch(3, next);
	cr_expect(was_overtaken(1, group));
	cr_expect_not(was_overtaken(4, next));
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

enum { RETURN_NS = 1000, WITHIN_NS = 1000000000 };

static struct glimpse returned_call(void)
{
	return (struct glimpse){
		.group = 16, .known = RW_KNOWN_RETURN, .return_ns = RETURN_NS, .function = RW_FUNCTION_BROADCAST
	};
}

Test(taskless, without_a_task_a_call_is_given_up_a_second_after_its_return_if_nccl_is_through_with_it)
{
	struct glimpse op = returned_call();
	struct taskless_later later = { .called = true };

	cr_expect_eq(taskless_why(&recording, &op, &later, RETURN_NS + WITHIN_NS), RW_UNTRACKED_NONE);
	cr_expect_eq(taskless_why(&recording, &op, &later, RETURN_NS + WITHIN_NS + 1), RW_UNTRACKED_NO_TASK);
	later.called = false;
	cr_expect_eq(taskless_why(&recording, &op, &later, RETURN_NS + WITHIN_NS + 1), RW_UNTRACKED_NONE,
		     "nobody knows: it may connect");
	recording.communicators[0].launches_here = true;
	cr_expect_eq(taskless_why(&recording, &op, &later, RETURN_NS + WITHIN_NS + 1), RW_UNTRACKED_NO_TASK);
	recording.communicators[0].launches_here = false;
	recording.communicators[0].settled_ns = RETURN_NS;
	cr_expect_eq(taskless_why(&recording, &op, &later, RETURN_NS + WITHIN_NS + 1), RW_UNTRACKED_NONE,
		     "asked before it returned");
	recording.communicators[0].settled_ns = RETURN_NS + 1;
	cr_expect_eq(taskless_why(&recording, &op, &later, RETURN_NS + WITHIN_NS + 1), RW_UNTRACKED_NO_TASK);
	op.known = 0;
	later.called = true;
	cr_expect_eq(taskless_why(&recording, &op, &later, UINT64_MAX), RW_UNTRACKED_NONE, "it has not returned");
	op.group = 0;
	cr_expect_eq(taskless_why(&recording, &op, &later, UINT64_MAX), RW_UNTRACKED_NONE,
		     "who has no group has no time of return");
}

Test(taskless, without_a_task_a_call_is_given_up_at_once_when_it_was_overtaken_or_its_communicator_has_ended)
{
	struct glimpse op = returned_call();
	struct taskless_later later = { .launched = true };

	cr_expect_eq(taskless_why(&recording, &op, &later, RETURN_NS), RW_UNTRACKED_NO_TASK);
	op.known = 0;
	cr_expect_eq(taskless_why(&recording, &op, &later, RETURN_NS), RW_UNTRACKED_NONE, "still inside its group");
	op.group = 0;
	cr_expect_eq(taskless_why(&recording, &op, &later, RETURN_NS), RW_UNTRACKED_NO_TASK,
		     "it has no group to be inside of");
	op.group = 16;
	later = (struct taskless_later){ .ended = true };
	cr_expect_eq(taskless_why(&recording, &op, &later, RETURN_NS), RW_UNTRACKED_FINALIZE);
}

Test(taskless, broadcasts_have_no_events_since_nccl_2_29_2)
{
	struct glimpse op = returned_call();
	struct taskless_later later = { .launched = true };

	recording.nccl_version = 22901;
	cr_expect_eq(taskless_why(&recording, &op, &later, RETURN_NS), RW_UNTRACKED_NO_TASK);
	recording.nccl_version = 22902;
	cr_expect_eq(taskless_why(&recording, &op, &later, RETURN_NS), RW_UNTRACKED_BROADCAST);
	op.function = RW_FUNCTION_ALL_REDUCE;
	cr_expect_eq(taskless_why(&recording, &op, &later, RETURN_NS), RW_UNTRACKED_NO_TASK);
}

static uint32_t noted_over(uint32_t flags, uint64_t in_progress_ns, uint64_t settled_ns, uint32_t known)
{
	static struct rw_operation slot = { .ticket = 1 };
	struct glimpse op = returned_call();

	recording.box.ring = &slot;
	op.flags = flags;
	atomic_store(&slot.flags, flags);
	atomic_store(&recording.communicators[0].in_progress_ns, in_progress_ns);
	atomic_store(&recording.communicators[0].settled_ns, settled_ns);
	op.known = known;
	taskless_note_inside(&recording, &op, 1);
	return atomic_load(&slot.flags);
}

static uint32_t noted_inside(uint64_t in_progress_ns, uint64_t settled_ns, uint32_t known)
{
	return noted_over(0, in_progress_ns, settled_ns, known);
}

/* What ncclCommGetAsyncError(3) said last counts: of what was before the call, or has been settled since, it says
 * nothing. */
Test(taskless, a_call_has_returned_and_is_inside_while_nccl_last_said_in_progress)
{
	cr_expect_eq(noted_inside(RETURN_NS + 5, 0, RW_KNOWN_RETURN), RW_FLAG_IN_PROGRESS);
	cr_expect_eq(noted_inside(RETURN_NS, RETURN_NS - 1, RW_KNOWN_RETURN), RW_FLAG_IN_PROGRESS);
	cr_expect_eq(noted_inside(RETURN_NS + 5, RETURN_NS + 4, RW_KNOWN_RETURN), RW_FLAG_IN_PROGRESS);
	cr_expect_eq(noted_inside(RETURN_NS + 5, RETURN_NS + 5, RW_KNOWN_RETURN), 0);
	cr_expect_eq(noted_inside(RETURN_NS + 5, RETURN_NS + 6, RW_KNOWN_RETURN), 0);
	cr_expect_eq(noted_inside(RETURN_NS - 1, 0, RW_KNOWN_RETURN), 0);
	cr_expect_eq(noted_inside(RETURN_NS + 5, 0, 0), 0, "it has not returned, and is in no group's end");
}

Test(taskless, a_call_that_is_not_known_to_be_inside_any_more_is_noted_so)
{
	const uint32_t both = RW_FLAG_IN_PROGRESS | RW_FLAG_ENTERED;

	cr_expect_eq(noted_over(both, RETURN_NS + 5, 0, RW_KNOWN_RETURN), both, "it still is");
	cr_expect_eq(noted_over(both, RETURN_NS + 5, RETURN_NS + 5, RW_KNOWN_RETURN), RW_FLAG_ENTERED, "settled");
	cr_expect_eq(noted_over(both, 0, 0, RW_KNOWN_RETURN), RW_FLAG_ENTERED, "nobody answers any more");
	cr_expect_eq(noted_over(both, 0, 0, 0), both, "that its group was ending stays known");
}

Test(taskless, a_communicator_blocks_when_it_launches_on_its_callers_thread)
{
	taskless_launched(&taskless, &recording,
			  &(struct glimpse){ .group = 16, .api_tid = 1, .launch_tid = 2, .comm = 3 }, 1);
	cr_expect_not(recording.communicators[3].launches_here);
	taskless_launched(&taskless, &recording,
			  &(struct glimpse){ .group = 16, .api_tid = 2, .launch_tid = 2, .comm = 3 }, 2);
	cr_expect(recording.communicators[3].launches_here);
	cr_expect_not(recording.communicators[0].launches_here);
	cr_expect_not(was_overtaken(1, 32), "another communicator's launches overtake nothing");
}

Test(taskless, a_later_call_of_another_group_is_seen)
{
	struct taskless_later later;

	taskless_called(&taskless, &(struct glimpse){ .group = 16 }, 5);
	taskless_called(&taskless, &(struct glimpse){ .group = 32 }, 4);
	later = taskless_later(&taskless, &recording, 0, 5, 32);
	cr_expect_not(later.called, "not later");
	later = taskless_later(&taskless, &recording, 0, 4, 32);
	cr_expect(later.called, "the newest counts, not the last one told");
	later = taskless_later(&taskless, &recording, 0, 4, 16);
	cr_expect_not(later.called, "of the same group");
	cr_expect_not(later.ended);
	recording.communicators[0].ended = true;
	cr_expect(taskless_later(&taskless, &recording, 0, 4, 16).ended);
}
