/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "analysis/report/advice.h"
#include "analysis/explain/cause.h"
#include "analysis/report/cause_text.h"
#include "analysis/known/job.h"
#include "analysis/report/text.h"

enum { MAIN = 100, WRITER = 101, WORKER = 110, WORKERS = 8 };

static const uint64_t ms = 1000000, start = 1000000000;

struct scene {
	struct intern intern;
	struct process process;
};

static void see(struct scene *scene, const struct analysis_wait *wait)
{
	cr_assert_eq(evidence_add(&scene->process.evidence, &scene->intern, wait), 0);
}

static struct analysis_wait futex(uint32_t tid, const char *thread, uint64_t from_ns, uint64_t to_ns)
{
	struct analysis_wait wait = { .kind = ANALYSIS_WAIT_INTERVAL,
				      .level = RW_LEVEL_EBPF,
				      .tid = tid,
				      .fd = -1,
				      .start_ns = from_ns,
				      .end_ns = to_ns,
				      .state = 'S',
				      .system_call = SYS_futex };

	snprintf(wait.thread, sizeof(wait.thread), "%s", thread);
	return wait;
}

static struct analysis_wait fsync_of_writer(uint64_t from_ns, uint64_t to_ns)
{
	struct analysis_wait wait = futex(WRITER, "tb-writer", from_ns, to_ns);

	wait.system_call = SYS_fsync;
	wait.fd = 3;
	return wait;
}

static void end(struct scene *scene)
{
	evidence_free(&scene->process.evidence);
	free(scene->process.others);
	intern_free(&scene->intern);
}

static struct cause find(struct scene *scene, uint64_t ms_long)
{
	struct cause_window window = { start, start + ms_long * ms };
	struct cause cause;

	cause_find(&scene->intern, &scene->process, MAIN, &window, 1, &cause);
	end(scene);
	return cause;
}

/* An ordinary user's samples of a main thread that sleeps and, now and then, waits for Python's lock. */
Test(cause, a_lock_beside_nearly_as_much_sleep_is_not_certain_and_beside_little_it_is)
{
	static const struct {
		uint64_t locked_ms;
		enum rw_cause_class class_;
		bool inferred;
	} cases[] = { { 900, RW_CAUSE_LOCK, false }, { 550, RW_CAUSE_LOCK, true }, { 400, RW_CAUSE_SLEEP, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene scene = { 0 };
		uint64_t until = start + cases[i].locked_ms * ms;
		struct analysis_wait lock = futex(MAIN, "python3", start, until),
				     sleep = futex(MAIN, "python3", until, start + 1000 * ms);
		sleep.system_call = SYS_clock_nanosleep;
		see(&scene, &lock);
		see(&scene, &sleep);
		struct cause cause = find(&scene, 1000);
		cr_expect_eq(cause.class_, cases[i].class_, "%zu: %d", i, cause.class_);
		if (cause.class_ == RW_CAUSE_LOCK)
			cr_expect_eq(!!cause.inferred, cases[i].inferred, "%zu", i);
	}
}

Test(cause, what_took_four_fifths_of_that_time_is_a_rival_and_a_nanosecond_less_is_none)
{
	for (uint64_t less = 0; less < 2; less++) {
		struct scene scene = { 0 };
		struct analysis_wait lock = futex(MAIN, "python3", start, start + 500 * ms);
		struct analysis_wait sleep = futex(MAIN, "python3", start + 500 * ms, start + 900 * ms - less);

		sleep.system_call = SYS_clock_nanosleep;
		see(&scene, &lock);
		see(&scene, &sleep);
		struct cause cause = find(&scene, 1000);
		cr_expect_eq(cause.class_, RW_CAUSE_LOCK);
		cr_expect_eq(cause.inferred != NULL, less == 0, "%lu ns less: %s", less, cause.inferred ? cause.inferred : "certain");
	}
}

/* Eight threads hold Python's lock in turn for 5 ms; the main thread wants it ten times. */
Test(cause, a_lock_that_goes_round_keeps_the_share_of_the_thread_that_waits)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 400 * ms };

	for (uint64_t turn = 0; turn < 10; turn++) {
		uint64_t from = start + turn * 40 * ms;

		for (uint32_t i = 0; i < WORKERS; i++) {
			struct analysis_wait wait =
			    futex(WORKER + i, "py-worker", from + i * 5 * ms, from + (i + 7) * 5 * ms);

			wait.waker_tid = WORKER + (i + WORKERS - 1) % WORKERS;
			snprintf(wait.waker, sizeof(wait.waker), "py-worker");
			see(&scene, &wait);
		}
		struct analysis_wait wait = futex(MAIN, "python-main", from, from + 38 * ms);
		wait.waker_tid = WORKER + WORKERS - 1;
		snprintf(wait.waker, sizeof(wait.waker), "py-worker");
		see(&scene, &wait);
	}
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.class_, RW_CAUSE_LOCK);
	cr_expect_float_eq(cause.share, 0.95, 0.01, "%f", cause.share);
	cr_expect_str_eq(cause.hops[0].waits_for, "thread py-worker");
	end(&scene);
}

Test(cause, a_lock_wait_that_a_signal_ended_is_still_followed_to_the_thread_in_the_file)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 9000 * ms };
	struct analysis_wait wait = futex(MAIN, "python-main", start, start + 9000 * ms);
	struct analysis_wait writing = fsync_of_writer(start, start + 9000 * ms);

	wait.out_of_process_wake = true; /* the launcher killed it */
	see(&scene, &wait);
	see(&scene, &writing);
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.class_, RW_CAUSE_IO);
	cr_expect_eq(cause.hop_count, 1);
	cr_assert(cause.inferred);
	cr_expect(strstr(cause.inferred, "the thread that used files meanwhile"), "%s", cause.inferred);
	end(&scene);
}

