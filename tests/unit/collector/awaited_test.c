/* SPDX-License-Identifier: MIT */
/* Processes that a rank waits for: real ones, whose rights the kernel tells, with a /proc that is made up. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collector/host/awaited.h"
#include "collector/sources/process/kin.h"
#include "fake_analysis.h"
#include "other_user.h"
#include "tests/unit/ebpf/recorded_tree.h"

enum { RANK = 3, THREAD = 77 };

static const char reading[] = "0 0x5 0x7f00 0x10 0x0 0x0 0x0 0x7ffc00000000 0x7f1000000000\n";
static const char in_futex[] = "202 0x7f00 0x80 0x0 0x0 0x0 0x0 0x7ffc00000000 0x7f1000000000\n";

static struct recorded_tree tree;
static struct mounts *mounts;
static struct proc_source *proc;
static struct analysis analysis;
static struct awaited awaited;
static struct writer_process rank;
static pid_t other;
static struct kin kin; /* of the other process, as it really is */

static void open_all(void)
{
	tree_open(&tree);
	cr_assert_eq(mounts_open(&mounts, tree.root), 0);
	cr_assert_eq(proc_source_open(&proc, tree.root, mounts), 0);
	rank = (struct writer_process){ .pid = getpid(), .pidfd = -1, .proc_fd = -1, .uid = geteuid(), .gid = getegid() };
	other = other_user_start(geteuid(), geteuid());
	cr_assert_eq(kin_read("/proc", other, &kin), 0);
}

static void close_all(void)
{
	other_user_end(other);
	proc_source_close(proc);
	mounts_close(mounts);
	tree_close(&tree);
}

TestSuite(awaited, .init = open_all, .fini = close_all);

static void show(pid_t pid, uint32_t tid, char state, const char *call, pid_t parent, uint64_t start_ticks)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "%d/task/%u/stat", (int)pid, tid);
	snprintf(text, sizeof(text),
		 "%u (a (data) worker) %c %d 1 1 0 -1 4194560 1 0 0 0 5 1 0 0 20 0 1 0 %" PRIu64 " 1000 10\n", tid,
		 state, (int)parent, start_ticks);
	tree_write(&tree, path, text);
	snprintf(path, sizeof(path), "%d/task/%u/schedstat", (int)pid, tid);
	tree_write(&tree, path, "5000000 700000 42\n");
	snprintf(path, sizeof(path), "%d/task/%u/syscall", (int)pid, tid);
	tree_write(&tree, path, call);
	snprintf(path, sizeof(path), "%d/fd/5", (int)pid);
	tree_remove(&tree, path);
	tree_link(&tree, path, "/data/part-3");
}

