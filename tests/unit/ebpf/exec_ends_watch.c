/* SPDX-License-Identifier: MIT */
/* A watched process that calls exec is another program, perhaps a set-user-id one: nothing of it is recorded. On the
 * real kernel; needs root and BPF, without them it says so and exits with 77. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ebpf/probes.h"

enum { THRESHOLD_NS = 10000000, BEFORE_MS = 100, POLL_MS = 20 };

struct seen {
	pid_t pid;
	unsigned reads, sleeps; /* waits in read(2), and in sleep's call */
};

static void on_record(void *argument, const struct rw_kernel_wait *wait)
{
	struct seen *seen = argument;

	if ((pid_t)wait->tgid != seen->pid || wait->kind == RW_KERNEL_EXIT)
		return;
	seen->reads += wait->system_call == SYS_read;
	seen->sleeps += wait->system_call == SYS_clock_nanosleep || wait->system_call == SYS_nanosleep;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

/* Waits in read(2), then sleeps: as the program that it is, or as another. */
static pid_t start(int go, bool execs)
{
	pid_t pid = fork();
	char byte;

	if (pid)
		return pid;
	alarm(30);
	if (read(go, &byte, 1) != 1)
		_exit(1);
	if (execs)
		execl("/bin/sleep", "sleep", "0.3", NULL);
	else
		pause_ms(300);
	_exit(0);
}

/* On a busy machine a child may begin long after its fork. */
static bool waits_in_read(pid_t pid)
{
	char path[64], line[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	for (int tries = 0; tries < 3000; tries++) {
		FILE *file = fopen(path, "r");
		char *end = line;
		bool waits = file && fgets(line, sizeof(line), file) && strtol(line, &end, 10) == SYS_read && *end == ' ';

		if (file)
			fclose(file);
		if (waits)
			return true;
		pause_ms(10);
	}
	return false;
}

static struct seen watch(struct probes *probes, struct seen *seen, bool execs)
{
	int go[2], err;

	*seen = (struct seen){ 0 };
	if (pipe(go))
		return *seen;
	seen->pid = start(go[0], execs);
	if (!waits_in_read(seen->pid))
		printf("  FAILED: the child does not wait\n");
	err = probes_watch(probes, seen->pid);
	if (err)
		printf("  FAILED: not watched: %s\n", strerror(-err));
	pause_ms(BEFORE_MS);
	if (write(go[1], "", 1) != 1)
		kill(seen->pid, SIGKILL);
	while (waitpid(seen->pid, NULL, WNOHANG) == 0) {
		pause_ms(POLL_MS);
		probes_poll(probes);
	}
	probes_poll(probes);
	if (!err)
		probes_unwatch(probes, seen->pid);
	close(go[0]);
	close(go[1]);
	return *seen;
}

static int check(bool holds, const char *what)
{
	printf("%s %s\n", holds ? "ok    " : "FAILED", what);
	return !holds;
}

int main(void)
{
	struct probes *probes;
	struct seen seen;
	char why[256];
	int failures = 0;

	if (probes_open(&probes, THRESHOLD_NS, on_record, &seen, why)) {
		printf("skipped: %s\n", why);
		return 77;
	}
	watch(probes, &seen, false);
	failures += check(seen.reads > 0 && seen.sleeps > 0, "what a program waits for is seen before and after");
	watch(probes, &seen, true);
	failures += check(seen.reads > 0, "of one that calls exec what it waited for before");
	failures += check(seen.sleeps == 0, "and nothing after");
	watch(probes, &seen, false);
	failures += check(seen.reads > 0 && seen.sleeps > 0, "the next one is seen as ever");
	probes_close(probes);
	return failures != 0;
}
