/* SPDX-License-Identifier: MIT */
#include "helper/gate.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "helper/confine.h"
#include "helper/doorman.h"

enum { REFUSED_MOST = 32, REFUSED_MS = 1000 };

struct doorman {
	pid_t pid; /* 0: this place is free */
	uid_t uid;
	uint64_t until_ms; /* of one that refuses: it is ended then; 0: any time */
};

struct gate {
	int listener, helper;
	struct doorman doormen[GATE_MOST];
	unsigned count, refused;
};

static volatile sig_atomic_t child_ended; /* only that ppoll() returns */

static void on_child(int number)
{
	(void)number;
	child_ended = 1;
}

static void free_place(struct gate *gate, pid_t pid)
{
	for (size_t i = 0; i < GATE_MOST; i++) {
		if (gate->doormen[i].pid != pid)
			continue;
		gate->refused -= gate->doormen[i].until_ms != 0;
		gate->count--;
		gate->doormen[i].pid = 0;
	}
}

static void tidy(struct gate *gate)
{
	uint64_t now = clock_monotonic_ms();
	pid_t pid;

	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
		free_place(gate, pid);
	for (size_t i = 0; gate->refused && i < GATE_MOST; i++)
		if (gate->doormen[i].pid && gate->doormen[i].until_ms && gate->doormen[i].until_ms < now)
			kill(gate->doormen[i].pid, SIGKILL);
}

static unsigned connections_of(const struct gate *gate, uid_t uid)
{
	unsigned count = 0;

	for (size_t i = 0; i < GATE_MOST; i++)
		count += gate->doormen[i].pid && gate->doormen[i].uid == uid;
	return count;
}

static struct doorman *free_doorman(struct gate *gate)
{
	for (size_t i = 0; i < GATE_MOST; i++)
		if (!gate->doormen[i].pid)
			return &gate->doormen[i];
	return NULL;
}

/* Standard files, and the two: nothing else of ours is a doorman's. */
static _Noreturn void be_doorman(int client, int helper, const char *why)
{
	enum { FIRST = 64 };
	sigset_t none;

	sigemptyset(&none);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(client, FIRST) < 0 || dup2(helper, FIRST + 1) < 0 || syscall(SYS_close_range, 3, FIRST - 1, 0) ||
	    syscall(SYS_close_range, FIRST + 2, ~0u, 0) || confine_calls(CONFINE_DOORMAN))
		_exit(1);
	doorman_run(FIRST, FIRST + 1, why);
}

static int announce(const struct gate *gate, int end, const struct gate_guest *guest)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = {
			  .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct gate_guest copy = *guest;
	struct iovec part = { &copy, sizeof(copy) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.room,
				  .msg_controllen = sizeof(control.room) };

	memcpy(CMSG_DATA(&control.header), &end, sizeof(end));
	return sendmsg(gate->helper, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The client's socket is closed here while the doorman has it: the last to close it is never the gate. */
static void let_in(struct gate *gate, int client, const struct ucred *peer)
{
	bool full = connections_of(gate, peer->uid) >= GATE_USERS_MOST;
	struct doorman *doorman = free_doorman(gate);
	struct gate_guest guest = { .uid = peer->uid, .pid = peer->pid };
	int ends[2];

	if (!doorman || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends)) {
		close(client);
		return;
	}
	*doorman = (struct doorman){ .uid = peer->uid, .until_ms = full ? clock_monotonic_ms() + REFUSED_MS : 0 };
	doorman->pid = fork();
	if (doorman->pid == 0)
		be_doorman(client, ends[1], full ? "this user has as many connections as one may" : NULL);
	if (doorman->pid > 0) {
		gate->count++;
		gate->refused += full;
		if (!full)
			announce(gate, ends[0], &guest);
	} else {
		doorman->pid = 0;
	}
	close(client);
	close(ends[0]);
	close(ends[1]);
}

static void accept_one(struct gate *gate)
{
	int client = accept4(gate->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (client < 0)
		return;
	if (getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		close(client);
	else
		let_in(gate, client, &peer);
}

static _Noreturn void run(struct gate *gate)
{
	const struct sigaction action = { .sa_handler = on_child };
	sigset_t blocked, open;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_BLOCK, &blocked, &open);
	sigdelset(&open, SIGCHLD);
	sigaction(SIGCHLD, &action, NULL);
	for (;;) {
		bool full = gate->count >= GATE_MOST || gate->refused >= REFUSED_MOST;
		struct pollfd ends[] = { { .fd = gate->helper, .events = 0 },
					 { .fd = full ? -1 : gate->listener, .events = POLLIN } };
		const struct timespec soon = { .tv_nsec = 100000000 };

		if (ppoll(ends, 2, gate->refused ? &soon : NULL, &open) < 0 && errno != EINTR)
			_exit(1);
		if (ends[0].revents)
			_exit(0); /* the helper has ended; doormen see their ends closed */
		tidy(gate);
		if (!full && ends[1].revents & POLLIN)
			accept_one(gate);
	}
}

int gate_start(int listener)
{
	static struct gate gate;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid_t pid = fork();

	if (pid == 0) {
		gate.listener = listener;
		gate.helper = ends[1];
		close(ends[0]);
		prctl(PR_SET_NAME, "rankwatchd-gate");
		if (confine_rights(false) || confine_calls(CONFINE_GATE))
			_exit(1);
		run(&gate);
	}
	close(ends[1]);
	close(listener);
	if (pid < 0)
		close(ends[0]);
	return pid < 0 ? -errno : ends[0];
}

int gate_take(int gate, struct gate_guest *guest)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec part = { guest, sizeof(*guest) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.room,
				  .msg_controllen = sizeof(control.room) };
	ssize_t size = recvmsg(gate, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	bool bad;

	if (size < 0)
		return errno == EAGAIN || errno == EINTR ? -EAGAIN : -EPIPE;

	int fd = doorman_descriptor(&message, &bad);

	if (size == (ssize_t)sizeof(*guest) && fd >= 0 && !bad)
		return fd;
	if (fd >= 0)
		close(fd);
	return size ? -EAGAIN : -EPIPE;
}
