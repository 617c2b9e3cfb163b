/* SPDX-License-Identifier: MIT */
/* Who is at the other end of what a thread waits for: in a made-up /proc, and of a child of our own. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/sources/waits/other_end.h"
#include "tests/unit/ebpf/recorded_tree.h"

enum { RANK = 4700, THREAD = 4705, CHILD = 4711, OTHER_CHILD = 4712 };

static struct recorded_tree tree;

static void open_tree(void)
{
	tree_open(&tree);
}

static void close_tree(void)
{
	tree_close(&tree);
}

TestSuite(other_end, .init = open_tree, .fini = close_tree);

static void show_thread(uint32_t tid, const char *call, const char *children)
{
	char path[64], text[160];

	snprintf(path, sizeof(path), "%d/task/%u/syscall", RANK, tid);
	snprintf(text, sizeof(text), "%s 0x0 0x0 0x0 0x0 0x7ffc00000000 0x7f1000000000\n", call);
	tree_write(&tree, path, text);
	snprintf(path, sizeof(path), "%d/task/%u/children", RANK, tid);
	tree_write(&tree, path, children);
}

static void show_descriptor(pid_t pid, int fd, const char *link, const char *flags)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "%d/fdinfo/%d", (int)pid, fd);
	snprintf(text, sizeof(text), "pos:\t0\nflags:\t%s\nmnt_id:\t15\nino:\t77\n", flags);
	tree_write(&tree, path, text);
	snprintf(path, sizeof(path), "%d/fd/.keep", (int)pid);
	tree_write(&tree, path, "");
	snprintf(path, sizeof(path), "%d/fd/%d", (int)pid, fd);
	tree_link(&tree, path, link);
}

static pid_t found(int32_t system_call, const char *path)
{
	return other_end_find(tree.root, RANK, THREAD, system_call, path);
}

Test(other_end, of_a_pipe_is_the_only_child_that_can_write_into_it)
{
	show_thread(THREAD, "0 0x5 0x7f00", "4712 ");
	show_thread(RANK, "202 0x7f00 0x80", "4711 ");
	show_descriptor(CHILD, 3, "pipe:[76]", "01");
	show_descriptor(CHILD, 4, "pipe:[77]", "0100001");
	show_descriptor(OTHER_CHILD, 4, "pipe:[77]", "0100000"); /* the end that is read from */
	cr_expect_eq(found(SYS_read, "pipe:[77]"), CHILD);
	cr_expect_eq(found(SYS_read, "pipe:[78]"), 0);
	cr_expect_eq(found(SYS_readv, "pipe:[77]"), 0, "it is in another call by now");
	cr_expect_eq(found(SYS_write, "pipe:[77]"), 0, "it does not read");
	show_descriptor(OTHER_CHILD, 5, "pipe:[77]", "01");
	cr_expect_eq(found(SYS_read, "pipe:[77]"), 0, "either may write");
}

Test(other_end, of_a_poll_is_known_where_one_descriptor_is_polled)
{
	char call[32];

	show_descriptor(CHILD, 4, "pipe:[77]", "01");
	for (int count = 1; count <= 2; count++) {
		snprintf(call, sizeof(call), "%d 0x7f00 0x%d", SYS_ppoll, count);
		show_thread(THREAD, call, "4711 ");
		cr_expect_eq(found(SYS_ppoll, "pipe:[77]"), count == 1 ? CHILD : 0, "%d", count);
	}
}

Test(other_end, of_a_connection_over_the_loopback_interface_is_the_child_with_the_swapped_addresses)
{
	static const char table[] =
		"  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 70 1 0 100 0 0 10 0\n"
		"   1: 0100007F:8235 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 77 1 0 20 4 30 10 -1\n"
		"   2: 0100007F:1F90 0100007F:8235 01 00000000:00000000 00:00000000 00000000  1000        0 78 1 0 20 4 30 10 -1\n"
		"   4: 0100000A:8235 0100000A:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 81 1 0 20 4 30 10 -1\n"
		"   5: 0100000A:1F90 0100000A:8235 01 00000000:00000000 00:00000000 00000000  1000        0 82 1 0 20 4 30 10 -1\n"
		"   3: 0100007F:8236 0A00000A:01BB 01 00000000:00000000 00:00000000 00000000  1000        0 79 1 0 20 4 30 10 -1\n";
	char path[64];

	snprintf(path, sizeof(path), "%d/net/tcp", RANK);
	tree_write(&tree, path, table);
	show_thread(THREAD, "45 0x5 0x7f00", "4711 4712");
	show_descriptor(CHILD, 4, "socket:[78]", "02");
	show_descriptor(CHILD, 5, "socket:[82]", "02");
	show_descriptor(OTHER_CHILD, 4, "socket:[77]", "02"); /* the end that the thread itself reads */
	cr_expect_eq(found(SYS_recvfrom, "socket:[77] to 127.0.0.1:8080"), CHILD);
	cr_expect_eq(found(SYS_recvfrom, "socket:[79] to 10.0.0.10:443"), 0, "that leads out of the host");
	cr_expect_eq(found(SYS_recvfrom, "socket:[81] to 10.0.0.1:8080"), 0, "not over the loopback interface");
	cr_expect_eq(found(SYS_recvfrom, "socket:[80]"), 0, "no TCP");
}

