/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "console/report/last_seen.h"
#include "crafted_box.h"

static const uint64_t MS = 1000000;

static struct box_writer writer;
static struct box_reader reader;

static void name(uint32_t tid, const char *text)
{
	struct rw_host_sample sample = { .tid = tid, .kind = RW_SAMPLE_THREAD, .fd = -1 };

	snprintf(sample.text, sizeof(sample.text), "%s", text);
	box_writer_sample(&writer, &sample);
}

static void state(uint64_t at_ms, uint32_t tid, char letter, int16_t system_call, int32_t fd, const char *channel)
{
	struct rw_host_sample sample = { .monotonic_ns = at_ms * MS,
					 .tid = tid,
					 .kind = RW_SAMPLE_STATE,
					 .state = letter,
					 .system_call = system_call,
					 .fd = fd };

	snprintf(sample.text, sizeof(sample.text), "%s", channel);
	box_writer_sample(&writer, &sample);
}

static void make(void)
{
	crafted_box(&writer, crafted_directory(), "one", 0, 0x5eed);
	name(4711, "python-main");
	name(4712, "tb-writer");
}

static void read_back(struct last_seen *seen)
{
	cr_assert_eq(box_reader_open(&reader, AT_FDCWD, writer.path, (uid_t)-1, NULL), 0);
	cr_assert_eq(last_seen_read(seen, &reader), 0);
}

Test(last_seen, is_the_newest_sample_of_each_thread_and_since_when_it_has_been_there)
{
	struct last_seen seen;
	char text[256];

	make();
	state(1000, 4712, 'D', 74, 3, "jbd2_log_wait_commit");
	state(1050, 4711, 'S', 9999, -1, "futex_do_wait");
	for (uint64_t at = 1100; at <= 1500; at += 50) {
		state(at, 4711, 'S', 9999, -1, "futex_do_wait");
		state(at, 4712, 'D', 74, 3, "jbd2_log_wait_commit");
	}
	state(1550, 4712, 'S', 9999, -1, "futex_do_wait");
	read_back(&seen);
	cr_assert_eq(seen.count, 2);
	cr_expect_str_eq(seen.threads[0].wait.thread, "python-main");
	cr_expect_eq(seen.threads[0].since_ns, 1050 * MS);
	cr_expect_eq(seen.threads[1].wait.system_call, 9999);
	cr_expect_eq(seen.threads[1].since_ns, 1550 * MS);
	cr_expect_str_eq(last_seen_text(&seen.threads[0], text, sizeof(text)),
			 "in system call 9999 (futex_do_wait), for 0.45 s");
	last_seen_free(&seen);
}

Test(last_seen, a_thread_that_moved_on_long_before_the_end_is_left_out)
{
	struct last_seen seen;

	make();
	state(1000, 4712, 'D', 74, 3, "jbd2_log_wait_commit");
	state(9000, 4711, 'S', 9999, -1, "futex_do_wait");
	read_back(&seen);
	cr_assert_eq(seen.count, 1);
	cr_expect_eq(seen.threads[0].wait.tid, 4711);
	last_seen_free(&seen);
}

Test(last_seen, a_gap_without_samples_starts_anew)
{
	struct last_seen seen;

	make();
	state(1000, 4711, 'S', 9999, -1, "futex_do_wait");
	state(9000, 4711, 'S', 9999, -1, "futex_do_wait");
	state(9050, 4711, 'S', 9999, -1, "futex_do_wait");
	read_back(&seen);
	cr_assert_eq(seen.count, 1);
	cr_expect_eq(seen.threads[0].since_ns, 9000 * MS);
	last_seen_free(&seen);
}

static void ran(uint64_t at_ms, uint64_t run_delay_ns)
{
	struct rw_host_sample sample = { .monotonic_ns = at_ms * MS,
					 .tid = 4711,
					 .kind = RW_SAMPLE_STATE,
					 .state = 'S',
					 .system_call = 9999,
					 .fd = -1,
					 .run_delay_ns = run_delay_ns };

	box_writer_sample(&writer, &sample);
}

Test(last_seen, a_thread_that_worked_while_a_look_was_missed_has_not_stayed)
{
	struct last_seen seen;

	make();
	ran(1000, 5000);
	ran(1050, 5100);
	ran(1150, 5200);
	ran(1250, 5200);
	read_back(&seen);
	cr_assert_eq(seen.count, 1);
	cr_expect_eq(seen.threads[0].since_ns, 1150 * MS);
	last_seen_free(&seen);
}

Test(last_seen, a_stopped_thread_is_said_to_be_stopped)
{
	struct last_seen_thread thread = { .wait = { .state = 'T', .system_call = -1, .fd = -1 } };
	char text[128];

	cr_expect_str_eq(last_seen_text(&thread, text, sizeof(text)), "stopped");
}

Test(last_seen, names_call_descriptor_file_and_kernel_function)
{
	struct last_seen_thread thread = {
		.wait = { .state = 'D',
			  .system_call = SYS_fsync,
			  .fd = 3,
			  .path = "/x/events.out",
			  .end_ns = 1300 * MS,
			  .wait_channel = "jbd2_log_wait_commit" },
		.since_ns = 100 * MS,
	};
	char text[128];

	cr_expect_str_eq(last_seen_text(&thread, text, sizeof(text)),
			 "in fsync(3) on /x/events.out (jbd2_log_wait_commit), for 1.20 s");
}

Test(last_seen, of_a_process_that_was_never_silent_is_nothing)
{
	struct last_seen seen;

	crafted_box(&writer, crafted_directory(), "one", 0, 0x5eed);
	read_back(&seen);
	cr_expect_eq(seen.count, 0);
	last_seen_free(&seen);
}
