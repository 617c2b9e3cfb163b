/* SPDX-License-Identifier: MIT */
/* The other end of TCP connections: of our own, by the kernel's tables, and of made-up ones. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/sources/waits/descriptor.h"
#include "collector/sources/waits/socket_peer.h"

#define SECOND UINT64_C(1000000000)

/* A connection to ourselves; *port: of its other end. */
static int connected(unsigned *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	cr_assert(server >= 0 && client >= 0 && bind(server, (struct sockaddr *)&address, length) == 0 &&
		  listen(server, 1) == 0);
	cr_assert_eq(getsockname(server, (struct sockaddr *)&address, &length), 0);
	cr_assert_eq(connect(client, (struct sockaddr *)&address, length), 0);
	*port = ntohs(address.sin_port);
	return client;
}

Test(socket_peer, of_a_connection_stands_behind_its_number)
{
	unsigned port;
	int client = connected(&port), lonely = socket(AF_INET, SOCK_STREAM, 0), pipes[2];
	struct descriptor descriptor;
	struct mounts *mounts;
	char expected[80];
	struct stat status;

	cr_assert(mounts_open(&mounts, "/proc") == 0 && fstat(client, &status) == 0 && pipe(pipes) == 0);
	cr_assert_eq(descriptor_read("/proc", getpid(), client, mounts, &descriptor), 0);
	snprintf(expected, sizeof(expected), "socket:[%ju] to 127.0.0.1:%u", (uintmax_t)status.st_ino, port);
	cr_expect_str_eq(descriptor.path, expected);
	cr_assert_eq(descriptor_read("/proc", getpid(), lonely, mounts, &descriptor), 0);
	cr_expect_null(strstr(descriptor.path, " to "), "%s", descriptor.path);
	cr_assert_eq(descriptor_read("/proc", getpid(), pipes[0], mounts, &descriptor), 0);
	cr_expect_null(strstr(descriptor.path, " to "), "%s", descriptor.path);
	mounts_close(mounts);
}

static char root[] = "/tmp/socket-peer-XXXXXX";

static void write_table(const char *name, const char *lines)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/7/net/%s", root, name);
	FILE *file = fopen(path, "w");
	cr_assert(file);
	fprintf(file,
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n%s",
		lines);
	fclose(file);
}

static void make_root(void)
{
	char path[64];

	cr_assert(mkdtemp(root));
	snprintf(path, sizeof(path), "%s/7", root);
	cr_assert_eq(mkdir(path, 0700), 0);
	strcat(path, "/net");
	cr_assert_eq(mkdir(path, 0700), 0);
	/* Made on a machine with the lowest byte first, as these are. */
	write_table("tcp", "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 11 1\n"
			   "  12: 0100007F:1F90 0700000A:01BB 01 00000000:00000000 00:00000000 00000000 0 0 12 1\n");
	write_table("tcp6", "   0: 00000000000000000000000000000000:1F90 000080FE000000000000000001000000:7338 01 "
			    "00000000:00000000 00:00000000 00000000 0 0 21 1\n"
			    "   1: 00000000000000000000000000000000:1F90 0000000000000000FFFF00000700000A:01BB 01 "
			    "00000000:00000000 00:00000000 00000000 0 0 22 1\n"
			    "not a line\n");
}

static void remove_root(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -r '%s'", root);
	cr_expect_eq(system(command), 0);
}

Test(socket_peer, is_read_as_the_kernel_writes_it, .init = make_root, .fini = remove_root)
{
	static const struct {
		uint64_t inode;
		const char *text; /* NULL none */
	} cases[] = { { 11, NULL },           { 12, "10.0.0.7:443" }, { 21, "[fe80::1]:29496" },
		      { 22, "10.0.0.7:443" }, { 23, NULL },           { 0, NULL } };
	char text[SOCKET_PEER_TEXT];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct socket_peers peers = { .read_ns = 0 };
		bool found = socket_peer_find(&peers, root, 7, cases[i].inode, SECOND, text);

		cr_assert_eq(found, cases[i].text != NULL, "inode %ju", (uintmax_t)cases[i].inode);
		if (found)
			cr_expect_str_eq(text, cases[i].text);
	}
}

/* A machine with many connections is not read for each wait of each thread. */
Test(socket_peer, tables_are_read_once_a_second_and_what_was_found_is_kept, .init = make_root, .fini = remove_root)
{
	struct socket_peers peers = { .read_ns = 0 };
	char text[SOCKET_PEER_TEXT];

	cr_expect(socket_peer_find(&peers, root, 7, 12, 10 * SECOND, text));
	cr_expect_not(socket_peer_find(&peers, root, 7, 22, 10 * SECOND + SECOND / 2, text), "not yet");
	write_table("tcp", "");
	cr_expect(socket_peer_find(&peers, root, 7, 12, 10 * SECOND + SECOND / 2, text) &&
		      !strcmp(text, "10.0.0.7:443"),
		  "kept");
	cr_expect(socket_peer_find(&peers, root, 7, 22, 11 * SECOND, text), "a second later");
	cr_expect_not(socket_peer_find(&peers, root, 7, 99, 13 * SECOND, text));
	cr_expect_not(socket_peer_find(&peers, root, 7, 99, 13 * SECOND + 1, text), "that there is none is kept, too");
}
