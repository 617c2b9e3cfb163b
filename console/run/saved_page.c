/* SPDX-License-Identifier: MIT */
#include "console/run/saved_page.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "console/cli/command.h"
#include "console/run/child_end.h"

enum { STOP_MS = 1000 };

/* What it has to say about boxes stands in the page, and in what `report` prints for whoever asks. */
static int start(const struct saved_page_request *request, const char *path, pid_t *pid)
{
	const char *arguments[8] = { "rankwatch", "report", "--html", path, request->directory };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int err;

	if (request->kernel_log) {
		arguments[5] = "--kernel-log";
		arguments[6] = request->kernel_log;
	}
	if (posix_spawn_file_actions_init(&files))
		return -ENOMEM;
	if (posix_spawnattr_init(&attributes)) {
		posix_spawn_file_actions_destroy(&files);
		return -ENOMEM;
	}
	posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_setsigmask(&attributes, request->mask);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	err = posix_spawn(pid, request->program, &files, &attributes, (char **)arguments, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return -err;
}

/* SIGTERM has it remove its half page; SIGKILL ends one that does not within a second. One that hangs in a file system
 * cannot be ended at all, and is not waited for. */
static void stop(pid_t pid, int pidfd)
{
	int status;

	kill(pid, SIGTERM);
	if (pidfd < 0 || child_end_await(pidfd, -1, STOP_MS))
		kill(pid, SIGKILL);
	waitpid(pid, &status, WNOHANG);
}

static int end(pid_t pid, int pidfd, int err)
{
	int status = 0;

	if (err) {
		stop(pid, pidfd);
		return err;
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	/* Of a box that could not be read to its end the page says so. */
	return WIFEXITED(status) && (WEXITSTATUS(status) == COMMAND_DONE || WEXITSTATUS(status) == COMMAND_INCOMPLETE)
		   ? 0
		   : -EIO;
}

int saved_page_write(const struct saved_page_request *request, char path[PATH_MAX])
{
	pid_t pid;
	int err, pidfd, length = snprintf(path, PATH_MAX, "%s/report.html", request->directory);

	err = length < PATH_MAX ? start(request, path, &pid) : -ENAMETOOLONG;
	if (!err) {
		pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
		err = end(pid, pidfd,
			  pidfd < 0 ? -errno : child_end_await(pidfd, request->signal_fd, request->timeout_ms));
		if (pidfd >= 0)
			close(pidfd);
	}
	if (err)
		*path = '\0';
	return err;
}
