/* SPDX-License-Identifier: MIT */
#include "sim/workload/job/launcher.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/workload/faults/fault.h"
#include "sim/workload/faults/host_link.h"
#include "sim/workload/job/clock.h"

enum { STATUS_SKIPPED = 77, STATUS_LIMIT = 124, STATUS_SIGNAL = 128, KILL_AFTER_S = 3 };

struct launcher {
	const struct options *options;
	pid_t *pids; /* 0 = ended */
	int running;
	int status;
	uint64_t term_at_ns; /* UINT64_MAX = not planned */
	uint64_t kill_at_ns;
	sigset_t signals;
};

static int free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int err = fd < 0 || bind(fd, (struct sockaddr *)&address, size) ||
		  getsockname(fd, (struct sockaddr *)&address, &size);

	if (fd >= 0)
		close(fd);
	return err ? -1 : ntohs(address.sin_port);
}

static void set_number(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

/* As on a host of its own, whose collector sees no other's memory. */
static void place_boxes(const char *directory, const char *host)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, host);
	if (mkdir(path, 0700) && errno != EEXIST) {
		fprintf(stderr, "workload: %s: %s\n", path, strerror(errno));
		_exit(1);
	}
	setenv("RANKWATCH_DIR", path, 1);
}

/*
 * Its place on the host that it claims: NCCL tells hosts apart by NCCL_HOSTID, rankwatch shows the node's name that
 * Slurm gives.
 */
static void place_rank(const struct options *options, int rank)
{
	int hosts = options->hosts ? options->hosts : 1;
	int host = options_host_of(options, rank);
	int first = (host * options->ranks + hosts - 1) / hosts;
	int next = ((host + 1) * options->ranks + hosts - 1) / hosts;
	char name[16];

	set_number("LOCAL_RANK", rank - first);
	set_number("LOCAL_WORLD_SIZE", next - first);
	if (!options->hosts)
		return;
	snprintf(name, sizeof(name), "host-%d", host);
	setenv("NCCL_HOSTID", name, 1);
	setenv("SLURMD_NODENAME", name, 1);
	if (options->box_dirs)
		place_boxes(options->box_dirs, name);
	int err = host == hosts - 1 && host ? link_enter_far() : 0;
	if (err) {
		fprintf(stderr, "workload: rank %d: cannot enter the far host's network: %s\n", rank, strerror(-err));
		_exit(1);
	}
}

