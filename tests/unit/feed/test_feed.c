/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <signal.h>
#include <sys/wait.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "blackbox/ending.h"
#include "feed/feed.h"
#include "tests/unit/blackbox/fixture.h"
#include "tests/unit/feed/recording.h"

#define MS UINT64_C(1000000)

static struct box_writer writer;
static struct analysis analysis;

static void finish(void)
{
	recording_free(&analysis);
	fixture_remove();
}

TestSuite(feed, .fini = finish);

static struct feed *start(void)
{
	return recording_start(&analysis, &writer);
}

Test(feed, a_box_is_announced_with_its_first_communicator)
{
	struct feed *feed = start();

	writer.header->comms_used = 0;
	cr_assert_eq(feed_poll(feed, MS), 0);
	cr_expect_eq(analysis.count, 0);
	writer.header->comms_used = 1;
	cr_assert_eq(feed_poll(feed, 2 * MS), 0);
	cr_assert_geq(analysis.count, 3);
	cr_expect_eq(analysis.records[0].kind, RECORDED_PROCESS);
	cr_expect_eq(analysis.records[0].process, 7);
	cr_expect_eq(analysis.records[1].kind, RECORDED_BOX);
	cr_expect_eq(analysis.records[2].kind, RECORDED_COMMUNICATOR);
	cr_assert_eq(feed_poll(feed, 3 * MS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_COMMUNICATOR), 1, "nothing changed");
	feed_free(feed);
}

Test(feed, new_operations_are_passed_once_and_unfinished_ones_when_they_change)
{
	struct feed *feed = start();
	uint64_t first = fixture_operation(&writer, 0, 1 * MS);
	uint64_t second = fixture_operation(&writer, 1, 2 * MS);

	cr_expect_eq(feed_poll(feed, 10 * MS), 2);
	cr_expect_eq(feed_poll(feed, 20 * MS), 0, "nothing changed");
	fixture_finish(&writer, second);
	cr_expect_eq(feed_poll(feed, 30 * MS), 1);
	cr_expect_eq(recording_find(&analysis, RECORDED_OPERATION, 2)->operation.ticket, second);
	cr_expect(recording_find(&analysis, RECORDED_OPERATION, 2)->operation.known & RW_KNOWN_DONE);
	fixture_finish(&writer, first);
	cr_expect_eq(feed_poll(feed, 40 * MS), 1);
	cr_expect_eq(feed_poll(feed, 50 * MS), 0);
	cr_expect_eq(feed_last_ns(feed), writer.header->created_ns > 6 * MS ? writer.header->created_ns : 6 * MS);
	feed_free(feed);
}

static void add_kernel_times(uint64_t ticket)
{
	struct rw_operation *slot = &writer.ring[(ticket - 1) & writer.ring_mask];

	slot->gpu_start_raw = 1;
	slot->gpu_end_raw = 2;
	box_known(slot, RW_KNOWN_STAMP);
}

Test(feed, what_the_box_does_not_show_is_passed_on_as_its_header_counts_it)
{
	struct feed *feed = start();

	cr_expect_eq(feed_poll(feed, 10 * MS), 0);
	writer.header->untracked[RW_UNTRACKED_NO_TASK] = 5;
	feed_poll(feed, 20 * MS);
	cr_expect_eq(recording_find(&analysis, RECORDED_GAPS, recording_count(&analysis, RECORDED_GAPS) - 1)->untracked, 5);
	feed_free(feed);
}

