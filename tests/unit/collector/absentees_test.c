/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/host/absentees.h"
#include "fake_analysis.h"

#define SECOND UINT64_C(1000000000)

static char proc[32];
static struct analysis analysis;
static struct absentees absentees;

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
	(void)status, (void)type, (void)at;
	return remove(path);
}

static void begin(void)
{
	snprintf(proc, sizeof(proc), "/tmp/absentees.XXXXXX");
	cr_assert(mkdtemp(proc));
	analysis = (struct analysis){ .waited_for = { 3 }, .waited_for_count = 1 };
	absentees = (struct absentees){ .analysis = &analysis, .proc = proc, .job = "j", .owner = geteuid() };
}

static void end(void)
{
	nftw(proc, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(absentees, .init = begin, .fini = end);

static void write_file(int pid, const char *name, const char *text, size_t size)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%d/%s", proc, pid, name);
	FILE *file = fopen(path, "w");
	cr_assert(file);
	cr_assert_eq(fwrite(text, 1, size, file), size);
	fclose(file);
}

/* A process of rank `rank` of 4, of which its launcher says so many are on this host. */
static void add_process(int rank, int local_size, char state)
{
	char path[96], text[256];
	int pid = 100 + rank;

	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	cr_assert_eq(mkdir(path, 0700), 0);
	int size =
	    snprintf(text, sizeof(text), "RANKWATCH_JOB=j%cRANK=%d%cWORLD_SIZE=4%cLOCAL_RANK=%d%cLOCAL_WORLD_SIZE=%d",
		     0, rank, 0, 0, rank, 0, local_size);
	write_file(pid, "environ", text, (size_t)size + 1);
	size = snprintf(text, sizeof(text), "%d (a) b) %c 1 1 1 0 -1 0 0 0 0 0 5 6 0", pid, state);
	write_file(pid, "stat", text, (size_t)size);
}

static enum analysis_absence look(int second)
{
	analysis.last_absentee.world_rank = -1;
	absentees_poll(&absentees, (uint64_t)second * SECOND);
	cr_assert_eq(analysis.last_absentee.world_rank, 3);
	return analysis.last_absentee.absence;
}

Test(absentees, a_rank_has_no_process_where_those_of_all_others_are_seen)
{
	for (int rank = 0; rank < 3; rank++)
		add_process(rank, 4, 'S');
	cr_expect_eq(look(10), ANALYSIS_ABSENT_NONE);
}

static void remove_process(int rank)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%d", proc, 100 + rank);
	nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

Test(absentees, a_rank_has_ended_only_where_its_process_was_seen)
{
	for (int rank = 0; rank < 4; rank++)
		add_process(rank, 4, 'S');
	analysis.waited_for_count = 0; /* nobody waits yet */
	absentees_poll(&absentees, 8 * SECOND);
	remove_process(3);
	analysis.waited_for_count = 1;
	cr_expect_eq(look(10), ANALYSIS_ABSENT_ENDED);
	cr_expect_eq(analysis.last_absentee.pid, 103);
	write_file(102, "environ", "PATH=/", 7);
	cr_expect_eq(look(12), ANALYSIS_ABSENT_UNKNOWN, "another that waits is not seen either");
}

Test(absentees, a_process_without_its_environment_has_not_ended)
{
	for (int rank = 0; rank < 4; rank++)
		add_process(rank, 4, 'S');
	look(8);
	write_file(103, "environ", "PATH=/", 7);
	cr_expect_eq(look(10), ANALYSIS_ABSENT_UNKNOWN);
	write_file(103, "stat", "103 (a) Z 1 1 1 0 -1 0 0 0 0 0 5 6 0", 37);
	cr_expect_eq(look(12), ANALYSIS_ABSENT_ENDED);
}

Test(absentees, nothing_is_known_of_a_rank_when_another_that_waits_is_not_seen_either)
{
	add_process(0, 4, 'S');
	add_process(1, 4, 'S');
	cr_expect_eq(look(10), ANALYSIS_ABSENT_UNKNOWN, "rank 2 is in another pid namespace");
}

Test(absentees, nothing_is_known_of_a_rank_that_may_be_on_another_host)
{
	for (int rank = 0; rank < 3; rank++)
		add_process(rank, 3, 'S');
	cr_expect_eq(look(10), ANALYSIS_ABSENT_UNKNOWN);
}

Test(absentees, a_process_that_is_seen_is_stopped_or_idle_whoever_else_is_seen)
{
	add_process(3, 4, 'T');
	cr_expect_eq(look(10), ANALYSIS_ABSENT_STOPPED);
	write_file(103, "stat", "103 (a) S 1 1 1 0 -1 0 0 0 0 0 5 6 0", 37);
	look(12);
	cr_expect_eq(look(14), ANALYSIS_ABSENT_IDLE);
	cr_expect_eq(analysis.last_absentee.pid, 103);
}

struct watched {
	analysis_process_id process;
	pid_t pid;
	int begun, ended;
	bool boxed;
};

static bool watch(void *argument, analysis_process_id process, const struct writer_process *writer)
{
	struct watched *watched = argument;

	watched->process = process;
	watched->pid = writer->pid;
	watched->begun++;
	return !watched->boxed;
}

static void unwatch(void *argument, analysis_process_id process)
{
	struct watched *watched = argument;

	cr_expect_eq(process, watched->process);
	watched->ended++;
}

/* A process of this machine, which the fake /proc shows as rank 3's. */
static pid_t begin_real_process(void)
{
	char path[96], text[1024];
	pid_t child = fork();

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* where the test fails */
		pause();
		_exit(0);
	}
	cr_assert(child > 0);
	add_process(3, 4, 'S');
	snprintf(text, sizeof(text), "%s/103", proc);
	snprintf(path, sizeof(path), "%s/%d", proc, (int)child);
	cr_assert_eq(rename(text, path), 0);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)child);
	FILE *stat = fopen(path, "r");
	cr_assert(stat);
	size_t size = fread(text, 1, sizeof(text), stat);
	fclose(stat);
	write_file(child, "stat", text, size);
	static const char status[] = "Name:\ta\nNSpid:\t4711\t17\nThreads:\t1\n";
	write_file(child, "status", status, strlen(status));
	return child;
}

