/* SPDX-License-Identifier: MIT */
/*
 * Clients of rankwatchd that do what they like, and a kernel that records what it likes. The input is a list of deeds:
 * a byte says which, another of which client. probes.h is played here, so that neither rights nor a kernel's programs
 * are needed; descriptors are real.
 */
#include "tests/fuzz/box_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "helper/server.h"

enum { CLIENTS = 12, WATCHED = 16, DEEDS_MAX = 400, STRANGER = 4242, MS = 1000000 };
enum deed { COME, LEAVE, ASK, ASK_BADLY, RECORD, END_OF_PROCESS, LISTEN, TICK, DEEDS };

/* The other ends of the clients' sockets, and who they are. */
static struct {
	int fd;
	uid_t uid;
	struct client *client;
} others[CLIENTS];

static struct {
	pid_t watched[WATCHED];
	int count, held;
} kernel;
static struct server *the_server;
static uint64_t now_ns;

struct probes {
	int nothing;
};

static struct probes played;

static int place_of(pid_t tgid)
{
	for (int i = 0; i < kernel.count; i++)
		if (kernel.watched[i] == tgid)
			return i;
	return -1;
}

int probes_watch_for(struct probes *probes, pid_t tgid, uint32_t owner)
{
	(void)probes;
	if (owner >= PROBES_OWNERS)
		abort();
	if (kernel.count == WATCHED)
		return -ENOSPC;
	if (place_of(tgid) >= 0)
		return -EEXIST;
	kernel.watched[kernel.count++] = tgid;
	return 0;
}

void probes_unwatch(struct probes *probes, pid_t tgid)
{
	int place = place_of(tgid);

	(void)probes;
	if (place >= 0)
		kernel.watched[place] = kernel.watched[--kernel.count];
}

bool probes_watches(struct probes *probes, pid_t tgid)
{
	(void)probes;
	return place_of(tgid) >= 0;
}

static void record(pid_t tgid, uint32_t kind, uint8_t random)
{
	struct rw_kernel_wait wait = { .kind = kind, .tgid = (uint32_t)tgid, .tid = (uint32_t)tgid, .waker_tid = random,
				       .waker_tgid = random, .waker_uid = random % 3 ? STRANGER : geteuid(), .fd = -1,
				       .stack_id = random % 20 - 1, .start_ns = 1, .end_ns = 2 };

	memset(wait.thread, 'x', sizeof(wait.thread));
	snprintf(wait.waker, sizeof(wait.waker), "secret");
	server_record(the_server, &wait);
}

int probes_sample(struct probes *probes, pid_t tgid)
{
	(void)probes;
	if (place_of(tgid) < 0)
		return -ESRCH;
	record(tgid, RW_KERNEL_NOW, 1);
	return 0;
}

int probes_stack(struct probes *probes, int32_t stack_id, char (*frames)[40], int room)
{
	int written = 0;

	(void)probes;
	for (; written < stack_id && written < room; written++)
		snprintf(frames[written], sizeof(frames[0]), "f_%d", written);
	return written;
}

int probes_poll(struct probes *probes)
{
	(void)probes;
	return 0;
}

void probes_loss(struct probes *probes, struct probes_loss *loss)
{
	(void)probes;
	*loss = (struct probes_loss){ .ring = now_ns / 1000000000 };
}

uint64_t probes_lost_by(struct probes *probes, uint32_t owner)
{
	(void)probes, (void)owner;
	return 0;
}

int probes_hold(struct probes *probes)
{
	(void)probes;
	kernel.held++;
	return 0;
}

void probes_release(struct probes *probes)
{
	(void)probes;
	if (--kernel.held)
		abort();
}

struct input {
	const uint8_t *rest;
	size_t left;
};

static uint8_t take(struct input *input)
{
	return input->left ? input->left--, *input->rest++ : 0;
}

/* What gets to a client is whole, and of processes that are its own; of others it reads no waker. */
static void check_records(const uint8_t *packet, size_t size, uid_t uid)
{
	struct rw_helper_records head;
	struct rw_kernel_wait wait;
	size_t at = sizeof(head);

	if (size < at)
		abort();
	memcpy(&head, packet, sizeof(head));
	for (uint32_t i = 0; i < head.count; i++) {
		if (size - at < sizeof(wait))
			abort();
		memcpy(&wait, packet + at, sizeof(wait));
		at += sizeof(wait) + (wait.stack_id > 0 ? (size_t)wait.stack_id * RW_HELPER_FRAME : 0);
		if (at > size || wait.stack_id > RW_HELPER_FRAMES || (uid && uid != geteuid()))
			abort();
		if (uid && wait.waker_uid == STRANGER && uid != STRANGER)
			abort();
		if (uid && wait.waker_uid == RW_KERNEL_NO_USER && strcmp(wait.waker, "other user") != 0)
			abort();
	}
	if (at != size)
		abort();
}

