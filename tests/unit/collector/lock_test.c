/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "box_process.h"
#include "protocol/lock.h"

static char places[2][BOX_PLACE_PATH];

static void setup(void)
{
	snprintf(places[0], sizeof(places[0]), "%s/rankwatch-0/j", box_process_directory());
	snprintf(places[1], sizeof(places[1]), "%s/second/j", box_process_directory());
}

TestSuite(lock, .init = setup, .fini = box_process_cleanup, .timeout = 30);

static pid_t hold_in_child(void)
{
	int ready[2];
	char byte;

	cr_assert_eq(pipe(ready), 0);
	pid_t pid = fork();

	if (pid == 0) {
		struct lock lock;
		pid_t holder;

		alarm(60);
		if (lock_take(&lock, places, 2, NULL, "j", &holder) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

Test(lock, the_second_is_told_who_holds_it_and_gets_it_when_the_first_was_killed)
{
	pid_t child = hold_in_child(), holder;
	struct lock lock;

	cr_expect_eq(lock_take(&lock, places, 2, NULL, "j", &holder), -EBUSY);
	cr_expect_eq(holder, child);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	cr_expect_eq(lock_take(&lock, places, 2, NULL, "j", &holder), 0);
	lock_release(&lock);
}

Test(lock, nothing_is_left_of_it_and_of_a_directory_without_boxes)
{
	char box[BOX_PLACE_PATH + 16];
	struct lock lock;
	pid_t holder;

	cr_assert_eq(lock_take(&lock, places, 2, NULL, "j", &holder), 0);
	lock_release(&lock);
	cr_expect_lt(access(places[0], F_OK), 0);
	cr_assert_eq(lock_take(&lock, places, 2, NULL, "j", &holder), 0);
	snprintf(box, sizeof(box), "%s/rank0.rwbox", places[0]);
	FILE *file = fopen(box, "w");
	cr_assert(file);
	fclose(file);
	lock_release(&lock);
	cr_expect_eq(access(box, F_OK), 0);
}

/* Opened by one process, taken away by the other, in any order: never two holders. */
Test(lock, has_one_holder_while_many_take_it_and_leave)
{
	enum { TAKERS = 6, ROUNDS = 300 };
	char mark[BOX_PLACE_PATH + 16];
	pid_t takers[TAKERS];

	snprintf(mark, sizeof(mark), "%s/held", box_process_directory());
	for (int i = 0; i < TAKERS; i++) {
		takers[i] = fork();
		if (takers[i])
			continue;
		for (int taken = 0; taken < ROUNDS;) {
			struct lock lock;
			pid_t holder;

			if (lock_take(&lock, places, 2, NULL, "j", &holder))
				continue;
			if (mkdir(mark, 0700) || rmdir(mark))
				_exit(1); /* somebody else is in here, too */
			lock_release(&lock);
			taken++;
		}
		_exit(0);
	}
	for (int i = 0; i < TAKERS; i++) {
		int status = -1;

		waitpid(takers[i], &status, 0);
		cr_expect_eq(status, 0, "taker %d: status %x", i, (unsigned int)status);
	}
}

Test(lock, a_squatted_directory_is_passed_over)
{
	char parent[BOX_PLACE_PATH];
	struct lock lock;
	pid_t holder;

	snprintf(parent, sizeof(parent), "%s/rankwatch-0", box_process_directory());
	cr_assert_eq(symlink("/tmp", parent), 0);
	cr_expect_eq(lock_take(&lock, places, 2, NULL, "j", &holder), 0);
	cr_expect_eq(strncmp(lock.path, places[1], strlen(places[1])), 0, "%s", lock.path);
	lock_release(&lock);
}

Test(lock, no_usable_place_is_an_error_and_no_lock)
{
	struct lock lock;
	pid_t holder;

	strcpy(places[0], "/proc/rankwatch-0/j");
	cr_expect_lt(lock_take(&lock, places, 1, NULL, "j", &holder), 0);
	cr_expect_lt(lock.fd, 0);
}

Test(lock, without_a_place_for_boxes_it_lies_beside_the_socket)
{
	char beside[BOX_PLACE_PATH];
	struct lock lock, second;
	pid_t holder;

	strcpy(places[0], "/proc/rankwatch-0/j");
	snprintf(beside, sizeof(beside), "%s/runtime", box_process_directory());
	cr_assert_eq(lock_take(&lock, places, 1, beside, "j/1", &holder), 0);
	cr_expect(strstr(lock.path, "/runtime/collector-j_1.lock"), "%s", lock.path);
	cr_expect_eq(lock_take(&second, places, 1, beside, "j/1", &holder), -EBUSY);
	cr_expect_eq(lock_take(&second, places, 1, beside, "another", &holder), 0);
	lock_release(&second);
	lock_release(&lock);
}

Test(lock, a_runtime_directory_that_others_may_write_to_is_no_place)
{
	char beside[BOX_PLACE_PATH];
	struct lock lock;
	pid_t holder;

	strcpy(places[0], "/proc/rankwatch-0/j");
	snprintf(beside, sizeof(beside), "%s/runtime", box_process_directory());
	cr_assert_eq(mkdir(beside, 0700), 0);
	cr_assert_eq(chmod(beside, 0777), 0);
	cr_expect_eq(lock_take(&lock, places, 1, beside, "j", &holder), -EPERM);
}
