/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "collector/sources/waits/proc_source.h"
#include "tests/unit/ebpf/recorded_tree.h"

static struct recorded_tree tree;
static struct mounts *mounts;
static struct proc_source *source;
static struct analysis_wait waits[8];
static int count;

static void on_wait(void *argument, const struct analysis_wait *wait)
{
	(void)argument;
	cr_assert(lt(int, count, 8));
	waits[count++] = *wait;
}

static void write_thread(const char *tid, const char *stat, const char *call, const char *channel)
{
	char path[64];

	snprintf(path, sizeof(path), "4711/task/%s/stat", tid);
	tree_write(&tree, path, stat);
	snprintf(path, sizeof(path), "4711/task/%s/schedstat", tid);
	tree_write(&tree, path, "5000000 700000 42\n");
	snprintf(path, sizeof(path), "4711/task/%s/syscall", tid);
	tree_write(&tree, path, call);
	snprintf(path, sizeof(path), "4711/task/%s/wchan", tid);
	tree_write(&tree, path, channel);
}

static void open_all(void)
{
	tree_open(&tree);
	write_thread("4711", "4711 (python-main) S 1 4711 4711 0 -1\n",
		     "202 0x7f00 0x80 0x0 0x0 0x0 0x0 0x7ffc00000000 0x7f1000000000\n", "futex_do_wait");
	cr_assert(zero(int, mounts_open(&mounts, tree.root)));
}

static void close_all(void)
{
	proc_source_close(source);
	mounts_close(mounts);
	tree_close(&tree);
}

static int look(uint32_t tid, struct proc_source_view *view)
{
	if (!source)
		cr_assert(zero(int, proc_source_open(&source, tree.root, mounts)));
	count = 0;
	return proc_source_sample(source, 7, 4711, tid, 1000, on_wait, NULL, view);
}

TestSuite(proc_source, .init = open_all, .fini = close_all);

/* 32-bit futex has the number of another call here; read(2)'s is that of close(2). */
Test(proc_source, a_call_by_the_32_bit_interface_is_not_taken_for_another)
{
	static const char *const calls[] = {
		"3 0x3 0xffd8a000 0x10 0x0 0x0 0x0 0xffd89f00 0xf7f2a549\n",              /* a 32-bit program */
		"1073741827 0x3 0x7f00 0x10 0x0 0x0 0x0 0x7ffc00000000 0x7f1000000000\n", /* x32 */
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		write_thread("4711", "4711 (python-main) S 1 4711 4711 0 -1\n", calls[i], "pipe_read");
		cr_assert(zero(int, look(0, NULL)));
		cr_expect(eq(i32, waits[0].system_call, -2));
		cr_expect(eq(i32, waits[0].fd, -1));
		cr_expect(eq(str, waits[0].wait_channel, "pipe_read"));
	}
}

Test(proc_source, a_lock_wait_is_one_sample_without_a_descriptor)
{
	cr_assert(zero(int, look(0, NULL)));
	cr_assert(eq(int, count, 1));
	cr_expect(eq(int, waits[0].kind, ANALYSIS_WAIT_SAMPLE));
	cr_expect(eq(int, waits[0].level, RW_LEVEL_PROC));
	cr_expect(eq(u32, waits[0].process, 7));
	cr_expect(eq(str, waits[0].thread, "python-main"));
	cr_expect(eq(chr, waits[0].state, 'S'));
	cr_expect(eq(i32, waits[0].system_call, 202));
	cr_expect(eq(i32, waits[0].fd, -1), "futex's first argument is an address");
	cr_expect(eq(str, waits[0].wait_channel, "futex_do_wait"));
	cr_expect(eq(u64, waits[0].cpu_ns, 5000000));
	cr_expect(eq(u64, waits[0].run_queue_ns, 700000));
	cr_expect(eq(u64, waits[0].end_ns, 1000));
}

