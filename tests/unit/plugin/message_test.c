/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plugin/message.h"

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
