/* SPDX-License-Identifier: MIT */
/* When a collector tells those who leave, lets nobody else in, and ends. */
#include <criterion/criterion.h>

#include "collector/life.h"

#define MS UINT64_C(1000000)

static const struct life_work nothing = { 0 };

Test(life, ends_when_there_has_been_nothing_to_do_for_a_while)
{
	struct life life = { .until_idle = true, .busy_ns = 1000 * MS };
	const struct life_work boxes = { .boxes = true }, listener = { .clients = 1 };

	cr_expect_not(life_is_over(&life, &nothing, 1001 * MS));
	cr_expect_not(life_is_over(&life, &boxes, 9000 * MS), "ranks live");
	cr_expect_not(life_is_over(&life, &listener, 9500 * MS), "somebody listens");
	cr_expect_not(life_is_over(&life, &nothing, (9500 + LIFE_IDLE_MS - 1) * MS), "counted from the last work");
	cr_expect(life_is_over(&life, &nothing, (9500 + LIFE_IDLE_MS) * MS));
}

/* On a crowded machine the answer itself may take longer than that: then boxes that wait to be read would not be. */
Test(life, waits_longer_for_a_directory_that_does_not_answer)
{
	struct life life = { .until_idle = true, .busy_ns = 1000 * MS };
	const struct life_work silent = { .silent = true };

	cr_expect_not(life_is_over(&life, &silent, (1000 + LIFE_IDLE_MS) * MS), "there may be boxes");
	cr_expect_not(life_is_over(&life, &silent, (1000 + LIFE_SILENT_MS - 1) * MS));
	cr_expect(life_is_over(&life, &silent, (1000 + LIFE_SILENT_MS) * MS), "but not for ever");
	cr_expect(life_is_over(&life, &nothing, (1000 + LIFE_IDLE_MS) * MS), "it answers, and holds nothing");
}

Test(life, does_not_end_by_itself_unless_told)
{
	struct life life = { .busy_ns = 1000 * MS };

	cr_expect_not(life_is_over(&life, &nothing, 1000000 * MS));
}

Test(life, a_launcher_waits_for_ranks_but_not_for_one_that_is_left_behind)
{
	struct life life = { .until_idle = true };
	const struct life_work work = { .boxes = true, .clients = 1, .leaving = 1 };

	cr_expect_not(life_owes_summary(&life, &work, 5000 * MS));
	cr_expect_not(life_owes_summary(&life, &work, (5000 + LIFE_LEAVE_MS - 1) * MS));
	cr_expect(life_owes_summary(&life, &work, (5000 + LIFE_LEAVE_MS) * MS));
}

Test(life, a_launcher_waits_for_boxes_that_are_saved_and_for_commands)
{
	const struct life_work works[] = { { .saving = true, .leaving = 1 }, { .commands = true, .leaving = 1 } };

	for (int i = 0; i < 2; i++) {
		struct life life = { .until_idle = true };

		cr_expect_not(life_owes_summary(&life, &works[i], 5000 * MS));
		cr_expect_not(life_owes_summary(&life, &works[i], (5000 + LIFE_SAVE_MS - 1) * MS));
		cr_expect(life_owes_summary(&life, &works[i], (5000 + LIFE_SAVE_MS) * MS));
	}
}

Test(life, the_next_launcher_that_leaves_waits_from_its_own_time_on)
{
	struct life life = { .until_idle = true };
	const struct life_work leaves = { .boxes = true, .clients = 1, .leaving = 1 },
			       stays = { .boxes = true, .clients = 1, .runs = 1 };

	cr_expect_not(life_owes_summary(&life, &leaves, 5000 * MS));
	cr_expect_not(life_owes_summary(&life, &stays, 9000 * MS));
	cr_expect_not(life_owes_summary(&life, &leaves, 9100 * MS));
	cr_expect(life_owes_summary(&life, &leaves, (9100 + LIFE_LEAVE_MS) * MS));
}

Test(life, the_last_launcher_that_has_its_summary_ends_it)
{
	struct life life = { .until_idle = true };
	const struct life_work leaves = { .clients = 1, .leaving = 1 }, answered = { .clients = 1 };

	cr_assert(life_owes_summary(&life, &leaves, 5000 * MS));
	cr_expect(life_part(&life, &answered, 5000 * MS), "nobody else is let in");
	cr_expect_not(life_is_over(&life, &answered, 5001 * MS), "it reads its summary");
	cr_expect(life_is_over(&life, &nothing, 5002 * MS), "and has gone");
}

Test(life, who_only_listens_does_not_keep_it_for_ever)
{
	struct life life = { .until_idle = true };
	const struct life_work listener = { .clients = 1 };

	cr_assert(life_part(&life, &listener, 5000 * MS));
	cr_expect_not(life_is_over(&life, &listener, (5000 + LIFE_LEAVE_MS - 1) * MS));
	cr_expect(life_is_over(&life, &listener, (5000 + LIFE_LEAVE_MS) * MS));
}

Test(life, goes_on_while_another_launcher_is_in_or_somebody_comes)
{
	struct life life = { .until_idle = true };
	const struct life_work one_more = { .clients = 1, .runs = 1 }, ranks = { .boxes = true };

	cr_expect_not(life_part(&life, &one_more, 5000 * MS));
	cr_expect_not(life_is_over(&life, &one_more, 9000 * MS));

	cr_expect_not(life_part(&life, &ranks, 9000 * MS), "the last has gone, and a rank is left behind");
	cr_expect_not(life_is_over(&life, &ranks, 9001 * MS));
	life_greet(&life);
	cr_expect_not(life_is_over(&life, &nothing, 9002 * MS), "who came may be the next launcher");
	cr_expect(life_is_over(&life, &nothing, (9001 + LIFE_IDLE_MS) * MS));
}
