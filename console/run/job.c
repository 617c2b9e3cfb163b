/* SPDX-License-Identifier: MIT */
#include "console/run/job.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/foreign_text.h"

enum { NOT_FOUND = 127, NOT_EXECUTABLE = 126 }; /* as shells say it */

static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGTSTP, SIGCONT };

static void fill_signals(sigset_t *signals)
{
	sigemptyset(signals);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(passed_on[0]); i++)
		sigaddset(signals, passed_on[i]);
	sigaddset(signals, SIGCHLD);
}

static void __attribute__((noreturn))
become(const struct job *job, char **argv, const struct job_environment *environment, int refusal_fd)
{
	int err;

	sigprocmask(SIG_SETMASK, &job->mask, NULL);
	if (environment && job_environment_apply(environment))
		fputs("rankwatch run: no memory for the environment: the job runs unwatched\n", stderr);
	execvp(argv[0], argv);
	err = errno;
	foreign_line(stderr, "rankwatch run: %s: %s", argv[0], strerror(err));
	(void)!write(refusal_fd, &err, sizeof(err));
	_exit(err == ENOENT ? NOT_FOUND : NOT_EXECUTABLE);
}

int job_start(struct job *job, char **argv, const struct job_environment *environment)
{
	sigset_t signals;
	int refusal[2];

	*job = (struct job){ .signal_fd = -1, .refusal_fd = -1 };
	if (pipe2(refusal, O_CLOEXEC | O_NONBLOCK))
		return -errno;
	job->refusal_fd = refusal[0];
	fill_signals(&signals);
	sigprocmask(SIG_BLOCK, &signals, &job->mask);
	job->signal_fd = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	if (job->signal_fd < 0)
		return -errno;
	fflush(NULL);
	job->pid = fork();
	if (job->pid == 0)
		become(job, argv, environment, refusal[1]);
	close(refusal[1]);
	return job->pid < 0 ? -errno : 0;
}

/* The terminal signals the whole process group: the job has had it already, and a second SIGINT means more than one to
 * many programs. */
static void pass_on(const struct job *job, const struct signalfd_siginfo *info)
{
	if (info->ssi_code != SI_KERNEL && !job->ended)
		kill(job->pid, (int)info->ssi_signo);
	if (info->ssi_signo == SIGTSTP)
		raise(SIGSTOP);
}

static bool asks_to_end(uint32_t number)
{
	return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

bool job_read_signals(struct job *job)
{
	struct signalfd_siginfo info;
	bool child = false;

	while (read(job->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			child = true;
		else
			pass_on(job, &info);
		if (!job->asked_to_end_ns && asks_to_end(info.ssi_signo))
			job->asked_to_end_ns = clock_monotonic_ns();
	}
	return child;
}

bool job_asked_to_end(int signal_fd)
{
	struct signalfd_siginfo info;
	bool asked = false;

	while (read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		asked = asked || info.ssi_signo != SIGCHLD;
	return asked;
}

bool job_note(struct job *job, pid_t pid, int status)
{
	if (pid != job->pid || !(WIFEXITED(status) || WIFSIGNALED(status)))
		return false;
	job->ended = true;
	job->status = status;
	return true;
}

bool job_was_started(const struct job *job)
{
	int err;

	return read(job->refusal_fd, &err, sizeof(err)) != (ssize_t)sizeof(err);
}

int job_exit_status(const struct job *job)
{
	return WIFSIGNALED(job->status) ? 128 + WTERMSIG(job->status) : WEXITSTATUS(job->status);
}
