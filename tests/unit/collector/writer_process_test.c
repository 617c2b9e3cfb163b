/* SPDX-License-Identifier: MIT */
/* Who is proven to be a black box's writer, and who is not. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blackbox/process.h"
#include "box_process.h"
#include "base/writer_process.h"
#include "collector/sources/process/owner_rights.h"
#include "collector/sources/waits/descriptor.h"
#include "other_user.h"

static struct writer_process process;
static char why[WRITER_PROCESS_WHY];

static int prove(pid_t pid, uid_t owner)
{
	return writer_process_open(&process, pid, owner, process_start_time(pid), why);
}

static void skip_unless_root(void)
{
	if (geteuid() != 0)
		cr_skip_test("processes of other users are made by root only");
}

Test(writer_process, one_of_the_boxs_owner_is_proven_and_stays_so)
{
	struct writer_process none = WRITER_PROCESS_NONE;

	cr_assert_eq(prove(getpid(), geteuid()), 0, "%s", why);
	cr_expect_eq(process.pid, getpid());
	cr_expect_geq(process.proc_fd, 0);
	cr_expect_eq(writer_process_check(&process, why), 0, "%s", why);
	writer_process_close(&process);
	cr_expect_eq(memcmp(&process, &none, sizeof(none)), 0);
}

Test(writer_process, one_that_started_at_another_time_is_another)
{
	uint64_t start = process_start_time(getpid());

	cr_expect_eq(writer_process_open(&process, getpid(), geteuid(), start + 1, why), -EPERM);
	cr_expect(strstr(why, "another process"), "%s", why);
	cr_expect_eq(process.proc_fd, -1);
	cr_expect_eq(writer_process_open(&process, getpid(), geteuid(), 0, why), -EPERM);
}

Test(writer_process, one_of_another_user_is_not)
{
	skip_unless_root();
	pid_t pid = other_user_start(OTHER_USER, OTHER_USER);

	cr_expect_eq(prove(getpid(), OTHER_USER), -EPERM, "a box of a user's points at root's process");
	cr_expect(strstr(why, "asked for as one of uid 4242's"), "%s", why);
	cr_expect_eq(prove(pid, 0), -EPERM);
	cr_expect_eq(prove(pid, OTHER_USER), 0, "%s", why);
	writer_process_close(&process);
	other_user_end(pid);
}

Test(writer_process, one_with_another_users_rights_is_not)
{
	skip_unless_root();
	pid_t pid = other_user_start(OTHER_USER, 0);

	cr_expect_eq(prove(pid, OTHER_USER), -EPERM, "its effective uid is root's");
	cr_expect_eq(prove(pid, 0), -EPERM, "its real uid is the user's");
	other_user_end(pid);
}

Test(writer_process, one_that_hides_from_its_own_user_is_not)
{
	if (geteuid() == 0)
		cr_skip_test("nothing hides from root");
	pid_t pid = other_user_start_hidden();

	cr_expect_eq(prove(pid, geteuid()), -EPERM);
	cr_expect(strstr(why, "not dumpable"), "%s", why);
	other_user_end(pid);
}

Test(writer_process, one_that_has_ended_is_nobody_and_no_fault_is_found_with_it)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			pause();
	cr_assert_eq(prove(pid, geteuid()), 0, "%s", why);
	kill(pid, SIGKILL);
	siginfo_t ended;
	cr_assert_eq(waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT), 0);
	cr_expect_eq(writer_process_check(&process, why), -ESRCH, "as a zombie");
	waitpid(pid, NULL, 0);
	cr_expect_eq(writer_process_check(&process, why), -ESRCH);
	writer_process_close(&process);
	cr_expect_eq(prove(pid, geteuid()), -ESRCH);
}

static void copy_program(const char *from, const char *to)
{
	char command[1024];

	snprintf(command, sizeof(command), "cp '%s' '%s' && chmod 4755 '%s'", from, to, to);
	cr_assert_eq(system(command), 0);
}

/* As a hostile user would: a process of his own, which then turns into a program of root's. */
static pid_t start_that_execs(const char *program, int go)
{
	int ready[2];
	char byte;

	cr_assert_eq(pipe(ready), 0);
	pid_t pid = fork();

	if (pid == 0) {
		if (setresgid(OTHER_USER, OTHER_USER, OTHER_USER) || setresuid(OTHER_USER, OTHER_USER, OTHER_USER))
			_exit(1);
		/* exec of an ordinary program is what makes a process dumpable again */
		dup2(ready[1], STDOUT_FILENO);
		dup2(go, STDIN_FILENO);
		execl("/bin/sh", "sh", "-c", "echo; read go; exec \"$0\" 60", program, NULL);
		_exit(1);
	}
	close(ready[1]);
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

Test(writer_process, one_that_execs_a_set_user_id_program_is_found_out, .timeout = 60)
{
	struct statvfs fs;
	char program[256];
	int go[2], err = 0;

	skip_unless_root();
	snprintf(program, sizeof(program), "%s/sleep", box_process_directory());
	if (statvfs(box_process_directory(), &fs) || fs.f_flag & ST_NOSUID) {
		box_process_cleanup();
		cr_skip_test("set-user-id programs have no effect in /dev/shm");
	}
	chmod(box_process_directory(), 0755);
	copy_program("/bin/sleep", program);
	cr_assert_eq(pipe(go), 0);
	pid_t pid = start_that_execs(program, go[0]);

	cr_assert_eq(prove(pid, OTHER_USER), 0, "%s", why);
	cr_assert_eq(write(go[1], "\n", 1), 1);
	for (int tries = 0; tries < 1000 && !err; tries++) {
		err = writer_process_check(&process, why);
		usleep(10000);
	}
	cr_expect_eq(err, -EPERM);
	cr_expect(strstr(why, "has uids 4242, 0, 0, 0"), "%s", why);
	writer_process_close(&process);
	other_user_end(pid);
	box_process_cleanup();
}

/* What the checks before and after cannot promise, the kernel does: at the moment of reading. */
Test(owner_rights, a_file_of_roots_process_is_not_told_with_the_rights_of_a_user)
{
	char secret[256];
	struct descriptor descriptor;
	pid_t root, user;
	struct mounts *mounts;
	int fd = -1;

	skip_unless_root();
	snprintf(secret, sizeof(secret), "%s/secret", box_process_directory());
	fd = open(secret, O_RDWR | O_CREAT, 0600);
	cr_assert(fd >= 0);
	root = other_user_start(0, 0); /* has it open, too */
	user = other_user_start(OTHER_USER, OTHER_USER);
	cr_assert_eq(mounts_open(&mounts, "/proc"), 0);

	owner_rights_choose(OTHER_USER, OTHER_USER);
	cr_expect_eq(descriptor_read("/proc", root, fd, mounts, &descriptor), -EACCES);
	cr_expect_str_empty(descriptor.path);
	owner_rights_choose_own();
	cr_expect_eq(descriptor_read("/proc", root, fd, mounts, &descriptor), 0);
	cr_expect_str_eq(descriptor.path, secret);

	owner_rights_choose(OTHER_USER, OTHER_USER);
	cr_expect_eq(descriptor_read("/proc", user, fd, mounts, &descriptor), 0, "his own process he may look at");
	owner_rights_choose(OTHER_USER, OTHER_USER + 1);
	cr_expect_eq(descriptor_read("/proc", user, fd, mounts, &descriptor), -EACCES, "not with another group");
	owner_rights_choose_own();
	cr_expect_eq(open(secret, O_RDWR | O_CLOEXEC) >= 0, 1, "all rights have come back");
	other_user_end(root);
	other_user_end(user);
	mounts_close(mounts);
	box_process_cleanup();
}