Test(other_end, of_a_wait_for_a_child_is_that_child)
{
	static const struct {
		int32_t system_call;
		const char *call, *children;
		pid_t pid;
	} cases[] = {
		{ SYS_wait4, "61 0x1268 0x0", "4711 4712 ", OTHER_CHILD },
		{ SYS_wait4, "61 0xffffffff 0x0", "4711 ", CHILD },
		{ SYS_wait4, "61 0xffffffff 0x0", "4711 4712 ", 0 },
		{ SYS_wait4, "61 0x1269 0x0", "4711 4712 ", 0 },
		{ SYS_wait4, "61 0x0 0x0", "4711 ", 0 }, /* its process group */
		{ SYS_waitid, "247 0x1 0x1267", "4711 4712 ", CHILD },
		{ SYS_waitid, "247 0x0 0x0", "4711 ", CHILD },
		{ SYS_waitid, "247 0x3 0x5", "4711 ", 0 }, /* a pidfd */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		show_thread(THREAD, cases[i].call, cases[i].children);
		cr_expect_eq(found(cases[i].system_call, ""), cases[i].pid, "%zu: %d", i, found(cases[i].system_call, ""));
	}
}

Test(other_end, among_more_children_or_descriptors_than_are_asked_nobody_is_found)
{
	char children[1024];
	size_t used = 0;

	for (int i = 0; i <= OTHER_END_CHILDREN; i++)
		used += (size_t)snprintf(children + used, sizeof(children) - used, "%d ", CHILD + i);
	show_descriptor(CHILD, 4, "pipe:[77]", "01");
	show_thread(THREAD, "0 0x5 0x7f00", children);
	cr_expect_eq(found(SYS_read, "pipe:[77]"), 0);
	show_thread(THREAD, "0 0x5 0x7f00", "4711 4712 ");
	cr_expect_eq(found(SYS_read, "pipe:[77]"), CHILD);
	for (int fd = 0; fd < OTHER_END_DESCRIPTORS; fd++)
		show_descriptor(OTHER_CHILD, fd, "/dev/null", "02");
	cr_expect_eq(found(SYS_read, "pipe:[77]"), 0, "not all were asked");
}

/* What the kernel itself shows: we are the rank, and a thread of ours reads. */
Test(other_end, of_a_real_pipe_is_the_child_that_has_it)
{
	int data[2], go[2];
	char link[64], byte;
	struct stat status;

	cr_assert(pipe(data) == 0 && pipe(go) == 0 && fstat(data[0], &status) == 0);
	snprintf(link, sizeof(link), "pipe:[%llu]", (unsigned long long)status.st_ino);
	pid_t reader = fork();
	if (!reader) {
		/* The reader is the rank, its child the other end, and we look at both. */
		pid_t child = fork();
		if (!child) {
			for (;;)
				pause();
		}
		cr_assert(write(go[1], &child, sizeof(child)) == sizeof(child));
		_exit(read(data[0], &byte, 1) == 1);
	}
	pid_t child, seen = 0;
	cr_assert_eq(read(go[0], &child, sizeof(child)), (ssize_t)sizeof(child));
	for (int tries = 0; tries < 5000 && !seen; tries++) {
		seen = other_end_find("/proc", reader, (uint32_t)reader, SYS_read, link);
		usleep(1000);
	}
	bool can_see = !access("/proc/thread-self/children", R_OK);
	kill(child, SIGKILL);
	kill(reader, SIGKILL);
	waitpid(reader, NULL, 0);
	if (!can_see)
		cr_skip_test("this kernel does not list children");
	cr_expect_eq(seen, child);
}
