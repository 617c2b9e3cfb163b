/* SPDX-License-Identifier: MIT */
#include "sim/workload/faults/host_link.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const char *link_address(void)
{
	const char *address = getenv("WORKLOAD_LINK_ADDRESS");

	return address ? address : "127.0.0.1";
}

const char *link_device(void)
{
	return getenv("WORKLOAD_LINK_DEVICE");
}

int link_enter_far(void)
{
	const char *path = getenv("WORKLOAD_LINK_NAMESPACE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (!path)
		return 0;
	int err = fd < 0 || setns(fd, CLONE_NEWNET) ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return err;
}

int link_slow_down(unsigned int bits_per_second)
{
	char rate[16];
	char *arguments[] = { "tc",   "qdisc",   "replace", "dev", (char *)link_device(),
			      "root", "tbf",     "rate",    rate,  "burst",
			      "32kb", "latency", "400ms",   NULL };
	int status;
	pid_t pid;

	snprintf(rate, sizeof(rate), "%ubit", bits_per_second);
	int err = -posix_spawnp(&pid, arguments[0], NULL, NULL, arguments, environ);
	if (!err && waitpid(pid, &status, 0) < 0)
		err = -errno;
	return err ? err : status ? -EIO : 0;
}