static _Noreturn void become_rank(const struct launcher *launcher, int rank, int port, pid_t parent, char **argv)
{
	/* Nothing of the job outlives its launcher; a launcher that died before this line had no time to say so. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	sigprocmask(SIG_UNBLOCK, &launcher->signals, NULL);
	set_number("RANK", rank);
	place_rank(launcher->options, rank);
	set_number("WORLD_SIZE", launcher->options->ranks);
	setenv("MASTER_ADDR", link_address(), 1);
	set_number("MASTER_PORT", port);
	execv("/proc/self/exe", argv);
	perror("workload: cannot start a rank");
	_exit(1);
}

static void signal_ranks(const struct launcher *launcher, int number)
{
	for (int rank = 0; rank < launcher->options->ranks; rank++)
		if (launcher->pids[rank] > 0)
			kill(launcher->pids[rank], number);
}

static int start_ranks(struct launcher *launcher, char **argv)
{
	pid_t self = getpid();
	int port = free_port();

	if (port < 0)
		return -errno;
	for (int rank = 0; rank < launcher->options->ranks; rank++) {
		pid_t pid = fork();

		if (pid == 0)
			become_rank(launcher, rank, port, self, argv);
		if (pid < 0)
			return -errno;
		launcher->pids[rank] = pid;
		launcher->running++;
	}
	return 0;
}

static void plan_end(struct launcher *launcher, unsigned int in_s)
{
	uint64_t at_ns = clock_now_ns(CLOCK_MONOTONIC) + in_s * 1000000000ULL;

	if (at_ns < launcher->term_at_ns)
		launcher->term_at_ns = at_ns;
}

static void rank_ended(struct launcher *launcher, int rank, int wait_status)
{
	bool ending = launcher->kill_at_ns != UINT64_MAX;
	int status = WIFSIGNALED(wait_status) ? STATUS_SIGNAL + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);

	launcher->running--;
	if (!status || ending)
		return;
	fprintf(stderr, "workload: rank %d (pid %d) %s %d\n", rank, (int)launcher->pids[rank],
		WIFSIGNALED(wait_status) ? "was killed by signal" : "failed with status",
		WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : status);
	if (status > launcher->status)
		launcher->status = status;
	plan_end(launcher, launcher->options->grace_s);
}

static void reap(struct launcher *launcher)
{
	int wait_status;
	pid_t pid;

	while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0) {
		for (int rank = 0; rank < launcher->options->ranks; rank++) {
			if (launcher->pids[rank] != pid)
				continue;
			rank_ended(launcher, rank, wait_status);
			launcher->pids[rank] = 0;
		}
	}
}

static void end_when_due(struct launcher *launcher, uint64_t limit_ns)
{
	uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);

	if (now_ns >= limit_ns && launcher->term_at_ns == UINT64_MAX) {
		fprintf(stderr, "workload: time limit reached, ending the job\n");
		launcher->status = STATUS_LIMIT;
		launcher->term_at_ns = now_ns;
	}
	if (now_ns >= launcher->term_at_ns && launcher->kill_at_ns == UINT64_MAX) {
		signal_ranks(launcher, SIGTERM);
		launcher->kill_at_ns = now_ns + KILL_AFTER_S * 1000000000ULL;
	}
	if (now_ns >= launcher->kill_at_ns)
		signal_ranks(launcher, SIGKILL);
}

static void wait_for_ranks(struct launcher *launcher)
{
	const struct timespec look = { .tv_nsec = 100000000 };
	uint64_t limit_ns = UINT64_MAX;

	if (launcher->options->limit_s)
		limit_ns = clock_now_ns(CLOCK_MONOTONIC) + launcher->options->limit_s * 1000000000ULL;
	while (launcher->running) {
		int number = sigtimedwait(&launcher->signals, NULL, &look);

		reap(launcher);
		if (number > 0 && number != SIGCHLD) {
			launcher->status = STATUS_SIGNAL + number;
			signal_ranks(launcher, number);
			plan_end(launcher, 0);
		}
		end_when_due(launcher, limit_ns);
	}
}

static bool can_make_fault(const struct fault_kind *kind)
{
	char reason[1024];

	if (!kind->check || !kind->check(reason, sizeof(reason)))
		return true;
	fprintf(stderr, "workload: the fault '%s' cannot be made here: %s: skipped\n", kind->name, reason);
	return false;
}

int launcher_main(const struct options *options, char **argv)
{
	struct launcher launcher = {
		.options = options,
		.pids = calloc(options->ranks, sizeof(pid_t)),
		.term_at_ns = UINT64_MAX,
		.kill_at_ns = UINT64_MAX,
	};

	if (!can_make_fault(options->fault))
		return STATUS_SKIPPED;
	sigemptyset(&launcher.signals);
	for (size_t i = 0; i < 4; i++)
		sigaddset(&launcher.signals, (int[]){ SIGCHLD, SIGTERM, SIGINT, SIGHUP }[i]);
	sigprocmask(SIG_BLOCK, &launcher.signals, NULL);
	int err = launcher.pids ? start_ranks(&launcher, argv) : -ENOMEM;
	if (err) {
		fprintf(stderr, "workload: cannot start %d ranks: %s\n", options->ranks, strerror(-err));
		launcher.status = 1;
		plan_end(&launcher, 0);
	}
	wait_for_ranks(&launcher);
	if (options->fault->tidy)
		options->fault->tidy();
	free(launcher.pids);
	return launcher.status;
}
