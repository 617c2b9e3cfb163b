/* SPDX-License-Identifier: MIT */
/* How often the collector reads what it watches. The ranks are processes with black boxes; the kernel's programs are
 * played. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <uv.h>

#include "box_process.h"
#include "collector/watch.h"
#include "fake_analysis.h"
#include "fake_probes.h"

static const uint64_t millisecond = 1000000;

static uv_loop_t loop;
static struct analysis *analysis;
static struct watch watch;
static char places[1][BOX_PLACE_PATH];
static uint64_t now_ns;
static unsigned woken;
static pid_t moving; /* makes a call before each reading; 0: nobody */

static void on_wake(void *argument)
{
	(void)argument;
	woken++;
}

static void set_up(void)
{
	uv_loop_init(&loop);
	analysis = analysis_new(false, NULL, NULL);
	snprintf(places[0], sizeof(places[0]), "%s", box_process_directory());
	now_ns = uv_hrtime();
}

static void tear_down(void)
{
	watch_close(&watch);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	analysis_free(analysis);
	box_process_cleanup();
}

TestSuite(watch, .init = set_up, .fini = tear_down, .timeout = 30);

static void begin(bool with_kernel)
{
	const struct watch_request request = {
		.loop = &loop, .analysis = analysis, .root = "", .job = "j", .owner = geteuid(), .places = places, .place_count = 1,
		.now_ns = now_ns, .kernel_log = "/dev/null", .wake = on_wake,
	};

	cr_assert_eq(watch_open(&watch, &request), 0);
	watch_catch_up(&watch, now_ns);
	if (with_kernel)
		host_deepen(watch.host);
}

/* Ticks as they come, until the boxes have been read; returns in how many ms the next one is due. */
static unsigned pause_after_reading(bool followed)
{
	unsigned pause_ms = 0;
	bool read = false;

	if (moving)
		box_process_call(moving);
	for (int i = 0; i < 4 && !read; i++) {
		read = watch_tick(&watch, now_ns);
		pause_ms = watch_next_ms(&watch, followed, now_ns);
		now_ns += pause_ms * millisecond;
	}
	cr_expect(read);
	return pause_ms;
}

/* Until somebody's end is reported. */
static void run_until_woken(unsigned times)
{
	while (woken < times)
		uv_run(&loop, UV_RUN_ONCE);
}

Test(watch, a_calm_job_is_read_five_times_a_second)
{
	pid_t pid = moving = box_process_start(places[0], "j", 7);

	begin(true);
	for (int i = 0; i < 10; i++)
		cr_expect_eq(pause_after_reading(false), 200);
	box_process_kill(pid);
}

Test(watch, a_job_that_somebody_follows_is_read_ten_times_a_second)
{
	pid_t pid = moving = box_process_start(places[0], "j", 7);

	begin(true);
	cr_expect_eq(pause_after_reading(true), 100);
	cr_expect_eq(pause_after_reading(true), 100);
	cr_expect_eq(pause_after_reading(false), 200);
	box_process_kill(pid);
}

Test(watch, a_job_that_stands_still_is_read_ten_times_a_second)
{
	pid_t pid = moving = box_process_start(places[0], "j", 7);
	unsigned pause_ms = 0;

	begin(true);
	cr_expect_eq(pause_after_reading(false), 200);
	moving = 0;
	for (uint64_t until_ns = now_ns + 1500 * millisecond; now_ns < until_ns;)
		pause_ms = pause_after_reading(false);
	cr_expect_eq(pause_ms, 100);
	moving = pid;
	cr_expect_eq(pause_after_reading(false), 200);
	box_process_kill(pid);
}

Test(watch, without_the_kernels_programs_each_tick_is_made)
{
	pid_t pid = moving = box_process_start(places[0], "j", 7);

	begin(false);
	cr_expect_eq(pause_after_reading(false), 50);
	cr_expect_eq(pause_after_reading(false), 50);
	box_process_kill(pid);
}

Test(watch, who_is_waited_for_is_sampled_at_each_tick)
{
	pid_t pid = moving = box_process_start(places[0], "j", 7);

	begin(true);
	cr_expect_eq(pause_after_reading(false), 200);
	analysis->suspect = 1;
	cr_expect_eq(pause_after_reading(false), 50);
	analysis->suspect = 0;
	cr_expect_eq(pause_after_reading(false), 100, "another may follow");
	now_ns += 3000 * millisecond;
	cr_expect_eq(pause_after_reading(false), 200);
	box_process_kill(pid);
}

Test(watch, the_end_of_a_process_is_reported_at_once_and_read_in_the_next_tick)
{
	pid_t leaving = box_process_start(places[0], "j", 7), staying = moving = box_process_start(places[0], "j", 7);

	begin(true);
	cr_expect_eq(pause_after_reading(false), 200);
	cr_expect_eq(live_boxes_count(watch.boxes), 2);
	box_process_kill(leaving);
	run_until_woken(1);
	cr_expect(watch_tick(&watch, now_ns), "the boxes are read, whatever tick it is");
	cr_expect_eq(watch_next_ms(&watch, false, now_ns), 100, "another may follow");
	now_ns += 3000 * millisecond;
	cr_expect_eq(pause_after_reading(false), 200);
	cr_expect_eq(live_boxes_count(watch.boxes), 1);
	cr_expect_eq(analysis->last_life, ANALYSIS_KILLED);
	box_process_kill(staying);
}

Test(watch, what_has_ended_is_reported_once)
{
	pid_t first = box_process_start(places[0], "j", 7), second = box_process_start(places[0], "j", 7);

	begin(true);
	box_process_kill(first);
	run_until_woken(1);
	box_process_kill(second);
	run_until_woken(2);
	uv_run(&loop, UV_RUN_NOWAIT);
	cr_expect_eq(woken, 2);
}

Test(watch, after_a_pause_of_its_own_waits_begin_anew)
{
	begin(false);
	watch_tick(&watch, now_ns);
	watch_tick(&watch, now_ns + 2000 * millisecond);
	cr_expect_eq(analysis->resumes, 0, "a busy machine");
	watch_tick(&watch, now_ns + 4001 * millisecond);
	cr_expect_eq(analysis->resumes, 1);
	watch_tick(&watch, now_ns + 4051 * millisecond);
	cr_expect_eq(analysis->resumes, 1);
}
