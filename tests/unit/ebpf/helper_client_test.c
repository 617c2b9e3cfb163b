/* SPDX-License-Identifier: MIT */
/* What a collector makes of a helper that answers late, or not at all: the helper's end of the socket is this
 * test's. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rankwatch/helper.h>

#include "base/clock.h"
#include "ebpf/helper_client.h"

enum { PATIENCE_MS = 5000 /* of the client, before it lets a helper go */ };

static struct {
	char directory[32], path[64];
	int listener, peer;
	struct helper_client *client;
} scene;

static void ignore(void *argument, const struct rw_kernel_wait *wait)
{
	(void)argument;
	(void)wait;
}

/* The number of the question that has come; -1: none has. */
static int take_question(enum rw_helper_kind *kind)
{
	struct rw_helper_request request;
	struct pollfd ready = { .fd = scene.peer, .events = POLLIN };

	if (poll(&ready, 1, 0) != 1 || recv(scene.peer, &request, sizeof(request), 0) != (ssize_t)sizeof(request))
		return -1;
	*kind = request.kind;
	return (int)request.number;
}

static void answer(int number, int error)
{
	const struct rw_helper_answer said = {
		.kind = RW_HELPER_ANSWER, .number = (uint32_t)number, .error = error, .pid = getpid(), .version = RW_HELPER_VERSION
	};

	cr_assert_eq(send(scene.peer, &said, sizeof(said), 0), (ssize_t)sizeof(said));
}

/* A child says hello in the helper's stead: the client waits for it. */
static void open_client(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char why[256];
	int pipe_ends[2];

	snprintf(scene.directory, sizeof(scene.directory), "/tmp/rankwatch-test.XXXXXX");
	cr_assert(mkdtemp(scene.directory));
	snprintf(scene.path, sizeof(scene.path), "%s/socket", scene.directory);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", scene.path);
	scene.listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	cr_assert_eq(bind(scene.listener, (struct sockaddr *)&address, sizeof(address)), 0);
	cr_assert_eq(listen(scene.listener, 1), 0);
	cr_assert_eq(socketpair(AF_UNIX, SOCK_DGRAM, 0, pipe_ends), 0);
	pid_t child = fork();

	if (!child) {
		enum rw_helper_kind kind;
		union {
			struct cmsghdr header;
			char room[CMSG_SPACE(sizeof(int))];
		} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS } };
		struct iovec part = { "x", 1 };
		struct msghdr message = { .msg_iov = &part,
					  .msg_iovlen = 1,
					  .msg_control = &control,
					  .msg_controllen = sizeof(control.room) };

		scene.peer = accept(scene.listener, NULL, NULL);
		struct pollfd ready = { .fd = scene.peer, .events = POLLIN };

		poll(&ready, 1, -1);
		answer(take_question(&kind), 0);
		memcpy(CMSG_DATA(&control.header), &scene.peer, sizeof(int));
		sendmsg(pipe_ends[1], &message, 0);
		_exit(0);
	}
	cr_assert_eq(helper_client_open(&scene.client, scene.path, ignore, NULL, why), 0, "%s", why);
	char byte, room[CMSG_SPACE(sizeof(int))];
	struct iovec part = { &byte, 1 };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room) };

	cr_assert_eq(recvmsg(pipe_ends[0], &message, 0), 1);
	memcpy(&scene.peer, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void close_client(void)
{
	helper_client_close(scene.client);
	close(scene.peer);
	close(scene.listener);
	unlink(scene.path);
	rmdir(scene.directory);
}

Test(helper_client, an_answer_that_is_late_is_awaited_and_nothing_else_is_asked, .init = open_client,
     .fini = close_client)
{
	enum rw_helper_kind kind;

	cr_assert_eq(helper_client_sample(scene.client, 1), -EAGAIN, "not answered in time");
	int first = take_question(&kind);

	cr_assert_geq(first, 0);
	cr_expect_eq(kind, RW_HELPER_LOOK);
	uint64_t begin_ms = clock_monotonic_ms();

	cr_expect_eq(helper_client_sample(scene.client, 1), -EAGAIN);
	cr_expect_lt(clock_monotonic_ms() - begin_ms, 150, "and it does not wait again");
	cr_expect_eq(take_question(&kind), -1, "nothing else is asked");
	cr_expect_geq(helper_client_poll(scene.client), 0, "it has not gone");
	answer(first, 0);
	cr_expect_eq(helper_client_sample(scene.client, 1), -EAGAIN, "the next one is asked, and late as well");
	int second = take_question(&kind);

	cr_expect_gt(second, first);
	answer(second, -ESRCH);
	cr_expect_geq(helper_client_poll(scene.client), 0);
	cr_expect_eq(helper_client_sample(scene.client, 1), -EAGAIN,
		     "the late answer is nobody's: the question is asked anew");
	cr_expect_gt(take_question(&kind), second);
}

Test(helper_client, who_never_answers_is_let_go, .init = open_client, .fini = close_client)
{
	uint64_t begin_ms = clock_monotonic_ms();
	int err;

	while ((err = helper_client_sample(scene.client, 1)) == -EAGAIN)
		poll(NULL, 0, 20);
	uint64_t took_ms = clock_monotonic_ms() - begin_ms;

	cr_expect_eq(err, -ENOTCONN);
	cr_expect_geq(took_ms, PATIENCE_MS, "%u ms", (unsigned)took_ms);
	cr_expect_eq(helper_client_poll(scene.client), -ENOTCONN);
}

Test(helper_client, a_process_that_is_watched_late_is_watched, .init = open_client, .fini = close_client)
{
	enum rw_helper_kind kind;
	char why[RW_HELPER_WHY];
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(helper_client_watch(scene.client, getpid(), fds[0], why), -EAGAIN);
	cr_expect(strstr(why, "not answered yet"), "%s", why);
	int number = take_question(&kind);

	answer(number, 0);
	answer(number + 1, -EEXIST); /* to the next question, for which it finds the process watched */
	cr_expect_eq(helper_client_watch(scene.client, getpid(), fds[0], why), 0, "%s", why);
	close(fds[0]);
	close(fds[1]);
}

Test(helper_client, a_question_that_must_be_answered_does_not_wait_for_a_late_one, .init = open_client,
     .fini = close_client)
{
	char why[RW_HELPER_WHY];
	int fds[2];

	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(helper_client_sample(scene.client, 1), -EAGAIN);
	cr_expect_eq(helper_client_watch(scene.client, getpid(), fds[0], why), -EAGAIN);
	cr_expect(strstr(why, "not answered yet"), "%s", why);
	helper_client_unwatch(scene.client, 1);
	cr_expect_eq(helper_client_poll(scene.client), -ENOTCONN, "to let it go ends the watching in any case");
	close(fds[0]);
	close(fds[1]);
}