/* The user would be sent to a thread that has nothing to do with it. */
Test(cause, a_thread_that_is_in_files_for_less_than_half_of_a_wait_is_not_taken_for_the_one_that_is_waited_for)
{
	for (uint64_t in_file_ms = 4400; in_file_ms <= 4500; in_file_ms += 100) {
		struct scene scene = { 0 };
		struct analysis_wait wait = futex(MAIN, "python-main", start, start + 9000 * ms);
		struct analysis_wait writing = fsync_of_writer(start, start + in_file_ms * ms);

		see(&scene, &wait);
		see(&scene, &writing);
		struct cause cause = find(&scene, 9000);
		cr_expect_eq(!!cause.inferred, in_file_ms == 4500, "%lu ms", (unsigned long)in_file_ms);
		cr_expect_eq(cause.class_, in_file_ms == 4500 ? RW_CAUSE_IO : RW_CAUSE_LOCK, "%lu ms: %d",
			     (unsigned long)in_file_ms, cause.class_);
	}
}

Test(cause, samples_of_one_long_wait_count_as_long_as_it_lasts)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 10000 * ms };

	for (uint64_t at = 50; at <= 10000; at += 50) {
		struct analysis_wait main = futex(MAIN, "python-main", 0, start + at * ms);
		struct analysis_wait writer = fsync_of_writer(0, start + at * ms);

		main.kind = writer.kind = ANALYSIS_WAIT_SAMPLE;
		see(&scene, &main);
		see(&scene, &writer);
	}
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.class_, RW_CAUSE_IO);
	cr_expect_gt(cause.share, 0.95, "%f", cause.share);
	end(&scene);
}

static struct analysis_wait sample(struct analysis_wait wait, uint64_t at_ns, uint64_t run_queue_ns)
{
	wait.kind = ANALYSIS_WAIT_SAMPLE;
	wait.level = RW_LEVEL_SELF;
	wait.start_ns = wait.end_ns = at_ns;
	wait.run_queue_ns = run_queue_ns;
	wait.cpu_ns = 7 * ms;
	return wait;
}

/* A sampler that has to be sparing looks once a second. */
Test(cause, a_thread_that_has_not_run_between_two_samples_was_in_the_same_wait)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 3000 * ms };

	for (uint64_t at = 0; at <= 3000; at += 1000) {
		struct analysis_wait main = sample(futex(MAIN, "python-main", 0, 0), start + at * ms, 5000);
		struct analysis_wait writer = sample(fsync_of_writer(0, 0), start + at * ms, 9000);

		see(&scene, &main);
		see(&scene, &writer);
	}
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.class_, RW_CAUSE_IO);
	cr_expect_gt(cause.share, 0.99, "%f", cause.share);
	end(&scene);
}

/* It stood in the run queue: what it did in between nobody knows. */
Test(cause, a_thread_that_has_run_between_two_samples_counts_for_a_quarter_of_a_second)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 2000 * ms };

	for (uint64_t at = 0; at <= 2000; at += 500) {
		struct analysis_wait writer = sample(fsync_of_writer(0, 0), start + at * ms, 9000 + at);

		see(&scene, &writer);
	}
	cause_find(&scene.intern, &scene.process, WRITER, &window, 1, &cause);
	cr_expect_float_eq(cause.share, 0.5, 0.01, "%f", cause.share);
	end(&scene);
}

/* 50 ms of the thread: a third of it on the core, the rest in its run queue. */
static void share_core(struct scene *scene, uint32_t tid, const char *thread, enum rw_level level, uint64_t turn)
{
	struct analysis_wait seen = sample(futex(tid, thread, 0, 0), start + turn * 50 * ms, ms + turn * 33 * ms);

	seen.level = level;
	seen.state = 'R';
	seen.system_call = -1;
	seen.cpu_ns = ms + turn * 17 * ms;
	see(scene, &seen);
	if (level < RW_LEVEL_EBPF || !turn)
		return;
	seen.kind = ANALYSIS_WAIT_RUN_QUEUE;
	seen.start_ns = seen.end_ns - 50 * ms;
	seen.run_queue_ns = 33 * ms;
	see(scene, &seen);
}

Test(cause, a_main_thread_that_shares_one_core_with_its_own_workers_has_no_CPU)
{
	static const enum rw_level levels[] = { RW_LEVEL_EBPF, RW_LEVEL_PROC, RW_LEVEL_SELF };

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		struct scene scene = { 0 };

		for (uint64_t turn = 0; turn <= 20; turn++) {
			share_core(&scene, MAIN, "python-main", levels[i], turn);
			share_core(&scene, WORKER, "pt_worker", levels[i], turn);
			share_core(&scene, WORKER + 1, "pt_worker", levels[i], turn);
		}
		struct cause cause = find(&scene, 1000);

		cr_expect_eq(cause.class_, RW_CAUSE_CPU, "level %d: %d", levels[i], cause.class_);
		cr_expect_float_eq(cause.share, 0.66, 0.05, "level %d: %f", levels[i], cause.share);
		cr_expect_eq(cause.level, levels[i]);
		cr_expect_eq(cause.hop_count, 0, "it waits for none of them");
		cr_expect_null(cause.inferred, "that it runs in between is the same story");
	}
}

Test(cause, a_sampled_lock_that_nobody_was_seen_to_hold_is_likely_at_best)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 1000 * ms };

	for (uint64_t at = 0; at <= 1000; at += 50) {
		struct analysis_wait main = sample(futex(MAIN, "python-main", 0, 0), start + at * ms, 5000);

		see(&scene, &main);
	}
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.class_, RW_CAUSE_LOCK);
	cr_expect_eq(cause.hop_count, 0);
	cr_assert(cause.inferred);
	cr_expect(strstr(cause.inferred, "the samples do not show it"), "%s", cause.inferred);
	end(&scene);
}

