/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blackbox/ending.h"
#include "box_process.h"
#include "collector/boxes/box_files.h"
#include "collector/boxes/lease.h"
#include "collector/boxes/live_boxes.h"
#include "fake_analysis.h"

static uv_loop_t loop;
static struct analysis *analysis;
static struct live_boxes *boxes;
static char places[LIVE_BOXES_PLACES][BOX_PLACE_PATH];
static unsigned appeared, ended;
static pid_t last_pid;

static void on_appeared(void *argument, analysis_process_id process, const struct writer_process *writer)
{
	(void)argument, (void)process;
	appeared++;
	last_pid = writer ? writer->pid : 0;
}

static void on_ended(void *argument, analysis_process_id process)
{
	(void)argument, (void)process;
	ended++;
}

static void on_mount(void *argument, pid_t pid, uint64_t device, char file_system[16], char device_name[32])
{
	(void)argument, (void)pid, (void)device, (void)file_system, (void)device_name;
}

static void open_boxes(const char *job)
{
	const struct live_boxes_request request = {
		.loop = &loop, .analysis = analysis, .job = job, .owner = geteuid(), .places = places, .place_count = 1,
		.now_ns = uv_hrtime(), .appeared = on_appeared, .ended = on_ended, .mount = on_mount,
	};

	cr_assert_eq(live_boxes_open(&boxes, &request), 0);
}

static void setup(void)
{
	uv_loop_init(&loop);
	analysis = analysis_new(false, NULL, NULL);
	snprintf(places[0], sizeof(places[0]), "%s", box_process_directory());
}

static void teardown(void)
{
	live_boxes_close(boxes);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	analysis_free(analysis);
	box_process_cleanup();
}

TestSuite(live_boxes, .init = setup, .fini = teardown, .timeout = 30);

/* Polls with a clock of its own, a second further each time, so that every look is a rescan. */
static void poll_times(int times)
{
	static uint64_t now_ns;

	if (!now_ns)
		now_ns = uv_hrtime();
	for (int i = 0; i < times; i++) {
		now_ns += UINT64_C(1000000000);
		live_boxes_poll(boxes, now_ns);
	}
}

static void write_file(const char *name, const char *content)
{
	char path[BOX_PLACE_PATH + 64];

	snprintf(path, sizeof(path), "%s/%s", places[0], name);
	FILE *file = fopen(path, "w");

	cr_assert(file);
	fputs(content, file);
	fclose(file);
}

enum { ALL = -1 };

