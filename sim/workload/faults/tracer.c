/* SPDX-License-Identifier: MIT */
#include "sim/workload/faults/tracer.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static int stop_threads(pid_t traced)
{
	char path[64];
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)traced);
	DIR *threads = opendir(path);
	if (!threads)
		return -errno;
	for (struct dirent *thread = readdir(threads); thread; thread = readdir(threads)) {
		pid_t tid = atoi(thread->d_name);

		if (tid && (ptrace(PTRACE_SEIZE, tid, NULL, NULL) || ptrace(PTRACE_INTERRUPT, tid, NULL, NULL)))
			err = -errno;
	}
	closedir(threads);
	return err;
}

static _Noreturn void stay_attached(pid_t traced, const int *go)
{
	char byte;

	prctl(PR_SET_NAME, "debugger");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(go[1]);
	if (read(go[0], &byte, 1) != 1 || getppid() != traced)
		_exit(1);
	int err = stop_threads(traced);
	if (err)
		fprintf(stderr, "workload: ptrace: error %d\n", -err);
	while (!err)
		pause();
	_exit(1);
}

int tracer_attach(void)
{
	int go[2];
	pid_t self = getpid();

	if (pipe(go))
		return -errno;
	pid_t pid = fork();
	if (pid == 0)
		stay_attached(self, go);
	int err = pid < 0 ? -errno : 0;
	/* Yama lets only a process attach that was named. */
	if (!err)
		prctl(PR_SET_PTRACER, pid);
	if (!err && write(go[1], "", 1) != 1)
		err = -errno;
	close(go[0]);
	close(go[1]);
	/* Returns only if it failed: as soon as the other is attached, this thread stands still. */
	int status;
	return err ? err : waitpid(pid, &status, 0) < 0 ? -errno : -EPERM;
}