Test(cause, two_samples_in_a_file_are_likely_at_best_and_three_are_certain)
{
	for (uint64_t samples = 2; samples <= 3; samples++) {
		struct scene scene = { 0 };

		for (uint64_t i = 0; i < samples; i++) {
			struct analysis_wait seen = sample(fsync_of_writer(0, 0), start + i * 50 * ms, 5000 + i);

			seen.tid = MAIN;
			see(&scene, &seen);
		}
		struct cause cause = find(&scene, (samples - 1) * 50);
		cr_expect_eq(cause.class_, RW_CAUSE_IO);
		cr_expect_eq(cause.inferred != NULL, samples == 2, "%lu samples: %s", (unsigned long)samples, cause.inferred);
	}
}

/* With kernel.yama.ptrace_scope 1 a collector sees neither system call nor file. A lock of the kernel's makes threads
 * wait in D as well. */
Test(cause, state_D_and_nothing_else_is_likely_to_be_a_disk)
{
	struct scene scene = { 0 };

	for (uint64_t i = 0; i <= 20; i++) {
		struct analysis_wait seen = sample(futex(MAIN, "python-main", 0, 0), start + i * 50 * ms, 5000 + i);

		seen.level = RW_LEVEL_PROC;
		seen.state = 'D';
		seen.system_call = -2;
		see(&scene, &seen);
	}
	struct cause cause = find(&scene, 1000);
	cr_expect_eq(cause.class_, RW_CAUSE_IO);
	cr_assert(cause.inferred);
	cr_expect(strstr(cause.inferred, "state (D"), "%s", cause.inferred);
}

Test(cause, time_that_two_system_calls_share_is_said_of_both)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 1000 * ms };
	struct analysis_wait wait = fsync_of_writer(start, start + 600 * ms);
	char text[96];

	see(&scene, &wait);
	wait = fsync_of_writer(start + 600 * ms, start + 990 * ms);
	wait.system_call = SYS_write;
	see(&scene, &wait);
	cause_find(&scene.intern, &scene.process, WRITER, &window, 1, &cause);
	cause_text(text, sizeof(text), &cause, &scene.process);
	cr_expect_str_eq(text, "fsync(2) and write(2)");
	cr_expect_str_eq(cause.system_call, "fsync");
	window.to_ns = start + 620 * ms;
	cause_find(&scene.intern, &scene.process, WRITER, &window, 1, &cause);
	cause_text(text, sizeof(text), &cause, &scene.process);
	cr_expect_str_eq(text, "fsync(2)");
	end(&scene);
}

/* What the kernel sends of a thread that waited 5 ms again and again; waker 0: its timer ended every one of these. */
static void wait_shortly(struct scene *scene, uint32_t tid, const char *thread, uint64_t from_ns, uint64_t to_ns,
			 uint32_t waker, const char *waker_name)
{
	struct analysis_wait wait = futex(tid, thread, from_ns, to_ns);

	wait.kind = ANALYSIS_WAIT_SHORT;
	wait.blocked_ns = (to_ns - from_ns) / 100 * 98;
	wait.longest_ns = 5070000;
	wait.waker_tid = waker;
	snprintf(wait.waker, sizeof(wait.waker), "%s", waker_name);
	see(scene, &wait);
}

Test(cause, many_short_waits_are_as_good_as_a_long_one)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 1000 * ms };

	/* One thread writes for all that time and holds the lock; only the last wait ends by its doing. */
	for (uint64_t i = 0; i < 10; i++)
		wait_shortly(&scene, MAIN, "python-main", start + i * 100 * ms, start + (i + 1) * 100 * ms - 20000,
			     i == 9 ? WRITER : 0, i == 9 ? "tb-writer" : "");
	struct analysis_wait writing = fsync_of_writer(start, start + 1000 * ms);
	see(&scene, &writing);
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.class_, RW_CAUSE_IO);
	cr_expect_eq(cause.hop_count, 1);
	cr_expect_str_eq(cause.hops[0].waits_for, "thread tb-writer");
	cr_expect_not(cause.inferred);
	cr_expect_float_eq(cause.share, 0.98, 0.02, "%f", cause.share);
	end(&scene);
}

Test(cause, short_waits_count_for_what_they_are_in_sum)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 1000 * ms };
	struct analysis_wait wait = futex(MAIN, "python-main", start, start + 1000 * ms);

	wait.kind = ANALYSIS_WAIT_SHORT;
	wait.blocked_ns = 400 * ms;
	wait.longest_ns = 4 * ms;
	see(&scene, &wait);
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.class_, RW_CAUSE_LOCK);
	cr_expect_float_eq(cause.share, 0.4, 0.001, "%f", cause.share);
	wait.start_ns += 1000 * ms;
	wait.end_ns += 1000 * ms;
	wait.blocked_ns = 100 * ms; /* too little to be a cause */
	see(&scene, &wait);
	window = (struct cause_window){ wait.start_ns, wait.end_ns };
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.class_, RW_CAUSE_UNKNOWN);
	end(&scene);
}

Test(cause, a_lock_that_threads_pass_on_every_5_ms_is_said_to_be_like_python_s)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 1000 * ms };
	char text[96];

	for (uint64_t i = 0; i < 10; i++) {
		for (uint32_t worker = 0; worker < WORKERS; worker++)
			wait_shortly(&scene, WORKER + worker, "python3", start + i * 100 * ms,
				     start + (i + 1) * 100 * ms - 9000, WORKER + (worker + 1) % WORKERS, "python3");
		wait_shortly(&scene, MAIN, "python-main", start + i * 100 * ms, start + (i + 1) * 100 * ms - 9000,
			     i % 3 ? WORKER + i % 3 : 0, i % 3 ? "python3" : "");
	}
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.class_, RW_CAUSE_LOCK);
	cr_expect_float_eq(cause.share, 0.98, 0.01, "%f", cause.share);
	cr_expect_eq(cause.hop_count, 1);
	cr_expect_str_eq(cause.hops[0].waits_for, "its threads \"python3\" in turn");
	cause_text(text, sizeof(text), &cause, &scene.process);
	cr_expect_str_eq(text, "futex(2), 5 ms at a time as for Python's lock; it has 8 holders in turn");
	for (uint32_t worker = 0; worker < WORKERS; worker++)
		for (uint64_t i = 0; i <= 20; i++) {
			struct analysis_wait look = futex(WORKER + worker, "python3", start + i * 50 * ms, start + i * 50 * ms);

			look.kind = ANALYSIS_WAIT_SAMPLE;
			look.cpu_ns = ms + i * 48 * ms / WORKERS;
			see(&scene, &look);
		}
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cause_text(text, sizeof(text), &cause, &scene.process);
	cr_expect_str_eq(text, "futex(2), 5 ms at a time as for Python's lock; its 8 holders use 96 % of a CPU");
	end(&scene);
}

