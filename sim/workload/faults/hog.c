/* SPDX-License-Identifier: MIT */
#include "sim/workload/faults/hog.h"

#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "workload: hog: %s\n", what);
	exit(1);
}

/* The last CPU of the set, which must have another one. */
static int last_cpu(const cpu_set_t *allowed)
{
	int cpu = CPU_SETSIZE - 1;

	if (CPU_COUNT(allowed) < 2)
		fail("needs two CPUs: one for the victim and one for everybody else");
	while (!CPU_ISSET(cpu, allowed))
		cpu--;
	return cpu;
}

static void keep_all_threads_on(const cpu_set_t *cpus)
{
	DIR *tasks = opendir("/proc/self/task");

	if (!tasks)
		fail("cannot list threads");
	for (struct dirent *task = readdir(tasks); task; task = readdir(tasks))
		if (task->d_name[0] != '.' && sched_setaffinity(atoi(task->d_name), sizeof(*cpus), cpus))
			perror("workload: hog: a thread stays where it is");
	closedir(tasks);
}

static void start_hogs(int count)
{
	pid_t self = getpid();

	for (int i = 0; i < count; i++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("cannot start the neighbours");
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == self)
			execlp("sh", "noisy-neighbour", "-c", "while :; do :; done", (char *)NULL);
		_exit(1);
	}
}

void hog_share_cpu(int hogs)
{
	cpu_set_t allowed, crowded;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		fail("cannot read which CPUs may be used");
	int cpu = last_cpu(&allowed);
	CPU_CLR(cpu, &allowed);
	keep_all_threads_on(&allowed);
	if (!hogs)
		return;
	CPU_ZERO(&crowded);
	CPU_SET(cpu, &crowded);
	if (sched_setaffinity(0, sizeof(crowded), &crowded))
		fail("cannot pin the victim");
	start_hogs(hogs);
}
