/* SPDX-License-Identifier: MIT */
/* Evidence of a thread, and how much of given windows it explains: on milliseconds of a clock, where each piece lies
 * exactly. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "analysis/explain/convoy.h"
#include "analysis/host/tally.h"

#define MS UINT64_C(1000000)

enum { THREAD = 11, WRITER = 12, OTHER = 13, THIRD = 14 };

struct seen {
	struct evidence evidence;
	struct intern intern;
};

static void setup(struct seen *seen)
{
	*seen = (struct seen){ 0 };
}

static void end(struct seen *seen)
{
	evidence_free(&seen->evidence);
	intern_free(&seen->intern);
}

/* The kernel saw it wait in this call, ended by a thread of this number (0: by none). */
static struct analysis_wait a_wait(uint64_t from_ms, uint64_t to_ms, int32_t system_call, uint32_t waker)
{
	struct analysis_wait wait = { .kind = ANALYSIS_WAIT_INTERVAL,
				      .level = RW_LEVEL_EBPF,
				      .tid = THREAD,
				      .start_ns = from_ms * MS,
				      .end_ns = to_ms * MS,
				      .blocked_ns = (to_ms - from_ms) * MS,
				      .state = 'S',
				      .system_call = system_call,
				      .fd = -1,
				      .waker_tid = waker };

	if (waker)
		strcpy(wait.waker, waker == WRITER ? "writer" : "worker");
	return wait;
}

/* Short ones, summed: so much of the time, the longest of them so long. */
static struct analysis_wait short_waits(uint64_t from_ms, uint64_t to_ms, uint64_t blocked_ms, uint64_t longest_ns,
					uint32_t waker)
{
	struct analysis_wait wait = a_wait(from_ms, to_ms, SYS_futex, waker);

	wait.kind = ANALYSIS_WAIT_SHORT;
	wait.blocked_ns = blocked_ms * MS;
	wait.longest_ns = longest_ns;
	return wait;
}

static void add(struct seen *seen, struct analysis_wait wait)
{
	cr_assert_eq(evidence_add(&seen->evidence, &seen->intern, &wait), 0);
}

static struct tally of(const struct seen *seen, uint64_t from_ms, uint64_t to_ms)
{
	const struct cause_window window = { from_ms * MS, to_ms * MS };
	struct tally tally;

	tally_best(&seen->intern, &seen->evidence, THREAD, &window, 1, &tally);
	return tally;
}

Test(tally, only_what_lies_in_the_windows_counts)
{
	const struct cause_window windows[] = { { 10, 20 }, { 30, 40 } };

	cr_expect_eq(tally_overlap(windows, 2, 0, 100), 20);
	cr_expect_eq(tally_overlap(windows, 2, 15, 35), 10);
	cr_expect_eq(tally_overlap(windows, 2, 10, 11), 1);
	cr_expect_eq(tally_overlap(windows, 2, 19, 20), 1);
	cr_expect_eq(tally_overlap(windows, 2, 20, 30), 0, "it lies between the two");
	cr_expect_eq(tally_overlap(windows, 2, 0, 10), 0);
	cr_expect_eq(tally_overlap(windows, 2, 40, 50), 0);
	cr_expect_eq(tally_overlap(windows, 1, 0, 100), 10);
	cr_expect_eq(tally_overlap(windows, 0, 0, 100), 0);
}

Test(tally, short_waits_count_for_as_much_as_they_lasted)
{
	struct evidence_piece piece = { .kind = ANALYSIS_WAIT_SHORT, .start_ns = 100, .end_ns = 200, .blocked_ns = 40 };

	cr_expect_eq(tally_blocked(&piece, 50), 20);
	cr_expect_eq(tally_blocked(&piece, 100), 40);
	piece.blocked_ns = 500;
	cr_expect_eq(tally_blocked(&piece, 50), 50, "no more than there is");
	piece.end_ns = piece.start_ns;
	cr_expect_eq(tally_blocked(&piece, 50), 0);
	piece.kind = ANALYSIS_WAIT_INTERVAL;
	cr_expect_eq(tally_blocked(&piece, 50), 50);
}