Test(cause, turns_of_another_length_are_not_said_to_be_python_s)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 1000 * ms };
	struct analysis_wait wait = futex(MAIN, "main", start, start);
	char text[96];

	wait.kind = ANALYSIS_WAIT_SHORT;
	wait.blocked_ns = 90 * ms;
	wait.longest_ns = 9 * ms;
	for (uint32_t i = 0; i < 10; i++) {
		wait.start_ns = start + i * 100 * ms;
		wait.end_ns = wait.start_ns + 99 * ms;
		wait.waker_tid = WORKER + i;
		snprintf(wait.waker, sizeof(wait.waker), "worker-%u", i);
		see(&scene, &wait);
	}
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.class_, RW_CAUSE_LOCK);
	cr_expect_str_eq(cause.hops[0].waits_for, "its other threads in turn");
	cause_text(text, sizeof(text), &cause, &scene.process);
	cr_expect_str_eq(text, "futex(2); it has 10 holders in turn");
	end(&scene);
}

Test(cause, short_waits_that_nearly_always_one_thread_ends_are_followed_to_it)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 1000 * ms };
	struct analysis_wait writing = fsync_of_writer(start, start + 1000 * ms);

	for (uint64_t i = 0; i < 10; i++)
		wait_shortly(&scene, MAIN, "python-main", start + i * 100 * ms, start + (i + 1) * 100 * ms - 20000,
			     i == 4 ? WORKER : WRITER, i == 4 ? "py-worker" : "tb-writer");
	see(&scene, &writing);
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.class_, RW_CAUSE_IO);
	cr_expect_str_eq(cause.hops[0].waits_for, "thread tb-writer");
	end(&scene);
}

/* The sums of the waits for autograd's thread cover much time, in which the thread hardly waited. */
Test(cause, a_sum_of_short_waits_counts_for_the_time_blocked_and_not_for_the_time_it_covers)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 1000 * ms };
	struct analysis_wait writing = fsync_of_writer(start, start + 1000 * ms);
	struct analysis_wait backward = futex(MAIN, "python-main", start, start + 900 * ms);

	backward.kind = ANALYSIS_WAIT_SHORT;
	backward.blocked_ns = 20 * ms;
	backward.longest_ns = 5 * ms;
	backward.waker_tid = WORKER;
	snprintf(backward.waker, sizeof(backward.waker), "pt_autograd_0");
	see(&scene, &backward);
	for (uint64_t i = 0; i < 10; i++)
		wait_shortly(&scene, MAIN, "python-main", start + i * 100 * ms, start + i * 100 * ms + 80 * ms, WRITER,
			     "tb-writer");
	see(&scene, &writing);
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.class_, RW_CAUSE_IO);
	cr_expect_not(cause.convoy);
	cr_expect_str_eq(cause.hops[0].waits_for, "thread tb-writer");
	end(&scene);
}

/* Who ended most of the waits is in files: what it passes on is no lock, whoever ended the others. */
Test(cause, a_thread_that_is_busy_in_files_leads_no_convoy)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 1000 * ms };
	struct analysis_wait writing = fsync_of_writer(start, start + 1000 * ms);

	for (uint64_t i = 0; i < 10; i++)
		wait_shortly(&scene, MAIN, "python-main", start + i * 100 * ms,
			     start + i * 100 * ms + (i % 5 < 3 ? 95 : 90) * ms, i % 5 < 3 ? WRITER : WORKER,
			     i % 5 < 3 ? "tb-writer" : "pt_autograd_0");
	see(&scene, &writing);
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.class_, RW_CAUSE_IO);
	cr_expect_not(cause.convoy);
	cr_expect_str_eq(cause.hops[0].waits_for, "thread tb-writer");
	end(&scene);
}

/* Turns that come one in three from others are no convoy where one thread ended all the long waits. */
Test(cause, long_waits_tell_who_ends_the_short_ones)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 1000 * ms };
	struct analysis_wait writing = fsync_of_writer(start, start + 1000 * ms);

	for (uint64_t i = 0; i < 10; i++) {
		uint64_t from = start + i * 100 * ms;
		struct analysis_wait wait = futex(MAIN, "python-main", from, from + 40 * ms);

		wait.waker_tid = WRITER;
		snprintf(wait.waker, sizeof(wait.waker), "tb-writer");
		see(&scene, &wait);
		wait_shortly(&scene, MAIN, "python-main", from + 42 * ms, from + 95 * ms, i % 3 ? WRITER : WORKER,
			     i % 3 ? "tb-writer" : "py-worker");
	}
	see(&scene, &writing);
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.class_, RW_CAUSE_IO);
	cr_expect_not(cause.convoy);
	end(&scene);
}

/* A queue that a slow writer empties: some waits of its user are long, most are short, and there are many of both. */
Test(cause, many_waits_long_and_short_are_followed_with_their_whole_share)
{
	struct scene scene = { 0 };
	struct cause cause;
	struct cause_window window = { start, start + 3000 * ms };

	for (uint64_t i = 0; i < 60; i++) {
		uint64_t from = start + i * 50 * ms;
		struct analysis_wait wait = futex(MAIN, "python-main", from, from + 20 * ms);
		struct analysis_wait writing = fsync_of_writer(from, from + 49 * ms);

		wait.waker_tid = WRITER;
		snprintf(wait.waker, sizeof(wait.waker), "tb-writer");
		see(&scene, &wait);
		see(&scene, &writing);
		wait_shortly(&scene, MAIN, "python-main", from + 25 * ms, from + 45 * ms, WRITER, "tb-writer");
	}
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.class_, RW_CAUSE_IO);
	cr_expect_float_eq(cause.share, 0.8, 0.03, "%f", cause.share);
	end(&scene);
}

