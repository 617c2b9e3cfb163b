/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/guest/message.h"

static void expect_nothing_pending(void)
{
	sigset_t pending, blocked;

	sigpending(&pending);
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	cr_expect_not(sigismember(&pending, SIGPIPE) || sigismember(&pending, SIGXFSZ));
	cr_expect_not(sigismember(&blocked, SIGPIPE) || sigismember(&blocked, SIGXFSZ));
}

Test(message, standard_error_that_nobody_reads_any_more_kills_no_job)
{
	int ends[2];

	signal(SIGPIPE, SIG_DFL);
	cr_assert_eq(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	close(ends[0]);
	message("nobody reads this");
	expect_nothing_pending();
}

Test(message, a_pipe_that_is_full_holds_up_no_job, .timeout = 30)
{
	static char filling[4096];
	int ends[2];

	cr_assert_eq(pipe(ends), 0);
	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	while (write(ends[1], filling, sizeof(filling)) > 0)
		;
	cr_assert_eq(errno, EAGAIN);
	fcntl(ends[1], F_SETFL, 0);
	dup2(ends[1], STDERR_FILENO);
	message("nobody has room for this");
}

Test(message, a_log_at_the_limit_of_file_sizes_kills_no_job)
{
	char path[] = "/tmp/rankwatch-message.XXXXXX";
	struct rlimit limit = { 4, 4 };
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, "full", 4), 4);
	cr_assert_eq(message_to(path), 0);
	unlink(path);
	signal(SIGXFSZ, SIG_DFL);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	message("no room for this");
	expect_nothing_pending();
}

static _Atomic int held = -1; /* file whose writes do not return, as on a mount that does not answer */
static _Atomic bool asleep;

/* Of the program under test, too. */
ssize_t write(int fd, const void *bytes, size_t size)
{
	while (fd == held) {
		asleep = true;
		usleep(1000);
	}
	return syscall(SYS_write, fd, bytes, size);
}

/* How often this thread has slept or waited: unlike time, it does not grow when others have the processors. */
static long sleeps(void)
{
	struct rusage used;

	getrusage(RUSAGE_THREAD, &used);
	return used.ru_nvcsw;
}

static off_t size_of(int fd)
{
	struct stat status;

	cr_assert_eq(fstat(fd, &status), 0);
	return status.st_size;
}

Test(message, a_file_whose_writes_do_not_return_holds_up_no_job, .timeout = 120)
{
	char path[] = "/tmp/rankwatch-message.XXXXXX";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	unlink(path);
	dup2(fd, STDERR_FILENO);
	message("written");
	off_t before = size_of(fd);
	cr_expect_gt(before, 0);
	held = STDERR_FILENO;
	long begin = sleeps();
	message("held up");
	cr_expect(asleep, "the line was on its way");
	long behind_first = sleeps();
	for (int i = 0; i < 100; i++)
		message("not tried");
	cr_expect_gt(behind_first - begin, 1000, "it was waited for");
	cr_expect_lt(sleeps() - behind_first, 100, "nobody waits again for what is held up");
	held = -1;
	while (size_of(fd) == before)
		usleep(1000);
	before = size_of(fd);
	while (size_of(fd) == before) { /* the thread that was held up has to leave first */
		message("written again");
		usleep(1000);
	}
}

Test(message, a_log_that_cannot_be_opened_leaves_messages_where_they_were)
{
	char path[] = "/tmp/rankwatch-message.XXXXXX";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_expect_eq(message_to("/nowhere/log"), -ENOENT);
	cr_expect_eq(message_to(path), 0);
	message("to the log");
	cr_expect_gt(size_of(fd), 0);
	unlink(path);
}

static const char *line_of(const char *text)
{
	static char read_back[2048];
	char path[] = "/tmp/rankwatch-message.XXXXXX";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	unlink(path);
	dup2(fd, STDERR_FILENO);
	message("%s", text);
	ssize_t got = pread(fd, read_back, sizeof(read_back) - 1, 0);
	cr_assert_geq(got, 0);
	read_back[got] = '\0';
	close(fd);
	return read_back;
}

Test(message, is_one_line_without_control_characters)
{
	cr_expect_str_eq(line_of("a job"), "rankwatch: a job\n");
	cr_expect_str_eq(line_of(""), "rankwatch: \n");
	cr_expect_str_eq(line_of("\033[31m\nx\t~\x7f\x1f end\001"), "rankwatch: ?[31m?x?~?? end?\n");
	cr_expect_str_eq(line_of("caf\xc3\xa9"), "rankwatch: caf\xc3\xa9\n", "text that is not ASCII stays");
}

Test(message, that_is_too_long_is_cut_and_still_a_line)
{
	char text[2000];

	memset(text, 'x', sizeof(text));
	text[1023 - strlen("rankwatch: ") - 1] = '\0';
	const char *line = line_of(text);
	cr_expect_eq(strlen(line), 1023, "the longest that fits");
	cr_expect_eq(line[1022], '\n');
	cr_expect_eq(line[1021], 'x');
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	line = line_of(text);
	cr_expect_eq(strlen(line), 1023);
	cr_expect_eq(line[1022], '\n');
	cr_expect_eq(strspn(line + strlen("rankwatch: "), "x"), 1023 - strlen("rankwatch: ") - 1);
}

Test(message, a_path_that_is_too_long_is_no_log)
{
	char path[5000];

	memset(path, '/', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	cr_expect_eq(message_to(path), -ENAMETOOLONG);
}
