/* SPDX-License-Identifier: MIT */
/* Numbers of threads in a pid namespace of their own: /proc is played by files. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/host/inner_threads.h"

static const uint64_t second_ns = 1000000000;
static char root[64];

static void say(const char *path, const char *numbers)
{
	char name[160];

	snprintf(name, sizeof(name), "%s/%s", root, path);
	FILE *file = fopen(name, "w");

	cr_assert(file);
	fprintf(file, "Name:\tpython\nUmask:\t0022\nNSpid:%s\nNSpgid:\t1\t1\t1\n", numbers);
	fclose(file);
}

static void make(const char *path)
{
	char name[160];

	snprintf(name, sizeof(name), "%s/%s", root, path);
	cr_assert_eq(mkdir(name, 0700), 0);
}

static void begin(void)
{
	snprintf(root, sizeof(root), "/tmp/rankwatch-test.XXXXXX");
	cr_assert(mkdtemp(root));
	make("4711"), make("4711/task"), make("4711/task/4712"), make("12");
	say("4711/status", "\t4711\t6");
	say("4711/task/4712/status", "\t4712\t7");
	say("12/status", "\t12");
}

static void end(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -r %s", root);
	cr_expect_eq(system(command), 0);
}

TestSuite(inner_threads, .init = begin, .fini = end);

Test(inner_threads, a_container_s_thread_is_told_by_its_own_number)
{
	struct inner_threads *threads;

	cr_assert_eq(inner_threads_open(&threads, root, 4711), 0);
	cr_assert(threads);
	cr_expect_eq(inner_threads_number(threads, 4712, second_ns), 7);
	cr_expect_eq(inner_threads_number(threads, 4713, second_ns), 0, "it has ended");
	cr_expect_eq(inner_threads_number(threads, 0, second_ns), 0, "nobody");
	inner_threads_close(threads);
}

Test(inner_threads, a_number_that_was_given_again_is_asked_for_again)
{
	struct inner_threads *threads;

	cr_assert_eq(inner_threads_open(&threads, root, 4711), 0);
	cr_expect_eq(inner_threads_number(threads, 4712, second_ns), 7);
	say("4711/task/4712/status", "\t4712\t300");
	cr_expect_eq(inner_threads_number(threads, 4712, 2 * second_ns), 7, "not each time");
	cr_expect_eq(inner_threads_number(threads, 4712, 62 * second_ns), 300);
	for (uint32_t tid = 10000; tid < 11000; tid++)
		cr_expect_eq(inner_threads_number(threads, tid, 63 * second_ns), 0);
	cr_expect_eq(inner_threads_number(threads, 4712, 64 * second_ns), 300);
	inner_threads_close(threads);
}

Test(inner_threads, namespaces_in_namespaces_are_followed_to_the_innermost)
{
	struct inner_threads *threads;

	say("4711/status", "\t4711\t600\t1");
	say("4711/task/4712/status", "\t4712\t601\t2");
	cr_assert_eq(inner_threads_open(&threads, root, 4711), 0);
	cr_expect_eq(inner_threads_number(threads, 4712, second_ns), 2);
	inner_threads_close(threads);
}

Test(inner_threads, elsewhere_nothing_has_to_be_translated)
{
	struct inner_threads *threads;

	cr_expect_eq(inner_threads_open(&threads, root, 12), 0);
	cr_expect_null(threads);
	cr_expect_eq(inner_threads_open(&threads, root, 13), -ESRCH);
	cr_expect_null(threads);
}