/* A wait of the main thread that another process ended. */
static struct analysis_wait ended_by(int32_t pid, const char *name, int32_t system_call, const char *path,
				     uint64_t from_ms, uint64_t to_ms)
{
	struct analysis_wait wait = futex(MAIN, "python3", start + from_ms * ms, start + to_ms * ms);

	wait.system_call = system_call;
	wait.fd = *path ? 5 : -1;
	wait.out_of_process_wake = true;
	wait.waker_tid = (uint32_t)pid;
	wait.waker_pid = pid;
	snprintf(wait.waker, sizeof(wait.waker), "%s", name);
	snprintf(wait.path, sizeof(wait.path), "%s", path);
	return wait;
}

Test(cause, a_wait_that_another_process_ends_names_it_where_that_is_the_other_end)
{
	static const struct {
		int32_t system_call;
		const char *path, *waits_for; /* NULL: nobody is named */
		enum rw_cause_class class_;
		const char *frames[2];
	} cases[] = {
		{ SYS_recvfrom,
		  "socket:[78]",
		  "process 16793 \"pt_data_worker\"",
		  RW_CAUSE_SOCKET,
		  { "wait_woken", "unix_stream_read_generic" } },
		{ SYS_recvfrom, "socket:[78]", NULL, RW_CAUSE_SOCKET, { "wait_woken", "tcp_recvmsg_locked" } },
		{ SYS_read, "pipe:[77]", "process 16793 \"pt_data_worker\"", RW_CAUSE_SOCKET },
		{ SYS_ppoll, "pipe:[77]", "process 16793 \"pt_data_worker\"", RW_CAUSE_SOCKET },
		{ SYS_wait4, "", "process 16793 \"pt_data_worker\"", RW_CAUSE_PROCESS },
		{ SYS_recvfrom, "socket:[78]", NULL, RW_CAUSE_SOCKET }, /* a network card wakes for whoever runs */
		{ SYS_futex, "", NULL, RW_CAUSE_LOCK },                 /* a signal ended it */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene scene = { 0 };
		struct analysis_wait wait =
		    ended_by(16793, "pt_data_worker", cases[i].system_call, cases[i].path, 0, 900);

		for (; wait.frame_count < 2 && cases[i].frames[wait.frame_count]; wait.frame_count++)
			snprintf(wait.frames[wait.frame_count], sizeof(wait.frames[0]), "%s", cases[i].frames[wait.frame_count]);
		see(&scene, &wait);
		struct cause cause = find(&scene, 1000);
		cr_expect_eq(cause.class_, cases[i].class_, "%zu: %d", i, cause.class_);
		cr_expect_eq(cause.hop_count, cases[i].waits_for != NULL, "%zu", i);
		cr_expect_eq(cause.by_process, cases[i].waits_for != NULL, "%zu", i);
		if (cases[i].waits_for) {
			cr_expect_str_eq(cause.hops[0].waits_for, cases[i].waits_for);
			cr_expect_eq(cause.hops[0].waits_for_tid, 16793);
		}
	}
}

static void see_other(struct scene *scene, int32_t pid, bool is_child, uint64_t at_ms, char state, int32_t system_call,
		      const char *path)
{
	struct analysis_other other = { .at_ns = start + at_ms * ms,
					.pid = pid,
					.is_child = is_child,
					.state = state,
					.system_call = system_call };

	snprintf(other.path, sizeof(other.path), "%s", path);
	cr_assert_eq(other_looks_add(&scene->process.others, &scene->intern, &other), 0);
}

Test(cause, a_process_that_is_waited_for_is_said_to_be_a_child_and_to_do_what_most_looks_show)
{
	static const struct {
		const char *states; /* of one look after the other */
		int32_t system_call;
		const char *path, *does;
		bool is_child;
		const char *waits_for;
	} cases[] = {
		{ "RRRR", -2, "", "computes", true, "its child 16793 \"pt_data_worker\"" },
		{ "RRSR", SYS_read, "/data/part-3", "computes", true, "its child 16793 \"pt_data_worker\"" },
		{ "SDSR", SYS_read, "/data/part-3", "is in read(2) on /data/part-3", true, "its child 16793 \"pt_data_worker\"" },
		{ "SSSS", SYS_futex, "", "is in futex(2)", false, "process 16793 \"pt_data_worker\"" },
		{ "TTTT", -1, "", "is stopped", false, "process 16793 \"pt_data_worker\"" },
		{ "RRSS", SYS_read, "/data/part-3", "", true, "its child 16793 \"pt_data_worker\"" },  /* neither is in most */
		{ "RR", -2, "", "", true, "its child 16793 \"pt_data_worker\"" },                       /* too few */
		{ "DDDD", -2, "", "", true, "its child 16793 \"pt_data_worker\"" },                     /* nobody knows in what */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene scene = { 0 };
		struct analysis_wait wait = ended_by(16793, "pt_data_worker", SYS_read, "pipe:[77]", 0, 900);

		see(&scene, &wait);
		for (uint64_t k = 0; cases[i].states[k]; k++) {
			see_other(&scene, 16793, cases[i].is_child, 100 + 50 * k, cases[i].states[k], cases[i].system_call, cases[i].path);
			see_other(&scene, 20000, true, 100 + 50 * k, 'S', SYS_fsync, "/another's"); /* another process */
			see_other(&scene, 16793, cases[i].is_child, 920 + 5 * k, 'S', SYS_write, "/later"); /* nobody waits for it then */
		}
		struct cause cause = find(&scene, 1000);
		cr_expect_str_eq(cause.hops[0].waits_for, cases[i].waits_for, "%zu: %s", i, cause.hops[0].waits_for);
		cr_expect_str_eq(cause.hops[0].does, cases[i].does, "%zu: %s", i, cause.hops[0].does);
	}
}