Test(tally, time_goes_to_the_class_and_call_that_took_it_and_the_longest_stands_for_its_group)
{
	struct seen seen;

	setup(&seen);
	add(&seen, a_wait(100, 130, SYS_fsync, 0));
	add(&seen, a_wait(140, 150, SYS_fsync, 0));
	add(&seen, a_wait(150, 170, SYS_write, 0));
	add(&seen, a_wait(170, 180, SYS_futex, WRITER));
	struct tally tally = of(&seen, 100, 200);
	const struct tally_group *io = tally_group_of(&tally, RW_CAUSE_IO), *lock = tally_group_of(&tally, RW_CAUSE_LOCK);

	cr_expect_eq(tally.window_ns, 100 * MS);
	cr_expect_eq(tally.explained_ns, 70 * MS);
	cr_expect_eq(tally.by_class[RW_CAUSE_IO], 60 * MS);
	cr_expect_eq(tally.by_class[RW_CAUSE_LOCK], 10 * MS);
	cr_expect_eq(tally_class(&tally), RW_CAUSE_IO);
	cr_expect_eq(tally.group_count, 3);
	cr_assert(io && lock);
	cr_expect_eq(io->ns, 40 * MS);
	cr_expect_eq(io->longest_ns, 30 * MS);
	cr_expect_eq(io->longest->start_ns, 100 * MS);
	cr_expect_str_eq(io->class_.system_call->name, "fsync");
	cr_expect_eq(tally_group_woken(&tally, RW_CAUSE_LOCK), lock);
	cr_expect_null(tally_group_woken(&tally, RW_CAUSE_IO), "nobody ended these");
	cr_expect_null(tally_group_of(&tally, RW_CAUSE_MEMORY));
	end(&seen);
}

Test(tally, another_thread_and_another_time_are_not_its)
{
	struct seen seen;
	struct analysis_wait other = a_wait(100, 200, SYS_fsync, 0);

	setup(&seen);
	other.tid = OTHER;
	add(&seen, other);
	add(&seen, a_wait(50, 100, SYS_fsync, 0));
	add(&seen, a_wait(200, 250, SYS_fsync, 0));
	cr_expect_eq(of(&seen, 100, 200).explained_ns, 0);
	cr_expect_eq(of(&seen, 99, 200).explained_ns, MS);
	cr_expect_eq(of(&seen, 100, 201).explained_ns, MS);
	end(&seen);
}

Test(tally, a_wait_that_a_thread_of_another_process_ended_is_not_followed)
{
	struct seen seen;
	struct analysis_wait wait = a_wait(100, 200, SYS_futex, WRITER);

	setup(&seen);
	wait.out_of_process_wake = true;
	add(&seen, wait);
	struct tally tally = of(&seen, 100, 200);
	for (int class_ = 0; class_ < RW_CAUSE_COUNT; class_++)
		cr_expect_null(tally_group_woken(&tally, (enum rw_cause_class)class_));
	cr_expect_eq(tally.explained_ns, 100 * MS);
	end(&seen);
}

Test(tally, the_deepest_level_that_explains_half_is_asked_else_the_one_that_explains_most)
{
	struct seen seen;
	struct analysis_wait shallow = a_wait(100, 200, SYS_fsync, 0);

	setup(&seen);
	shallow.level = RW_LEVEL_PROC;
	add(&seen, shallow);
	add(&seen, a_wait(100, 149, SYS_futex, WRITER));
	cr_expect_eq(of(&seen, 100, 200).level, RW_LEVEL_PROC);
	cr_expect_eq(of(&seen, 100, 200).explained_ns, 100 * MS);
	add(&seen, a_wait(149, 150, SYS_futex, WRITER));
	cr_expect_eq(of(&seen, 100, 200).level, RW_LEVEL_EBPF, "it explains half");
	cr_expect_eq(of(&seen, 100, 200).explained_ns, 50 * MS);
	end(&seen);
}

Test(tally, time_in_a_run_queue_is_the_cpu_s_and_not_the_call_s)
{
	struct seen seen;
	struct analysis_wait wait = a_wait(100, 200, SYS_fsync, 0), queue = a_wait(200, 300, -1, 0);

	setup(&seen);
	wait.run_queue_ns = 30 * MS;
	queue.kind = ANALYSIS_WAIT_RUN_QUEUE;
	queue.run_queue_ns = 60 * MS;
	queue.state = 'R';
	add(&seen, wait);
	add(&seen, queue);
	struct tally first = of(&seen, 100, 200), both = of(&seen, 100, 300), half = of(&seen, 150, 200);

	cr_expect_eq(first.by_class[RW_CAUSE_CPU], 30 * MS);
	cr_expect_eq(first.by_class[RW_CAUSE_IO], 70 * MS);
	cr_expect_eq(both.by_class[RW_CAUSE_CPU], 90 * MS);
	cr_expect_eq(half.by_class[RW_CAUSE_CPU], 15 * MS);
	cr_expect_eq(half.by_class[RW_CAUSE_IO], 35 * MS);
	end(&seen);
}

