/* SPDX-License-Identifier: MIT */
/* What the child processes of a rank use: in a made-up /proc, and by a child of our own that computes. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/sources/process/descendants.h"
#include "tests/unit/ebpf/recorded_tree.h"

enum { RANK = 4700, THREAD = 4705, CHILD = 4711, GRANDCHILD = 4720, OTHER_RANK = 4730, START = 2200 };

static const uint64_t s = 1000000000, ms = 1000000;

static struct recorded_tree tree;
static struct descendants *descendants;
static struct analysis_children seen;
static pid_t left_out;

static bool is_left_out(void *argument, pid_t pid)
{
	(void)argument;
	return pid == left_out;
}

static void open_tree(void)
{
	tree_open(&tree);
}

static void close_tree(void)
{
	descendants_free(descendants);
	tree_close(&tree);
}

TestSuite(descendants, .init = open_tree, .fini = close_tree);

/* A process with these times in hundredths of a second, and with these children. */
static void show(pid_t pid, pid_t parent, char state, unsigned int own, unsigned int ended, const char *children)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "%d/stat", (int)pid);
	snprintf(text, sizeof(text), "%d (cc) 1 plus) %c %d 1 1 0 -1 4194560 1 0 0 0 %u 1 %u 2 20 0 1 0 %d 1000 10\n",
		 (int)pid, state, (int)parent, own, ended, START + (int)pid);
	tree_write(&tree, path, text);
	snprintf(path, sizeof(path), "%d/task/%d/children", (int)pid, (int)pid);
	tree_write(&tree, path, children);
}

static void show_io(pid_t pid, unsigned int bytes)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "%d/io", (int)pid);
	snprintf(text, sizeof(text), "rchar: %u\nwchar: 24\nsyscr: 1\nsyscw: 1\nread_bytes: 0\n", bytes);
	tree_write(&tree, path, text);
}

static void end(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "%d", (int)pid);
	tree_remove(&tree, path);
}

static bool read_as(uid_t owner, uint64_t at_ns)
{
	const struct descendants_request request = {
		.proc_root = tree.root, .pid = RANK, .owner = owner, .leave_out = is_left_out
	};

	return descendants_read(&descendants, &request, at_ns, &seen);
}

/* All that is shown began before that by its start. */
static bool read_at(uint64_t at_ns)
{
	return read_as(geteuid(), 1000 * s + at_ns);
}

Test(descendants, own_children_and_theirs_count_once_there_is_a_reading_before)
{
	show(RANK, 1, 'S', 500, 0, "");
	tree_write(&tree, "4700/task/4705/children", "4711 ");
	show(CHILD, RANK, 'S', 100, 0, "4720 ");
	show(GRANDCHILD, CHILD, 'R', 900, 0, "");
	cr_expect_not(read_at(0), "nothing to compare with");
	show(RANK, 1, 'S', 900, 0, "");
	show(CHILD, RANK, 'S', 102, 0, "4720 ");
	show(GRANDCHILD, CHILD, 'R', 948, 0, "");
	cr_assert(read_at(500 * ms));
	cr_expect_eq(seen.cpu_ns, 500 * ms, "the rank's own time is not its children's: %lu", (unsigned long)seen.cpu_ns);
	cr_expect_eq(seen.from_ns, 1000 * s);
	cr_expect_eq(seen.at_ns, 1000 * s + 500 * ms);
	cr_expect_eq(seen.busiest.pid, GRANDCHILD);
	cr_expect_not(seen.busiest.is_child);
	cr_expect_eq(seen.busiest.cpu_ns, 480 * ms);
	cr_expect_str_eq(seen.busiest.name, "cc) 1 plus");
}

Test(descendants, a_child_that_ended_counts_with_what_it_used_since)
{
	show(RANK, 1, 'S', 500, 30, "4711 ");
	show(CHILD, RANK, 'R', 200, 50, "");
	cr_expect_not(read_at(0));
	end(CHILD);
	show(RANK, 1, 'S', 500, 30 + 1 + 200 + 50 + 2 + 35, "");
	cr_assert(read_at(500 * ms));
	cr_expect_eq(seen.cpu_ns, 350 * ms, "%lu", (unsigned long)seen.cpu_ns);
	cr_expect_eq(seen.busiest.pid, 0, "no process that is still there");
	cr_assert(read_at(1000 * ms));
	cr_expect_eq(seen.cpu_ns, 0, "counted once");
}

