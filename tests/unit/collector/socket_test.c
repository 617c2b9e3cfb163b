/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "box_process.h"
#include "collector/sinks/socket.h"

static uv_loop_t loop;
static struct address address;
static struct socket_sink *sink;
static char why[160];

static void on_came(void *argument, struct socket_client *client)
{
	(void)argument;
	socket_send(client, "{\"hello\":{}}");
}

static int64_t asked;

static void on_asked(void *argument, struct socket_client *client, const struct request *request)
{
	(void)argument;
	asked = request->id;
	socket_subscription(client)->topics = request->topics;
}

static const struct socket_events events = { .came = on_came, .asked = on_asked };

static void setup(void)
{
	uv_loop_init(&loop);
	cr_assert_eq(address_fill(&address, box_process_directory(), 1000, "j"), 0);
	cr_assert_eq(socket_open(&sink, &loop, &address, &events, why), 0, "%s", why);
}

static void teardown(void)
{
	socket_close(sink);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	box_process_cleanup();
}

TestSuite(socket, .init = setup, .fini = teardown, .timeout = 30);

static void turn(int times)
{
	for (int i = 0; i < times; i++)
		uv_run(&loop, UV_RUN_NOWAIT);
}

static int join(const char *path)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	cr_assert_eq(connect(fd, (struct sockaddr *)&name, sizeof(name)), 0, "%s: %s", path, strerror(errno));
	turn(3);
	return fd;
}

static void expect_text(int fd, const char *expected)
{
	char text[256] = "";
	ssize_t count = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	cr_expect(count >= 0, "nothing came");
	cr_expect_str_eq(text, expected);
}

Test(socket, a_client_is_greeted_and_hears_what_is_sent_to_all)
{
	int fd = join(address.shared);

	expect_text(fd, "{\"hello\":{}}\n");
	socket_send_all(sink, "{\"a\":1}");
	expect_text(fd, "{\"a\":1}\n");
	close(fd);
}

Test(socket, only_its_owner_may_connect)
{
	struct stat status;

	cr_assert_eq(stat(address.shared, &status), 0);
	cr_expect_eq(status.st_mode & 0777, 0600);
}

Test(socket, a_second_collector_gets_a_path_of_its_own_and_a_killed_ones_path_is_taken_over)
{
	struct socket_sink *second;
	int fd;

	cr_assert_eq(socket_open(&second, &loop, &address, &events, why), 0);
	cr_expect_str_eq(socket_path(second), address.own);
	socket_close(second);

	strcpy(address.shared, address.own);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	snprintf(name.sun_path, sizeof(name.sun_path), "%s", address.shared);
	unlink(address.shared);
	cr_assert_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	close(fd); /* its name stays, nobody listens */
	cr_assert_eq(socket_open(&second, &loop, &address, &events, why), 0, "%s", why);
	cr_expect_str_eq(socket_path(second), address.shared);
	socket_close(second);
}

Test(socket, a_client_that_does_not_read_is_dropped_and_nobody_waits)
{
	char *line = malloc(64 * 1024);
	int slow = join(address.shared), good = join(address.shared);

	memset(line, 'x', 64 * 1024);
	line[64 * 1024 - 1] = '\0';
	for (int i = 0; i < 64; i++) {
		char sink_for_good[70000];

		socket_send_all(sink, line);
		turn(1);
		while (recv(good, sink_for_good, sizeof(sink_for_good), MSG_DONTWAIT) > 0)
			turn(1);
	}
	cr_expect_eq(socket_clients(sink), 1);
	free(line);
	close(slow);
	close(good);
}

static void count_drained(void *argument, struct socket_client *client)
{
	unsigned *counts = argument;

	counts[0] += socket_subscription(client)->topics != 0;
	counts[1] += socket_subscription(client)->topics && socket_is_drained(client);
}

