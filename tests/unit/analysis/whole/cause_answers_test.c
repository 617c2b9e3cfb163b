/* SPDX-License-Identifier: MIT */
/*
 * What is found to have held a rank up, of drawn evidence: waits of every kind in every system call and kernel function
 * that the analysis knows, samples, children and Python's threads, one line for each drawn process. It says that
 * nothing changes unnoticed. A change that is meant: `ninja -C build analysis-answers`.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "analysis/report/advice.h"
#include "analysis/explain/cause.h"
#include "analysis/report/cause_text.h"
#include "analysis/host/children.h"
#include "analysis/known/job.h"
#include "analysis/host/other_looks.h"
#include "analysis/host/python_looks.h"
#include "base/numbers/splitmix.h"
#include "tests/unit/analysis/whole/kept_answers.h"

enum { GROUPS = 80, SCENES = 25, MAIN = 100, THREADS = 5, WINDOWS = 3, TEXT = 256 };

static const uint64_t ms = 1000000, begin_ns = 1000000000;
static uint64_t state;

static uint64_t drawn(uint64_t below)
{
	return splitmix_next(&state) % below;
}

#define DRAWN(array) ((array)[drawn(sizeof(array) / sizeof(*(array)))])

/* What one scene's threads mostly do: then a class stands out, and in some scenes two are near to each other. */
struct habit {
	int32_t system_call;
	const char *path, *file_system, *frame;
	char state;
};

static const char *drawn_frame(void)
{
	static const char *const frames[] = { "ext4_sync_file",
					      "nfs_wait_bit_killable",
					      "futex_wait_queue",
					      "do_nanosleep",
					      "pipe_read",
					      "anon_pipe_read",
					      "unix_stream_read_generic",
					      "tcp_recvmsg_locked",
					      "ep_poll",
					      "do_wait",
					      "do_swap_page",
					      "shrink_node",
					      "balance_dirty_pages",
					      "fuse_simple_request",
					      "locks_lock_inode_wait",
					      "do_signal_stop",
					      "throttle_cfs_rq_work",
					      "handle_mm_fault",
					      "poll_schedule_timeout",
					      "eventfd_read",
					      "" };

	return DRAWN(frames);
}

static struct habit drawn_habit(void)
{
	static const int32_t calls[] = { SYS_fsync,
					 SYS_write,
					 SYS_read,
					 SYS_futex,
					 SYS_futex,
					 SYS_poll,
					 SYS_epoll_wait,
					 SYS_recvfrom,
					 SYS_wait4,
					 SYS_nanosleep,
					 SYS_clock_nanosleep,
					 SYS_ioctl,
					 SYS_openat,
					 SYS_close,
					 SYS_flock,
					 SYS_fcntl,
					 SYS_pause,
					 SYS_munmap,
					 SYS_mmap,
					 SYS_select,
					 SYS_pread64,
					 SYS_sendto,
					 SYS_connect,
					 SYS_sched_yield,
					 -1,
					 -2 };
	static const char *const paths[] = { "/data/log.0",
					     "/mnt/nfs/x",
					     "socket:[77]",
					     "pipe:[12]",
					     "anon_inode:[eventpoll]",
					     "/dev/nvidia0",
					     "/dev/nvidiactl",
					     "/dev/nvidia-uvm",
					     "/root/dev/nvidia1",
					     "/dev/shm/x",
					     "/dev/null",
					     "",
					     "" };
	static const char *const systems[] = { "ext4",  "nfs4",     "sockfs", "pipefs", "anon_inodefs",
					       "tmpfs", "devtmpfs", "fuse",   "",       "" };
	struct habit habit;

	habit.system_call = DRAWN(calls);
	habit.path = DRAWN(paths);
	habit.file_system = DRAWN(systems);
	habit.frame = drawn(2) ? drawn_frame() : "";
	habit.state = "SSSSSSSSSDDRRTtZ"[drawn(16)];
	return habit;
}

static struct analysis_wait drawn_wait(const struct habit *habits, uint32_t nth, uint64_t from_ns, uint64_t length_ns)
{
	static const char *const threads[] = { "python", "tb-writer", "cuda-EvtHandlr", "pt_autograd_0", "NCCL watchdog" };
	static const char *const channels[] = { "",        "futex_wait_queue", "io_schedule",
						"do_wait", "pipe_read",        "folio_wait_bit" };
	const struct habit *habit = &habits[drawn(6) ? nth % 2 : drawn(3)];
	struct analysis_wait wait = { .start_ns = from_ns,
				      .end_ns = from_ns + length_ns,
				      .system_call = habit->system_call,
				      .state = habit->state };