static struct tally of_runnable(uint64_t first_cpu_ms, uint64_t cpu_ms, uint64_t queue_ms)
{
	struct seen seen;

	setup(&seen);
	for (uint64_t i = 0; i < 3; i++) {
		struct analysis_wait wait = a_wait(0, 100 + 100 * i, -1, 0);
		wait.kind = ANALYSIS_WAIT_SAMPLE;
		wait.level = RW_LEVEL_SELF;
		wait.state = 'R';
		wait.cpu_ns = (first_cpu_ms + i * cpu_ms) * MS;
		wait.run_queue_ns = (1 + i * queue_ms) * MS;
		add(&seen, wait);
	}
	struct tally tally = of(&seen, 100, 300);
	end(&seen);
	return tally;
}

/* It stands in the run queue when it is sampled: that wait is not in its counter yet. */
Test(tally, a_runnable_thread_ran_for_no_more_than_the_cpu_time_that_it_used)
{
	struct tally waits = of_runnable(50, 10, 40), runs = of_runnable(50, 99, 1), unknown = of_runnable(0, 0, 40);

	cr_expect_eq(waits.by_class[RW_CAUSE_RUNNING], 2 * 20 * MS, "10 ms and what may be missing, of each 100");
	cr_expect_eq(waits.by_class[RW_CAUSE_CPU], 2 * 40 * MS);
	cr_expect_eq(runs.by_class[RW_CAUSE_RUNNING], 2 * 99 * MS);
	cr_expect_eq(unknown.by_class[RW_CAUSE_RUNNING], 2 * 60 * MS, "a kernel that does not count it");
}

Test(tally, the_latest_pieces_are_kept_and_since_when_is_known)
{
	struct seen seen;

	setup(&seen);
	for (uint64_t i = 1; i <= EVIDENCE_ROOM; i++)
		add(&seen, a_wait(10 * i, 10 * i + 5, SYS_fsync, 0));
	cr_expect_eq(evidence_kept(&seen.evidence), EVIDENCE_ROOM);
	cr_expect_eq(evidence_since_ns(&seen.evidence), 0, "nothing was overwritten");
	cr_expect_eq(evidence_at(&seen.evidence, 0)->start_ns, 10 * EVIDENCE_ROOM * MS);
	cr_expect_eq(evidence_at(&seen.evidence, EVIDENCE_ROOM - 1)->start_ns, 10 * MS);
	add(&seen, a_wait(1000000, 1000005, SYS_fsync, 0));
	cr_expect_eq(evidence_kept(&seen.evidence), EVIDENCE_ROOM);
	cr_expect_eq(evidence_since_ns(&seen.evidence), 25 * MS, "the second one is the oldest");
	cr_expect_eq(evidence_at(&seen.evidence, 0)->start_ns, 1000000 * MS);
	end(&seen);
}

/* counter: of its time in run queues, cumulative; it ran in between when that grows. */
static const struct evidence_piece *sample(struct seen *seen, uint64_t at_ms, uint64_t since_ms, uint64_t queue_ms,
					   uint64_t cpu_ms)
{
	struct analysis_wait wait = a_wait(since_ms, at_ms, SYS_fsync, 0);

	wait.kind = ANALYSIS_WAIT_SAMPLE;
	wait.level = RW_LEVEL_PROC;
	wait.run_queue_ns = queue_ms * MS;
	wait.cpu_ns = cpu_ms * MS;
	add(seen, wait);
	return evidence_at(&seen->evidence, 0);
}

