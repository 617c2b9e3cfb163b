/* SPDX-License-Identifier: MIT */
/* Findings on their way to files that are slow, late or never there: the caller never waits, and nothing is lost in
 * silence. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/in_time.h"
#include "finding/line_sink.h"

/* Longer than any wait here takes, also where others have the processors. */
enum { LONG_MS = 50000 };

static char directory[] = "/tmp/rankwatch-lines-XXXXXX", path[64];

static void begin(void)
{
	cr_redirect_stderr();
	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/lines", directory);
}

static void end(void)
{
	unlink(path);
	rmdir(directory);
}

TestSuite(line_sink, .init = begin, .fini = end, .timeout = 240);

static long long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* What was said on stderr; whole when everybody who could say something is gone. */
static void expect_said(const char *sentence)
{
	char said[8192];

	fflush(stderr);
	FILE *stream = cr_get_redirected_stderr();
	int flags = fcntl(fileno(stream), F_GETFL);
	size_t used = 0;
	ssize_t got;

	fcntl(fileno(stream), F_SETFL, flags | O_NONBLOCK);
	while ((got = read(fileno(stream), said + used, sizeof(said) - 1 - used)) > 0)
		used += (size_t)got;
	said[used] = '\0';
	cr_expect_not_null(strstr(said, sentence), "\"%s\" is not in: %s", sentence, said);
}

static struct line_sink *open_sink(void)
{
	struct line_sink *sink = line_sink_open(path, "test");

	cr_assert_not_null(sink);
	return sink;
}

static void expect_content(const char *expected)
{
	char content[256] = "";
	int fd = open(path, O_RDONLY);

	cr_assert_geq(fd, 0);
	cr_assert_geq(read(fd, content, sizeof(content) - 1), 0);
	close(fd);
	cr_expect_str_eq(content, expected);
}

Test(line_sink, lines_are_appended_to_a_file)
{
	struct line_sink *sink = open_sink();

	line_sink_put(sink, "one");
	line_sink_put(sink, "two");
	line_sink_close(sink, LONG_MS);
	sink = open_sink();
	cr_expect_eq(line_sink_await(sink, LONG_MS), 0);
	line_sink_put(sink, "three");
	line_sink_close(sink, LONG_MS);
	expect_content("one\ntwo\nthree\n");
}

Test(line_sink, a_fifo_without_a_reader_holds_nobody_up_and_its_lines_wait)
{
	char read_back[64] = "";

	cr_assert_eq(mkfifo(path, 0600), 0);
	struct line_sink *sink = open_sink();

	line_sink_put(sink, "early");
	line_sink_tick(sink);
	line_sink_await(sink, LONG_MS);
	line_sink_tick(sink);
	expect_said("test: /tmp/rankwatch-lines-");
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	line_sink_put(sink, "late");
	while (strlen(read_back) < strlen("early\nlate\n")) {
		line_sink_tick(sink);
		poll(&wait, 1, 100);
		size_t used = strlen(read_back);

		if (read(fd, read_back + used, sizeof(read_back) - 1 - used) < 0)
			cr_assert_eq(errno, EAGAIN);
	}
	cr_expect_str_eq(read_back, "early\nlate\n");
	line_sink_close(sink, LONG_MS);
	close(fd);
	expect_said("is open now");
}

Test(line_sink, what_nobody_ever_read_is_said_at_the_end)
{
	cr_assert_eq(mkfifo(path, 0600), 0);
	struct line_sink *sink = open_sink();
	long long begin_ms = now_ms();

	line_sink_put(sink, "one");
	line_sink_put(sink, "two");
	line_sink_close(sink, 300);
	cr_expect_lt(now_ms() - begin_ms, LONG_MS);
	expect_said("2 findings were not written there: nobody read it");
}

Test(line_sink, without_a_line_the_end_does_not_wait_for_a_reader)
{
	cr_assert_eq(mkfifo(path, 0600), 0);
	struct line_sink *sink = open_sink();
	long long begin_ms = now_ms();

	line_sink_close(sink, 2 * LONG_MS);
	cr_expect_lt(now_ms() - begin_ms, LONG_MS);
}

Test(line_sink, a_fifo_that_is_read_again_later_gets_what_came_meanwhile)
{
	char read_back[64] = "";

	cr_assert_eq(mkfifo(path, 0600), 0);
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	struct line_sink *sink = open_sink();

	cr_expect_eq(line_sink_await(sink, LONG_MS), 0);
	close(fd);
	line_sink_put(sink, "nobody is there");
	fd = open(path, O_RDONLY); /* waits for the writer, who tries again and again */
	cr_assert_gt(read(fd, read_back, sizeof(read_back) - 1), 0);
	cr_expect_str_eq(read_back, "nobody is there\n");
	line_sink_close(sink, LONG_MS);
	close(fd);
}

Test(line_sink, a_file_that_cannot_be_opened_is_said_and_not_tried_again)
{
	snprintf(path, sizeof(path), "%s/no/lines", directory);
	struct line_sink *sink = open_sink();

	cr_expect_eq(line_sink_await(sink, LONG_MS), -ENOENT);
	line_sink_put(sink, "one");
	line_sink_close(sink, LONG_MS);
	expect_said("No such file or directory: findings are not written there");
}

