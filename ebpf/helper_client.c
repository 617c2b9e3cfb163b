/* SPDX-License-Identifier: MIT */
#include "ebpf/helper_client.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rankwatch/helper.h>

#include "base/clock.h"
#include "base/unix_connect.h"

enum { OPEN_MS = 3000, AGAIN_MS = 100, WATCH_MS = 1000, POLL_MS = 200, LATE_MS = 5000, PACKETS_MOST = 256,
	WHY_ROOM = 256 };

struct helper_client {
	int fd; /* -1: no helper now */
	bool greeted;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	probes_record *record;
	void *argument;
	uint32_t number; /* of the latest question */
	struct rw_helper_answer answer;
	bool answered;
	uint64_t late_ms; /* when the latest question was asked, if its answer is late; 0 it is not */
	struct rw_helper_loss base;	      /* what had been lost when it greeted us */
	struct probes_loss before, lost;      /* by helpers that have gone; by this one */
	uint64_t cost_ns;
	const char (*frames)[RW_HELPER_FRAME]; /* while the callback runs */
	int frame_count;
	uint8_t packet[RW_HELPER_PACKET];
};

static void add_loss(struct probes_loss *sum, const struct probes_loss *part)
{
	sum->ring += part->ring;
	sum->waits += part->waits;
	sum->missed += part->missed;
}

static void let_go(struct helper_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	client->greeted = false;
	client->late_ms = 0;
	add_loss(&client->before, &client->lost);
	client->lost = (struct probes_loss){ 0 };
}

/* Only root's helper is believed, or our own. */
static int dial(struct helper_client *client)
{
	int fd = unix_connect(client->path, SOCK_SEQPACKET);

	if (fd < 0)
		return fd;
	client->fd = fd;
	return 0;
}