Test(tally, a_sample_stands_for_the_time_since_the_one_before_but_not_for_long)
{
	struct seen seen;

	setup(&seen);
	cr_expect_eq(sample(&seen, 1000, 0, 5, 100)->start_ns, 1000 * MS, "the first one is a moment");
	const struct evidence_piece *piece = sample(&seen, 1050, 0, 8, 120);
	cr_expect_eq(piece->start_ns, 1020 * MS, "it ran for 20 ms");
	cr_expect_eq(piece->run_queue_ns, 3 * MS);
	cr_expect_eq(piece->cpu_ns, 20 * MS);
	cr_expect_eq(sample(&seen, 1300, 0, 9, 120)->start_ns, 1050 * MS, "250 ms are not too long");
	cr_expect_eq(sample(&seen, 1600, 0, 10, 122)->start_ns, 1350 * MS, "300 ms are");
	cr_expect_eq(sample(&seen, 5000, 0, 10, 122)->start_ns, 1600 * MS, "it has not run at all since");
	cr_expect_eq(sample(&seen, 9000, 0, 10, 123)->start_ns, 8750 * MS, "it has run");
	cr_expect_eq(sample(&seen, 9500, 9100, 11, 124)->start_ns, 9100 * MS, "the sampler knows since when");
	cr_expect_eq(sample(&seen, 9600, 9100, 12, 125)->start_ns, 9500 * MS, "what was told is not told again");
	end(&seen);
}

/* It closes a file until it calls NCCL at 1110 ms, and sleeps then. Calls and samples reach the analysis by different
 * ways. */
Test(tally, a_sample_does_not_stand_for_the_time_before_its_thread_called_NCCL)
{
	for (int order = 0; order < 2; order++) {
		struct seen seen;

		setup(&seen);
		sample(&seen, 1000, 0, 5, 100);
		if (order == 0)
			evidence_note_call(&seen.evidence, THREAD, 1110 * MS);
		sample(&seen, 1130, 0, 6, 101);
		sample(&seen, 1180, 0, 7, 102);
		if (order == 1)
			evidence_note_call(&seen.evidence, THREAD, 1110 * MS);
		evidence_note_call(&seen.evidence, OTHER, 1170 * MS);
		cr_expect_eq(evidence_at(&seen.evidence, 1)->start_ns, 1110 * MS, "order %d", order);
		cr_expect_eq(evidence_at(&seen.evidence, 1)->shown, EVIDENCE_ASSUMED);
		cr_expect_eq(evidence_at(&seen.evidence, 0)->start_ns, 1131 * MS, "it has not called since");
		cr_expect_eq(evidence_at(&seen.evidence, 0)->shown, EVIDENCE_BETWEEN_SAMPLES);
		cr_expect_eq(of(&seen, 1000, 1110).by_class[RW_CAUSE_IO], 0, "order %d", order);
		end(&seen);
	}
}

/* It has no CPU from 1000 ms on, gets one at 1130 ms, and calls at once: its counter shows the wait only in the sample
 * after the call. */
Test(tally, a_wait_for_a_cpu_counts_up_to_the_call_that_it_delayed)
{
	for (int order = 0; order < 2; order++) {
		struct analysis_wait runnable = a_wait(0, 0, -1, 0);
		struct seen seen;

		setup(&seen);
		runnable.kind = ANALYSIS_WAIT_SAMPLE;
		runnable.level = RW_LEVEL_PROC;
		runnable.state = 'R';
		runnable.cpu_ns = 100 * MS;
		runnable.run_queue_ns = 5 * MS;
		for (uint64_t at_ms = 1050; at_ms <= 1100; at_ms += 50) {
			runnable.end_ns = at_ms * MS;
			add(&seen, runnable);
		}
		if (order == 0)
			evidence_note_call(&seen.evidence, THREAD, 1130 * MS);
		sample(&seen, 1150, 0, 135, 102);
		if (order == 1)
			evidence_note_call(&seen.evidence, THREAD, 1130 * MS);
		struct tally tally = of(&seen, 1030, 1130);
		cr_expect_eq(tally_class(&tally), RW_CAUSE_CPU);
		cr_expect_gt(tally.by_class[RW_CAUSE_CPU], 95 * MS, "%lu", (unsigned long)tally.by_class[RW_CAUSE_CPU]);
		cr_expect(tally_shows(&tally, RW_CAUSE_CPU), "a counter is no guess");
		cr_expect_eq(tally.by_class[RW_CAUSE_IO], 0);
		end(&seen);
	}
}

