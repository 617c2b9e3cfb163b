/* SPDX-License-Identifier: MIT */
#include "console/run/on_finding.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "console/run/child_end.h"
#include "finding/incident_text.h"
#include "finding/written.h"

/* As for the first reader of it: it opens. A descriptor, or -errno; -ENODATA: it is over. */
static int write_input(const json_t *finding)
{
	struct written none = { 0 };
	char *line = written_line(&none, finding);
	size_t length = line ? strlen(line) : 0;
	int fd = line ? memfd_create("rankwatch-finding", MFD_CLOEXEC) : -1;
	int err = !line ? -ENODATA : fd < 0 ? -errno : 0;

	written_free(&none);
	if (!err && (write(fd, line, length) != (ssize_t)length || write(fd, "\n", 1) != 1 || lseek(fd, 0, SEEK_SET)))
		err = -EIO;
	free(line);
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

static int spawn(const struct on_finding_request *request, int input, pid_t *pid)
{
	char *arguments[] = { "sh", "-c", (char *)request->command, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;

	if (posix_spawn_file_actions_init(&files))
		return -ENOMEM;
	if (posix_spawnattr_init(&attributes)) {
		posix_spawn_file_actions_destroy(&files);
		return -ENOMEM;
	}
	posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_setsigmask(&attributes, request->mask);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
	int err = posix_spawn(pid, "/bin/sh", &files, &attributes, arguments, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return -err;
}

/* 0: *status is wait(2)'s; or -errno: it was killed. */
static int await(pid_t pid, int signal_fd, uint64_t end_ns, int *status)
{
	uint64_t now_ns = clock_monotonic_ns(), left_ms = now_ns < end_ns ? (end_ns - now_ns) / 1000000 : 0;
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int err = pidfd < 0 ? -errno : child_end_await(pidfd, signal_fd, (unsigned)left_ms);

	if (err)
		kill(-pid, SIGKILL);
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			break;
	if (pidfd >= 0)
		close(pidfd);
	return err;
}

static int run_one(const struct on_finding_request *request, const json_t *finding, uint64_t end_ns, int *status)
{
	int input = write_input(finding);
	pid_t pid;

	if (input < 0)
		return input;
	int err = spawn(request, input, &pid);
	close(input);
	return err ? err : await(pid, request->signal_fd, end_ns, status);
}

/* Not the command itself: it may hold a password. */
static void say_failure(int err, int status, bool *said)
{
	if (*said || err == -ENODATA || (!err && !status))
		return;
	*said = true;
	if (err)
		fprintf(stderr, "rankwatch run: the command of --on-finding: %s (said once)\n", strerror(-err));
	else if (WIFSIGNALED(status))
		fprintf(stderr, "rankwatch run: the command of --on-finding: ended by signal %d (said once)\n",
			WTERMSIG(status));
	else
		fprintf(stderr, "rankwatch run: the command of --on-finding: exit status %d (said once)\n",
			WEXITSTATUS(status));
}

static bool is_reported(const json_t *findings, size_t before)
{
	const char *incident = incident_text_id(json_array_get(findings, before));

	for (size_t i = 0; i < before && *incident; i++)
		if (!strcmp(incident_text_id(json_array_get(findings, i)), incident))
			return true;
	return false;
}

void on_finding_run(const struct on_finding_request *request, const json_t *findings)
{
	uint64_t end_ns = clock_monotonic_ns() + request->timeout_ms * UINT64_C(1000000);
	bool said = false;
	int err = 0;

	for (size_t i = 0; request->command && i < json_array_size(findings) && err != -EINTR && err != -ETIMEDOUT;
	     i++) {
		int status = 0;

		if (is_reported(findings, i))
			continue;
		err = run_one(request, json_array_get(findings, i), end_ns, &status);
		say_failure(err, status, &said);
	}
}