/* NCCL's own thread writes them, and no owner's bit waits for it. */
Test(feed, times_of_a_kernel_that_come_later_than_its_end_are_passed_where_there_are_such)
{
	struct feed *feed = start();
	uint64_t first = fixture_operation(&writer, 0, 1 * MS), second = fixture_operation(&writer, 1, 2 * MS);

	fixture_finish(&writer, first);
	cr_expect_eq(feed_poll(feed, 10 * MS), 2);
	add_kernel_times(first);
	cr_expect_eq(feed_poll(feed, 20 * MS), 0, "nobody knows that there are such times");
	add_kernel_times(second);
	fixture_finish(&writer, second);
	cr_expect_eq(feed_poll(feed, 30 * MS), 1);
	uint64_t third = fixture_operation(&writer, 2, 31 * MS), fourth = fixture_operation(&writer, 3, 32 * MS);
	fixture_finish(&writer, third);
	fixture_finish(&writer, fourth);
	cr_expect_eq(feed_poll(feed, 40 * MS), 2);
	add_kernel_times(third);
	cr_expect_eq(feed_poll(feed, 50 * MS), 1);
	const struct recorded *last =
	    recording_find(&analysis, RECORDED_OPERATION, recording_count(&analysis, RECORDED_OPERATION) - 1);
	cr_expect(last->operation.ticket == third && last->operation.known & RW_KNOWN_STAMP);
	cr_expect_eq(feed_poll(feed, 200 * MS), 0);
	add_kernel_times(fourth);
	cr_expect_eq(feed_poll(feed, 210 * MS), 0, "it is not waited for longer than 100 ms");
	feed_free(feed);
}

/* A step that the program has marked: as plugin/operations/step.c does. */
static struct rw_operation *mark(uint64_t number, uint64_t api_ns)
{
	uint64_t ticket;
	struct rw_operation *slot = box_claim(&writer, RW_OWNER_HOST, &ticket);

	cr_assert_not_null(slot);
	slot->count = number;
	slot->group = RW_STEP_CALL;
	slot->api_ns = api_ns;
	slot->known = RW_KNOWN_STEP;
	box_publish(slot, ticket);
	box_release(slot, ticket, RW_OWNER_HOST);
	return slot;
}

Test(feed, a_step_mark_is_passed_on_once_in_its_place)
{
	struct feed *feed = start();

	fixture_finish(&writer, fixture_operation(&writer, 1, 10 * MS));
	struct rw_operation *slot = mark(700, 20 * MS);
	fixture_finish(&writer, fixture_operation(&writer, 2, 21 * MS));
	cr_assert_eq(feed_poll(feed, 50 * MS), 3);
	const struct rw_operation *passed = &recording_find(&analysis, RECORDED_OPERATION, 1)->operation;
	cr_expect_eq(passed->known, RW_KNOWN_STEP);
	cr_expect_eq(passed->count, 700);
	cr_expect_eq(passed->api_ns, 20 * MS);
	mark(701, 60 * MS);
	cr_expect_eq(feed_poll(feed, 70 * MS), 1);
	atomic_fetch_or(&slot->flags, RW_FLAG_UNTRACKED);
	cr_expect_eq(feed_poll(feed, 80 * MS), 0, "it was whole, and is not read again");
	feed_free(feed);
}

Test(feed, a_step_mark_of_an_impossible_time_is_rejected)
{
	struct feed *feed = start();

	mark(1, (uint64_t)INT64_MAX + 1);
	mark(2, INT64_MAX);
	mark(3, 20 * MS);
	cr_assert_eq(feed_poll(feed, 50 * MS), 2);
	cr_expect_eq(recording_find(&analysis, RECORDED_OPERATION, 0)->operation.count, 2);
	cr_expect_eq(recording_find(&analysis, RECORDED_OPERATION, 1)->operation.count, 3);
	cr_expect_eq(feed_rejected(feed), 1);
	feed_free(feed);
}

Test(feed, progress_comes_after_the_operations_that_it_finishes)
{
	struct feed *feed = start();

	fixture_operation(&writer, 0, MS);
	writer.gpu[0].gpu_started = 5;
	writer.gpu[0].gpu_done = 4;
	cr_assert_eq(feed_poll(feed, 10 * MS), 1);

	const struct recorded *last = &analysis.records[analysis.count - 1];

	cr_expect_eq(last->kind, RECORDED_PROGRESS);
	cr_expect_eq(last->started, 5);
	cr_expect_eq(last->done, 4);
	cr_expect_eq(last->at_ns, 10 * MS);
	feed_free(feed);
}