	wait.tid = MAIN + nth;
	wait.kind = drawn(6) ? ANALYSIS_WAIT_INTERVAL : (enum analysis_wait_kind)drawn(4);
	wait.level = drawn(8) ? RW_LEVEL_EBPF : (enum rw_level)(1 + drawn(4));
	wait.fd = (int32_t)drawn(5) - 1;
	wait.blocked_ns = length_ns - length_ns / (3 + drawn(30));
	wait.run_queue_ns = drawn(6) ? 0 : length_ns / (1 + drawn(4));
	wait.longest_ns = drawn(2) ? wait.blocked_ns / (1 + drawn(5)) : 0;
	wait.cpu_ns = (from_ns - begin_ns) / (1 + drawn(6));
	wait.io_wait = !drawn(4);
	wait.device = drawn(3) ? 0 : 0x800001;
	snprintf(wait.thread, sizeof(wait.thread), "%s", threads[nth]);
	snprintf(wait.path, sizeof(wait.path), "%s", habit->path);
	snprintf(wait.file_system, sizeof(wait.file_system), "%s", habit->file_system);
	snprintf(wait.wait_channel, sizeof(wait.wait_channel), "%s", DRAWN(channels));
	if (*habit->frame) {
		snprintf(wait.frames[0], sizeof(wait.frames[0]), "%s", habit->frame);
		snprintf(wait.frames[1], sizeof(wait.frames[1]), "%s", drawn(2) ? "vfs_fsync_range" : drawn_frame());
		wait.frame_count = 1 + (uint32_t)drawn(2);
	}
	if (drawn(3)) {
		wait.waker_tid = drawn(5) ? MAIN + (nth + 1) % THREADS : MAIN + (uint32_t)drawn(THREADS);
		snprintf(wait.waker, sizeof(wait.waker), "%s", threads[wait.waker_tid - MAIN]);
		wait.out_of_process_wake = !drawn(4);
		wait.waker_pid = wait.out_of_process_wake ? 700 + (int32_t)drawn(2) : 0;
	}
	return wait;
}

static void see_others(struct process *process, struct intern *intern, uint64_t at_ns)
{
	struct analysis_other other = { .at_ns = at_ns,
					.pid = 700 + (int32_t)drawn(2),
					.tid = 900,
					.waiting_tid = drawn(4) ? MAIN : 0,
					.name = "loader",
					.is_child = drawn(3),
					.state = "SDR"[drawn(3)],
					.system_call = drawn(2) ? SYS_read : -1,
					.cpu_ns = at_ns / (1 + drawn(3)),
					.run_queue_ns = drawn(2) ? at_ns / 9 : 0 };
	struct analysis_children children = { .from_ns = at_ns - 100 * ms,
					      .at_ns = at_ns,
					      .cpu_ns = drawn(100) * ms,
					      .bytes = drawn(3) << 20,
					      .in_disk = !drawn(4) };
	struct analysis_python python = { .at_ns = at_ns,
					  .tid = MAIN,
					  .waits = drawn(2),
					  .holder = drawn(3) ? MAIN + 1 : 0,
					  .collecting = !drawn(3),
					  .thread_count = 2 };

	snprintf(other.path, sizeof(other.path), "%s", drawn(2) ? "/data/shard" : "");
	cr_assert_eq(other_looks_add(&process->others, intern, &other), 0);
	children.busiest = (struct analysis_child){
		.pid = 700, .name = "loader", .is_child = true, .cpu_ns = children.cpu_ns, .bytes = children.bytes
	};
	cr_assert_eq(children_add(&process->children, intern, &children), 0);
	for (uint32_t i = 0; i < 2; i++) {
		python.threads[i].tid = MAIN + i;
		snprintf(python.threads[i].own.function, sizeof(python.threads[i].own.function), "%s", drawn(4) ? "train" : "save");
		snprintf(python.threads[i].own.file, sizeof(python.threads[i].own.file), "train.py");
		python.threads[i].own.line = 40 + (int32_t)drawn(2);
		snprintf(python.threads[i].inner.function, sizeof(python.threads[i].inner.function), "%s", drawn(4) ? "wait" : "");
	}
	cr_assert_eq(python_looks_add(&process->python, intern, &python), 0);
}

