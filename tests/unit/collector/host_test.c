/* SPDX-License-Identifier: MIT */
/* What the host says of its own depth. The kernel is played: it refuses some processes and loses some events. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector/host/host.h"
#include "fake_analysis.h"
#include "fake_probes.h"

enum { PROCESSES = 8 };

static bool unproven;
static int suspected; /* ranks that others wait for */

/* Nor is /proc asked whose they are. */
int writer_process_check(const struct writer_process *process, char why[WRITER_PROCESS_WHY])
{
	if (!unproven)
		return 0;
	snprintf(why, WRITER_PROCESS_WHY, "process %d has other uids", (int)process->pid);
	return -EPERM;
}

int writer_process_open(struct writer_process *process, pid_t pid, uid_t owner, uint64_t start_ticks,
			char why[WRITER_PROCESS_WHY])
{
	(void)pid, (void)owner, (void)start_ticks, (void)why;
	*process = (struct writer_process)WRITER_PROCESS_NONE;
	return -ESRCH;
}

void writer_process_close(struct writer_process *process)
{
	(void)process;
}

static void on_ended(void *argument, analysis_process_id process, int exit_status, uint64_t at_ns)
{
	(void)argument, (void)process, (void)exit_status, (void)at_ns;
}

static struct host *opened(void)
{
	struct host *host;

	cr_assert_eq(host_open(&host, NULL, "", on_ended, NULL), 0);
	host_deepen(host);
	return host;
}

/* Numbers that need not be processes: only the played kernel is asked about them. */
static void watch_all(struct host *host)
{
	static struct writer_process writers[PROCESSES];

	for (int i = 0; i < PROCESSES; i++) {
		writers[i] = (struct writer_process){ .pid = 1000 + i, .pidfd = -1, .proc_fd = -1 };
		host_watch(host, (analysis_process_id)(i + 1), &writers[i]);
	}
}

static size_t suspects_elsewhere(void *argument, struct analysis_suspect *suspects, size_t room)
{
	(void)argument;
	for (int i = 0; i < suspected && (size_t)i < room; i++)
		suspects[i] = (struct analysis_suspect){ .process = (analysis_process_id)(i + 1) };
	return (size_t)suspected;
}

static struct sight sight_of(const struct host *host)
{
	struct sight sight;

	host_see(host, &sight);
	return sight;
}

Test(host, the_level_is_what_was_watched_and_not_what_was_loaded)
{
	struct host *host = opened();
	enum rw_level below = geteuid() ? RW_LEVEL_PROC : RW_LEVEL_ROOT;

	cr_expect_eq(sight_of(host).level, RW_LEVEL_EBPF, "to be expected");
	fake_probes.refusal = -E2BIG;
	fake_probes.refused_count = PROCESSES;
	watch_all(host);
	cr_expect_eq(sight_of(host).level, below);
	cr_expect_eq(sight_of(host).with_ebpf, 0);
	cr_expect_eq(sight_of(host).processes, PROCESSES);
	cr_expect(strstr(sight_of(host).why, strerror(E2BIG)), "%s", sight_of(host).why);
	host_close(host);
}

Test(host, some_that_are_not_watched_are_told_and_tried_again)
{
	struct host *host = opened();

	fake_probes.refusal = -ENOSPC;
	fake_probes.refused_count = 1;
	watch_all(host);
	cr_expect_eq(sight_of(host).level, RW_LEVEL_EBPF);
	cr_expect_eq(sight_of(host).with_ebpf, PROCESSES - 1);
	cr_expect(strstr(sight_of(host).why, "process 1000"), "%s", sight_of(host).why);
	host_poll(host, UINT64_C(3600000000000));
	cr_expect_eq(sight_of(host).with_ebpf, PROCESSES);
	cr_expect_str_eq(sight_of(host).why, "");
	host_close(host);
}

Test(host, without_the_programs_it_says_why)
{
	fake_probes.open_err = -EPERM;
	struct host *host = opened();

	watch_all(host);
	cr_expect_eq(sight_of(host).level, sight_of(host).below);
	cr_expect_str_eq(sight_of(host).why, "no CAP_BPF and CAP_PERFMON; run the collector as root");
	host_close(host);
}

Test(host, what_was_lost_is_counted_by_where)
{
	struct host *host = opened();
	struct loss loss;

	host_poll(host, 1);
	host_loss(host, &loss);
	cr_expect_eq(loss_total(&loss), 0);
	fake_probes.lost = (struct probes_loss){ .ring = 5, .waits = 3, .missed = 2 };
	host_poll(host, UINT64_C(3600000000000));
	host_loss(host, &loss);
	cr_expect_eq(loss.parts[LOSS_RING], 5);
	cr_expect_eq(loss.parts[LOSS_STORAGE], 3);
	cr_expect_eq(loss.parts[LOSS_RECURSION], 2);
	cr_expect_eq(loss_total(&loss), 10);
	host_close(host);
}

Test(host, is_calm_while_the_kernel_sees_all_and_nobody_is_waited_for)
{
	struct host *host = opened();

	cr_expect(host_is_calm(host), "nothing is watched");
	fake_probes.refusal = -ENOSPC;
	fake_probes.refused_count = 1;
	watch_all(host);
	host_suspect_too(host, suspects_elsewhere, NULL);
	cr_expect_not(host_is_calm(host), "one is seen through /proc alone");
	host_poll(host, UINT64_C(3600000000000));
	cr_expect(host_is_calm(host));
	suspected = 1;
	cr_expect_not(host_is_calm(host), "its threads are sampled");
	suspected = 0;
	fake_probes.records = 2000;
	host_poll(host, UINT64_C(3600100000000));
	cr_expect_not(host_is_calm(host), "the kernel's buffer would fill");
	fake_probes.records = 400;
	host_poll(host, UINT64_C(3600200000000));
	cr_expect_not(host_is_calm(host), "in 100 ms");
	host_poll(host, UINT64_C(3600400000000));
	cr_expect(host_is_calm(host), "in 200 ms");
	fake_probes.records = 20;
	host_poll(host, UINT64_C(3600500000000));
	cr_expect(host_is_calm(host));
	host_close(host);
}