Test(feed, progress_is_passed_of_every_communicator)
{
	struct feed *feed = start();

	writer.communicators[2].created_ns = 1; /* the second is in the making */
	writer.header->comms_used = 3;
	for (int i = 0; i < 3; i++)
		writer.gpu[i].gpu_started = 10 * (uint64_t)i + 5;
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_PROGRESS), 2);
	for (size_t i = 0; i < 2; i++) {
		const struct recorded *told = recording_find(&analysis, RECORDED_PROGRESS, i);
		cr_expect_eq(told->index, 2 * i);
		cr_expect_eq(told->started, 20 * i + 5);
	}
	feed_free(feed);
}

Test(feed, a_claim_in_the_making_holds_the_line_but_not_for_ever)
{
	struct feed *feed = start();
	uint64_t slow;
	struct rw_operation *slot = box_claim(&writer, RW_OWNER_HOST, &slow);

	fixture_operation(&writer, 1, 2 * MS);
	cr_expect_eq(feed_poll(feed, 1 * MS), 0);
	cr_expect_eq(feed_poll(feed, 500 * MS), 0);
	cr_expect_eq(feed_poll(feed, 1100 * MS), 1, "the second goes first");
	box_publish(slot, slow);
	box_known(slot, RW_KNOWN_IDENT);
	cr_expect_eq(feed_poll(feed, 9000 * MS), 1, "and the first is not lost");
	cr_expect_eq(recording_find(&analysis, RECORDED_OPERATION, 1)->operation.ticket, slow);
	feed_free(feed);
}

Test(feed, an_operation_in_flight_for_many_turns_of_the_ring_is_found_first)
{
	fixture_create(&writer);

	uint64_t stuck = fixture_operation(&writer, 99, MS);

	for (uint64_t i = 0; i < 3 * RW_BOX_RING_MIN; i++)
		fixture_finish(&writer, fixture_operation(&writer, i, (2 + i) * MS));

	struct feed *feed = start();

	cr_expect_eq(feed_poll(feed, MS), RW_BOX_RING_MIN);
	cr_expect_eq(recording_find(&analysis, RECORDED_OPERATION, 0)->operation.ticket, stuck);
	fixture_finish(&writer, stuck);
	cr_expect_eq(feed_poll(feed, 2 * MS), 1);
	feed_free(feed);
}

Test(feed, a_poll_that_comes_too_late_goes_on_with_what_is_left)
{
	struct feed *feed = start();

	cr_assert_eq(feed_poll(feed, MS), 0);
	for (uint64_t i = 0; i < 2 * RW_BOX_RING_MIN + 10; i++)
		fixture_finish(&writer, fixture_operation(&writer, i, (2 + i) * MS));
	cr_expect_eq(feed_poll(feed, 2 * MS), RW_BOX_RING_MIN);
	cr_expect_eq(recording_find(&analysis, RECORDED_OPERATION, 0)->operation.sequence, RW_BOX_RING_MIN + 10);
	feed_free(feed);
}

Test(feed, the_end_mark_says_exited_and_nothing_says_nothing)
{
	struct feed *feed = start();

	cr_assert_eq(feed_poll(feed, MS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_LIFE), 0);
	writer.header->end = RW_BOX_EXITED;
	cr_assert_eq(feed_poll(feed, 2 * MS), 0);
	cr_assert_eq(feed_poll(feed, 3 * MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_LIFE), 1);
	cr_expect_eq(recording_find(&analysis, RECORDED_LIFE, 0)->life, ANALYSIS_EXITED);
	feed_free(feed);
}