/* The pieces of other threads lie between, and the oldest have been overwritten. */
Test(tally, calls_that_come_late_find_the_samples_of_their_thread_that_are_still_there)
{
	struct analysis_wait other = a_wait(0, 1000, SYS_fsync, 0);
	struct seen seen;

	setup(&seen);
	for (uint64_t i = 0; i < EVIDENCE_ROOM; i++) {
		sample(&seen, 1000 + 50 * i, 0, 5 + i, 100 + i);
		other.kind = ANALYSIS_WAIT_SAMPLE;
		other.level = RW_LEVEL_PROC;
		other.tid = OTHER;
		other.end_ns = (1000 + 50 * i) * MS;
		add(&seen, other);
	}
	evidence_note_call(&seen.evidence, THREAD, 10 * MS); /* before anything that is kept */
	cr_expect_eq(evidence_at(&seen.evidence, 1)->start_ns, (1000 + 50 * (EVIDENCE_ROOM - 2) + 1) * MS);
	evidence_note_call(&seen.evidence, THREAD, (1000 + 50 * (EVIDENCE_ROOM - 3) + 20) * MS);
	cr_expect_eq(evidence_at(&seen.evidence, 3)->start_ns, (1000 + 50 * (EVIDENCE_ROOM - 3) + 20) * MS);
	cr_expect_eq(evidence_at(&seen.evidence, 5)->shown, EVIDENCE_BETWEEN_SAMPLES);
	end(&seen);
}

/* 0.4 s in run queues within 5 s: of the last quarter of a second nobody knows how much that was. */
Test(tally, time_in_run_queues_before_the_piece_is_not_the_piece_s)
{
	struct seen seen;

	setup(&seen);
	sample(&seen, 1000, 0, 5, 100);
	cr_expect_eq(sample(&seen, 6000, 0, 405, 1100)->run_queue_ns, 0);
	cr_expect_eq(sample(&seen, 7000, 0, 1375, 1110)->run_queue_ns, 230 * MS,
		     "it ran for 10 ms, so 230 ms at least lie in the last 250");
	end(&seen);
}

static struct tally of_samples(uint64_t each_ms, uint64_t samples, bool runs)
{
	struct seen seen;

	setup(&seen);
	for (uint64_t i = 0; i < samples; i++)
		sample(&seen, 1000 + i * each_ms, 0, 5 + (runs ? i : 0), 100 + (runs ? i : 0));
	struct tally tally = of(&seen, 1000, 1000 + (samples - 1) * each_ms);
	end(&seen);
	return tally;
}

Test(tally, what_few_samples_show_is_assumed_and_a_thread_that_has_not_run_is_seen)
{
	struct tally one = of_samples(100, 2, true), two = of_samples(100, 3, true), seldom = of_samples(500, 9, true),
		     same = of_samples(500, 2, false);

	cr_expect(one.by_class[RW_CAUSE_IO] && !tally_shows(&one, RW_CAUSE_IO));
	cr_expect(two.by_class[RW_CAUSE_IO] && tally_shows(&two, RW_CAUSE_IO));
	cr_expect(seldom.by_class[RW_CAUSE_IO] && !tally_shows(&seldom, RW_CAUSE_IO),
		  "each one stands for a quarter of a second before it");
	cr_expect(same.by_class[RW_CAUSE_IO] && tally_shows(&same, RW_CAUSE_IO));
}

Test(tally, samples_of_one_level_know_nothing_of_another_s)
{
	struct seen seen;
	struct analysis_wait other = a_wait(0, 1040, SYS_fsync, 0);

	setup(&seen);
	sample(&seen, 1000, 0, 5, 100);
	other.kind = ANALYSIS_WAIT_SAMPLE;
	other.level = RW_LEVEL_SELF;
	add(&seen, other);
	cr_expect_eq(evidence_at(&seen.evidence, 0)->start_ns, 1040 * MS, "its first one");
	cr_expect_eq(sample(&seen, 1050, 0, 6, 100)->start_ns, 1000 * MS);
	end(&seen);
}

