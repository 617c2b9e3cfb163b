/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
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

enum { CROWD = 10, LEAST_TURNS = 10, MOST_TURNS = 1100 /* of 1 ms and more, in 1 s */ };

/* Of the program under test, too: each turn takes ten times as long as wanted, as on a crowded machine. */
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	struct timespec longer = { 0, CROWD * wanted->tv_nsec };

	return clock_nanosleep(CLOCK_MONOTONIC, 0, &longer, left) ? -1 : 0;
}

static bool is_without_threads; /* as at a limit of RLIMIT_NPROC or pids.max */

/* Of the program under test, too. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

	if (is_without_threads)
		return EAGAIN;
	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	return real(thread, attributes, run, argument);
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
	cr_expect_geq(behind_first - begin, LEAST_TURNS, "it was waited for");
	cr_expect_leq(behind_first - begin, MOST_TURNS, "by the clock: %ld turns", behind_first - begin);
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

Test(message, a_file_is_not_written_by_the_thread_of_the_job_where_no_other_can_be_made, .timeout = 30)
{
	char path[] = "/tmp/rankwatch-message.XXXXXX";
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	dup2(fd, STDERR_FILENO);
	is_without_threads = true;
	held = STDERR_FILENO;
	message("held up for ever");
	cr_expect_not(asleep);
	cr_expect_neq(message_to(path), 0, "nor is one opened, which may hang as well");
	held = -1;
	is_without_threads = false;
	message("written");
	cr_expect_gt(size_of(fd), 0, "earlier work holds nothing up");
	unlink(path);
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

/* The number that the next file gets. */
static int next_number(void)
{
	int fd = dup(STDIN_FILENO);

	cr_assert_geq(fd, 0);
	close(fd);
	return fd;
}

/* As a program that closes all descriptors it does not know, and then opens a file of its own. */
static int take_number(int number, char *path)
{
	cr_assert_eq(close(number), 0);
	int fd = mkstemp(path);
	cr_assert_eq(fd, number);
	cr_assert_eq(write(fd, "WEIGHTS", 7), 7);
	return fd;
}

Test(message, no_line_gets_into_a_file_of_the_program_that_has_the_number_of_the_log)
{
	char path[] = "/tmp/rankwatch-message.XXXXXX", checkpoint[] = "/tmp/rankwatch-checkpoint.XXXXXX";
	int log = mkstemp(path), number = next_number();

	cr_assert_eq(message_to(path), 0);
	message("to the log");
	off_t before = size_of(log);
	int taken = take_number(number, checkpoint);
	message("to the log, too");
	cr_expect_eq(size_of(taken), 7);
	cr_expect_gt(size_of(log), before);
	before = size_of(log);
	unlink(path);
	message("still to it");
	cr_expect_gt(size_of(log), before, "it was opened again once, not for each line");
	unlink(checkpoint);
}

Test(message, a_log_is_found_again_where_it_was_although_the_program_has_changed_its_directory)
{
	char directory[] = "/tmp/rankwatch-message.XXXXXX";

	cr_assert(mkdtemp(directory));
	cr_assert_eq(chdir(directory), 0);
	int number = next_number();
	cr_assert_eq(message_to("log"), 0);
	int log = open("log", O_RDONLY);
	cr_assert_geq(log, 0);
	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(close(number), 0);
	message("to the log");
	cr_expect_gt(size_of(log), 0);
	cr_assert_eq(chdir(directory), 0);
	unlink("log");
	rmdir(directory);
}

Test(message, a_log_that_is_gone_for_good_gets_no_line_and_takes_no_descriptor)
{
	char directory[] = "/tmp/rankwatch-message.XXXXXX", checkpoint[] = "/tmp/rankwatch-checkpoint.XXXXXX", path[64];

	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/log", directory);
	int number = next_number();
	cr_assert_eq(message_to(path), 0);
	int taken = take_number(number, checkpoint), next = next_number();
	unlink(path);
	rmdir(directory);
	for (int i = 0; i < 3; i++)
		message("to nobody");
	cr_expect_eq(size_of(taken), 7);
	cr_expect_eq(next_number(), next);
	unlink(checkpoint);
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
