/* SPDX-License-Identifier: MIT */
/*
 * To be preloaded into everything that a job under chaos starts, and into rankwatch. The time of day is that of the
 * machine and the seconds that the file CHAOS_CLOCK holds (8 bytes, changed at any moment). In a rank a thread forks,
 * executes and loads and unloads the plugin (CHAOS_PLUGIN) until the process ends; a child that hangs is said on
 * stderr.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { HANGS_S = 20 };

static _Atomic int64_t still, *shift_s = &still; /* in the file, when there is one */
static const char *plugin;

int clock_gettime(clockid_t clock, struct timespec *at)
{
	int err = (int)syscall(SYS_clock_gettime, clock, at);

	if (!err && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
		at->tv_sec += atomic_load_explicit(shift_s, memory_order_relaxed);
	return err;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	*at = (struct timeval){ .tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000 };
	return 0;
}

time_t time(time_t *at)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (at)
		*at = now.tv_sec;
	return now.tv_sec;
}

static void pause_ms(unsigned ms)
{
	const struct timespec pause = { .tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000 };

	nanosleep(&pause, NULL);
}

static void load_and_unload(void)
{
	void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);

	if (library)
		dlclose(library);
}

static void child_that_only_ends(void)
{
	_exit(0);
}

/* With all destructors. */
static void child_that_exits(void)
{
	exit(0);
}

static void child_that_executes(void)
{
	execl("/bin/true", "true", (char *)NULL);
	_exit(127);
}

static void child_that_unloads(void)
{
	load_and_unload();
	_exit(0);
}

static void await(pid_t child, const char *what)
{
	int status;

	for (unsigned i = 0; i < HANGS_S * 100; i++) {
		if (waitpid(child, &status, WNOHANG)) /* it, or the rank itself has taken it */
			return;
		pause_ms(10);
	}
	fprintf(stderr, "chaos: process %d hangs: %s\n", (int)child, what);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
}

/* A child that was forked while another thread of the rank was in exit(3) has the C library's lock of that call, which
 * nobody lets go of there: it may wait for ever in its own exit(3), and nobody would say so. One that hangs while its
 * rank lives is said. */
static void end_with(pid_t rank)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != rank)
		_exit(0);
}

static const struct {
	const char *name;
	void (*child)(void);
} children[] = {
	{ "a child that only ends", child_that_only_ends },
	{ "a child that exits", child_that_exits },
	{ "a child that executes", child_that_executes },
	{ "a child that loads and unloads the plugin", child_that_unloads },
};

static void spawn(void)
{
	char *const arguments[] = { "true", NULL };
	pid_t child;

	if (!posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ))
		await(child, "a program that was spawned");
}

static void act(unsigned which)
{
	enum { CHILDREN = sizeof(children) / sizeof(*children) };

	if (which == CHILDREN) {
		spawn();
	} else if (which > CHILDREN) {
		load_and_unload();
	} else {
		pid_t rank = getpid(), child = fork();

		if (!child) {
			end_with(rank);
			children[which].child();
		}
		if (child > 0)
			await(child, children[which].name);
	}
}

static void *play(void *argument)
{
	unsigned dice = (unsigned)(uintptr_t)argument;

	for (;;) {
		pause_ms(20 + (unsigned)rand_r(&dice) % 400);
		act((unsigned)rand_r(&dice) % (sizeof(children) / sizeof(*children) + 2));
	}
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
	const char *clock = getenv("CHAOS_CLOCK"), *seed = getenv("CHAOS_SEED"), *rank = getenv("RANK");
	int fd = clock ? open(clock, O_RDONLY | O_CLOEXEC) : -1;
	pthread_t thread;

	if (fd >= 0) {
		void *map = mmap(NULL, sizeof(*shift_s), PROT_READ, MAP_SHARED, fd, 0);

		close(fd);
		if (map != MAP_FAILED)
			shift_s = map;
	}
	plugin = getenv("CHAOS_PLUGIN");
	if (plugin && rank && seed && !strcmp(program_invocation_short_name, "workload") &&
	    !pthread_create(&thread, NULL, play, (void *)(uintptr_t)(strtoul(seed, NULL, 10) + strtoul(rank, NULL, 10))))
		pthread_detach(thread);
}