static void end_process(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* Who is looked at is noted there. */
static pid_t begin_watched_process(struct watched *watched)
{
	absentees.watch = watch;
	absentees.unwatch = unwatch;
	absentees.argument = watched;
	return begin_real_process();
}

Test(absentees, the_threads_of_an_idle_process_are_looked_at_until_it_has_a_box)
{
	struct watched watched = { 0 };
	pid_t child = begin_watched_process(&watched);

	cr_expect_eq(look(10), ANALYSIS_ABSENT_BUSY);
	cr_expect_eq(watched.begun, 0, "it may get on");
	for (int second = 12; second < 20; second += 2)
		cr_expect_eq(look(second), ANALYSIS_ABSENT_IDLE);
	cr_expect_eq(analysis.last_absentee.tid, 17, "as it numbers its main thread itself");
	cr_expect_eq(watched.begun, 1);
	cr_expect_eq(watched.pid, child);
	cr_expect_eq(watched.process, analysis_absent_process(3));
	absentees_let_go(&absentees, child + 1);
	cr_expect_eq(watched.ended, 0);
	absentees_let_go(&absentees, child);
	cr_expect_eq(watched.ended, 1);
	watched.boxed = true;
	look(20);
	look(22);
	cr_expect_eq(watched.begun, 3, "asked for again, and refused");
	cr_expect(absentees_close(&absentees));
	cr_expect_eq(watched.ended, 1);
	end_process(child);
}

Test(absentees, nobody_looks_at_a_process_that_gets_on_or_for_which_nobody_waits)
{
	struct watched watched = { 0 };
	pid_t child = begin_watched_process(&watched);

	look(10);
	look(12);
	cr_expect_eq(watched.begun, 1);
	write_file(child, "io", "rchar: 5\nwchar: 6\n", 18);
	cr_expect_eq(look(14), ANALYSIS_ABSENT_BUSY);
	cr_expect_eq(watched.ended, 1);
	cr_expect_eq(look(16), ANALYSIS_ABSENT_IDLE);
	cr_expect_eq(watched.begun, 2);
	analysis.waited_for_count = 0;
	absentees_poll(&absentees, 16 * SECOND + 1);
	cr_expect_eq(watched.ended, 2);
	cr_expect(absentees_close(&absentees));
	end_process(child);
}

static void use(const char *thread, int ticks, int bytes)
{
	char name[48], text[96];
	int size = snprintf(text, sizeof(text), "103 (a) S 1 1 1 0 -1 0 0 0 0 0 %d 0 0", ticks);

	snprintf(name, sizeof(name), "%sstat", thread);
	write_file(103, name, text, (size_t)size);
	size = snprintf(text, sizeof(text), "rchar: %d\nwchar: 0\n", bytes);
	snprintf(name, sizeof(name), "%sio", thread);
	write_file(103, name, text, (size_t)size);
}

/* In a process that has a black box, the plugin's thread reads /proc all the time. */
Test(absentees, what_the_plugins_thread_does_is_no_progress)
{
	static const char *const directories[] = { "task", "task/103", "task/104" };
	char path[96];

	add_process(3, 4, 'S');
	for (size_t i = 0; i < sizeof(directories) / sizeof(*directories); i++) {
		snprintf(path, sizeof(path), "%s/103/%s", proc, directories[i]);
		cr_assert_eq(mkdir(path, 0700), 0);
	}
	write_file(103, "task/103/comm", "python3\n", 8);
	write_file(103, "task/104/comm", RW_PLUGIN_THREAD "\n", sizeof(RW_PLUGIN_THREAD));
	use("", 100, 1000);
	use("task/104/", 60, 700);
	look(10);
	use("", 300, 5000);
	use("task/104/", 260, 4700);
	cr_expect_eq(look(12), ANALYSIS_ABSENT_IDLE, "only the plugin's thread has read and computed");
	use("", 301, 5001);
	cr_expect_eq(look(14), ANALYSIS_ABSENT_BUSY, "the program has read");
	use("", 401, 5001);
	cr_expect_eq(look(16), ANALYSIS_ABSENT_BUSY, "the program has computed");
	cr_expect_eq(look(18), ANALYSIS_ABSENT_IDLE);
}

/* In system calls, too. */
Test(absentees, a_process_that_computes_gets_on)
{
	static const char *const times[] = { "205 6", "205 206", "405 406" };
	char text[96];

	add_process(3, 4, 'S');
	look(10);
	cr_expect_eq(look(12), ANALYSIS_ABSENT_IDLE);
	for (int i = 0; i < 3; i++) {
		int size = snprintf(text, sizeof(text), "103 (a) S 1 1 1 0 -1 0 0 0 0 0 %s 0", times[i]);
		write_file(103, "stat", text, (size_t)size);
		cr_expect_eq(look(14 + 2 * i), ANALYSIS_ABSENT_BUSY, "%s", times[i]);
	}
	cr_expect_eq(look(20), ANALYSIS_ABSENT_IDLE);
}

Test(absentees, the_environment_of_another_users_process_is_not_read)
{
	char path[96];

	if (geteuid() != 0)
		cr_skip_test("only root can make a process of another user");
	add_process(3, 4, 'S');
	cr_expect_neq(look(10), ANALYSIS_ABSENT_UNKNOWN, "as the boxes' owner's it is seen");
	snprintf(path, sizeof(path), "%s/103", proc);
	cr_assert_eq(chown(path, 4242, 4242), 0);
	cr_expect_eq(look(12), ANALYSIS_ABSENT_UNKNOWN);
	absentees.owner = 4242;
	cr_assert_eq(chmod(proc, 0755), 0);
	snprintf(path, sizeof(path), "%s/103/environ", proc);
	cr_assert_eq(chmod(path, 0600), 0);
	cr_expect_eq(look(14), ANALYSIS_ABSENT_UNKNOWN, "root's file is read with the owner's rights, not with root's");
	cr_assert_eq(chown(path, 4242, 4242), 0);
	cr_expect_neq(look(16), ANALYSIS_ABSENT_UNKNOWN);
}

/* Whoever was looked at is not any more, and a look that is under way is waited for. */
Test(absentees, the_end_leaves_nothing_behind)
{
	struct watched watched = { 0 };
	pid_t child = begin_watched_process(&watched);
	uv_loop_t loop;

	look(10);
	look(12);
	cr_expect_eq(watched.begun, 1);
	uv_loop_init(&loop);
	absentees.loop = &loop;
	absentees_poll(&absentees, 14 * SECOND);
	cr_expect(absentees_close(&absentees));
	cr_expect_eq(watched.ended, 1);
	cr_expect_eq(uv_loop_close(&loop), 0);
	end_process(child);
}

Test(absentees, nobody_is_looked_at_before_a_box_says_whose_the_job_is)
{
	add_process(3, 4, 'S');
	absentees.owner = ABSENTEES_NOBODY;
	analysis.last_absentee.world_rank = -1;
	absentees_poll(&absentees, 10 * SECOND);
	cr_expect_eq(analysis.last_absentee.world_rank, -1);
}

/* Opens the writing end as soon as somebody reads. */
static int await_reader(const char *path)
{
	int fd = -1;

	for (int tries = 0; fd < 0 && tries < 2000; tries++) {
		fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
		if (fd < 0)
			usleep(5000);
	}
	cr_assert(fd >= 0, "nobody reads %s", path);
	return fd;
}

/* A process whose memory keeps its readers waiting: here a FIFO, into which nobody writes. */
Test(absentees, a_process_that_keeps_its_reader_waiting_holds_up_nobody, .timeout = 30)
{
	char path[96], said[512];
	uv_loop_t loop;
	int saved = dup(STDERR_FILENO);
	FILE *errors = tmpfile();

	add_process(3, 4, 'S');
	snprintf(path, sizeof(path), "%s/103/environ", proc);
	cr_assert_eq(unlink(path), 0);
	cr_assert_eq(mkfifo(path, 0600), 0);
	uv_loop_init(&loop);
	absentees.loop = &loop;
	analysis.last_absentee.world_rank = -1;
	fflush(stderr);
	dup2(fileno(errors), STDERR_FILENO);
	absentees_poll(&absentees, 10 * SECOND);
	int writer = await_reader(path);
	for (int second = 11; second < 20; second++) {
		absentees_poll(&absentees, (uint64_t)second * SECOND);
		uv_run(&loop, UV_RUN_NOWAIT);
	}
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	rewind(errors);
	said[fread(said, 1, sizeof(said) - 1, errors)] = '\0';
	cr_expect(strstr(said, "has not answered for 5 s"), "%s", said);
	cr_expect_eq(strchr(said, '\n'), said + strlen(said) - 1, "said once: %s", said);
	cr_expect_eq(analysis.last_absentee.world_rank, -1, "nothing is told of a rank that cannot be read");
	cr_expect_not(absentees_close(&absentees), "it is not waited for");

	close(writer); /* lets the reader go */
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_expect_eq(analysis.last_absentee.world_rank, -1, "nobody listens any more");
	cr_expect_eq(uv_loop_close(&loop), 0);
	fclose(errors);
	close(saved);
}

Test(absentees, what_a_look_finds_is_told_from_the_loop)
{
	uv_loop_t loop;

	add_process(3, 4, 'T');
	uv_loop_init(&loop);
	absentees.loop = &loop;
	analysis.last_absentee.world_rank = -1;
	absentees_poll(&absentees, 10 * SECOND);
	cr_expect_eq(analysis.last_absentee.world_rank, -1);
	uv_run(&loop, UV_RUN_DEFAULT);
	cr_expect_eq(analysis.last_absentee.world_rank, 3);
	cr_expect_eq(analysis.last_absentee.absence, ANALYSIS_ABSENT_STOPPED);
	cr_expect(absentees_close(&absentees));
	uv_loop_close(&loop);
}
