/* SPDX-License-Identifier: MIT */
#include "helper/server.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "helper/doorman.h"
#include "helper/gate.h"

#define MS UINT64_C(1000000)

enum { REQUESTS_A_ROUND = 8, LOSS_MS = 250, HOLD_MS = 10000 };

static struct rw_helper_loss loss_of(const struct server *server, const struct client *client)
{
	uint64_t left_out = probes_lost_by(server->probes, client->user->owner) - client->user->lost_before;

	return (struct rw_helper_loss){ .queue = client->outbox.lost + left_out,
					.ring = server->loss.ring,
					.waits = server->loss.waits,
					.missed = server->loss.missed };
}

static void send_waiting(struct server *server, struct client *client)
{
	struct rw_helper_loss loss = client->outbox.reported;
	int err;

	if (server->probes && client->user)
		loss = loss_of(server, client);
	err = client->gone ? 0 : outbox_send(&client->outbox, client->fd, &loss);
	client->gone |= err && err != -EAGAIN;
}

/* Who else ends waits on this machine is not this user's business; that somebody does is. */
static void hide_waker(struct rw_kernel_wait *wait, uid_t uid)
{
	if (uid == 0 || !wait->waker_tid || wait->waker_uid == uid || wait->waker_uid == RW_KERNEL_NO_USER)
		return;
	wait->waker_tid = UINT32_MAX;
	wait->waker_tgid = 0;
	wait->waker_uid = RW_KERNEL_NO_USER;
	memset(wait->waker, 0, sizeof(wait->waker));
	snprintf(wait->waker, sizeof(wait->waker), "other user");
}

static void deliver(struct server *server, struct client *client, const struct rw_kernel_wait *wait,
		    char (*names)[RW_HELPER_FRAME])
{
	struct rw_kernel_wait shown = *wait;

	hide_waker(&shown, client->uid);
	if (client->outbox.end - client->outbox.begin > OUTBOX_BYTES / 2)
		send_waiting(server, client);
	outbox_add_record(&client->outbox, &shown, names);
}

void server_record(void *argument, const struct rw_kernel_wait *wait)
{
	struct server *server = argument;
	const struct watch *watch = watches_find(&server->watches, (pid_t)wait->tgid);
	static char names[RW_HELPER_FRAMES][RW_HELPER_FRAME];
	struct rw_kernel_wait copy = *wait;

	if (!watch)
		return;
	memset(names, 0, sizeof(names));
	int count = probes_stack(server->probes, wait->stack_id, names, RW_HELPER_FRAMES);

	copy.stack_id = count > 0 ? count : -1;
	if (wait->kind != RW_KERNEL_NOW) {
		for (unsigned i = 0; i < watch->client_count; i++)
			deliver(server, watch->clients[i], &copy, names);
	} else if (server->asker && server->looked == (pid_t)wait->tgid) {
		deliver(server, server->asker, &copy, names);
	}
}

static uint64_t lost_by(void *argument, uint32_t owner)
{
	struct server *server = argument;

	return server->probes ? probes_lost_by(server->probes, owner) : 0;
}

static int say_hello(struct server *server, struct client *client, const struct rw_helper_request *request, char *why)
{
	if (request->version != RW_HELPER_VERSION) {
		snprintf(why, RW_HELPER_WHY, "version %u of the protocol is not spoken here", request->version);
		return -EPROTO;
	}
	if (!server->probes) {
		snprintf(why, RW_HELPER_WHY, "%.150s", server->why);
		return -EOPNOTSUPP;
	}
	if (!client->user)
		client->user = user_enter(&server->users, client->uid, lost_by, server);
	if (!client->user)
		snprintf(why, RW_HELPER_WHY, "processes of %d other users are watched, which is all that it can",
			 PROBES_OWNERS);
	return client->user ? 0 : -EUSERS;
}

static const char *reason(int err)
{
	switch (err) {
	case -ENOSPC:
		return "the BPF programs watch as many processes as they can";
	case -ESRCH:
		return "the kernel shows no thread of it; it may have ended";
	case -ENOENT:
		return "this client does not watch it";
	case -EUSERS:
		return "as many watch it as may";
	default:
		return strerror(-err);
	}
}

/* The programs stay where they are for a while: to attach them takes milliseconds, and a client could ask for that
 * again and again. */
static void hold(struct server *server)
{
	if (!server->held)
		server->held = !probes_hold(server->probes);
	server->release_ns = 0;
}

/* Proven again behind the kernel's back: what exec or end came before it took note shows now, what comes later makes it
 * let go by itself. */