/* A snapshot is only made for those who have read the one before: docs/protocol.md. */
Test(socket, a_subscriber_that_does_not_read_is_not_drained_and_is_kept)
{
	static const char request[] = "{\"id\":7,\"subscribe\":[\"ranks\"]}\n";
	int fd = join(address.shared);
	char *line = malloc(2 << 20), some[70000];
	unsigned counts[2] = { 0 };

	cr_assert_eq(send(fd, request, sizeof(request) - 1, 0), (ssize_t)sizeof(request) - 1);
	turn(3);
	cr_expect_eq(asked, 7);
	memset(line, 'x', 2 << 20);
	line[(2 << 20) - 1] = '\0';
	socket_send_all(sink, line);
	turn(3);
	socket_each(sink, count_drained, counts);
	cr_expect_eq(counts[0], 1);
	cr_expect_eq(counts[1], 0);
	socket_send_all(sink, "{\"finding\":1}"); /* while most of the snapshot is still on its way */
	cr_expect_eq(socket_clients(sink), 1);
	for (int i = 0; i < 1000; i++) {
		recv(fd, some, sizeof(some), MSG_DONTWAIT);
		turn(1);
	}
	socket_each(sink, count_drained, counts);
	cr_expect_eq(counts[1], 1);
	cr_expect_eq(socket_clients(sink), 1);
	free(line);
	close(fd);
}

Test(socket, a_line_without_end_drops_the_client)
{
	int fd = join(address.shared);
	char flood[REQUEST_LINE * 2];

	memset(flood, '{', sizeof(flood));
	cr_assert_eq(send(fd, flood, sizeof(flood), 0), (ssize_t)sizeof(flood));
	turn(5);
	cr_expect_eq(socket_clients(sink), 0);
	close(fd);
}

/* Two that have joined, and one who only listens. */
static void greet_two_launchers(int *first, int *second, int *listener)
{
	*first = join(address.shared);
	*second = join(address.shared);
	*listener = join(address.shared);
	cr_assert_eq(send(*first, "{\"join\":\"run\"}\n", 15, 0), 15);
	cr_assert_eq(send(*second, "{\"join\":\"run\"}\n", 15, 0), 15);
	turn(3);
	expect_text(*first, "{\"hello\":{}}\n");
	expect_text(*second, "{\"hello\":{}}\n");
	expect_text(*listener, "{\"hello\":{}}\n");
}

Test(socket, the_last_launcher_to_leave_gets_the_summary_to_print_and_listeners_hear_it)
{
	int first, second, listener;

	greet_two_launchers(&first, &second, &listener);
	cr_expect_eq(socket_runs(sink), 2);

	cr_assert_eq(send(first, "{\"leave\":\"run\"}\n", 16, 0), 16);
	turn(3);
	cr_expect_eq(socket_leaving(sink), 1);
	socket_answer_leaving(sink, "line", "last");
	expect_text(first, "line\n");

	cr_assert_eq(send(second, "{\"leave\":\"run\"}\n", 16, 0), 16);
	turn(3);
	socket_answer_leaving(sink, "line", "last");
	expect_text(second, "last\n");
	expect_text(listener, "last\n");
	close(first);
	close(second);
	close(listener);
}

Test(socket, one_launcher_prints_findings_and_the_next_one_when_it_has_gone)
{
	int first, second, listener;

	greet_two_launchers(&first, &second, &listener);
	socket_mute_others(sink);
	socket_mute_others(sink);
	expect_text(first, "{\"muted\":false}\n");
	expect_text(second, "{\"muted\":true}\n");
	socket_send_all(sink, "once");
	expect_text(first, "once\n");
	expect_text(second, "once\n");
	expect_text(listener, "once\n");
	close(first);
	turn(5);
	socket_mute_others(sink);
	expect_text(second, "{\"muted\":false}\n");
	socket_send_all(sink, "nothing else");
	expect_text(second, "nothing else\n");
	expect_text(listener, "nothing else\n");
	close(second);
	close(listener);
}

Test(socket, launchers_that_are_still_there_when_it_ends_get_the_summary)
{
	int first, second, listener;

	greet_two_launchers(&first, &second, &listener);
	socket_report_end(sink, "line", "last");
	expect_text(first, "last\n");
	expect_text(second, "line\n");
	socket_send_all(sink, "nothing else");
	expect_text(listener, "nothing else\n");
	close(first);
	close(second);
	close(listener);
}
