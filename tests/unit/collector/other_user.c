/* SPDX-License-Identifier: MIT */
#include "other_user.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void __attribute__((noreturn)) stay(int ready)
{
	alarm(60); /* whatever becomes of the test */
	if (write(ready, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static pid_t await(pid_t pid, const int ready[2])
{
	char byte;

	close(ready[1]);
	cr_assert_eq(read(ready[0], &byte, 1), 1, "the process could not be made");
	close(ready[0]);
	return pid;
}

pid_t other_user_start(uid_t real, uid_t effective)
{
	int ready[2];

	cr_assert_eq(pipe(ready), 0);
	pid_t pid = fork();

	if (pid == 0) {
		if (setresgid(real, real, real) || setresuid(real, effective, effective))
			_exit(1);
		/* As after an ordinary program's start: what changes its uids is hidden from then on. */
		prctl(PR_SET_DUMPABLE, 1);
		stay(ready[1]);
	}
	return await(pid, ready);
}

pid_t other_user_start_hidden(void)
{
	int ready[2];

	cr_assert_eq(pipe(ready), 0);
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_DUMPABLE, 0);
		stay(ready[1]);
	}
	return await(pid, ready);
}

void other_user_end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