Test(feed, an_orphan_without_an_end_mark_was_killed)
{
	fixture_create(&writer);
	writer.header->boot_id[0] ^= 1;

	struct feed *feed = start();

	writer.header->drain_ns = writer.header->created_ns + MS;
	cr_assert_eq(feed_poll(feed, MS), 0);
	cr_assert_eq(feed_poll(feed, 2 * MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_LIFE), 1);
	cr_expect_eq(recording_find(&analysis, RECORDED_LIFE, 0)->life, ANALYSIS_KILLED);
	cr_expect_eq(recording_find(&analysis, RECORDED_LIFE, 0)->at_ns, writer.header->drain_ns);
	cr_expect_eq(recording_find(&analysis, RECORDED_LIFE, 0)->exit_status, -1);
	feed_free(feed);
}

/* No mark of its own, but a collector was there. */
static void expect_ended(int status, enum analysis_life life)
{
	const struct rw_ending ending = { .version = RW_ENDING_VERSION, .status = status, .version_again = RW_ENDING_VERSION };

	fixture_create(&writer);
	writer.header->boot_id[0] ^= 1;
	cr_assert_eq(pwrite(writer.fd, &ending, sizeof(ending), (off_t)(writer.header->control_offset + RW_ENDING_OFFSET)),
		     (ssize_t)sizeof(ending));

	struct feed *feed = start();

	cr_assert_eq(feed_poll(feed, MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_LIFE), 1);
	cr_expect_eq(recording_find(&analysis, RECORDED_LIFE, 0)->life, life, "status %#x", (unsigned int)status);
	cr_expect_eq(recording_find(&analysis, RECORDED_LIFE, 0)->exit_status, status);
	feed_free(feed);
	finish();
}

Test(feed, the_status_that_a_collector_has_noted_says_how_an_orphan_ended)
{
	expect_ended(3 << 8, ANALYSIS_EXITED); /* os._exit(3) */
	expect_ended(0, ANALYSIS_EXITED);
	expect_ended(SIGKILL, ANALYSIS_KILLED);
}

static void note(uint64_t offset, const void *bytes, size_t size)
{
	cr_assert_eq(pwrite(writer.fd, bytes, size, (off_t)(writer.header->control_offset + offset)), (ssize_t)size);
}

static void note_ports_and_gpu_memory(uint64_t since_ns)
{
	struct rw_ports ports = { .version = RW_PORTS_VERSION, .count = 1 };
	const struct rw_gpu_memory memory = { .version = RW_GPU_MEMORY_VERSION, .count = 1, .since_ns = since_ns };

	ports.showings[0].since_ns = since_ns;
	note(RW_PORTS_OFFSET, &ports, sizeof(ports));
	note(RW_GPU_MEMORY_OFFSET, &memory, sizeof(memory));
}

Test(feed, what_a_collector_before_has_noted_of_ports_and_gpu_memory_is_passed_on_once)
{
	struct feed *feed = start();

	note_ports_and_gpu_memory(5 * MS);
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_PORTS), 1);
	cr_expect_eq(recording_find(&analysis, RECORDED_PORTS, 0)->at_ns, 5 * MS);
	cr_expect_eq(recording_find(&analysis, RECORDED_PORTS, 0)->process, 7);
	cr_assert_eq(recording_count(&analysis, RECORDED_GPU_MEMORY), 1);
	cr_expect_eq(recording_find(&analysis, RECORDED_GPU_MEMORY, 0)->at_ns, 5 * MS);
	cr_expect_eq(recording_find(&analysis, RECORDED_GPU_MEMORY, 0)->process, 7);
	note_ports_and_gpu_memory(6 * MS); /* by who reads them from here */
	cr_assert_eq(feed_poll(feed, 20 * MS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_PORTS), 1);
	cr_expect_eq(recording_count(&analysis, RECORDED_GPU_MEMORY), 1);
	feed_free(feed);
}