Test(descendants, a_child_that_began_and_ended_in_between_counts)
{
	show(RANK, 1, 'S', 500, 30, "4711 ");
	show(CHILD, RANK, 'S', 10, 0, "");
	cr_expect_not(read_at(0));
	show(CHILD, RANK, 'S', 10, 45, "");
	cr_assert(read_at(500 * ms));
	cr_expect_eq(seen.cpu_ns, 450 * ms);
}

Test(descendants, a_child_that_nobody_waits_for_takes_nothing_off_what_the_others_use)
{
	show(RANK, 1, 'S', 500, 0, "4711 4720 ");
	show(CHILD, RANK, 'S', 5000, 0, "");
	show(GRANDCHILD, RANK, 'R', 100, 0, "");
	cr_expect_not(read_at(0));
	end(CHILD);
	show(GRANDCHILD, RANK, 'R', 140, 0, "");
	cr_assert(read_at(500 * ms));
	cr_expect_eq(seen.cpu_ns, 400 * ms);
	cr_expect(seen.busiest.is_child);
}

Test(descendants, a_zombie_and_one_that_waits_use_nothing)
{
	show(RANK, 1, 'S', 500, 0, "4711 4720 ");
	show(CHILD, RANK, 'Z', 3000, 0, "");
	show(GRANDCHILD, RANK, 'S', 800, 0, "");
	cr_expect_not(read_at(0));
	cr_assert(read_at(500 * ms));
	cr_expect_eq(seen.cpu_ns + seen.bytes, 0);
	cr_expect_not(seen.in_disk);
	end(CHILD);
	show(RANK, 1, 'S', 500, 3001, "4720 ");
	cr_assert(read_at(1000 * ms));
	cr_expect_eq(seen.cpu_ns, 0, "it is waited for at last: what it used is long past");
}

Test(descendants, one_that_was_there_before_it_was_seen_used_nothing_that_is_known)
{
	show(RANK, 1, 'S', 500, 0, "");
	cr_expect_not(read_at(0));
	show(RANK, 1, 'S', 500, 0, "4711 ");
	show(CHILD, RANK, 'R', 9000, 0, "");
	cr_assert(read_at(500 * ms));
	cr_expect_eq(seen.cpu_ns, 0);
	show(CHILD, RANK, 'R', 9050, 0, "");
	cr_assert(read_at(1000 * ms));
	cr_expect_eq(seen.cpu_ns, 500 * ms);
}

Test(descendants, one_that_began_in_between_used_all_that_it_has)
{
	const uint64_t begun_ns = (START + CHILD) * 10 * ms;

	show(RANK, 1, 'S', 500, 0, "");
	cr_expect_not(read_as(geteuid(), begun_ns - 100 * ms));
	show(RANK, 1, 'S', 500, 0, "4711 ");
	show(CHILD, RANK, 'R', 37, 0, "");
	cr_assert(read_as(geteuid(), begun_ns + 400 * ms));
	cr_expect_eq(seen.cpu_ns, 400 * ms, "its system time and its ended children's, too: %lu", (unsigned long)seen.cpu_ns);
}

Test(descendants, bytes_and_waits_for_a_disk_are_seen)
{
	show(RANK, 1, 'S', 500, 0, "4711 ");
	show(CHILD, RANK, 'D', 10, 0, "");
	cr_expect_not(read_at(0));
	show_io(CHILD, 1000000);
	cr_assert(read_at(500 * ms));
	cr_expect_eq(seen.bytes, 0, "how much of that is of this time is not known");
	cr_expect(seen.in_disk && seen.busiest.in_disk);
	show_io(CHILD, 4000000);
	show(CHILD, RANK, 'S', 10, 0, "");
	cr_assert(read_at(1000 * ms));
	cr_expect_eq(seen.bytes, 3000000);
	cr_expect_eq(seen.busiest.bytes, 3000000);
	cr_expect_not(seen.in_disk);
}

Test(descendants, other_ranks_are_judged_by_what_they_do_themselves)
{
	left_out = OTHER_RANK;
	show(RANK, 1, 'S', 500, 0, "4730 ");
	show(OTHER_RANK, RANK, 'R', 100, 0, "4711 ");
	show(CHILD, OTHER_RANK, 'R', 100, 0, "");
	cr_expect_not(read_at(0));
	show(OTHER_RANK, RANK, 'R', 150, 0, "4711 ");
	show(CHILD, OTHER_RANK, 'R', 150, 0, "");
	cr_assert(read_at(500 * ms));
	cr_expect_eq(seen.cpu_ns, 0);
}

