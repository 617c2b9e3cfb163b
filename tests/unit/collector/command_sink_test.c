/* SPDX-License-Identifier: MIT */
/* Commands that are run for findings. What they say goes through files of a directory of the test's own. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/descriptor_limit.h"
#include "box_process.h"
#include "collector/sinks/command.h"

enum { DEADLINE_MS = 20000 };

static uv_loop_t loop;
static char command[512];

static void setup(void)
{
	signal(SIGPIPE, SIG_IGN); /* as the collector does */
	cr_redirect_stderr();
	uv_loop_init(&loop);
	cr_assert_eq(chdir(box_process_directory()), 0);
}

static void teardown(void)
{
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_expect_eq(uv_loop_close(&loop), 0, "no handle is left");
	box_process_cleanup();
}

TestSuite(command_sink, .init = setup, .fini = teardown, .timeout = 60);

static const char *contents(const char *name)
{
	static char text[1024];
	FILE *file = fopen(name, "r");
	size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

	text[length] = '\0';
	if (file)
		fclose(file);
	return text;
}

static void expect_said(const char *part)
{
	static char text[4096];
	FILE *said = cr_get_redirected_stderr();

	fflush(stderr);
	text[fread(text, 1, sizeof(text) - 1, said)] = '\0';
	cr_expect(strstr(text, part), "\"%s\" in \"%s\"", part, text);
}

static unsigned run_for(struct command_sink *sink, const char *const *lines)
{
	for (; *lines; lines++)
		command_sink_put(sink, *lines);
	command_sink_finish(sink, DEADLINE_MS);
	unsigned pending = command_sink_pending(sink);

	command_sink_close(sink);
	return pending;
}

Test(command_sink, lines_come_one_after_the_other_each_to_a_command_of_its_own)
{
	struct command_sink *sink = command_sink_open(&loop, "echo begin >>log; cat /dev/stdin >>log; echo end >>log",
						      DEADLINE_MS);

	cr_expect_eq(run_for(sink, (const char *[]){ "{\"a\":1}", "{\"b\":2}", NULL }), 0);
	cr_expect_str_eq(contents("log"), "begin\n{\"a\":1}\nend\nbegin\n{\"b\":2}\nend\n");
}

Test(command_sink, a_command_may_open_as_many_files_as_before_the_collector_raised_its_limit)
{
	struct rlimit limit;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_assert_gt(limit.rlim_max, 250);
	limit.rlim_cur = 250;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	descriptor_limit_raise();
	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	cr_expect_eq(limit.rlim_cur, limit.rlim_max);

	struct command_sink *sink = command_sink_open(&loop, "ulimit -S -n >log; cat >>log", DEADLINE_MS);

	cr_expect_eq(run_for(sink, (const char *[]){ "{}", NULL }), 0);
	cr_expect_str_eq(contents("log"), "250\n{}\n");
}

Test(command_sink, a_command_that_fails_is_told_once_and_run_again)
{
	struct command_sink *sink = command_sink_open(&loop, "echo x >>log; echo noise; exit 3", DEADLINE_MS);

	cr_expect_eq(run_for(sink, (const char *[]){ "one", "two", NULL }), 0);
	cr_expect_str_eq(contents("log"), "x\nx\n");
	cr_assert_stderr_eq_str("rankwatch: the command of --on-finding: exit status 3 (said once)\n");
}

Test(command_sink, one_that_does_not_read_a_long_line_harms_nobody)
{
	struct command_sink *sink = command_sink_open(&loop, "exec <&-; echo x >>log", DEADLINE_MS);
	static char line[1 << 20];

	memset(line, 'a', sizeof(line) - 1);
	cr_expect_eq(run_for(sink, (const char *[]){ line, "two", NULL }), 0);
	cr_expect_str_eq(contents("log"), "x\nx\n");
}

Test(command_sink, one_that_takes_too_long_is_killed_with_its_children)
{
	struct command_sink *sink = command_sink_open(&loop, "sleep 1000 & echo $! >child; wait", 300);

	cr_expect_eq(run_for(sink, (const char *[]){ "one", NULL }), 0);
	expect_said("killed: it took longer than 0.3 s");
	pid_t child = atoi(contents("child"));
	cr_assert_gt(child, 0);
	/* Nobody of ours reaps it: until init does it is there, dead. A signal is sent at once and taken when it gets a
	 * CPU. */
	snprintf(command, sizeof(command), "grep -q \"^State:.*[RSD]\" /proc/%d/status", child);
	for (int waited = 0; system(command) == 0; waited += 10, usleep(10000))
		cr_assert_lt(waited, DEADLINE_MS);
}

Test(command_sink, what_is_left_at_the_end_is_killed_and_said)
{
	struct command_sink *sink = command_sink_open(&loop, "sleep 1000", DEADLINE_MS);

	command_sink_put(sink, "one");
	command_sink_put(sink, "two");
	command_sink_finish(sink, 100);
	cr_expect_eq(command_sink_pending(sink), 2);
	expect_said("not run to its end for 2 findings: no time");
	while (command_sink_pending(sink) == 2)
		uv_run(&loop, UV_RUN_ONCE);
	command_sink_finish(sink, 0);
	while (command_sink_pending(sink))
		uv_run(&loop, UV_RUN_ONCE);
	command_sink_close(sink);
}

Test(command_sink, more_than_the_queue_holds_is_left_out_and_said)
{
	struct command_sink *sink = command_sink_open(&loop, "cat >>log", DEADLINE_MS);

	for (int i = 0; i < COMMAND_SINK_QUEUE + 10; i++)
		command_sink_put(sink, "x");
	cr_expect_eq(command_sink_pending(sink), COMMAND_SINK_QUEUE + 1);
	cr_expect_eq(run_for(sink, (const char *[]){ NULL }), 0);
	cr_expect_eq(strlen(contents("log")), 2 * (COMMAND_SINK_QUEUE + 1));
	expect_said("some are left out");
}

Test(command_sink, without_one_nothing_happens)
{
	command_sink_put(NULL, "x");
	command_sink_finish(NULL, 0);
	cr_expect_eq(command_sink_pending(NULL), 0);
	command_sink_close(NULL);
}