/* Which device its numbers are of is known with the first communicator. */
Test(feed, gpu_memory_is_passed_on_when_the_devices_are_known)
{
	struct feed *feed = start();

	writer.header->comms_used = 0;
	writer.header->init.since_ns = MS; /* its process is known, in init */
	note_ports_and_gpu_memory(5 * MS);
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_PORTS), 1);
	cr_expect_eq(recording_count(&analysis, RECORDED_GPU_MEMORY), 0);
	writer.header->comms_used = 1;
	cr_assert_eq(feed_poll(feed, 20 * MS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_GPU_MEMORY), 1);
	feed_free(feed);
}

Test(feed, what_nobody_has_noted_of_ports_and_gpu_memory_is_not_passed_on)
{
	struct feed *feed = start();

	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_PORTS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_GPU_MEMORY), 0);
	feed_free(feed);
}

/* The header's pid may be of another container: the lock's is the one that is true here. */
Test(feed, the_process_is_told_with_the_pid_of_who_holds_the_lock)
{
	int status = -1;

	fixture_create(&writer);
	writer.header->pid = 1234;
	writer.communicators[0].created_ns = 1;
	writer.header->comms_used = 1;
	pid_t child = fork();
	if (child == 0) { /* a reader in another process, as a collector is; it does not inherit the writer's memory */
		struct box_reader reader;

		fixture_open(&reader, &writer);
		feed_poll(feed_new(&analysis, 7, &reader), MS);
		const struct recorded *process = recording_find(&analysis, RECORDED_PROCESS, 0);
		_exit(process && process->process_told.pid == getppid() ? 0 : 1);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect_eq(status, 0);
}

/* When a process has died is read from what it did last. */
Test(feed, the_last_moment_is_that_of_the_latest_time_in_the_box)
{
	fixture_create(&writer);
	writer.header->boot_id[0] ^= 1;
	writer.header->created_ns = 1;
	writer.header->drain_ns = 0;
	struct feed *feed = start();

	fixture_finish(&writer, fixture_operation(&writer, 1, 10 * MS)); /* done 4 ms later */
	fixture_operation(&writer, 2, 12 * MS);
	cr_assert_eq(feed_poll(feed, 50 * MS), 2);
	cr_expect_eq(feed_last_ns(feed), 14 * MS);
	cr_expect_eq(recording_find(&analysis, RECORDED_LIFE, 0)->at_ns, 14 * MS);
	mark(1, 20 * MS);
	cr_assert_eq(feed_poll(feed, 60 * MS), 1);
	cr_expect_eq(feed_last_ns(feed), 20 * MS);
	feed_free(feed);
}

Test(feed, what_the_analysis_refuses_is_counted_and_the_rest_goes_on)
{
	struct feed *feed = start();

	analysis.answer = -EINVAL;
	fixture_operation(&writer, 0, MS);
	fixture_operation(&writer, 1, UINT64_MAX);
	cr_expect_eq(feed_poll(feed, MS), 1);
	cr_expect_eq(feed_rejected(feed), 2, "one by the analysis, one by its time");
	feed_free(feed);
}

Test(feed, a_box_that_shrank_is_an_error)
{
	struct feed *feed = start();

	cr_assert_eq(ftruncate(writer.fd, 4096), 0);
	cr_expect_eq(feed_poll(feed, MS), -EIO);
	cr_expect_eq(feed_error(feed), -EIO);
	feed_free(feed);
}

static void sample(enum rw_sample_kind kind, char state, uint32_t detail, const char *text)
{
	struct rw_host_sample sample = {
		.monotonic_ns = 5 * MS, .tid = 11, .kind = (uint8_t)kind, .state = state, .system_call = 1, .fd = 3,
		.detail = detail, .run_delay_ns = 77,
	};

	memcpy(sample.text, text, strnlen(text, sizeof(sample.text)));
	box_writer_sample(&writer, &sample);
}

static void ext4_on_loop3(void *argument, uint64_t device, char file_system[16], char device_name[32])
{
	++*(int *)argument;
	if (device == 1795)
		strcpy(file_system, "ext4"), strcpy(device_name, "loop3");
}

Test(feed, samples_become_evidence_with_thread_path_and_mount)
{
	struct feed *feed = start();
	int asked = 0;

	feed_set_mount(feed, ext4_on_loop3, &asked);
	sample(RW_SAMPLE_THREAD, 0, 0, "tb-writer");
	sample(RW_SAMPLE_FILE, 0, 1795, "/mnt/slow/logs/events.ou"); /* 24 bytes, not terminated */
	sample(RW_SAMPLE_FILE, 1, 1795, "t.tfevents.0");
	sample(RW_SAMPLE_STATE, 'D', 1500, "jbd2_log_wait_commit");
	sample(RW_SAMPLE_STATE, 'D', 1501, "jbd2_log_wait_commit");
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_WAIT), 2);

	const struct analysis_wait *wait = &recording_find(&analysis, RECORDED_WAIT, 0)->wait;

	cr_expect_eq(wait->process, 7);
	cr_expect_eq(wait->kind, ANALYSIS_WAIT_SAMPLE);
	cr_expect_eq(wait->level, RW_LEVEL_SELF);
	cr_expect_eq(wait->tid, 11);
	cr_expect_str_eq(wait->thread, "tb-writer");
	cr_expect_str_eq(wait->path, "/mnt/slow/logs/events.out.tfevents.0");
	cr_expect_str_eq(wait->file_system, "ext4");
	cr_expect_str_eq(wait->device_name, "loop3");
	cr_expect_eq(wait->device, 1795);
	cr_expect_eq(wait->cpu_ns, 1500 * MS);
	cr_expect_eq(wait->run_queue_ns, 77);
	cr_expect_eq(wait->end_ns, 5 * MS);
	cr_expect(wait->io_wait);
	cr_expect_str_eq(wait->wait_channel, "jbd2_log_wait_commit");
	cr_expect_eq(asked, 1, "a mount is looked up once per file");
	cr_expect_str_eq(feed_thread_name(feed, 11), "tb-writer");
	cr_expect_null(feed_thread_name(feed, 12));
	feed_free(feed);
}