static int send_request(struct helper_client *client, enum rw_helper_kind kind, pid_t pid, int pidfd)
{
	struct rw_helper_request request = {
		.kind = kind, .number = ++client->number, .pid = pid, .version = RW_HELPER_VERSION
	};
	struct iovec part = { &request, sizeof(request) };
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { .header = {
			  .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (pidfd >= 0) {
		memcpy(CMSG_DATA(&control.header), &pidfd, sizeof(pidfd));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control.room);
	}
	client->answered = false;
	return sendmsg(client->fd, &message, MSG_NOSIGNAL) == (ssize_t)sizeof(request) ? 0 : -ENOTCONN;
}

static void keep_loss(struct helper_client *client, const struct rw_helper_loss *loss)
{
	client->lost = (struct probes_loss){
		.ring = loss->ring + loss->queue - client->base.ring - client->base.queue,
		.waits = loss->waits - client->base.waits,
		.missed = loss->missed - client->base.missed,
	};
}

static void terminate_names(struct rw_kernel_wait *wait)
{
	wait->thread[sizeof(wait->thread) - 1] = '\0';
	wait->waker[sizeof(wait->waker) - 1] = '\0';
	wait->file[sizeof(wait->file) - 1] = '\0';
	wait->file_system[sizeof(wait->file_system) - 1] = '\0';
}

/* Returns its size, 0: it is not one. */
static size_t take_record(struct helper_client *client, uint8_t *bytes, size_t left)
{
	struct rw_kernel_wait wait;
	size_t size = sizeof(wait);

	if (left < size)
		return 0;
	memcpy(&wait, bytes, size);
	if (wait.stack_id > RW_HELPER_FRAMES)
		return 0;
	client->frame_count = wait.stack_id > 0 ? wait.stack_id : 0;
	size += (size_t)client->frame_count * RW_HELPER_FRAME;
	if (left < size)
		return 0;
	for (int i = 0; i < client->frame_count; i++)
		bytes[sizeof(wait) + (size_t)(i + 1) * RW_HELPER_FRAME - 1] = '\0';
	client->frames = (const char(*)[RW_HELPER_FRAME])(bytes + sizeof(wait));
	terminate_names(&wait);
	client->record(client->argument, &wait);
	client->frames = NULL;
	return size;
}

static bool take_records(struct helper_client *client, size_t size)
{
	struct rw_helper_records head;
	size_t at = sizeof(head), taken = 1;

	if (size < sizeof(head))
		return false;
	memcpy(&head, client->packet, sizeof(head));
	for (uint32_t i = 0; i < head.count && taken; i++) {
		taken = take_record(client, client->packet + at, size - at);
		at += taken;
	}
	keep_loss(client, &head.loss);
	return taken && at == size;
}

static bool take_answer(struct helper_client *client, size_t size)
{
	if (size != sizeof(client->answer))
		return false;
	memcpy(&client->answer, client->packet, size);
	client->answer.why[RW_HELPER_WHY - 1] = '\0';
	client->answered = client->answer.number == client->number;
	client->cost_ns += client->answer.cost_ns;
	if (client->greeted)
		keep_loss(client, &client->answer.loss);
	return true;
}

/* One packet. 1; 0: there is none now; -ENOTCONN: it has gone, or talks nonsense, and is let go. */
static int take_packet(struct helper_client *client)
{
	ssize_t size = recv(client->fd, client->packet, sizeof(client->packet), 0);
	uint32_t kind = 0;

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (size >= (ssize_t)sizeof(kind))
		memcpy(&kind, client->packet, sizeof(kind));
	if ((kind == RW_HELPER_RECORDS && client->greeted && take_records(client, (size_t)size)) ||
	    (kind == RW_HELPER_ANSWER && take_answer(client, (size_t)size)))
		return 1;
	let_go(client);
	return -ENOTCONN;
}

/* 0: client->answer is that of the latest question; -ETIMEDOUT, -ENOTCONN. */
static int await_answer(struct helper_client *client, uint64_t limit_ms)
{
	uint64_t end_ms = clock_monotonic_ms() + limit_ms;
	int got = 1;

	while (got >= 0 && !client->answered) {
		struct pollfd poll_fd = { .fd = client->fd, .events = POLLIN };
		uint64_t now = clock_monotonic_ms();

		got = take_packet(client);
		if (got || client->answered)
			continue;
		if (now >= end_ms)
			return -ETIMEDOUT;
		poll(&poll_fd, 1, (int)(end_ms - now));
	}
	return client->answered ? 0 : -ENOTCONN;
}

/* 0; -ETIMEDOUT: not yet, ask again; -EPROTO: it speaks another version, or cannot help: its answer says why. */
static int greet(struct helper_client *client, uint64_t limit_ms)
{
	int err = await_answer(client, limit_ms);

	if (err)
		return err;
	if (client->answer.error || client->answer.version != RW_HELPER_VERSION)
		return -EPROTO;
	client->greeted = true;
	client->base = client->answer.loss;
	return 0;
}

/* A helper that has gone may be there again. */
static int be_connected(struct helper_client *client, uint64_t limit_ms)
{
	int err = 0;

	if (client->greeted)
		return 0;
	if (client->fd < 0) {
		err = dial(client);
		if (!err)
			err = send_request(client, RW_HELPER_HELLO, 0, -1);
	}
	if (!err)
		err = greet(client, limit_ms);
	if (err && err != -ETIMEDOUT)
		let_go(client);
	return err;
}

static void explain(const struct helper_client *client, int err, char *why)
{
	if (err == -EPROTO && client->answer.version != RW_HELPER_VERSION)
		snprintf(why, WHY_ROOM,
			 "rankwatchd speaks version %u of its protocol, this command %d; install both from one "
			 "release",
			 client->answer.version, RW_HELPER_VERSION);
	else if (err == -EPROTO)
		snprintf(why, WHY_ROOM, "rankwatchd: %s", client->answer.why);
	else if (err == -ETIMEDOUT)
		snprintf(why, WHY_ROOM, "rankwatchd does not answer; look what systemctl status rankwatchd says");
	else if (err == -EPERM)
		snprintf(why, WHY_ROOM, "%s is not root's: it is not believed", client->path);
	else
		snprintf(why, WHY_ROOM, "rankwatchd, %s: %s", client->path,
			 err == -ENOTCONN ? "it ended the connection" : strerror(-err));
}

int helper_client_open(struct helper_client **client, const char *path, probes_record *record, void *argument,
		       char *why)
{
	struct helper_client *opened = calloc(1, sizeof(*opened));
	int err = opened ? 0 : -ENOMEM;

	*client = NULL;
	if (err) {
		snprintf(why, WHY_ROOM, "out of memory");
		return err;
	}
	*opened = (struct helper_client){ .fd = -1, .record = record, .argument = argument };
	snprintf(opened->path, sizeof(opened->path), "%s", path);
	err = be_connected(opened, OPEN_MS);
	if (err) {
		if (err != -ENOENT)
			explain(opened, err, why);
		helper_client_close(opened);
		return err;
	}
	*client = opened;
	return 0;
}

void helper_client_close(struct helper_client *client)
{
	if (client && client->fd >= 0)
		close(client->fd);
	free(client);
}

/* 0: the answer of before has come, if there was one; -EAGAIN: it is still to come; -ENOTCONN: too late, or the helper
 * has gone. */
static int settle(struct helper_client *client)
{
	int err = client->late_ms ? await_answer(client, 0) : 0;

	if (err == -ETIMEDOUT && clock_monotonic_ms() - client->late_ms < LATE_MS)
		return -EAGAIN;
	client->late_ms = 0;
	if (!err)
		return 0;
	let_go(client);
	return -ENOTCONN;
}

/* The answer's error; what keeps it from coming ends the connection, but not so if it may come late. Then -EAGAIN, and
 * no other question is asked before it has come: on a machine whose processors are all taken the helper waits for one,
 * too. */
static int ask(struct helper_client *client, enum rw_helper_kind kind, pid_t pid, int pidfd, uint64_t limit_ms,
	       bool may_be_late)
{
	int err = settle(client);

	if (err)
		return err;
	uint64_t asked_ms = clock_monotonic_ms();

	err = send_request(client, kind, pid, pidfd);
	if (!err)
		err = await_answer(client, limit_ms);
	if (!err)
		return client->answer.error > 0 ? -EPROTO : client->answer.error;
	if (err == -ETIMEDOUT && may_be_late) {
		client->late_ms = asked_ms;
		return -EAGAIN;
	}
	let_go(client);
	return -ENOTCONN;
}

int helper_client_watch(struct helper_client *client, pid_t pid, int pidfd, char *why)
{
	int err = pidfd < 0 ? -EBADF : be_connected(client, AGAIN_MS);

	if (!err)
		err = ask(client, RW_HELPER_WATCH, 0, pidfd, WATCH_MS, true);
	if (err == -EEXIST)
		err = 0; /* asked before: that answer came late */
	if (err) {
		snprintf(why, RW_HELPER_WHY, "%s",
			 err == -ETIMEDOUT || err == -EAGAIN ? "rankwatchd has not answered yet"
			 : err == -ENOTCONN                  ? "rankwatchd has gone"
			 : err == -EBADF || err == -ENOENT   ? ""
							     : client->answer.why);
		return err;
	}
	if (client->answer.pid == pid)
		return 0;
	snprintf(why, RW_HELPER_WHY, "the collector runs in a pid namespace of its own; start it with the host's");
	helper_client_unwatch(client, client->answer.pid);
	return -EOPNOTSUPP;
}

void helper_client_unwatch(struct helper_client *client, pid_t pid)
{
	if (client->greeted && ask(client, RW_HELPER_UNWATCH, pid, -1, POLL_MS, false) == -EAGAIN)
		let_go(client); /* which ends all its watching */
}

int helper_client_poll(struct helper_client *client)
{
	int got = 1, packets = 0;

	if (!client->greeted)
		return -ENOTCONN;
	while (packets < PACKETS_MOST && (got = take_packet(client)) > 0)
		packets++;
	return got < 0 ? got : packets;
}

int helper_client_sample(struct helper_client *client, pid_t pid)
{
	return client->greeted ? ask(client, RW_HELPER_LOOK, pid, -1, POLL_MS, true) : -ENOTCONN;
}

int helper_client_stack(struct helper_client *client, int32_t stack_id, char (*frames)[40], int room)
{
	int count = 0;

	for (; client->frames && count < client->frame_count && count < stack_id && count < room; count++)
		memcpy(frames[count], client->frames[count], sizeof(frames[0]));
	return count;
}

void helper_client_loss(struct helper_client *client, struct probes_loss *loss)
{
	*loss = client->before;
	add_loss(loss, &client->lost);
}

uint64_t helper_client_cost_ns(const struct helper_client *client)
{
	return client->cost_ns;
}
