/* SPDX-License-Identifier: MIT */
/* Real children of this process, in waits for locks that somebody or nobody can end. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/sources/waits/fork_lock.h"

enum wait { HELD_AT_FORK, TIMED, SHARED, WITH_ANOTHER_THREAD, AFTER_EXEC, IN_PAUSE };

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static sem_t *shared;
static int ready[2];

static void *idle(void *argument)
{
	pause();
	return argument;
}

static void wait_so(enum wait wait)
{
	const struct timespec far = { .tv_sec = time(NULL) + 3600 };
	pthread_t thread;

	if (wait == WITH_ANOTHER_THREAD)
		pthread_create(&thread, NULL, idle, NULL);
	if (write(ready[1], "", 1) != 1)
		_exit(1);
	if (wait == TIMED)
		pthread_mutex_timedlock(&held, &far);
	else if (wait == SHARED)
		sem_wait(shared);
	else if (wait == AFTER_EXEC)
		execlp("python3", "python3", "-c",
		       "import threading; lock = threading.Lock(); lock.acquire(); lock.acquire()", NULL);
	else if (wait == IN_PAUSE)
		pause();
	else
		pthread_mutex_lock(&held);
	_exit(0);
}

static bool is_told(enum wait wait)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	pid_t child = fork();
	char byte;
	bool told = false;

	if (!child)
		wait_so(wait);
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	/* Until it is in its wait, or has been in another for long enough. */
	for (int i = 0; i < (wait == AFTER_EXEC ? 100 : 30) && !told; i++) {
		nanosleep(&moment, NULL);
		told = fork_lock_is_awaited("/proc", child, getpid());
	}
	cr_expect_eq(waitpid(child, NULL, WNOHANG), 0, "it lives");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return told;
}

Test(fork_lock, only_a_lock_that_nobody_in_the_child_can_release_is_one)
{
	cr_assert_eq(pipe(ready), 0);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_eq(sem_init(shared, 1, 0), 0);
	pthread_mutex_lock(&held);
	cr_expect(is_told(HELD_AT_FORK));
	cr_expect_not(is_told(TIMED));
	cr_expect_not(is_told(SHARED), "another process can");
	cr_expect_not(is_told(WITH_ANOTHER_THREAD));
	cr_expect_not(is_told(AFTER_EXEC), "no fork has copied that");
	cr_expect_not(is_told(IN_PAUSE));
	cr_expect_not(fork_lock_is_awaited("/proc", getpid(), getppid()), "it computes");
	cr_expect_not(fork_lock_is_awaited("/nowhere", getpid(), getppid()));
}