Test(feed, a_piece_of_a_path_without_its_beginning_belongs_to_nothing)
{
	struct feed *feed = start();

	sample(RW_SAMPLE_FILE, 1, 1795, "t.tfevents.0");
	sample(RW_SAMPLE_STATE, 'D', 0, "");
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	cr_expect_str_empty(recording_find(&analysis, RECORDED_WAIT, 0)->wait.path);
	feed_free(feed);
}

static void set_wait(int entry, uint64_t key, uint64_t first_ns, uint64_t last_ns, uint64_t network_ns)
{
	writer.waits[entry].key = key;
	writer.waits[entry].first_ns = first_ns;
	writer.waits[entry].last_ns = last_ns;
	writer.waits[entry].network_ns = network_ns;
	writer.waits[entry].peer_ns = network_ns / 2;
	writer.waits[entry].gpu_ns = network_ns / 5;
}

static const struct analysis_network *network(size_t n)
{
	return &recording_find(&analysis, RECORDED_NETWORK, n)->network;
}

Test(feed, network_waits_are_passed_as_what_they_have_grown)
{
	struct feed *feed = start();
	uint64_t key = RW_WAIT_USED | RW_WAIT_SENDS | UINT64_C(9) << 48 | 5;

	writer.header->leased_until_ns = 9000 * MS;
	set_wait(3, key, 100 * MS, 200 * MS, 40 * MS);
	cr_assert_eq(feed_poll(feed, 210 * MS), 0);
	cr_assert_eq(recording_count(&analysis, RECORDED_NETWORK), 1);
	cr_expect_eq(network(0)->peer, 5);
	cr_expect_eq(network(0)->channel, 9);
	cr_expect(network(0)->sends);
	cr_expect_eq(network(0)->network_ns, 40 * MS);
	cr_expect_eq(network(0)->from_ns, 100 * MS);
	cr_assert_eq(feed_poll(feed, 310 * MS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_NETWORK), 1, "nothing has grown");
	set_wait(3, key, 100 * MS, 400 * MS, 110 * MS);
	cr_assert_eq(feed_poll(feed, 410 * MS), 0);
	cr_expect_eq(network(1)->network_ns, 70 * MS);
	cr_expect_eq(network(1)->peer_ns, 35 * MS);
	cr_expect_eq(network(1)->gpu_ns, 14 * MS);
	cr_expect_eq(network(1)->from_ns, 310 * MS, "since it was looked at last");
	cr_expect_eq(network(1)->to_ns, 400 * MS);
	set_wait(3, key, 450 * MS, 500 * MS, 20 * MS);
	cr_assert_eq(feed_poll(feed, 510 * MS), 0);
	cr_expect_eq(network(2)->network_ns, 20 * MS, "the entry was given back meanwhile");
	feed_free(feed);
}