Test(host, a_process_that_is_no_longer_the_boxs_owners_is_let_go)
{
	struct host *host = opened();

	fake_probes.refused_count = 0;
	watch_all(host);
	cr_expect_eq(sight_of(host).with_ebpf, PROCESSES);
	unproven = true;
	host_poll(host, UINT64_C(10000000000));
	cr_expect_eq(sight_of(host).processes, 0);
	unproven = false;
	host_poll(host, UINT64_C(20000000000));
	cr_expect_eq(sight_of(host).processes, 0, "it does not come back");
	host_close(host);
}

Test(host, a_process_that_turned_into_another_while_it_was_being_watched_is_not)
{
	struct host *host = opened();

	fake_probes.refused_count = 0;
	unproven = true;
	watch_all(host);
	cr_expect_eq(sight_of(host).with_ebpf, 0);
	host_close(host);
}

/* A child that uses 200 ms of CPU time when it is told to, and stops. */
static pid_t begin_child(void)
{
	struct timespec used = { 0 };
	pid_t pid = fork();

	if (pid)
		return pid;
	raise(SIGSTOP);
	while (used.tv_nsec < 200000000 && !used.tv_sec)
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
	raise(SIGSTOP);
	_exit(0);
}

static void await_stop(pid_t pid)
{
	int status;

	cr_assert_eq(waitpid(pid, &status, WUNTRACED), pid);
	cr_assert(WIFSTOPPED(status));
}

static void let_compute(pid_t pid)
{
	cr_assert_eq(kill(pid, SIGCONT), 0);
	await_stop(pid);
}

Test(host, the_child_processes_of_a_rank_are_read_once_others_have_waited_for_it_for_a_second, .timeout = 60)
{
	const uint64_t s = 1000000000, now_ns = 100 * s;
	struct analysis analysis = { 0 };
	pid_t children[] = { begin_child(), begin_child() }; /* the second is a rank itself */
	struct writer_process writers[] = {
		{ .pid = getpid(), .pidfd = -1, .proc_fd = -1, .uid = geteuid(), .gid = getegid() },
		{ .pid = children[1], .pidfd = -1, .proc_fd = -1, .uid = geteuid(), .gid = getegid() }
	};
	struct host *host;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	if (access(path, R_OK))
		cr_skip_test("this kernel does not list children (CONFIG_PROC_CHILDREN)");
	for (int i = 0; i < 2; i++)
		await_stop(children[i]);
	cr_assert_eq(host_open(&host, &analysis, "", on_ended, NULL), 0);
	for (int i = 0; i < 2; i++)
		host_watch(host, (analysis_process_id)(i + 1), &writers[i]);
	host_poll(host, now_ns);
	analysis.suspect = 1;
	analysis.suspect_since_ns = now_ns;
	host_poll(host, now_ns + s / 3);
	host_poll(host, now_ns + s * 9 / 10);
	cr_expect_eq(analysis.children, 0, "not yet");
	host_poll(host, now_ns + s);
	for (int i = 0; i < 2; i++)
		let_compute(children[i]);
	host_poll(host, now_ns + 2 * s);
	cr_assert_eq(analysis.children, 1);
	const struct analysis_children *seen = &analysis.last_children;

	cr_expect_eq(seen->process, 1);
	cr_expect_eq(seen->from_ns, now_ns + s);
	cr_expect_eq(seen->at_ns, now_ns + 2 * s);
	cr_expect_eq(seen->busiest.pid, children[0]);
	cr_expect(seen->cpu_ns > 150000000 && seen->cpu_ns < 300000000, "of one of the two: %lu", (unsigned long)seen->cpu_ns);
	host_close(host);
	for (int i = 0; i < 2; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
}

/* It is so as the first rank that was stopped is: nobody waits for it, but it waits for nobody either. */
Test(host, a_process_whose_heart_does_not_beat_is_looked_at_until_it_goes_on)
{
	const uint64_t s = 1000000000, now_ns = 100 * s;
	struct analysis analysis = { 0 };
	pid_t child = begin_child();
	struct writer_process writer = { .pid = child, .pidfd = -1, .proc_fd = -1, .uid = geteuid(), .gid = getegid() };
	struct host *host;

	await_stop(child);
	cr_assert_eq(host_open(&host, &analysis, "", on_ended, NULL), 0);
	host_watch(host, 1, &writer);
	host_poll(host, now_ns);
	cr_expect_eq(analysis.ends, 0, "its life is not asked for while its heart beats");
	analysis.silent = 1;
	host_poll(host, now_ns + s);
	cr_expect_eq(analysis.ends, 1);
	cr_expect_eq(analysis.last_life, ANALYSIS_STOPPED);
	analysis.silent = 0;
	cr_assert_eq(kill(child, SIGCONT), 0);
	await_stop(child);
	cr_assert_eq(kill(child, SIGKILL), 0);
	cr_assert_eq(waitpid(child, NULL, 0), child);
	host_close(host);
}
