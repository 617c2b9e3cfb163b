/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel_log/kernel_log.h"

struct heard {
	unsigned int count;
	struct analysis_gpu_event last;
};

static void on_event(void *argument, const struct analysis_gpu_event *event)
{
	struct heard *heard = argument;

	heard->count++;
	heard->last = *event;
}

static const char line[] = "3,7,1500000,-;NVRM: Xid (PCI:0000:3b:00): 48, pid=9, name=python, DBE\n SUBSYSTEM=pci\n";

static void append(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0600);

	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void temporary(char path[64])
{
	strcpy(path, "/tmp/rankwatch-test-XXXXXX");
	close(mkstemp(path));
}

Test(kernel_log, what_was_there_has_the_logs_time_and_what_comes_has_ours)
{
	struct kernel_log *log;
	struct heard heard = { 0 };
	char path[64];

	temporary(path);
	append(path, line);
	cr_assert_eq(kernel_log_open(&log, path), 0);
	cr_expect_eq(kernel_log_poll(log, 9000000000, on_event, &heard), 1);
	cr_expect_eq(heard.last.at_ns, 1500000000);
	cr_expect_eq(heard.last.xid, 48);
	cr_expect_eq(heard.last.pid, 9);
	cr_expect_eq(heard.last.source, ANALYSIS_GPU_KERNEL_LOG);
	append(path, line);
	cr_expect_eq(kernel_log_poll(log, 9500000000, on_event, &heard), 1);
	cr_expect_eq(heard.last.at_ns, 9500000000);
	cr_expect_eq(kernel_log_poll(log, 9600000000, on_event, &heard), 0);
	kernel_log_close(log);
	unlink(path);
}

Test(kernel_log, a_line_in_two_pieces_is_one_and_endless_ones_are_dropped)
{
	struct kernel_log *log;
	struct heard heard = { 0 };
	char path[64], *endless = malloc(60001);

	temporary(path);
	cr_assert_eq(kernel_log_open(&log, path), 0);
	append(path, "3,7,15,-;NVRM: Xid (PCI:0000:3b");
	cr_expect_eq(kernel_log_poll(log, 1000, on_event, &heard), 0);
	append(path, ":00): 63, row\n");
	cr_expect_eq(kernel_log_poll(log, 2000, on_event, &heard), 1);
	memset(endless, 'x', 60000);
	endless[60000] = '\0';
	append(path, endless);
	append(path, "\n");
	append(path, line);
	cr_expect_eq(kernel_log_poll(log, 3000, on_event, &heard), 1);
	kernel_log_close(log);
	unlink(path);
	free(endless);
}

Test(kernel_log, a_fifo_does_not_block)
{
	struct kernel_log *log;
	struct heard heard = { 0 };
	char path[64];

	temporary(path);
	unlink(path);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(kernel_log_open(&log, path), 0);
	cr_expect_eq(kernel_log_poll(log, 1000, on_event, &heard), 0);
	append(path, line);
	cr_expect_eq(kernel_log_poll(log, 2000, on_event, &heard), 1);
	cr_expect_eq(kernel_log_poll(log, 3000, on_event, &heard), 0);
	kernel_log_close(log);
	unlink(path);
}

Test(kernel_log, one_that_is_read_when_all_is_over_keeps_its_own_times_and_tells_what_it_has_lost)
{
	static const char *const logs[] = { "6,0,1000,-;boot\n", "6,900,1000,-;later\n" };

	for (size_t i = 0; i < 2; i++) {
		struct kernel_log *log;
		struct heard heard = { 0 };
		char path[64];

		temporary(path);
		append(path, logs[i]);
		for (int k = 0; k < 5000; k++)
			append(path, "6,901,1001,-;x\n");
		append(path, line);
		cr_assert_eq(kernel_log_open(&log, path), 0);
		cr_expect_eq(kernel_log_read_all(log, on_event, &heard), 0);
		cr_expect_eq(heard.count, 1);
		cr_expect_eq(heard.last.at_ns, 1500000000);
		cr_expect_eq(kernel_log_begins(log), i ? 1000000 : 0);
		kernel_log_close(log);
		unlink(path);
	}
}

static void on_oom(void *argument, int32_t pid, uint64_t at_ns)
{
	int32_t *sum = argument;

	*sum += pid;
	cr_expect_eq(at_ns, 2500000000);
}

/* The lines of Linux 6.18, before 5.1, and what is none of them: other text, and a program that wrote to the log. */
Test(kernel_log, whom_the_oom_killer_has_killed_is_told_to_who_asks)
{
	static const char *const lines[] = {
		"3,7,2500000,-;Memory cgroup out of memory: Killed process 20000 (python-main) total-vm:767200kB\n",
		"3,8,2500000,-;Out of memory: Killed process 3000 (a) (b) total-vm:1kB, UID:0\n",
		"3,9,2500000,-;Killed process 400 (python), UID 0, total-vm:1kB\n",
		"6,9,2500000,-;oom-kill:constraint=CONSTRAINT_MEMCG,task=python,pid=50,uid=0\n",
		"12,9,2500000,-;Out of memory: Killed process 6 (python) total-vm:1kB\n",
		"3,9,2500000,-;Out of memory: Killed process -7 (python)\n",
		"3,9,2500000,-;Out of memory: Killed process x (python)\n",
	};
	struct heard heard = { 0 };
	struct kernel_log *log;
	int32_t sum = 0;
	char path[64];

	temporary(path);
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		append(path, lines[i]);
	cr_assert_eq(kernel_log_open(&log, path), 0);
	kernel_log_hear_oom(log, on_oom, &sum);
	cr_expect_eq(kernel_log_read_all(log, on_event, &heard), 0);
	cr_expect_eq(sum, 23400);
	cr_expect_eq(heard.count, 0);
	kernel_log_close(log);
	unlink(path);
}

Test(kernel_log, one_that_is_not_there_is_an_error)
{
	struct kernel_log *log;

	cr_expect_eq(kernel_log_open(&log, "/nonexistent/kmsg"), -ENOENT);
	cr_expect_null(log);
	kernel_log_close(log);
}