Test(proc_source, a_file_wait_has_path_and_device)
{
	tree_write(&tree, "4711/mountinfo", "36 27 7:3 / /mnt rw - ext4 /dev/loop3 rw\n");
	tree_link(&tree, "4711/fd/3", "/mnt/events.out");
	tree_write(&tree, "4711/fdinfo/3", "mnt_id:\t36\nino:\t12\n");
	write_thread("4711", "4711 (tb-writer) D 1\n", "74 0x3 0x0 0x0 0x0 0x0 0x0 0x7ffc00000000 0x7f1000000000\n",
		     "folio_wait_bit");
	cr_assert(zero(int, look(4711, NULL)));
	cr_expect(eq(i32, waits[0].fd, 3));
	cr_expect(eq(str, waits[0].path, "/mnt/events.out"));
	cr_expect(eq(str, waits[0].file_system, "ext4"));
	cr_expect(eq(str, waits[0].device_name, "loop3"));
}

Test(proc_source, a_poll_waits_for_the_first_of_its_descriptors)
{
	struct pollfd polled[] = { { .fd = 5, .events = POLLIN }, { .fd = 6 } };
	char memory[64 + sizeof(polled)] = "";
	char call[96];

	memcpy(memory + 64, polled, sizeof(polled));
	tree_write_bytes(&tree, "4711/mem", memory, sizeof(memory));
	tree_link(&tree, "4711/fd/5", "/dev/nvidia0");
	snprintf(call, sizeof(call), "%d 0x40 0x2 0xffffffff 0x0 0x0 0x0 0x7ffc00000000 0x7f1000000000\n",
		 (int)SYS_ppoll);
	write_thread("4711", "4711 (python-main) S 1\n", call, "poll_schedule_timeout");
	cr_assert(zero(int, look(4711, NULL)));
	cr_expect(eq(i32, waits[0].fd, 5));
	cr_expect(eq(str, waits[0].path, "/dev/nvidia0"));

	snprintf(call, sizeof(call), "%d 0x7fff00000000 0x2 0xffffffff 0x0 0x0 0x0 0x7ffc00000000 0x7f1000000000\n",
		 (int)SYS_ppoll);
	write_thread("4711", "4711 (python-main) S 1\n", call, "poll_schedule_timeout");
	cr_assert(zero(int, look(4711, NULL)));
	cr_expect(eq(i32, waits[0].fd, -1), "memory that is not there");
}

Test(proc_source, a_readable_stack_makes_the_level_root)
{
	tree_write(&tree, "self/stack", "");
	tree_write(&tree, "4711/task/4711/stack",
		   "[<0>] futex_do_wait+0x4e/0x80\n[<0>] do_futex.constprop.0+0x7e/0x190\n"
		   "[<0>] do_syscall_64+0x5c/0x90\n[<0>] entry_SYSCALL_64_after_hwframe+0x6e/0xd8\n");
	cr_assert(zero(int, look(0, NULL)));
	cr_expect(eq(int, waits[0].level, RW_LEVEL_ROOT));
	cr_assert(eq(u32, waits[0].frame_count, 2));
	cr_expect(eq(str, waits[0].frames[0], "futex_do_wait"));
	cr_expect(eq(str, waits[0].frames[1], "do_futex"));
}

Test(proc_source, stopped_threads_are_counted)
{
	struct proc_source_view view;

	write_thread("4711", "4711 (python-main) T 1\n", "-1 0x7ffc00000000 0x7f1000000000\n", "do_signal_stop");
	write_thread("4712", "4712 (tb-writer) t 1\n", "-1 0x7ffc00000000 0x7f1000000000\n", "0");
	cr_assert(zero(int, look(0, &view)));
	cr_expect(eq(u32, view.threads, 2));
	cr_expect(eq(u32, view.stopped, 2));
	cr_expect(eq(i32, waits[0].system_call, -1));
}

Test(proc_source, a_name_with_brackets_and_blanks_is_read_whole)
{
	write_thread("4711", "4711 (a) R (b) S 1\n", "0 0x3 0x0\n", "0");
	cr_assert(zero(int, look(0, NULL)));
	cr_expect(eq(str, waits[0].thread, "a) R (b"));
	cr_expect(eq(chr, waits[0].state, 'S'));
	cr_expect(eq(str, waits[0].wait_channel, ""));
}