Test(line_sink, a_full_disk_is_said)
{
	strcpy(path, "/dev/full");
	struct line_sink *sink = open_sink();

	line_sink_put(sink, "one");
	line_sink_close(sink, LONG_MS);
	strcpy(path, "/nothing/to/unlink");
	expect_said("No space left on device: findings are not written there");
}

Test(line_sink, names_of_our_own_descriptors_lead_to_them)
{
	char read_back[64] = "";
	int ends[2];

	cr_assert_eq(pipe(ends), 0);
	snprintf(path, sizeof(path), "/dev/fd/%d", ends[1]);
	struct line_sink *sink = open_sink();

	line_sink_put(sink, "one");
	line_sink_close(sink, LONG_MS);
	snprintf(path, sizeof(path), "%s/lines", directory);
	cr_assert_gt(read(ends[0], read_back, sizeof(read_back) - 1), 0);
	cr_expect_str_eq(read_back, "one\n");
}

Test(line_sink, what_waits_is_bounded_and_what_is_left_out_is_counted)
{
	static char line[1 << 20];

	memset(line, 'x', sizeof(line) - 1);
	cr_assert_eq(mkfifo(path, 0600), 0);
	struct line_sink *sink = open_sink();

	for (int i = 0; i < 8; i++)
		line_sink_put(sink, line);
	line_sink_close(sink, 10);
	expect_said("too many findings wait for it");
}

Test(line_sink, a_long_line_passes_through_a_pipe_whole)
{
	static char line[300000], read_back[300002];
	size_t used = 0;

	memset(line, 'y', sizeof(line) - 1);
	cr_assert_eq(mkfifo(path, 0600), 0);
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	struct line_sink *sink = open_sink();
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	line_sink_put(sink, line);
	for (long long begin_ms = now_ms(); used < sizeof(line) && now_ms() - begin_ms < LONG_MS;) {
		line_sink_tick(sink);
		poll(&wait, 1, 50);
		ssize_t got = read(fd, read_back + used, sizeof(read_back) - 1 - used);

		used += got > 0 ? (size_t)got : 0;
	}
	cr_expect_eq(used, sizeof(line));
	cr_expect_eq(memcmp(read_back, line, sizeof(line) - 1), 0);
	line_sink_close(sink, LONG_MS);
}

static void never(const void *argument, void *result)
{
	(void)argument, (void)result;
	for (;;)
		pause();
}

static void answer(const void *argument, void *result)
{
	*(int *)result = *(const int *)argument + (fcntl(STDERR_FILENO, F_GETFD) < 0);
}

Test(in_time, work_that_does_not_end_is_given_up, .timeout = 120)
{
	int result, seven = 7;
	long long begin_ms = now_ms();

	cr_expect_eq(in_time_call(never, NULL, &result, sizeof(result), 100), -ETIMEDOUT);
	cr_expect_lt(now_ms() - begin_ms, LONG_MS);
	cr_expect_eq(in_time_call(answer, &seven, &result, sizeof(result), LONG_MS), 0);
	cr_expect_eq(result, 7);
}

static void wait_for_byte(const void *argument, void *result)
{
	char byte;

	*(int *)result = read(*(const int *)argument, &byte, 1) == 1 ? byte : -1;
}

/* The descriptor is opened anew in the child: it has none of ours. */
static void open_and_wait(const void *argument, void *result)
{
	int fd = open(argument, O_RDONLY | O_CLOEXEC);

	wait_for_byte(&fd, result);
}

Test(in_time, work_that_is_begun_is_asked_for_without_waiting, .init = begin, .fini = end, .timeout = 120)
{
	struct in_time_work begun;
	int result;

	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_assert_eq(in_time_begin(&begun, open_and_wait, path, sizeof(result)), 0);
	cr_expect_eq(in_time_result(&begun, &result, 0), -EAGAIN);
	cr_expect_eq(in_time_result(&begun, &result, 1), -EAGAIN, "it goes on");
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	cr_assert_eq(write(fd, "\7", 1), 1);
	cr_expect_eq(in_time_result(&begun, &result, LONG_MS), 0);
	cr_expect_eq(result, 7);
	cr_expect_eq(in_time_result(&begun, &result, 0), -ESRCH, "it is over");
	close(fd);
	cr_assert_eq(in_time_begin(&begun, open_and_wait, path, sizeof(result)), 0);
	pid_t child = begun.child;

	in_time_give_up(&begun);
	in_time_give_up(&begun);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	cr_expect_eq(kill(child, 0), -1, "whom it was given to is gone");
}

Test(in_time, a_file_is_opened_by_somebody_else_and_is_ours, .init = begin, .fini = end, .timeout = 240)
{
	char content[8] = "";
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	cr_assert_eq(write(fd, "seven", 5), 5);
	close(fd);
	fd = in_time_open(path, O_RDONLY | O_NONBLOCK, LONG_MS);
	cr_assert_geq(fd, 0);
	cr_expect_eq(read(fd, content, sizeof(content) - 1), 5);
	cr_expect_str_eq(content, "seven");
	cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	unlink(path);
	cr_expect_eq(in_time_open(path, O_RDONLY | O_NONBLOCK, LONG_MS), -ENOENT);
}