static uint64_t started_ns(void)
{
	return kin.start_ticks * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* A wait of the rank that thread `tid` of the other process ended a second after that began. */
static void wake(pid_t pid, uint32_t tid, int32_t system_call, const char *path, uint64_t at_ns)
{
	struct analysis_wait wait = { .process = RANK,
				      .system_call = system_call,
				      .end_ns = at_ns,
				      .out_of_process_wake = true,
				      .waker_pid = pid,
				      .waker_tid = tid };

	snprintf(wait.path, sizeof(wait.path), "%s", path);
	awaited_note(&awaited, proc, &wait);
}

static void look_as(const struct analysis_wait *waiting)
{
	analysis.others = 0;
	awaited_sample(&awaited, proc, tree.root, &analysis, RANK, &rank, waiting, started_ns() + 2000000000);
}

static void look(void)
{
	look_as(NULL);
}

Test(awaited, a_child_that_ended_a_wait_on_a_pipe_is_looked_at)
{
	show(other, (uint32_t)other, 'S', reading, rank.pid, kin.start_ticks);
	wake(other, (uint32_t)other, SYS_read, "pipe:[77]", started_ns() + 1000000000);
	look();
	cr_assert_eq(analysis.others, 1);
	const struct analysis_other *seen = &analysis.last_other;
	cr_expect_eq(seen->process, RANK);
	cr_expect_eq(seen->pid, other);
	cr_expect_eq(seen->at_ns, started_ns() + 2000000000);
	cr_expect_str_eq(seen->name, "a (data) worker");
	cr_expect(seen->is_child);
	cr_expect_eq(seen->state, 'S');
	cr_expect_eq(seen->system_call, SYS_read);
	cr_expect_str_eq(seen->path, "/data/part-3");

	show(other, (uint32_t)other, 'R', "running\n", 1, kin.start_ticks);
	look();
	cr_assert_eq(analysis.others, 1);
	cr_expect_eq(seen->state, 'R');
	cr_expect_not(seen->is_child, "another process began it");
	cr_expect_str_empty(seen->path);
}

Test(awaited, of_a_thread_that_waits_for_a_lock_itself_the_main_thread_is_looked_at)
{
	show(other, (uint32_t)other, 'S', reading, rank.pid, kin.start_ticks);
	show(other, THREAD, 'R', "running\n", rank.pid, kin.start_ticks);
	wake(other, THREAD, SYS_ppoll, "socket:[78]", started_ns() + 1000000000);
	look();
	cr_expect_eq(analysis.last_other.tid, THREAD);
	show(other, THREAD, 'S', in_futex, rank.pid, kin.start_ticks);
	look();
	cr_expect_eq(analysis.last_other.tid, (uint32_t)other);
	cr_expect_str_eq(analysis.last_other.path, "/data/part-3");
}

Test(awaited, what_is_no_other_end_of_the_wait_is_not_looked_at)
{
	show(other, (uint32_t)other, 'S', reading, rank.pid, kin.start_ticks);
	wake(other, (uint32_t)other, SYS_futex, "", started_ns() + 1000000000); /* a signal ended it */
	wake(other, (uint32_t)other, SYS_write, "/data/log", started_ns() + 1000000000);
	look();
	cr_expect_eq(analysis.others, 0);
	wake(other, (uint32_t)other, SYS_wait4, "", started_ns() + 1000000000);
	look();
	cr_expect_eq(analysis.others, 1);
}

Test(awaited, a_number_that_was_given_to_another_process_since_is_not_looked_at)
{
	show(other, (uint32_t)other, 'S', reading, rank.pid, kin.start_ticks);
	wake(other, (uint32_t)other, SYS_read, "pipe:[77]", started_ns() - 1);
	look();
	cr_expect_eq(analysis.others, 0, "it started after the wait had ended");
	wake(other, (uint32_t)other, SYS_read, "pipe:[77]", started_ns() + 1000000000);
	show(other, (uint32_t)other, 'S', reading, rank.pid, kin.start_ticks - 1);
	look();
	cr_expect_eq(analysis.others, 0, "the kernel says that the process of this number started at another time");
}

Test(awaited, another_users_process_is_not_looked_at)
{
	if (geteuid() != 0)
		cr_skip_test("only root can start another user's process");
	pid_t foreign = other_user_start(OTHER_USER, OTHER_USER);
	cr_assert_eq(kin_read("/proc", foreign, &kin), 0);
	show(foreign, (uint32_t)foreign, 'S', reading, rank.pid, kin.start_ticks);
	wake(foreign, (uint32_t)foreign, SYS_read, "pipe:[77]", started_ns() + 1000000000);
	look();
	cr_expect_eq(analysis.others, 0);
	cr_expect(awaited.processes[0].refused, "it is not asked for again");
	rank.uid = OTHER_USER;
	rank.gid = OTHER_USER;
	awaited_forget(&awaited, proc);
	wake(foreign, (uint32_t)foreign, SYS_read, "pipe:[77]", started_ns() + 1000000000);
	look();
	cr_expect_eq(analysis.others, 1, "it is the process of the user whose rank waits");
	other_user_end(foreign);
}

Test(awaited, one_that_nobody_may_look_at_is_not_looked_at)
{
	if (geteuid() == 0)
		cr_skip_test("root's own processes are root's to look at");
	pid_t hidden = other_user_start_hidden();
	cr_assert_eq(kin_read("/proc", hidden, &kin), 0);
	show(hidden, (uint32_t)hidden, 'S', reading, rank.pid, kin.start_ticks);
	wake(hidden, (uint32_t)hidden, SYS_read, "pipe:[77]", started_ns() + 1000000000);
	look();
	cr_expect_eq(analysis.others, 0);
	other_user_end(hidden);
}

Test(awaited, who_has_ended_no_wait_for_the_longest_time_makes_room)
{
	show(other, (uint32_t)other, 'S', reading, rank.pid, kin.start_ticks);
	wake(other, (uint32_t)other, SYS_read, "pipe:[77]", started_ns() + 1000000000);
	for (uint32_t i = 1; i < AWAITED_MOST; i++)
		wake(1000000 + (pid_t)i, 1000000 + i, SYS_read, "pipe:[77]", started_ns() + 1000000000 + i);
	look();
	cr_expect_eq(analysis.others, 1);
	cr_expect_eq(awaited.processes[1].pid, 0, "there is no such process: its place is free");
	for (uint32_t i = 1; i <= AWAITED_MOST; i++)
		wake(1000000 + (pid_t)i, 1000000 + i, SYS_read, "pipe:[77]", started_ns() + 1000000000 + i);
	look();
	cr_expect_eq(analysis.others, 0);
}

/* The rank's thread waits for the first time: nobody has ended such a wait before. */
Test(awaited, the_child_that_has_the_other_end_of_the_pipe_is_looked_at)
{
	struct analysis_wait waiting = {
		.process = RANK, .tid = THREAD, .state = 'S', .system_call = SYS_read, .path = "pipe:[77]"
	};
	char path[64], text[16];

	snprintf(path, sizeof(path), "%d/task/%d/syscall", (int)rank.pid, THREAD);
	tree_write(&tree, path, reading);
	snprintf(path, sizeof(path), "%d/task/%d/children", (int)rank.pid, THREAD);
	snprintf(text, sizeof(text), "%d ", (int)other);
	tree_write(&tree, path, text);
	show(other, (uint32_t)other, 'R', "running\n", rank.pid, kin.start_ticks);
	snprintf(path, sizeof(path), "%d/fd/6", (int)other);
	tree_link(&tree, path, "pipe:[77]");
	snprintf(path, sizeof(path), "%d/fdinfo/6", (int)other);
	tree_write(&tree, path, "pos:\t0\nflags:\t01\n");
	look_as(&waiting);
	cr_assert_eq(analysis.others, 1);
	cr_expect_eq(analysis.last_other.pid, other);
	cr_expect_eq(analysis.last_other.waiting_tid, THREAD);
	cr_expect(analysis.last_other.is_child);
	waiting.state = 'R';
	look_as(&waiting);
	cr_assert_eq(analysis.others, 1);
	cr_expect_eq(analysis.last_other.waiting_tid, 0, "it does not wait any more");
}

/* With the place of its first stack. */
static void show_forked(pid_t pid, pid_t parent, unsigned stack)
{
	char path[64], text[256];

	snprintf(path, sizeof(path), "%d/task/%d/stat", (int)pid, (int)pid);
	snprintf(text, sizeof(text),
		 "%d (python3) S %d 1 1 0 -1 4194560 1 0 0 0 5 1 0 0 20 0 1 0 %" PRIu64 " 1000 10 99 1 2 %u 0\n",
		 (int)pid, (int)parent, kin.start_ticks, stack);
	tree_write(&tree, path, text);
}

Test(awaited, a_forked_child_in_a_lock_of_its_own_is_told_as_that)
{
	show(other, (uint32_t)other, 'S', in_futex, rank.pid, kin.start_ticks);
	show_forked(other, rank.pid, 4096);
	wake(other, (uint32_t)other, SYS_read, "pipe:[77]", started_ns() + 1000000000);
	show_forked(rank.pid, 1, 4096);
	look();
	cr_expect_eq(analysis.others, 1);
	cr_expect(analysis.last_other.held_at_fork);
	show_forked(rank.pid, 1, 8192); /* it is another program */
	look();
	cr_expect_eq(analysis.others, 1);
	cr_expect_not(analysis.last_other.held_at_fork);
}

Test(awaited, a_stat_that_is_none_is_not_believed)
{
	static const char *const texts[] = { "", "4711", "4711 (x", "4711 (x) S", "4711 (x) S 1 2 3 4 5 6 7 8", ") 4711 (x" };
	struct kin read;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		tree_write(&tree, "4711/task/4711/stat", texts[i]);
		cr_expect_neq(kin_read(tree.root, 4711, &read), 0, "%zu", i);
	}
	cr_expect_neq(kin_read(tree.root, 4712, &read), 0);
}