/* A thread that computes and sleeps by turns is seen asleep now and then: that is not what it did in between. */
Test(tally, who_is_seen_waiting_has_not_waited_while_it_ran)
{
	struct seen seen;
	struct analysis_wait runs = a_wait(0, 1150, -1, 0);

	setup(&seen);
	sample(&seen, 1000, 0, 5, 100);
	cr_expect_eq(sample(&seen, 1050, 0, 6, 145)->start_ns, 1045 * MS);
	cr_expect_eq(sample(&seen, 1100, 0, 7, 200)->start_ns, 1100 * MS - 1, "it cannot have run for longer than that");
	runs.kind = ANALYSIS_WAIT_SAMPLE;
	runs.level = RW_LEVEL_PROC;
	runs.state = 'R';
	runs.cpu_ns = 240 * MS;
	add(&seen, runs);
	cr_expect_eq(evidence_at(&seen.evidence, 0)->start_ns, 1100 * MS, "seen running it stands for all of it");
	end(&seen);
}

static bool convoy(const struct seen *seen, uint64_t lock_ms, const char **name, bool *like_python)
{
	const struct cause_window window = { 0, 1000 * MS };
	struct convoy convoy;
	bool found = convoy_find(&seen->intern, &seen->evidence, THREAD, &window, 1, lock_ms * MS, &convoy);

	*name = intern_text(&seen->intern, convoy.name);
	*like_python = convoy.like_python;
	return found;
}

Test(convoy, a_lock_that_several_threads_pass_on_in_short_turns)
{
	const char *name;
	struct seen seen;
	bool python;

	setup(&seen);
	add(&seen, short_waits(0, 100, 50, 5 * MS, OTHER));
	add(&seen, short_waits(100, 200, 50, 5 * MS, THIRD));
	cr_expect(convoy(&seen, 200, &name, &python), "half of the lock's time");
	cr_expect(python);
	cr_expect_str_eq(name, "worker", "all of them have that name");
	cr_expect_not(convoy(&seen, 201, &name, &python), "less than half");
	end(&seen);
}

/* The sampler sees the thread every 50 ms, and that it has run for so long since. */
static void sample_cpu(struct seen *seen, uint32_t tid, uint64_t from_ms, uint64_t to_ms, uint64_t each_ms)
{
	for (uint64_t at_ms = from_ms, cpu_ms = 7; at_ms <= to_ms; at_ms += 50, cpu_ms += each_ms) {
		struct analysis_wait look = { .kind = ANALYSIS_WAIT_SAMPLE,
					      .level = RW_LEVEL_EBPF,
					      .tid = tid,
					      .start_ns = at_ms * MS,
					      .end_ns = at_ms * MS,
					      .cpu_ns = cpu_ms * MS,
					      .state = 'S',
					      .system_call = SYS_futex,
					      .fd = -1 };
		add(seen, look);
	}
}

Test(convoy, how_much_of_a_processor_those_use_who_pass_the_lock_on)
{
	const struct cause_window windows[] = { { 100 * MS, 300 * MS }, { 800 * MS, 900 * MS } };
	struct convoy convoy;
	struct seen seen;

	setup(&seen);
	for (uint64_t at_ms = 100; at_ms < 300; at_ms += 20) {
		add(&seen, short_waits(at_ms, at_ms + 10, 5, 5 * MS, OTHER));
		add(&seen, short_waits(at_ms + 10, at_ms + 20, 5, 5 * MS, THIRD));
	}
	cr_assert(convoy_find(&seen.intern, &seen.evidence, THREAD, windows, 2, 100 * MS, &convoy));
	cr_expect_eq(convoy.holders, 2);
	cr_expect_lt(convoy.cpu, 0, "nobody looked");
	sample_cpu(&seen, OTHER, 100, 300, 10);
	cr_assert(convoy_find(&seen.intern, &seen.evidence, THREAD, windows, 2, 100 * MS, &convoy));
	cr_expect_lt(convoy.cpu, 0, "at one of two");
	sample_cpu(&seen, THIRD, 100, 300, 30);
	sample_cpu(&seen, THREAD, 100, 300, 50);
	cr_assert(convoy_find(&seen.intern, &seen.evidence, THREAD, windows, 2, 100 * MS, &convoy));
	cr_expect_float_eq(convoy.cpu, 0.8, 1e-9, "10 and 30 of 50 ms; the one that waits does not count: %f", convoy.cpu);
	sample_cpu(&seen, OTHER, 900, 950, 50);
	cr_assert(convoy_find(&seen.intern, &seen.evidence, THREAD, windows, 2, 100 * MS, &convoy));
	cr_expect_float_eq(convoy.cpu, 0.8, 1e-9, "600 ms without a look, and then behind the windows: %f", convoy.cpu);
	end(&seen);
}