Test(proc_source, another_users_process_shows_its_state_at_least)
{
	tree_remove(&tree, "4711/task/4711/syscall");
	tree_write(&tree, "4711/task/4711/wchan", "0");
	cr_assert(zero(int, look(0, NULL)));
	cr_expect(eq(chr, waits[0].state, 'S'));
	cr_expect(eq(i32, waits[0].system_call, -2));
}

Test(proc_source, a_running_thread_is_not_asked_where_it_waits)
{
	write_thread("4711", "4711 (python-main) R 1\n", "running\n", "0");
	cr_assert(zero(int, look(0, NULL)));
	cr_expect(eq(chr, waits[0].state, 'R'));
	cr_expect(eq(i32, waits[0].system_call, -2));
}

Test(proc_source, a_process_that_is_gone_is_said_to_be_gone)
{
	cr_assert(zero(int, look(0, NULL)));
	tree_remove(&tree, "4711");
	cr_expect(eq(int, look(0, NULL), -ESRCH));
	cr_expect(eq(int, look(4711, NULL), -ESRCH));
}

Test(proc_source, a_torn_stat_file_is_an_error_and_no_wait)
{
	tree_write(&tree, "4711/task/4711/stat", "4711 (python");
	cr_expect(eq(int, look(0, NULL), -EINVAL));
	cr_expect(eq(int, count, 0));
}

/* Until the child is where it shall be seen; a test that never gets there ends at its deadline. */
static bool seen_sleeping(struct proc_source *real, pid_t child)
{
	for (int tries = 0; tries < 1000; tries++) {
		count = 0;
		if (!proc_source_sample(real, 7, child, (uint32_t)child, 1000, on_wait, NULL, NULL) &&
		    waits[0].system_call == SYS_clock_nanosleep)
			return true;
		usleep(10000);
	}
	return false;
}

static bool seen_polling(struct proc_source *real, pid_t child)
{
	for (int tries = 0; tries < 500; tries++) {
		count = 0;
		if (!proc_source_sample(real, 7, child, (uint32_t)child, 1000, on_wait, NULL, NULL) && count &&
		    waits[0].fd >= 0)
			return true;
		usleep(10000);
	}
	return false;
}

Test(proc_source, what_a_real_process_polls_is_read_from_its_memory)
{
	struct proc_source *real;
	struct mounts *real_mounts;
	int ends[2];

	cr_assert(zero(int, pipe(ends)));
	pid_t child = fork();
	if (!child) {
		struct pollfd polled = { .fd = ends[0], .events = POLLIN };
		for (;;)
			poll(&polled, 1, -1);
	}
	cr_assert(zero(int, mounts_open(&real_mounts, "/proc")));
	cr_assert(zero(int, proc_source_open(&real, "/proc", real_mounts)));
	cr_expect(seen_polling(real, child));
	cr_expect(eq(i32, waits[0].fd, ends[0]));
	cr_expect(zero(int, strncmp(waits[0].path, "pipe:[", 6)), "%s", waits[0].path);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	proc_source_close(real);
	mounts_close(real_mounts);
}

Test(proc_source, a_real_process_is_seen_in_its_system_call_without_privilege)
{
	struct proc_source *real;
	struct mounts *real_mounts;
	pid_t child = fork();

	if (!child) {
		for (;;)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_sec = 1000 }, NULL);
	}
	cr_assert(zero(int, mounts_open(&real_mounts, "/proc")));
	cr_assert(zero(int, proc_source_open(&real, "/proc", real_mounts)));
	cr_expect(seen_sleeping(real, child));
	cr_expect(eq(chr, waits[0].state, 'S'));
	cr_expect(eq(i32, waits[0].fd, -1));

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	cr_expect(eq(int, proc_source_sample(real, 7, child, 0, 1000, on_wait, NULL, NULL), -ESRCH));
	proc_source_close(real);
	mounts_close(real_mounts);
}