Test(cause, a_child_that_waits_for_a_lock_held_at_the_fork_is_told_as_that)
{
	static const char forked[] =
	    "is in futex(2) for a lock that was held when it was forked: it has no other thread that could release it";

	for (int held = 0; held < 2; held++) {
		struct scene scene = { 0 };
		struct analysis_wait wait = ended_by(16793, "pt_data_worker", SYS_read, "pipe:[77]", 0, 900);
		char advice[160];

		see(&scene, &wait);
		for (uint64_t k = 0; k < 4; k++) {
			struct analysis_other other = { .at_ns = start + (100 + 50 * k) * ms,
							.pid = 16793,
							.is_child = true,
							.state = 'S',
							.system_call = SYS_futex,
							.held_at_fork = held };

			cr_assert_eq(other_looks_add(&scene.process.others, &scene.intern, &other), 0);
		}
		struct cause cause = find(&scene, 1000);
		const struct process process = { .pid = 4711 };

		advice_find(advice, sizeof(advice), &cause, &process);
		cr_expect_str_eq(cause.hops[0].does, held ? forked : "is in futex(2)");
		cr_expect_eq(strstr(advice, "spawn or forkserver") != NULL, held, "%s", advice);
		cr_expect_eq(strstr(advice, "more workers") != NULL, !held, "%s", advice);
		cr_expect(!held || strstr(advice, "without its holder"), "whole: %s", advice);
	}
}

/* A thread that was sampled every 50 ms, in one wait all the time. */
static void sample_wait(struct scene *scene, int32_t system_call, const char *path)
{
	for (uint64_t k = 0; k <= 20; k++) {
		struct analysis_wait wait = futex(MAIN, "python3", 0, start + k * 50 * ms);

		wait.kind = ANALYSIS_WAIT_SAMPLE;
		wait.level = RW_LEVEL_PROC;
		wait.system_call = system_call;
		wait.fd = *path ? 5 : -1;
		snprintf(wait.path, sizeof(wait.path), "%s", path);
		see(scene, &wait);
	}
}

Test(cause, the_child_at_the_other_end_of_a_sampled_wait_is_likely_who_ends_it)
{
	static const struct {
		int32_t system_call;
		const char *path;
		uint32_t waiting_tid;
		int32_t others; /* of four looks: so many are at another child */
		bool is_named;
	} cases[] = {
		{ SYS_read, "pipe:[77]", MAIN, 0, true },
		{ SYS_recvfrom, "socket:[78] to 127.0.0.1:4000", MAIN, 0, true },
		{ SYS_wait4, "", MAIN, 0, true },
		{ SYS_futex, "", MAIN, 0, false },
		{ SYS_read, "pipe:[77]", 0, 0, false },      /* it only ended an earlier wait */
		{ SYS_read, "pipe:[77]", WRITER, 0, false }, /* another thread waits for it */
		{ SYS_read, "pipe:[77]", MAIN, 2, false },   /* now one, now the other */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene scene = { 0 };

		sample_wait(&scene, cases[i].system_call, cases[i].path);
		for (int32_t k = 0; k < 4; k++) {
			struct analysis_other other = { .at_ns = start + (100 + 50 * (uint64_t)k) * ms, .pid = 16793 + (k < cases[i].others),
							.waiting_tid = cases[i].waiting_tid, .name = "pt_data_worker", .is_child = true,
							.state = 'R', .system_call = -2 };

			cr_assert_eq(other_looks_add(&scene.process.others, &scene.intern, &other), 0);
		}
		struct cause cause = find(&scene, 1000);
		cr_expect_eq(cause.by_process, cases[i].is_named, "%zu", i);
		cr_expect_eq(cause.hop_count, cases[i].is_named, "%zu", i);
		if (!cases[i].is_named)
			continue;
		cr_expect_str_eq(cause.hops[0].waits_for, "its child 16793 \"pt_data_worker\"");
		cr_expect_str_eq(cause.hops[0].does, "computes");
		cr_expect(cause.inferred && strstr(cause.inferred, "the only child that can"), "%zu: %s", i, cause.inferred);
	}
}