/* As take_gil() waits: 5 ms until its timer ends, again and again, and only the last wait is ended by who gives the
 * lock up. */
Test(convoy, of_a_lock_that_is_waited_for_with_a_timer_few_ends_name_nobody)
{
	const char *name;
	struct seen seen;
	bool python;

	setup(&seen);
	add(&seen, short_waits(0, 200, 150, 5 * MS, 0));
	add(&seen, short_waits(200, 250, 48, 5 * MS, WRITER));
	cr_expect(convoy(&seen, 198, &name, &python), "no one thread to follow, though only one was seen to end waits");
	cr_expect(python);
	cr_expect_str_eq(name, "", "it ended less than a quarter of them");
	add(&seen, short_waits(250, 270, 4, 5 * MS, WRITER));
	cr_expect(convoy(&seen, 202, &name, &python));
	cr_expect_str_eq(name, "writer", "52 of 202 ms");
	add(&seen, short_waits(270, 400, 100, 5 * MS, WRITER));
	cr_expect_not(convoy(&seen, 302, &name, &python), "it ended half of them: it is the one to follow");
	end(&seen);
}

Test(convoy, one_thread_that_ends_three_quarters_of_the_waits_is_the_one_to_follow)
{
	const char *name;
	struct seen seen;
	bool python;

	setup(&seen);
	add(&seen, short_waits(0, 100, 74, 5 * MS, WRITER));
	add(&seen, short_waits(100, 200, 26, 5 * MS, OTHER));
	cr_expect(convoy(&seen, 100, &name, &python));
	cr_expect_str_eq(name, "", "several names");
	add(&seen, short_waits(200, 300, 4, 5 * MS, WRITER));
	cr_expect_not(convoy(&seen, 104, &name, &python), "78 of 104 ms");
	end(&seen);
}

Test(convoy, python_s_turns_last_five_milliseconds)
{
	const uint64_t longest[] = { 4899999, 4900000, 6500000, 6500001 };
	const char *name;

	for (size_t i = 0; i < 4; i++) {
		struct seen seen;
		bool python;

		setup(&seen);
		add(&seen, short_waits(0, 100, 50, longest[i], OTHER));
		add(&seen, short_waits(100, 200, 50, MS, THIRD));
		cr_expect(convoy(&seen, 100, &name, &python));
		cr_expect_eq(python, i == 1 || i == 2, "%lu ns in half of them", (unsigned long)longest[i]);
		end(&seen);
	}
}

Test(convoy, long_waits_and_those_that_others_ended_are_no_turns)
{
	struct analysis_wait foreign = short_waits(0, 100, 50, 5 * MS, OTHER);
	const char *name;
	struct seen seen;
	bool python;

	setup(&seen);
	add(&seen, a_wait(0, 100, SYS_futex, OTHER));
	add(&seen, a_wait(100, 200, SYS_futex, THIRD));
	cr_expect_not(convoy(&seen, 100, &name, &python));
	end(&seen);
	setup(&seen);
	foreign.out_of_process_wake = true;
	add(&seen, foreign);
	add(&seen, short_waits(100, 200, 50, 5 * MS, THIRD));
	cr_expect_not(convoy(&seen, 100, &name, &python), "one thread of its own ended all that is known of");
	end(&seen);
	setup(&seen);
	cr_expect_not(convoy(&seen, 100, &name, &python), "nothing was seen");
	end(&seen);
}

/* The writer ends most of the waits, and spends this much of the second in fsync. */
static bool writer_is_busy_for(uint64_t ms)
{
	struct analysis_wait file = a_wait(0, ms, SYS_fsync, 0);
	const char *name;
	struct seen seen;
	bool python;

	setup(&seen);
	add(&seen, short_waits(0, 100, 30, 5 * MS, OTHER));
	add(&seen, short_waits(100, 200, 40, 5 * MS, WRITER));
	add(&seen, short_waits(200, 300, 30, 5 * MS, THIRD));
	file.tid = WRITER;
	add(&seen, file);
	bool found = convoy(&seen, 100, &name, &python);
	end(&seen);
	return !found;
}

Test(convoy, a_thread_that_spends_half_of_the_time_in_files_does_not_pass_a_lock_on)
{
	cr_expect_not(writer_is_busy_for(499));
	cr_expect(writer_is_busy_for(500));
}
