/* SPDX-License-Identifier: MIT */
/*
 * What it costs that several collectors watch: helper_bench own|helper COLLECTORS watched|unwatched|quiet SECONDS. Each
 * collector is a process and watches one of its own that wakes 80 times a second (12 ms: a record each), reading 20
 * times a second, with programs of its own or through rankwatchd, after two seconds that do not count. Beside them one
 * process makes 100,000 system calls a second, by 100 each millisecond: the first one watched, one that nobody watches,
 * or none. Prints a JSON object when all are set ("ready"), and one at the end; the caller reads the BPF programs'
 * account in between. Root only.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rankwatch/helper.h>

#include "collector/sources/waits/kernel_source.h"

enum { COLLECTORS_MOST = 64, CALLS = 100, POLL_MS = 50, WARM_MS = 2000 };

struct told {
	uint64_t records, lost;
	double cpu_ns;
};

static void on_wait(void *argument, const struct analysis_wait *wait)
{
	(void)wait;
	++*(uint64_t *)argument;
}

static void on_ended(void *argument, analysis_process_id process, int exit_status, uint64_t at_ns)
{
	(void)argument, (void)process, (void)exit_status, (void)at_ns;
}

static _Noreturn void work(bool calls)
{
	struct timespec next;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		for (int i = 0; calls && i < CALLS; i++)
			syscall(SYS_getppid);
		next.tv_nsec += calls ? 1000000 : 12000000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}

static pid_t start(bool calls)
{
	pid_t pid = fork();

	if (pid == 0)
		work(calls);
	return pid;
}

static double cpu_ns(void)
{
	struct rusage used;

	getrusage(RUSAGE_SELF, &used);
	return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e9 +
	       (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e3;
}

static struct kernel_source *open_source(bool helper, int ready, uint64_t *records)
{
	const struct kernel_source_events events = { .wait = on_wait, .ended = on_ended, .argument = records };
	struct kernel_source *source;
	struct mounts *mounts;
	char why[256] = "";

	if (mounts_open(&mounts, "/proc") ||
	    kernel_source_open(&source, helper ? RW_HELPER_SOCKET : NULL, "/proc", mounts, &events, why) ||
	    kernel_source_is_helpers(source) != helper) {
		fprintf(stderr, "helper_bench: skipped: %s\n", *why ? why : "no rankwatchd answers");
		exit(write(ready, "-", 1) == 1 ? 77 : 1);
	}
	return source;
}

static void follow(struct kernel_source *source, unsigned ms)
{
	for (unsigned i = 0; i < ms / POLL_MS; i++) {
		usleep(POLL_MS * 1000);
		kernel_source_poll(source);
	}
}

static _Noreturn void collect(bool helper, bool calls, int ready, int go, int tell, unsigned seconds)
{
	struct told told = { 0 };
	struct kernel_source *source = open_source(helper, ready, &told.records);
	char why[VIEW_WHY], byte = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);

	pid_t pid = start(calls);
	int err = -ESRCH, pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	/* Where several sets of programs run, the kernel sometimes has no storage for a thread at that moment. */
	for (int tries = 0; err == -ESRCH && tries < 10; tries++) {
		usleep(tries ? POLL_MS * 1000 : 0);
		err = kernel_source_watch(source, 1, pid, pidfd, why);
	}

	if (err)
		fprintf(stderr, "helper_bench: not watched: %s\n", *why ? why : strerror(-err));
	if (write(ready, err ? "-" : "+", 1) != 1 || err || read(go, &byte, 1) != 1)
		_exit(1);
	follow(source, WARM_MS); /* the kernel's symbols are read once */
	double begin = cpu_ns();

	told.records = 0;
	follow(source, seconds * 1000);
	told.cpu_ns = cpu_ns() - begin;

	struct probes_loss loss;

	kernel_source_loss(source, &loss);
	told.lost = loss.ring + loss.waits;
	kill(pid, SIGKILL);
	_exit(write(tell, &told, sizeof(told)) != sizeof(told));
}

int main(int count, char **arguments)
{
	int ready[2], go[2], tell[2];
	struct told sum = { 0 }, told;
	char byte;

	if (count != 5 || pipe(ready) || pipe(go) || pipe(tell))
		return 2;
	bool helper = !strcmp(arguments[1], "helper"), watched = !strcmp(arguments[3], "watched");
	int collectors = atoi(arguments[2]);
	unsigned seconds = (unsigned)atoi(arguments[4]);

	if (collectors < 1 || collectors > COLLECTORS_MOST)
		return 2;
	for (int i = 0; i < collectors; i++)
		if (fork() == 0)
			collect(helper, watched && i == 0, ready[1], go[0], tell[1], seconds);
	close(ready[1]);
	for (int i = 0; i < collectors; i++)
		if (read(ready[0], &byte, 1) != 1 || byte != '+')
			return 1; /* what was started ends with us */
	pid_t beside = strcmp(arguments[3], "unwatched") ? 0 : start(true);

	puts("{\"ready\":true}");
	fflush(stdout);
	if (write(go[1], (char[COLLECTORS_MOST]){ 0 }, (size_t)collectors) != collectors)
		return 1;
	for (int i = 0; i < collectors && read(tell[0], &told, sizeof(told)) == sizeof(told); i++) {
		sum.records += told.records;
		sum.lost += told.lost;
		sum.cpu_ns += told.cpu_ns;
	}
	printf("{\"records_s\":%.0f,\"lost\":%lu,\"collectors_percent\":%.2f}\n", (double)sum.records / seconds,
	       (unsigned long)sum.lost, sum.cpu_ns / 1e7 / seconds);
	if (beside)
		kill(beside, SIGKILL);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	return 0;
}