Test(descendants, of_other_users_nothing_is_read)
{
	show(RANK, 1, 'S', 500, 0, "4711 ");
	show(CHILD, RANK, 'R', 100, 0, "");
	cr_expect_not(read_as(geteuid() + 1, 1000 * s));
	cr_expect_not(read_as(geteuid() + 1, 1000 * s + 500 * ms));
}

Test(descendants, what_is_no_list_of_processes_is_none)
{
	static const char *const lists[] = { "",     "\n",    "x 4711 ", "-4711 ", "99999999999999999999 ",
					     "4711", "4700 ", "4720 " };

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		show(RANK, 1, 'S', 500, 0, lists[i]);
		show(CHILD, RANK, 'R', 100, 0, "");
		show(GRANDCHILD, 1, 'R', 100, 0, ""); /* its parent is another: the number was given anew */
		read_at(i * s);
		show(CHILD, RANK, 'R', 150, 0, "");
		show(GRANDCHILD, 1, 'R', 150, 0, "");
		cr_assert(read_at(i * s + 500 * ms), "%s", lists[i]);
		cr_expect_eq(seen.cpu_ns, 0, "%s", lists[i]);
	}
}

Test(descendants, a_long_list_is_cut_off)
{
	char list[1024] = "";

	for (int i = 0; i < 100; i++) {
		snprintf(list + strlen(list), sizeof(list) - strlen(list), "%d ", 5000 + i);
		show(5000 + i, RANK, 'R', 0, 0, "");
	}
	show(RANK, 1, 'S', 500, 0, list);
	cr_expect_not(read_at(0));
	for (int i = 0; i < 100; i++)
		show(5000 + i, RANK, 'R', 10, 0, "");
	cr_assert(read_at(500 * ms));
	cr_expect_eq(seen.cpu_ns, DESCENDANTS_MOST * 100 * ms);
}

Test(descendants, readings_far_apart_are_not_compared)
{
	show(RANK, 1, 'S', 500, 0, "");
	cr_expect_not(read_at(0));
	cr_expect_not(read_at(DESCENDANTS_STALE_NS + 1));
	cr_expect(read_at(DESCENDANTS_STALE_NS + 500 * ms));
}

static uint64_t now_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * s + (uint64_t)now.tv_nsec;
}

/* Computes until it has used so much, twice: in between it waits for us. */
static void compute_by_turns(int wake)
{
	char byte;

	for (uint64_t until_ns = 300 * ms; read(wake, &byte, 1) == 1; until_ns += 300 * ms) {
		while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < until_ns)
			continue;
		raise(SIGSTOP);
	}
	_exit(0);
}

static void let_compute(pid_t child, int wake)
{
	int status;

	cr_assert_eq(write(wake, "", 1), 1);
	cr_assert_eq(waitpid(child, &status, WUNTRACED), child);
	cr_assert(WIFSTOPPED(status));
	cr_assert_eq(kill(child, SIGCONT), 0);
}

Test(descendants, a_real_child_that_computes_is_seen, .timeout = 60)
{
	const struct descendants_request request = {
		.proc_root = "/proc", .pid = getpid(), .owner = geteuid(), .leave_out = is_left_out
	};
	int ends[2];
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	if (access(path, R_OK))
		cr_skip_test("this kernel does not list children (CONFIG_PROC_CHILDREN)");
	cr_assert_eq(pipe(ends), 0);
	pid_t child = fork();

	if (!child) {
		close(ends[1]);
		compute_by_turns(ends[0]);
	}
	let_compute(child, ends[1]);
	uint64_t at_ns = now_ns(CLOCK_MONOTONIC);

	cr_expect_not(descendants_read(&descendants, &request, at_ns, &seen));
	let_compute(child, ends[1]);
	cr_assert(descendants_read(&descendants, &request, at_ns + 500 * ms, &seen));
	cr_expect(seen.cpu_ns >= 280 * ms && seen.cpu_ns <= 400 * ms, "%lu", (unsigned long)seen.cpu_ns);
	cr_expect_eq(seen.busiest.pid, child);
	cr_expect(seen.busiest.is_child);
	close(ends[1]);
	waitpid(child, NULL, 0);
}