static int prove_again(struct server *server, struct client *client, pid_t pid, char *why)
{
	const struct watch *watch = watches_find(&server->watches, pid);
	struct writer_process process = watch->process;

	process.uid = client->uid ? client->uid : (uid_t)-1;

	int err = writer_process_check(&process, why);

	return !err && !probes_watches(server->probes, pid) ? -ESRCH : err;
}

static void forget(struct client *client)
{
	client->user->watches--;
}

static int watch_process(struct server *server, struct client *client, int pidfd, int32_t *pid, char *why)
{
	char refused[WRITER_PROCESS_WHY] = "";
	struct writer_process process;
	int err;

	watches_sweep(&server->watches, forget);
	if (!user_may_watch(client->user)) {
		close(pidfd);
		snprintf(why, RW_HELPER_WHY, "this user watches %d processes, which is as many as one may",
			 USER_WATCHES_MOST);
		return -ENOSPC;
	}
	err = writer_process_adopt(&process, pidfd, client->uid ? client->uid : (uid_t)-1, refused);
	if (!err) {
		*pid = process.pid;
		hold(server);
		err = watches_add(&server->watches, &process, client, client->user->owner);
	}
	client->user->watches += !err;
	if (!err) {
		err = prove_again(server, client, *pid, refused);
		if (err && watches_remove(&server->watches, *pid, client))
			forget(client);
	}
	if (err)
		snprintf(why, RW_HELPER_WHY, "%s", *refused ? refused : reason(err));
	return err;
}

static int sample(struct server *server, struct client *client, pid_t pid, char *why)
{
	char refused[WRITER_PROCESS_WHY] = "";
	const struct watch *watch = watches_find(&server->watches, pid);
	int err = watch && watch_has(watch, client) ? 0 : -ENOENT;

	if (!err)
		err = prove_again(server, client, pid, refused);
	if (!err) {
		server->asker = client;
		server->looked = pid;
		err = probes_sample(server->probes, pid);
		server->asker = NULL;
	}
	if (err)
		snprintf(why, RW_HELPER_WHY, "%s", *refused ? refused : reason(err));
	return err;
}

/* What it did until now comes before the answer, its end as well. */
static int unwatch(struct server *server, struct client *client, pid_t pid)
{
	probes_poll(server->probes);
	if (!watches_remove(&server->watches, pid, client))
		return -ENOENT;
	forget(client);
	return 0;
}

static int answer_request(struct server *server, struct client *client, const struct rw_helper_request *request, int fd,
			  struct rw_helper_answer *answer)
{
	switch (request->kind) {
	case RW_HELPER_HELLO:
		return say_hello(server, client, request, answer->why);
	case RW_HELPER_WATCH:
		return watch_process(server, client, fd, &answer->pid, answer->why);
	case RW_HELPER_UNWATCH:
		return unwatch(server, client, request->pid);
	default:
		return sample(server, client, request->pid, answer->why);
	}
}

/* A doorman has looked at the packet already; it is looked at again, because a doorman is only a process. */
void server_take(struct server *server, struct client *client, const void *packet, size_t size, int fd)
{
	struct rw_helper_request request;
	struct rw_helper_answer answer = { .kind = RW_HELPER_ANSWER, .version = RW_HELPER_VERSION };
	uint64_t begin_ns = clock_thread_cpu_ns();

	if (!doorman_lets_in(packet, size, fd)) {
		if (fd >= 0)
			close(fd);
		client->gone = true;
		return;
	}
	memcpy(&request, packet, sizeof(request));
	if (request.kind != RW_HELPER_HELLO && !client->user) {
		if (fd >= 0)
			close(fd);
		client->gone = true;
		return;
	}
	answer.number = request.number;
	answer.error = answer_request(server, client, &request, fd, &answer);
	answer.cost_ns = clock_thread_cpu_ns() - begin_ns;
	if (client->user)
		user_pay(client->user, answer.cost_ns, clock_monotonic_ns());
	client->gone |= !outbox_add_answer(&client->outbox, &answer);
	send_waiting(server, client);
}

struct client *server_let_in(struct server *server, int fd, uid_t uid)
{
	struct client *client = server->client_count < SERVER_CLIENTS ? calloc(1, sizeof(*client)) : NULL;

	if (!client) {
		close(fd);
		return NULL;
	}
	*client = (struct client){ .fd = fd, .uid = uid };
	server->clients[server->client_count++] = client;
	return client;
}

static void remove_client(struct server *server, size_t place)
{
	struct client *client = server->clients[place];

	for (size_t i = server->watches.count; i-- > 0;)
		if (watches_remove(&server->watches, server->watches.entries[i].process.pid, client))
			forget(client);
	if (client->user)
		user_leave(client->user);
	outbox_free(&client->outbox);
	close(client->fd);
	free(client);
	server->clients[place] = server->clients[--server->client_count];
}

