/* SPDX-License-Identifier: MIT */
/* Whether rankwatchd needs its capabilities is tried in a child; what it then says must be why. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "helper/confine.h"
#include "tests/sanitized.h"

static int give_back(void *argument)
{
	return *(int *)argument;
}

static int crash(void *argument)
{
	(void)argument;
	signal(SIGSEGV, SIG_DFL);
	return raise(SIGSEGV) ? -errno : -EAGAIN;
}

/* 0: neither may be done there. */
static int open_a_socket_or_write(void *argument)
{
	(void)argument;
	int made = socket(AF_UNIX, SOCK_STREAM, 0), written = open("/tmp/rankwatch-confine-test", O_WRONLY | O_CREAT, 0600);

	return made < 0 && written < 0 ? 0 : -EEXIST;
}

/* The sanitizer's own calls at the end of a thread are not among those that the filter lets pass. */
static void need_no_sanitizer(void)
{
	if (SANITIZED)
		cr_skip_test("a sanitizer makes system calls that the helper's filter refuses");
}

static const char *described(int unfit)
{
	static char text[CONFINE_DESCRIPTION];

	confine_describe(unfit, text);
	return text;
}

Test(confine, what_the_try_said_comes_back)
{
	need_no_sanitizer();
	static int answers[] = { 0, -EPERM, -ENOMEM, -ESRCH, -ENOSPC };

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
		cr_expect_eq(confine_fits(give_back, &answers[i]), answers[i]);
}

Test(confine, a_try_that_crashes_does_not_fit)
{
	cr_expect_eq(confine_fits(crash, NULL), -ECHILD);
}

Test(confine, the_try_is_as_confined_as_the_helper_will_be)
{
	need_no_sanitizer();
	cr_expect_eq(confine_fits(open_a_socket_or_write, NULL), 0);
}

Test(confine, only_a_refusal_is_put_down_to_the_kernels_age)
{
	cr_expect_str_eq(described(0), "no capability is left");
	cr_expect(strstr(described(-EPERM), "before Linux 5.19"));
	cr_expect_null(strstr(described(-ENOMEM), "5.19"));
	cr_expect(strstr(described(-ENOMEM), strerror(ENOMEM)));
	cr_expect(strstr(described(-ECHILD), "crashed"));
}
