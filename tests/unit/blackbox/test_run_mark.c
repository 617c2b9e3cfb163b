/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blackbox/run_mark.h"
#include "tests/unit/blackbox/fixture.h"

#define OLD_S 1000

static char place[128], other[160];

static const char *in_place(const char *name)
{
	snprintf(other, sizeof(other), "%s/%s", place, name);
	return other;
}

static void touch(const char *name)
{
	int fd = open(in_place(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	close(fd);
}

static void setup(void)
{
	snprintf(place, sizeof(place), "%s/run", fixture_directory());
	cr_assert_eq(mkdir(place, 0700), 0);
}

TestSuite(run_mark, .init = setup, .fini = fixture_remove);

static void make_old(const char *name)
{
	const struct timespec times[] = { { OLD_S, 0 }, { OLD_S, 123456789 } };

	cr_assert_eq(utimensat(AT_FDCWD, in_place(name), times, 0), 0);
}

Test(run_mark, a_mark_beside_a_box_says_when_it_was_left_last)
{
	struct stat status;

	touch("rank0-1.rwbox");
	int before = fixture_descriptors();

	cr_assert_eq(run_mark_leave(place, RUN_MARK_FINDINGS), 0);
	cr_assert_eq(stat(in_place("run.findings"), &status), 0);
	cr_expect_eq(status.st_mode, S_IFREG | 0600);
	cr_expect_eq(status.st_size, 0);
	make_old("run.findings");
	cr_expect_eq(run_mark_time_ns(place, RUN_MARK_FINDINGS), OLD_S * INT64_C(1000000000) + 123456789);
	cr_expect_eq(run_mark_time_ns(place, RUN_MARK_FAILED), 0, "each of its own");
	cr_assert_eq(run_mark_leave(place, RUN_MARK_FINDINGS), 0);
	cr_expect_gt(run_mark_time_ns(place, RUN_MARK_FINDINGS), 2 * OLD_S * INT64_C(1000000000), "renewed");
	cr_assert_eq(run_mark_leave(place, RUN_MARK_FAILED), 0);
	cr_expect_gt(run_mark_time_ns(place, RUN_MARK_FAILED), 0);
	cr_expect_eq(fixture_descriptors(), before);
}

Test(run_mark, without_a_box_no_mark_is_left)
{
	int before = fixture_descriptors();

	touch("notes.txt");
	cr_expect_eq(run_mark_leave(place, RUN_MARK_FINDINGS), -ENOENT);
	cr_expect_eq(run_mark_time_ns(place, RUN_MARK_FINDINGS), 0);
	cr_expect_neq(access(in_place("run.findings"), F_OK), 0);
	cr_expect_eq(run_mark_leave(in_place("nowhere"), RUN_MARK_FINDINGS), -ENOENT);
	cr_expect_eq(run_mark_time_ns(in_place("nowhere"), RUN_MARK_FINDINGS), 0);
	cr_expect_eq(fixture_descriptors(), before);
}

Test(run_mark, a_directory_that_is_a_link_or_somebody_elses_gets_none)
{
	char link[160];
	int before = fixture_descriptors();

	touch("rank0-1.rwbox");
	cr_assert_eq(run_mark_leave(place, RUN_MARK_FINDINGS), 0);
	snprintf(link, sizeof(link), "%s/link", fixture_directory());
	cr_assert_eq(symlink(place, link), 0);
	cr_expect_lt(run_mark_leave(link, RUN_MARK_FAILED), 0);
	cr_expect_eq(run_mark_time_ns(link, RUN_MARK_FINDINGS), 0);
	cr_expect_lt(run_mark_leave(in_place("rank0-1.rwbox"), RUN_MARK_FAILED), 0, "a file is no directory");
	if (!geteuid()) {
		cr_assert_eq(chown(place, 1, (gid_t)-1), 0);
		cr_expect_eq(run_mark_leave(place, RUN_MARK_FAILED), -EPERM);
		cr_expect_eq(run_mark_time_ns(place, RUN_MARK_FINDINGS), 0);
		cr_assert_eq(chown(place, 0, (gid_t)-1), 0);
	}
	cr_expect_eq(run_mark_time_ns(place, RUN_MARK_FAILED), 0);
	cr_expect_eq(fixture_descriptors(), before);
}

Test(run_mark, what_lies_there_under_its_name_is_neither_followed_nor_waited_for, .timeout = 20)
{
	int before = fixture_descriptors();

	touch("rank0-1.rwbox");
	touch("precious");
	make_old("precious");
	cr_assert_eq(symlink("precious", in_place("run.findings")), 0);
	cr_expect_eq(run_mark_leave(place, RUN_MARK_FINDINGS), -ELOOP);
	cr_expect_eq(run_mark_time_ns(place, RUN_MARK_FINDINGS), 0);
	cr_assert_eq(mkfifo(in_place("run.failed"), 0600), 0);
	cr_expect_eq(run_mark_leave(place, RUN_MARK_FAILED), -ENXIO);
	cr_expect_eq(run_mark_time_ns(place, RUN_MARK_FAILED), 0);
	cr_expect_eq(fixture_descriptors(), before);
}

Test(run_mark, boxes_are_found_saved_or_not_and_where_nobody_can_look_they_may_be)
{
	int directory = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC), before = fixture_descriptors();

	cr_expect_not(run_mark_holds_box(directory));
	touch("rwbox");
	touch(".rwbox");
	cr_expect_not(run_mark_holds_box(directory), "a name needs more than the suffix");
	touch("a.rwbox");
	cr_expect(run_mark_holds_box(directory));
	cr_assert_eq(unlink(in_place("a.rwbox")), 0);
	touch("a.rwbox.gz");
	cr_expect(run_mark_holds_box(directory));
	cr_expect_eq(fixture_descriptors(), before);
	cr_expect(run_mark_holds_box(-1));
	close(directory);
}

Test(run_mark, clearing_removes_the_marks_and_nothing_else)
{
	int directory = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	touch("rank0-1.rwbox");
	cr_assert_eq(run_mark_leave(place, RUN_MARK_FINDINGS), 0);
	cr_assert_eq(run_mark_leave(place, RUN_MARK_FAILED), 0);
	run_mark_clear(directory);
	cr_expect_eq(run_mark_time_ns(place, RUN_MARK_FINDINGS), 0);
	cr_expect_eq(run_mark_time_ns(place, RUN_MARK_FAILED), 0);
	cr_expect_eq(access(in_place("rank0-1.rwbox"), F_OK), 0);
	close(directory);
}