static void remove_gone(struct server *server)
{
	for (size_t i = server->client_count; i-- > 0;)
		if (server->clients[i]->gone)
			remove_client(server, i);
}

/* With nobody watched the programs are let go after a while, and then there is nothing to wake up for. */
static void let_programs_rest(struct server *server, uint64_t at_ns)
{
	if (!server->held || server->watches.count)
		return;
	if (!server->release_ns)
		server->release_ns = at_ns + HOLD_MS * MS;
	if (at_ns < server->release_ns)
		return;
	probes_release(server->probes);
	server->held = false;
}

void server_tick(struct server *server, uint64_t at_ns)
{
	server->tick_ns = at_ns;
	if (server->probes && server->held)
		probes_poll(server->probes);
	if (server->probes && at_ns - server->loss_ns >= LOSS_MS * MS) {
		probes_loss(server->probes, &server->loss);
		server->loss_ns = at_ns;
	}
	for (size_t i = 0; i < server->client_count; i++)
		send_waiting(server, server->clients[i]);
	remove_gone(server);
	if (server->probes)
		let_programs_rest(server, at_ns);
}

static void read_requests(struct server *server, struct client *client)
{
	for (int i = 0; i < REQUESTS_A_ROUND && !client->gone; i++) {
		uint8_t packet[sizeof(struct rw_helper_request) + 1];
		union {
			struct cmsghdr header;
			char room[CMSG_SPACE(sizeof(int))];
		} control;
		struct iovec part = { packet, sizeof(packet) };
		struct msghdr message = { .msg_iov = &part,
					  .msg_iovlen = 1,
					  .msg_control = control.room,
					  .msg_controllen = sizeof(control.room) };
		ssize_t size;
		bool bad;
		int fd;

		if (client->user && !user_may_ask(client->user, clock_monotonic_ns()))
			return;
		size = recvmsg(client->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		fd = size > 0 ? doorman_descriptor(&message, &bad) : -1;
		server_take(server, client, packet, size > 0 && !bad ? (size_t)size : 0, fd);
	}
}

static void take_guest(struct server *server, int fd, const struct gate_guest *guest)
{
	server_let_in(server, fd, guest->uid);
}

static int time_to_tick(const struct server *server, uint64_t at_ns)
{
	bool waits = server->held;

	for (size_t i = 0; i < server->client_count && !waits; i++)
		waits = server->clients[i]->outbox.bytes ||
			(server->clients[i]->user && server->clients[i]->user->spent_ns);
	if (!waits)
		return -1;
	return at_ns >= server->tick_ns + SERVER_TICK_MS * MS
		   ? 0
		   : (int)((server->tick_ns + SERVER_TICK_MS * MS - at_ns) / MS) + 1;
}

/* 0; -EPIPE: the gate has ended. */
static int serve(struct server *server, struct pollfd *ends, size_t count)
{
	struct gate_guest guest;
	int fd = ends[0].revents ? gate_take(ends[0].fd, &guest) : -EAGAIN;

	for (size_t i = 1; i < count; i++) {
		struct client *client = server->clients[i - 1];

		if (ends[i].revents & POLLIN)
			read_requests(server, client);
		else if (ends[i].revents)
			client->gone = true;
	}
	remove_gone(server);
	if (fd >= 0)
		take_guest(server, fd, &guest);
	return fd == -EPIPE ? fd : 0;
}

int server_run(struct server *server, int gate)
{
	static struct pollfd ends[SERVER_CLIENTS + 1];
	int err = 0;

	while (!err) {
		uint64_t at_ns = clock_monotonic_ns();
		size_t count = 1;

		ends[0] = (struct pollfd){ .fd = gate, .events = POLLIN };
		for (size_t i = 0; i < server->client_count; i++) {
			struct user *user = server->clients[i]->user;
			bool may_ask = !user || user_may_ask(user, at_ns);

			ends[count++] = (struct pollfd){ .fd = server->clients[i]->fd, .events = may_ask ? POLLIN : 0 };
		}
		if (poll(ends, count, time_to_tick(server, at_ns)) < 0 && errno != EINTR)
			return -errno;
		err = serve(server, ends, count);
		at_ns = clock_monotonic_ns();
		if (at_ns >= server->tick_ns + SERVER_TICK_MS * MS)
			server_tick(server, at_ns);
	}
	return err;
}

void server_close(struct server *server)
{
	while (server->client_count)
		remove_client(server, server->client_count - 1);
	watches_close(&server->watches);
	if (server->held)
		probes_release(server->probes);
	server->held = false;
}
