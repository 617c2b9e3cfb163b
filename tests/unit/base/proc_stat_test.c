/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/proc_stat.h"
#include "base/small_file.h"

/* A process may call itself what it likes. */
static const char line[] =
    "4711 (a) R 1 (b) S) Z 1 4711 4711 34816 4711 4194304 133 0 0 0 14 15 16 17 20 0 1 0 2200 9 5 "
    "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 256\n";

Test(proc_stat, fields_follow_the_names_last_bracket)
{
	uint64_t number;

	cr_assert(proc_stat_text(line, PROC_STAT_STATE));
	cr_expect_eq(*proc_stat_text(line, PROC_STAT_STATE), 'Z');
	cr_expect(proc_stat_number(line, PROC_STAT_USER_TICKS, &number) && number == 14);
	cr_expect(proc_stat_number(line, PROC_STAT_SYSTEM_TICKS, &number) && number == 15);
	cr_expect(proc_stat_number(line, PROC_STAT_PARENT, &number) && number == 1);
	cr_expect(proc_stat_number(line, PROC_STAT_ENDED_USER_TICKS, &number) && number == 16);
	cr_expect(proc_stat_number(line, PROC_STAT_ENDED_SYSTEM_TICKS, &number) && number == 17);
	cr_expect(proc_stat_number(line, PROC_STAT_START_TICKS, &number) && number == 2200);
	cr_expect(proc_stat_number(line, PROC_STAT_EXIT_CODE, &number) && number == 256);
	cr_expect_not(proc_stat_number(line, PROC_STAT_STATE, &number), "a letter");
}

Test(proc_stat, a_line_that_ends_early_has_no_more_fields)
{
	static const char *const lines[] = { "", "4711", "4711 (a", "4711 (a)", "4711 (a) ", "4711 (a)\n" };
	uint64_t number;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		cr_expect_null(proc_stat_text(lines[i], PROC_STAT_STATE), "%s", lines[i]);
		cr_expect_not(proc_stat_number(lines[i], PROC_STAT_START_TICKS, &number), "%s", lines[i]);
	}
	cr_expect_not(proc_stat_number("4711 (a) S 1 2", PROC_STAT_START_TICKS, &number));
	cr_expect_not(
	    proc_stat_number("1 (a) S 1 2 3 4 5 6 7 8 9 10 99999999999999999999 1", PROC_STAT_USER_TICKS, &number),
	    "too large");
	cr_expect_not(proc_stat_number("1 (a) S 1 2 3 4 5 6 7 8 9 10 -7 1", PROC_STAT_USER_TICKS, &number));
}

Test(proc_stat, ones_own_line_is_understood)
{
	char text[1024];
	uint64_t start = 0;

	cr_assert_gt(small_file_read(AT_FDCWD, "/proc/self/stat", text, sizeof(text)), 0);
	cr_expect_eq(*proc_stat_text(text, PROC_STAT_STATE), 'R');
	cr_expect(proc_stat_number(text, PROC_STAT_START_TICKS, &start) && start > 0);
}

Test(small_file, what_comes_in_pieces_is_read_as_a_whole_and_cut_where_there_is_no_room)
{
	static char text[1 << 20];
	int ends[2];

	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(write(ends[1], "one ", 4), 4);
	pid_t child = fork();

	if (!child) {
		close(ends[0]);
		usleep(1000); /* for a second piece; one is as right */
		_exit(write(ends[1], "two", 3) != 3);
	}
	close(ends[1]);
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	cr_expect_eq(small_file_read(AT_FDCWD, path, text, sizeof(text)), 7);
	cr_expect_str_eq(text, "one two");
	cr_expect_eq(small_file_read(AT_FDCWD, "/proc/self/status", text, 5), 4);
	cr_expect_str_eq(text, "Name");
}

Test(small_file, an_error_leaves_an_empty_text)
{
	char text[8] = "before";

	cr_expect_eq(small_file_read(AT_FDCWD, "/proc/self/none", text, sizeof(text)), -ENOENT);
	cr_expect_str_eq(text, "");
	strcpy(text, "before");
	cr_expect_eq(small_file_read(AT_FDCWD, "/proc", text, sizeof(text)), -EISDIR);
	cr_expect_str_eq(text, "");
}