Test(feed, network_waits_that_mean_nothing_are_left_out)
{
	struct feed *feed = start();

	writer.header->leased_until_ns = 9000 * MS;
	writer.communicators[0].created_ns = 50 * MS;
	set_wait(0, RW_WAIT_SENDS | 5, 100 * MS, 200 * MS, 1);
	set_wait(1, RW_WAIT_USED | UINT64_C(700) << 32, 100 * MS, 200 * MS, 1);
	set_wait(2, RW_WAIT_USED | 0xffffffff, 100 * MS, 200 * MS, 1);
	set_wait(3, RW_WAIT_USED, 300 * MS, 200 * MS, 1);
	set_wait(4, RW_WAIT_USED, 100 * MS, UINT64_MAX, 1);
	set_wait(5, RW_WAIT_USED, 10 * MS, 40 * MS, 1); /* of an earlier communicator of this entry */
	cr_assert_eq(feed_poll(feed, 210 * MS), 0);
	cr_expect_eq(recording_count(&analysis, RECORDED_NETWORK), 0);
	feed_free(feed);
}

Test(feed, a_driver_call_of_the_plugin_is_passed_on_before_there_is_a_communicator)
{
	struct feed *feed = start();

	writer.header->comms_used = 0;
	snprintf(writer.header->gpu_progress_state, sizeof(writer.header->gpu_progress_state), "%s",
		 "cuMemHostRegister has not returned");
	cr_assert_eq(feed_poll(feed, 10 * MS), 0);
	const struct recorded *held = recording_find(&analysis, RECORDED_HELD, 0);
	cr_assert(held);
	cr_expect_eq(analysis.records[0].kind, RECORDED_PROCESS);
	cr_expect_str_eq(held->call, "cuMemHostRegister");
	cr_expect_str_eq(held->remedy, "RANKWATCH_GPU_TIME=off RANKWATCH_SCAN=off");
	cr_expect_eq(held->at_ns, 10 * MS);
	cr_assert_eq(feed_poll(feed, 20 * MS), 0);
	cr_expect_null(recording_find(&analysis, RECORDED_HELD, 1), "nothing changed");
	snprintf(writer.header->gpu_progress_state, sizeof(writer.header->gpu_progress_state), "watermark");
	snprintf(writer.header->scan_state, sizeof(writer.header->scan_state), "cuModuleLoadData has not returned");
	cr_assert_eq(feed_poll(feed, 30 * MS), 0);
	held = recording_find(&analysis, RECORDED_HELD, 1);
	cr_assert(held);
	cr_expect_str_eq(held->call, "cuModuleLoadData");
	cr_expect_str_eq(held->remedy, "RANKWATCH_SCAN=off");
	snprintf(writer.header->scan_state, sizeof(writer.header->scan_state), "auto");
	cr_assert_eq(feed_poll(feed, 40 * MS), 0);
	cr_expect_str_eq(recording_find(&analysis, RECORDED_HELD, 2)->call, "");
	feed_free(feed);
}