static void say_all(const struct intern *intern, const struct cause *cause)
{
	fprintf(kept.all, "%d %.6f %d %d '%s' %d %d %d %u %.6f %d %u %s %u %s %s %s %d %s %s %s\n", (int)cause->class_,
		cause->share, (int)cause->level, (int)cause->seen, cause->inferred ? cause->inferred : "", cause->idle,
		cause->convoy, cause->like_python, cause->holders, cause->holders_cpu, cause->by_process, cause->tid,
		intern_text(intern, cause->thread), cause->last_tid, intern_text(intern, cause->last_thread),
		cause->system_call ? cause->system_call : "", cause->second_call ? cause->second_call : "", cause->fd,
		intern_text(intern, cause->path), intern_text(intern, cause->file_system),
		intern_text(intern, cause->device));
	for (uint32_t i = 0; i < cause->hop_count; i++)
		fprintf(kept.all, "hop %u %s %s %u %s\n", cause->hops[i].tid,
			intern_text(intern, cause->hops[i].thread), cause->hops[i].waits_for,
			cause->hops[i].waits_for_tid, cause->hops[i].does);
	for (uint32_t i = 0; i < cause->evidence_count; i++)
		fprintf(kept.all, "evidence %" PRIu64 " %d %s\n", cause->evidence[i].ns, (int)cause->evidence[i].level,
			cause->evidence[i].what);
	for (uint32_t i = 0; i < cause->frame_count; i++)
		fprintf(kept.all, "frame %s\n", intern_text(intern, cause->frames[i]));
	fprintf(kept.all, "python %u %u %s:%d in %s, %u %u %u, %u\n", cause->python.looks, cause->python.seen,
		intern_text(intern, cause->python.place.function), cause->python.place.line,
		intern_text(intern, cause->python.inner.function), cause->python.waits, cause->python.held,
		cause->python.holder, cause->python.collecting);
}

static void ask(const struct intern *intern, const struct process *process, uint32_t tid, uint64_t until_ns)
{
	struct cause_window windows[WINDOWS];
	uint32_t count = 1 + (uint32_t)drawn(WINDOWS);
	uint64_t each_ns = (until_ns - begin_ns) / WINDOWS;
	char text[TEXT], advice[4 * TEXT];
	struct cause cause;

	for (uint32_t i = 0; i < count; i++)
		windows[i] = (struct cause_window){ begin_ns + i * each_ns,
						    begin_ns + i * each_ns + (drawn(3) ? each_ns : each_ns / 2) };
	cause_find(intern, process, tid, windows, count, &cause);
	cause_text(text, sizeof(text), &cause, process);
	advice_find(advice, sizeof(advice), &cause, process);
	say_all(intern, &cause);
	fprintf(kept.all, "%s\n", advice);
	fprintf(kept.answers, "  %s%s, %.0f %%, %u hops, %u pieces", text, cause.inferred ? " (likely)" : "",
		100 * cause.share, cause.hop_count, cause.evidence_count);
	for (int on_gpu = 0; on_gpu < 2; on_gpu++)
		fputs(cause_progress(intern, process, tid, on_gpu, begin_ns + each_ns / 2, until_ns) ? ", gets on"
												     : ", stands",
		      kept.answers);
	fputs(cause_ended_before(intern, process, &cause, windows[count - 1].from_ns) ? ", ended before\n" : "\n",
	      kept.answers);
}

static void play_scene(void)
{
	struct intern intern = { 0 };
	struct process process = { .pid = 4711, .first_tid = MAIN };
	const struct habit habits[] = { drawn_habit(), drawn_habit(), drawn_habit() };
	static const uint64_t lengths_ms[] = { 1, 2, 5, 5, 10, 20, 50, 100, 200, 250, 400 };
	uint64_t at_ns = begin_ns, length_ms = DRAWN(lengths_ms);
	int count = 2 + (int)drawn(40);
	bool has_others = drawn(2);

	for (int i = 0; i < count; i++) {
		uint64_t length_ns = length_ms * ms + (drawn(3) ? 0 : drawn(20) * ms);
		struct analysis_wait wait = drawn_wait(habits, 0, at_ns, length_ns);

		cr_assert_eq(evidence_add(&process.evidence, &intern, &wait), 0);
		if (drawn(2)) { /* another thread meanwhile */
			wait = drawn_wait(habits, 1 + (uint32_t)drawn(drawn(2) ? 1 : THREADS - 1),
					  at_ns + length_ns / 16, length_ns - length_ns / 8);
			cr_assert_eq(evidence_add(&process.evidence, &intern, &wait), 0);
		}
		if (has_others && i % 2)
			see_others(&process, &intern, at_ns + length_ns / 2);
		at_ns += drawn(4) ? length_ns : length_ns + ms * drawn(50);
	}
	ask(&intern, &process, drawn(5) ? MAIN : 0, at_ns + ms);
	evidence_free(&process.evidence);
	free(process.others);
	free(process.children);
	free(process.python);
	intern_free(&intern);
}

static bool play(unsigned int number)
{
	state = number;
	for (int i = 0; i < SCENES; i++)
		play_scene();
	return number + 1 < GROUPS;
}

Test(cause_answers, about_drawn_evidence)
{
	kept_compare("causes", play);
}