/* A packet of this host's own is delivered by the thread that sends it; any other by whoever runs. */
Test(cause, a_child_that_sent_through_tcp_is_named_where_it_woke_the_thread)
{
	static const struct {
		int32_t woke; /* 0: an interrupt did */
		const char *frame;
		bool is_named, is_inferred;
	} cases[] = { { 16793, "", true, false },
		      { 4712, "", false, false },
		      { 0, "tcp_recvmsg", true, true },
		      { 4712, "tcp_recvmsg", false, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene scene = { 0 };
		struct analysis_wait wait = ended_by(cases[i].woke, "any", SYS_recvfrom, "socket:[78] to 127.0.0.1:4000", 0, 900);

		wait.out_of_process_wake = cases[i].woke;
		wait.frame_count = *cases[i].frame != 0;
		snprintf(wait.frames[0], sizeof(wait.frames[0]), "%s", cases[i].frame);
		see(&scene, &wait);
		for (uint64_t k = 0; k < 4; k++) {
			struct analysis_other other = { .at_ns = start + (100 + 50 * k) * ms, .pid = 16793, .waiting_tid = MAIN,
							.name = "pt_data_worker", .is_child = true, .state = 'R', .system_call = -2 };

			cr_assert_eq(other_looks_add(&scene.process.others, &scene.intern, &other), 0);
		}
		const struct cause_window window = { start, start + 1000 * ms };
		struct cause cause;
		cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
		cr_expect(!cause_ended_before(&scene.intern, &scene.process, &cause, start + 899 * ms), "%zu", i);
		cr_expect(cause_ended_before(&scene.intern, &scene.process, &cause, start + 900 * ms), "%zu: named or not", i);
		end(&scene);
		cr_expect_eq(cause.by_process, cases[i].is_named, "%zu", i);
		cr_expect_eq(cause.inferred != NULL, cases[i].is_inferred, "%zu: %s", i, cause.inferred);
	}
}

/* Of a socket that nobody else of the host is known to write to, or of TCP, the end of the wait is what is known. */
Test(cause, a_wait_for_a_socket_had_ended_where_it_was_not_followed_to_its_other_end)
{
	static const struct {
		const char *path;
		uint32_t hops;
		bool by_process, ended;
	} cases[] = {
		{ "socket:[78]", 0, false, true },
		{ "socket:[78]", 1, false, false },
		{ "socket:[78]", 1, true, false },
		{ "socket:[78] to 127.0.0.1:4000", 0, false, true },
		{ "socket:[78] to 127.0.0.1:4000", 1, false, false },
		{ "socket:[78] to 127.0.0.1:4000", 1, true, true },
		{ "pipe:[78]", 0, false, false },
		{ "/data/socket:[78]", 0, false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene scene = { 0 };
		struct analysis_wait wait = ended_by(0, "any", SYS_recvfrom, cases[i].path, 0, 900);

		see(&scene, &wait);
		const struct evidence_piece *piece = evidence_at(&scene.process.evidence, 0);
		const struct cause cause = { .class_ = RW_CAUSE_SOCKET, .path = piece->path, .last_tid = piece->tid,
					     .hop_count = cases[i].hops, .by_process = cases[i].by_process };
		cr_expect_eq(cause_ended_before(&scene.intern, &scene.process, &cause, start + 900 * ms),
			     cases[i].ended, "case %zu", i);
		cr_expect_not(cause_ended_before(&scene.intern, &scene.process, &cause, start + 900 * ms - 1), "case %zu", i);
		end(&scene);
	}
}

Test(cause, a_process_that_runs_less_than_it_waits_for_a_cpu_does_not_compute)
{
	static const struct {
		uint64_t cpu_ns, run_queue_ns;
		const char *does;
	} cases[] = { { 40, 10, "computes" }, { 10, 40, "waits for a CPU" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct scene scene = { 0 };
		struct analysis_wait wait = ended_by(16793, "pt_data_worker", SYS_read, "pipe:[77]", 0, 900);

		see(&scene, &wait);
		for (uint64_t k = 0; k < 4; k++) {
			struct analysis_other other = { .at_ns = start + (100 + 50 * k) * ms, .pid = 16793, .state = 'R', .system_call = -2,
							.cpu_ns = 1000 + k * cases[i].cpu_ns * ms, .run_queue_ns = 1000 + k * cases[i].run_queue_ns * ms };

			cr_assert_eq(other_looks_add(&scene.process.others, &scene.intern, &other), 0);
		}
		struct cause cause = find(&scene, 1000);
		cr_expect_str_eq(cause.hops[0].does, cases[i].does, "%zu: %s", i, cause.hops[0].does);
	}
}

Test(cause, of_a_long_path_that_a_process_is_at_the_end_is_kept_and_of_several_none)
{
	struct scene scene = { 0 };
	struct analysis_wait wait = ended_by(16793, "pt_data_worker", SYS_read, "pipe:[77]", 0, 900);
	char path[256];

	snprintf(path, sizeof(path), "/data/%0220d/part-3", 7);
	see(&scene, &wait);
	for (uint64_t k = 0; k < 4; k++)
		see_other(&scene, 16793, true, 100 + 50 * k, 'S', SYS_read, path);
	struct cause cause = find(&scene, 1000);
	cr_expect_eq(strlen(cause.hops[0].does), CAUSE_DOES - 1, "%s", cause.hops[0].does);
	cr_expect(!strncmp(cause.hops[0].does, "is in read(2) on …0", strlen("is in read(2) on …0")), "%s",
		  cause.hops[0].does);
	cr_expect(strstr(cause.hops[0].does, "07/part-3"), "%s", cause.hops[0].does);

	struct scene several = { 0 };
	see(&several, &wait);
	for (uint64_t k = 0; k < 4; k++)
		see_other(&several, 16793, true, 100 + 50 * k, 'S', SYS_read, k % 2 ? "/data/1" : "/data/2");
	cause = find(&several, 1000);
	cr_expect_str_eq(cause.hops[0].does, "is in read(2)");
}

Test(cause, where_several_processes_end_the_waits_none_of_them_is_named)
{
	struct scene scene = { 0 };

	for (uint64_t i = 0; i < 4; i++) {
		struct analysis_wait wait =
		    ended_by(16793 + (int32_t)i, "pt_data_worker", SYS_read, "pipe:[77]", i * 250, i * 250 + 240);

		see(&scene, &wait);
	}
	struct cause cause = find(&scene, 1000);
	cr_expect_eq(cause.class_, RW_CAUSE_SOCKET);
	cr_expect_eq(cause.hop_count, 0);
}

/* Nothing that this process does explains how long its child takes. */
Test(cause, a_wait_for_a_child_is_not_followed_to_a_thread_that_writes_by_chance)
{
	struct scene scene = { 0 };
	struct analysis_wait wait = futex(MAIN, "python3", start, start + 1000 * ms);
	struct analysis_wait writing = fsync_of_writer(start, start + 1000 * ms);

	wait.system_call = SYS_wait4;
	see(&scene, &wait);
	see(&scene, &writing);
	struct cause cause = find(&scene, 1000);
	cr_expect_eq(cause.class_, RW_CAUSE_PROCESS);
	cr_expect_eq(cause.hop_count, 0);
}

Test(cause, a_thread_that_sleeps_while_it_holds_a_lock_is_waited_for_and_no_cause_of_its_own)
{
	struct scene scene = { 0 };
	struct analysis_wait wait = futex(MAIN, "python3", start, start + 1000 * ms);
	struct analysis_wait sleep = futex(WRITER, "python3", start, start + 1000 * ms);

	wait.waker_tid = WRITER;
	snprintf(wait.waker, sizeof(wait.waker), "python3");
	sleep.system_call = SYS_clock_nanosleep;
	see(&scene, &wait);
	see(&scene, &sleep);
	struct cause cause = find(&scene, 1000);
	cr_expect_eq(cause.class_, RW_CAUSE_LOCK);
	cr_expect_eq(cause.hops[0].tid, MAIN);
	cr_expect_eq(cause.hops[0].waits_for_tid, WRITER);
	cr_expect_eq(cause.last_tid, WRITER);
}

Test(cause, the_thread_in_the_file_is_told_by_its_number_too)
{
	struct scene scene = { 0 };
	struct analysis_wait wait = futex(MAIN, "python3", start, start + 1000 * ms);
	struct analysis_wait writing = fsync_of_writer(start, start + 1000 * ms);

	wait.waker_tid = WRITER;
	snprintf(wait.waker, sizeof(wait.waker), "tb-writer");
	see(&scene, &wait);
	see(&scene, &writing);
	struct cause cause = find(&scene, 1000);
	cr_expect_eq(cause.class_, RW_CAUSE_IO);
	cr_expect_eq(cause.tid, MAIN);
	cr_expect_eq(cause.last_tid, WRITER);
	cr_expect_eq(cause.hops[0].waits_for_tid, WRITER);
}

/* Advice */

static const char *advice_of(const struct cause *cause, enum analysis_life life, int exit_status, char text[160])
{
	const struct process process = { .pid = 4711, .life = life, .exit_status = exit_status };

	advice_find(text, 160, cause, &process);
	return text;
}

Test(advice, follows_the_ending)
{
	static const struct {
		enum analysis_life life;
		int exit_status;
		const char *says;
	} cases[] = {
		{ ANALYSIS_EXITED, 0, "number of batches" },
		{ ANALYSIS_EXITED, 3 << 8, "last exception" },
		{ ANALYSIS_KILLED, 11, "PYTHONFAULTHANDLER=1" },
		{ ANALYSIS_EXITED, 139 << 8, "PYTHONFAULTHANDLER=1" }, /* by way of a shell */
		{ ANALYSIS_KILLED, 7, "/dev/shm" },
		{ ANALYSIS_KILLED, 9, "OOM killer" },
		{ ANALYSIS_KILLED, 6, "watchdog" },
		{ ANALYSIS_KILLED, 15, "asked it to end" },
		{ ANALYSIS_KILLED, 10, "who sent this signal" },
		{ ANALYSIS_KILLED, -1, "kernel log" },
		{ ANALYSIS_EXITED, -1, "called exit()" }, /* no OOM killer lets a process do that */
		{ ANALYSIS_ALIVE, -1, "--pid 4711" },
	};
	const struct cause gone = { .class_ = RW_CAUSE_GONE };
	char text[160];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *advice = advice_of(&gone, cases[i].life, cases[i].exit_status, text);

		cr_expect(strstr(advice, cases[i].says), "%zu: %s", i, advice);
	}
	for (int number = 1; number < 65; number++)
		if (number != 9)
			cr_expect_not(strstr(advice_of(&gone, ANALYSIS_KILLED, number, text), "OOM"), "signal %d", number);
}

Test(advice, names_the_process_in_its_commands)
{
	static const struct cause stopped = { .class_ = RW_CAUSE_STOPPED }, sleeping = { .class_ = RW_CAUSE_SLEEP },
				  child = { .class_ = RW_CAUSE_PROCESS };
	char text[160];

	cr_expect_str_eq(advice_of(&stopped, ANALYSIS_STOPPED, -1, text),
			 "resume it (kill -CONT 4711), and find out who stopped it");
	cr_expect(strstr(advice_of(&sleeping, ANALYSIS_ALIVE, -1, text), "py-spy dump --pid 4711"));
	cr_expect(strstr(advice_of(&child, ANALYSIS_ALIVE, -1, text), "ps --ppid 4711"));
	for (int class_ = 0; class_ < RW_CAUSE_COUNT; class_++) {
		const struct cause cause = { .class_ = (enum rw_cause_class)class_ };

		cr_expect_not(strstr(advice_of(&cause, ANALYSIS_ALIVE, -1, text), "PID"), "%s", text);
	}
}

/* Nobody can look at its threads any more, or resume it. */
Test(advice, of_a_process_that_has_ended_is_for_the_next_time_where_it_takes_a_living_one)
{
	static const struct process past = { .pid = 4711, .past = true };
	static const char *const commands[] = { "--pid", "--ppid", "-CONT", "-p" };
	char text[160];

	for (int class_ = 0; class_ < RW_CAUSE_COUNT; class_++) {
		const struct cause cause = { .class_ = (enum rw_cause_class)class_ };
		bool living = false;

		advice_find(text, sizeof(text), &cause, &past);
		for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++)
			living |= strstr(text, commands[i]) != NULL;
		cr_expect_not(strstr(text, "4711"), "%s", text);
		cr_expect_eq(strstr(text, "next time, while it runs: ") == text, living, "%s", text);
	}
	advice_find(text, sizeof(text), &(struct cause){ .class_ = RW_CAUSE_SLEEP }, &past);
	cr_expect_str_eq(text, "next time, while it runs: find the sleep in its code (py-spy dump --pid PID): "
			       "time.sleep, a retry, a loop that polls");
}

Test(advice, of_a_rank_that_collects_garbage_is_to_do_it_with_the_others)
{
	const struct cause collecting = { .class_ = RW_CAUSE_RUNNING, .python = { .looks = 4, .collecting = 3 } };
	const struct cause crowded = { .class_ = RW_CAUSE_CPU, .python = { .looks = 4, .collecting = 3 } };
	char text[160];

	cr_expect_str_eq(advice_of(&collecting, ANALYSIS_ALIVE, -1, text),
			 "collect garbage on all ranks in the same step (gc.disable(), then gc.collect() every N "
			 "steps), or call gc.freeze() for long-lived objects");
	cr_expect(strstr(advice_of(&crowded, ANALYSIS_ALIVE, -1, text), "its own CPUs"), "what it lacks is a CPU");
}