/* spare: so many more can be opened, or ALL. */
static void leave_descriptors(int spare)
{
	struct rlimit limit;

	cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	if (spare == ALL)
		return;

	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

	cr_assert_geq(next, 0);
	close(next);
	limit.rlim_cur = (rlim_t)(next + spare);
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static int spare_while_polled = ALL;

static char *stderr_of_polls(int times)
{
	static char text[4096];
	int saved = dup(STDERR_FILENO);
	FILE *file = tmpfile();

	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	leave_descriptors(spare_while_polled);
	poll_times(times);
	leave_descriptors(ALL);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

static unsigned lines_in(const char *text)
{
	unsigned lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

Test(live_boxes, a_rank_appears_with_its_pid_and_its_end_is_told_with_its_status)
{
	open_boxes("j");
	pid_t pid = box_process_start(places[0], "j", 1);

	poll_times(2);
	cr_expect_eq(appeared, 1);
	cr_expect_eq(last_pid, pid);
	cr_expect_eq(live_boxes_count(boxes), 1);
	cr_expect_eq(analysis->processes, 1);

	box_process_kill(pid);
	poll_times(3);
	cr_expect_eq(ended, 1);
	cr_expect_eq(live_boxes_count(boxes), 0);
	cr_expect_eq(analysis->last_life, ANALYSIS_KILLED);
}

Test(live_boxes, boxes_of_an_earlier_run_of_the_same_job_are_left_aside)
{
	pid_t old = box_process_start(places[0], "j", 1);

	box_process_kill(old);
	open_boxes("j");
	pid_t pid = box_process_start(places[0], "j", 2);

	poll_times(4);
	cr_expect_eq(appeared, 1);
	cr_expect_eq(last_pid, pid);
	box_process_kill(pid);
}

Test(live_boxes, a_rank_that_died_while_no_collector_was_there_is_found_by_its_communicator)
{
	pid_t dead = box_process_start(places[0], "j", 7), pid = box_process_start(places[0], "j", 7);

	box_process_kill(dead);
	open_boxes("j");
	poll_times(4);
	cr_expect_eq(appeared, 2);
	cr_expect_eq(analysis->last_life, ANALYSIS_KILLED);
	box_process_kill(pid);
}

Test(live_boxes, the_kernels_time_of_an_end_counts_more_than_when_it_was_noticed)
{
	pid_t pid = box_process_start(places[0], "j", 7);

	open_boxes("j");
	poll_times(1);
	box_process_kill(pid);
	live_boxes_set_exit(boxes, 1, SIGKILL, 4711);
	poll_times(4);
	cr_expect_eq(analysis->last_exit_status, SIGKILL);
	cr_expect_eq(analysis->left_ns, 4711);
}

/* torchrun looks for dead children every few seconds. */
Test(live_boxes, a_status_that_no_parent_has_waited_for_yet_is_known)
{
	open_boxes("j");
	pid_t pid = box_process_start(places[0], "j", 7);
	siginfo_t ended_so;

	poll_times(2);
	cr_assert_eq(kill(pid, SIGKILL), 0);
	cr_assert_eq(waitid(P_PID, (id_t)pid, &ended_so, WEXITED | WNOWAIT), 0);
	poll_times(3);
	cr_expect_eq(analysis->last_exit_status, SIGKILL);
	cr_expect_eq(waitpid(pid, NULL, 0), pid);
}

/* The status of the one box there, as whoever reads it later finds it. */
static int noted_status(void)
{
	int directory = open(places[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC), status = -2;
	DIR *entries = fdopendir(directory);

	cr_assert(entries, "%s", places[0]);
	for (const struct dirent *entry; (entry = readdir(entries));) {
		struct box_reader reader;
		char why[160];

		if (entry->d_name[0] == '.' || box_reader_open(&reader, directory, entry->d_name, geteuid(), why))
			continue;
		status = box_ending_status(&reader);
		box_reader_close(&reader);
	}
	closedir(entries);
	return status;
}

Test(live_boxes, how_a_rank_ended_is_noted_in_its_box_for_those_who_read_it_later)
{
	pid_t pid = box_process_start(places[0], "j", 7);

	open_boxes("j");
	poll_times(1);
	cr_expect_eq(noted_status(), -1);
	box_process_kill(pid);
	live_boxes_set_exit(boxes, 1, SIGKILL, 4711);
	poll_times(4);
	cr_expect_eq(noted_status(), SIGKILL);
}

Test(live_boxes, a_collector_that_starts_in_the_last_second_catches_up_with_the_dead_as_well)
{
	pid_t dead[] = { box_process_start(places[0], "j", 7), box_process_start(places[0], "j", 7),
			 box_process_start(places[0], "j", 7) };
	pid_t pid = box_process_start(places[0], "j", 7);

	for (int i = 0; i < 3; i++)
		box_process_kill(dead[i]);
	open_boxes("j");
	live_boxes_catch_up(boxes, uv_hrtime());
	cr_expect_eq(appeared, 4);
	cr_expect_eq(analysis->processes, 4);
	box_process_kill(pid);
}

Test(live_boxes, files_that_have_vanished_are_forgotten_and_leave_room)
{
	char name[32], path[BOX_PLACE_PATH + 64];

	open_boxes("j");
	for (int i = 0; i < BOX_FILES_MOST; i++) {
		snprintf(name, sizeof(name), "rank0-%d.rwbox", i);
		write_file(name, "");
	}
	poll_times(1);
	for (int i = 0; i < BOX_FILES_MOST; i++) {
		snprintf(path, sizeof(path), "%s/rank0-%d.rwbox", places[0], i);
		cr_assert_eq(unlink(path), 0);
	}
	poll_times(1);
	pid_t pid = box_process_start(places[0], "j", 1);

	poll_times(2);
	cr_expect_eq(appeared, 1);
	box_process_kill(pid);
}

Test(live_boxes, a_box_of_another_job_in_a_shared_directory_is_not_ours)
{
	open_boxes("j");
	pid_t pid = box_process_start(places[0], "other", 1);

	poll_times(2);
	cr_expect_eq(appeared, 0);
	box_process_kill(pid);
}

Test(live_boxes, foreign_files_are_refused_with_one_line_each_once)
{
	open_boxes("j");
	write_file("rank0-1.rwbox", "this is no black box");
	write_file("rank0-\033[2J.rwbox", "nor is this");
	write_file("notes.txt", "and this is nobody's business");
	char *said = stderr_of_polls(6);

	cr_expect_eq(lines_in(said), 2, "%s", said);
	cr_expect_null(strchr(said, '\033'));
	cr_expect_eq(appeared, 0);
}

/* What a collector opens for one rank: the directory, its watch, the box, the process, files of it. */
enum { DESCRIPTORS_FOR_A_RANK = 7 };

static void expect_found_when_descriptors_are_back(int spare)
{
	open_boxes("j");
	pid_t pid = box_process_start(places[0], "j", 100 + (uint64_t)spare); /* earlier ranks are of another world */

	spare_while_polled = spare;
	char *said = stderr_of_polls(6);

	cr_expect_eq(lines_in(said), appeared ? 0 : 1, "with %d: %s", spare, said);
	cr_expect(appeared || strstr(said, "Too many open files"), "with %d: %s", spare, said);
	spare_while_polled = ALL;
	said = stderr_of_polls(2);
	cr_expect_str_eq(said, "");
	cr_expect_eq(appeared, 1, "with %d", spare);
	cr_expect_eq(last_pid, pid, "with %d: never without its process", spare);
	box_process_kill(pid);
}

Test(live_boxes, a_rank_that_no_descriptor_was_left_for_is_found_when_there_are_some)
{
	for (int spare = 0; spare <= DESCRIPTORS_FOR_A_RANK; spare++) {
		appeared = 0;
		expect_found_when_descriptors_are_back(spare);
		live_boxes_close(boxes);
		uv_run(&loop, UV_RUN_DEFAULT);
	}
	open_boxes("j");
}

Test(live_boxes, a_box_that_shrinks_is_given_up_with_a_line_and_the_others_go_on)
{
	open_boxes("j");
	pid_t pid = box_process_start(places[0], "j", 1), other = box_process_start(places[0], "j", 1);
	char path[BOX_PLACE_PATH + 64];

	poll_times(2);
	snprintf(path, sizeof(path), "%s/rank3-%d.rwbox", places[0], (int)pid);
	cr_assert_eq(truncate(path, 4096), 0);
	char *said = stderr_of_polls(3);

	cr_expect_eq(lines_in(said), 1, "%s", said);
	cr_expect_eq(live_boxes_count(boxes), 1);
	cr_expect_eq(live_boxes_given_up(boxes), 1);
	box_process_kill(pid);
	box_process_kill(other);
}

/* As the plugin of a release to come would write it. */
static void change_layout(pid_t pid)
{
	const uint32_t layout = RW_BOX_LAYOUT + 1;
	char path[BOX_PLACE_PATH + 64];

	snprintf(path, sizeof(path), "%s/rank3-%d.rwbox", places[0], (int)pid);
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	cr_assert_eq(pwrite(fd, &layout, sizeof(layout), offsetof(struct rw_box_header, layout)), sizeof(layout));
	close(fd);
}

Test(live_boxes, boxes_of_another_version_are_said_in_one_line)
{
	open_boxes("j");
	pid_t pids[] = { box_process_start(places[0], "j", 1), box_process_start(places[0], "j", 1) };

	for (size_t i = 0; i < 2; i++)
		change_layout(pids[i]);
	char *said = stderr_of_polls(6);

	cr_expect_eq(lines_in(said), 1, "%s", said);
	cr_expect(strstr(said, "is of another version of rankwatch: layout 2, this one reads layout 1"), "%s", said);
	cr_expect_eq(appeared, 0);
	for (size_t i = 0; i < 2; i++)
		box_process_kill(pids[i]);
}

Test(live_boxes, a_box_whose_name_is_removed_is_watched_on)
{
	open_boxes("j");
	pid_t pid = box_process_start(places[0], "j", 1);
	char path[BOX_PLACE_PATH + 64];

	poll_times(2);
	snprintf(path, sizeof(path), "%s/rank3-%d.rwbox", places[0], (int)pid);
	cr_assert_eq(unlink(path), 0);
	poll_times(2);
	cr_expect_eq(live_boxes_count(boxes), 1);
	box_process_kill(pid);
}

/* Entry `slot` of the control page of the only box. */
static struct rw_lease lease_in_box(uint32_t slot)
{
	struct rw_lease lease = { 0 };
	struct box_reader reader;
	DIR *directory = opendir(places[0]);

	for (const struct dirent *entry; (entry = readdir(directory));) {
		if (!strstr(entry->d_name, RW_BOX_SUFFIX))
			continue;
		cr_assert_eq(box_reader_open(&reader, dirfd(directory), entry->d_name, geteuid(), NULL), 0);
		cr_assert_eq(pread(reader.fd, &lease, sizeof(lease),
				   (off_t)(reader.header.control_offset + slot * sizeof(lease))),
			     (ssize_t)sizeof(lease));
		box_reader_close(&reader);
	}
	closedir(directory);
	return lease;
}

Test(live_boxes, detail_that_is_wanted_is_leased_for_seconds_from_processes_that_live)
{
	open_boxes("j");
	pid_t pid = box_process_start(places[0], "j", 1);
	poll_times(2);
	leases_renew(analysis, boxes, 5000);
	struct rw_lease lease = lease_in_box(0);
	cr_expect_eq(lease.expires_ns, 0, "nobody wants any");

	analysis->details[0] = (struct analysis_detail){ .process = 1, .comm = 77 };
	analysis->details[1] = (struct analysis_detail){ .process = 99, .comm = 78 };
	analysis->details[2] = (struct analysis_detail){ .process = 1, .comm = 79 };
	analysis->detail_count = 3;
	leases_renew(analysis, boxes, 5000);
	lease = lease_in_box(0);
	cr_expect_eq(lease.communicator, 77);
	cr_expect(lease.expires_ns > 5000 && lease.expires_ns <= 5000 + RW_LEASE_MAX_NS);
	cr_expect_eq(lease.proxy_bits, RW_LEASE_PROXY_OP | RW_LEASE_PROXY_STEP);
	lease = lease_in_box(1);
	cr_expect_eq(lease.communicator, 79);
	lease = lease_in_box(2);
	cr_expect_eq(lease.expires_ns, 0);

	box_process_kill(pid);
	poll_times(1);
	lease = lease_in_box(0);
	uint64_t before_ns = lease.expires_ns;
	leases_renew(analysis, boxes, 9000);
	lease = lease_in_box(0);
	cr_expect_eq(lease.expires_ns, before_ns, "what is dead is left as it is");
}