static void listen_to(int i)
{
	static uint8_t packet[RW_HELPER_PACKET + 1];
	ssize_t size;
	uint32_t kind;

	while (others[i].fd >= 0 && (size = recv(others[i].fd, packet, sizeof(packet), MSG_DONTWAIT)) > 0) {
		if (size < (ssize_t)sizeof(kind) || size > RW_HELPER_PACKET)
			abort();
		memcpy(&kind, packet, sizeof(kind));
		if (kind == RW_HELPER_RECORDS)
			check_records(packet, (size_t)size, others[i].uid);
		else if (kind != RW_HELPER_ANSWER || size != sizeof(struct rw_helper_answer))
			abort();
	}
}

static bool is_there(const struct client *client)
{
	for (size_t i = 0; client && i < the_server->client_count; i++)
		if (the_server->clients[i] == client && !client->gone)
			return true;
	return false;
}

static void come(struct input *input, int i)
{
	const uid_t uids[] = { 0, geteuid(), STRANGER, STRANGER + 1 };
	int ends[2];

	if (is_there(others[i].client) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends))
		return;
	if (others[i].fd >= 0)
		close(others[i].fd);
	others[i].uid = uids[take(input) % 4];
	others[i].fd = ends[0];
	others[i].client = server_let_in(the_server, ends[1], others[i].uid);
}

static void leave(int i)
{
	if (others[i].fd >= 0)
		close(others[i].fd);
	others[i].fd = -1;
	if (is_there(others[i].client))
		others[i].client->gone = true;
	others[i].client = NULL;
}

static int descriptor(uint8_t which)
{
	switch (which % 6) {
	case 0:
		return (int)syscall(SYS_pidfd_open, getpid(), 0);
	case 1:
		return (int)syscall(SYS_pidfd_open, getppid(), 0);
	case 2:
		return (int)syscall(SYS_pidfd_open, 1, 0);
	case 3:
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	case 4:
		return open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	default:
		return -1;
	}
}

static void ask(struct input *input, int i)
{
	static const uint32_t kinds[] = { RW_HELPER_HELLO, RW_HELPER_WATCH, RW_HELPER_UNWATCH, RW_HELPER_LOOK };
	struct rw_helper_request request = { .kind = kinds[take(input) % 4], .version = RW_HELPER_VERSION };
	const pid_t pids[] = { getpid(), getppid(), 1, -1 };

	request.pid = pids[take(input) % 4];
	if (is_there(others[i].client))
		server_take(the_server, others[i].client, &request, sizeof(request),
			    request.kind == RW_HELPER_WATCH ? descriptor(take(input)) : -1);
}

static void ask_badly(struct input *input, int i)
{
	uint8_t packet[sizeof(struct rw_helper_request) + 1] = { 0 };
	size_t size = take(input) % (sizeof(packet) + 1);

	for (size_t at = 0; at < size; at++)
		packet[at] = take(input);
	if (is_there(others[i].client))
		server_take(the_server, others[i].client, packet, size, descriptor(take(input)));
}

static void act(struct input *input)
{
	enum deed deed = (enum deed)(take(input) % DEEDS);
	int i = take(input) % CLIENTS;

	if (deed == COME)
		come(input, i);
	else if (deed == LEAVE)
		leave(i);
	else if (deed == ASK)
		ask(input, i);
	else if (deed == ASK_BADLY)
		ask_badly(input, i);
	else if (deed == RECORD)
		record(i % 2 ? getpid() : getppid(), 1 + take(input) % 5, take(input));
	else if (deed == END_OF_PROCESS)
		probes_unwatch(NULL, i % 2 ? getpid() : getppid());
	else if (deed == LISTEN)
		listen_to(i);
	else
		server_tick(the_server, now_ns += (uint64_t)take(input) * 50 * MS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = { data, size };
	struct server server = { .probes = &played, .watches.probes = &played };

	the_server = &server;
	now_ns = MS;
	kernel.count = kernel.held = 0;
	for (int i = 0; i < CLIENTS; i++)
		others[i].fd = -1, others[i].client = NULL;
	for (int deeds = 0; deeds < DEEDS_MAX && input.left; deeds++)
		act(&input);
	server_tick(&server, now_ns);
	for (int i = 0; i < CLIENTS; i++) {
		listen_to(i);
		leave(i);
	}
	server_close(&server);
	if (kernel.count || kernel.held)
		abort();
	for (size_t i = 0; i < PROBES_OWNERS; i++)
		if (server.users.places[i].clients || server.users.places[i].watches)
			abort();
	return 0;
}
