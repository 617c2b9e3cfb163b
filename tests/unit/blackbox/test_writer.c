/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/blackbox/fixture.h"

TestSuite(writer, .fini = fixture_remove);

Test(writer, a_box_has_the_layout_and_the_mode_of_the_contract)
{
	struct box_writer writer;
	struct stat status;

	fixture_create(&writer);
	cr_assert_eq(stat(writer.path, &status), 0);
	cr_expect_eq(status.st_mode & 07777, 0600);
	cr_expect_eq((uint64_t)status.st_size, writer.header->total_size);
	cr_expect_geq((uint64_t)status.st_blocks * 512, writer.header->total_size, "reserved, not sparse");
	cr_expect_eq(writer.header->gpu_offset % 65536, 0, "a whole page of every kernel: aarch64's can have 64 KiB");
	cr_expect_eq((uintptr_t)writer.gpu - (uintptr_t)writer.map, writer.header->gpu_offset);
	cr_expect_eq(writer.header->ring_slots, RW_BOX_RING_MIN);
	cr_expect_eq(writer.header->pid, (uint32_t)getpid());
	cr_expect_gt(writer.header->start_time_ticks, 0);
	cr_expect_eq(strlen(writer.header->boot_id), 36);
	cr_expect_eq(fcntl(writer.fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

Test(writer, nothing_but_the_finished_box_is_left_in_the_directory)
{
	struct box_writer writer;
	char name[64];
	int count = 0;

	fixture_create(&writer);
	snprintf(name, sizeof(name), "rank0-%d.rwbox", (int)getpid());
	*strrchr(writer.path, '/') = '\0';

	DIR *directory = opendir(writer.path);

	for (struct dirent *entry; (entry = readdir(directory));) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		cr_expect_str_eq(entry->d_name, name);
		count++;
	}
	closedir(directory);
	cr_expect_eq(count, 1);
}

Test(writer, a_dead_box_of_the_same_name_is_replaced)
{
	struct box_writer first, second;
	struct stat before, after;

	fixture_create(&first);
	cr_assert_eq(fstat(first.fd, &before), 0);
	fixture_create(&second);
	cr_expect_str_eq(first.path, second.path);
	cr_assert_eq(stat(second.path, &after), 0);
	cr_expect_neq(before.st_ino, after.st_ino);
	first.header->pid = 1; /* the old one is still whole for whoever has it open */
}

Test(writer, a_box_that_another_process_holds_is_not_replaced)
{
	struct box_writer writer;
	char path[128];
	int ready[2];

	snprintf(path, sizeof(path), "%s/rank0-%d.rwbox", fixture_directory(), (int)getpid());
	cr_assert_eq(pipe(ready), 0);

	pid_t holder = fork();

	if (!holder) {
		struct flock lock = { .l_type = F_WRLCK, .l_len = 1 };
		int fd = open(path, O_RDWR | O_CREAT, 0600);

		if (fd >= 0 && !fcntl(fd, F_SETLK, &lock) && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	char byte;

	cr_assert_eq(read(ready[0], &byte, 1), 1);
	fixture_create(&writer);
	cr_expect_str_neq(writer.path, path);
	cr_expect_not_null(strstr(writer.path, "-1.rwbox"));
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
}

Test(writer, a_forked_child_has_no_mapping)
{
	struct box_writer writer;
	int status;

	fixture_create(&writer);

	pid_t child = fork();

	if (!child) {
		unsigned char resident;

		/* mincore(2): ENOMEM = not mapped. */
		_exit(mincore(writer.map, 4096, &resident) == 0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect_eq(status, 0);
}

Test(writer, a_claimed_slot_is_empty_and_published_last)
{
	struct box_writer writer;
	uint64_t ticket;

	fixture_create(&writer);
	memset(writer.ring, 0xff, sizeof(*writer.ring));
	writer.ring->owner = 0;
	writer.ring->ticket = 0;

	struct rw_operation *slot = box_claim(&writer, RW_OWNER_HOST, &ticket);

	cr_assert_eq(slot, writer.ring);
	cr_expect_eq(ticket, 1);
	cr_expect_eq(slot->owner, box_owner(1, RW_OWNER_HOST));
	cr_expect_eq(slot->ticket, 0);
	cr_expect_eq(slot->known, 0);
	cr_expect_eq(slot->recv_address, 0);
	cr_expect_null(box_slot(&writer, ticket));
	box_publish(slot, ticket);
	cr_expect_eq(box_slot(&writer, ticket), slot);
	cr_expect_null(box_slot(&writer, 0));
}

/* Also of claims that come a turn of the ring later, behind the last slot. */
Test(writer, fetching_a_slot_ahead_changes_nothing)
{
	struct box_writer writer;

	fixture_create(&writer);

	uint64_t ticket = fixture_operation(&writer, 0, 1);
	void *before = malloc(writer.size);

	cr_assert_not_null(before);
	memcpy(before, writer.map, writer.size);
	for (uint64_t claim = 0; claim < 3 * RW_BOX_RING_MIN; claim++)
		box_prefetch(&writer, claim);
	box_prefetch(&writer, UINT64_MAX);
	cr_expect_arr_eq(before, writer.map, writer.size);
	cr_expect_not_null(box_slot(&writer, ticket));
	free(before);
}

Test(writer, the_last_release_frees_the_slot_and_a_stale_one_does_nothing)
{
	struct box_writer writer;

	fixture_create(&writer);

	uint64_t ticket = fixture_operation(&writer, 0, 1);
	struct rw_operation *slot = box_slot(&writer, ticket);

	box_release(slot, ticket + 1, RW_OWNER_PENDING);
	cr_expect_eq(slot->owner, box_owner(ticket, RW_OWNER_HOST | RW_OWNER_GPU));
	box_release(slot, ticket, RW_OWNER_HOST);
	cr_expect_eq(slot->owner, box_owner(ticket, RW_OWNER_GPU));
	box_release(slot, ticket, RW_OWNER_GPU);
	cr_expect_eq(slot->owner, 0);
	cr_expect_eq(slot->ticket, ticket, "finished, and still to be read");
}

Test(writer, an_operation_in_flight_is_passed_over)
{
	struct box_writer writer;

	fixture_create(&writer);

	uint64_t stuck = fixture_operation(&writer, 0, 1);

	for (uint64_t i = 1; i < RW_BOX_RING_MIN; i++)
		fixture_finish(&writer, fixture_operation(&writer, i, i + 1));
	cr_expect_eq(fixture_operation(&writer, 5000, 9), RW_BOX_RING_MIN + 2);
	cr_expect_not_null(box_slot(&writer, stuck));
	cr_expect_eq(writer.header->dropped, 0);
}

Test(writer, a_claim_that_meets_eight_operations_in_flight_is_dropped_and_counted)
{
	struct box_writer writer;
	uint64_t ticket;

	fixture_create(&writer);
	for (uint64_t i = 0; i < RW_BOX_RING_MIN; i++)
		fixture_operation(&writer, i, i + 1);
	cr_expect_null(box_claim(&writer, RW_OWNER_HOST, &ticket));
	cr_expect_eq(writer.header->dropped, 1);
	cr_expect_eq(writer.header->head, RW_BOX_RING_MIN + BOX_CLAIM_TRIES);
}

Test(writer, a_thread_that_slept_for_a_turn_of_the_ring_does_not_take_a_newer_slot)
{
	struct box_writer writer;

	fixture_create(&writer);
	fixture_finish(&writer, fixture_operation(&writer, 0, 1));
	writer.ring[0].ticket = RW_BOX_RING_MIN + 1;
	cr_expect_not(box_take(&writer.ring[0], 1, RW_OWNER_HOST));
	cr_expect_eq(writer.ring[0].owner, 0);
	cr_expect_eq(writer.ring[0].ticket, RW_BOX_RING_MIN + 1);
}

Test(writer, all_expire_when_more_than_a_quarter_of_the_ring_pends)
{
	struct box_writer writer;
	uint32_t quarter = RW_BOX_RING_MIN / 4;

	fixture_create(&writer);
	for (uint32_t i = 0; i < quarter; i++)
		fixture_operation(&writer, i, i + 1);
	cr_expect_eq(box_writer_expire(&writer, 0), 0);

	uint64_t last = fixture_operation(&writer, quarter, 99);

	cr_expect_eq(box_writer_expire(&writer, 0), quarter + 1);
	cr_expect_eq(writer.header->untracked[RW_UNTRACKED_EXPIRED], quarter + 1);
	cr_expect_eq(box_slot(&writer, last)->owner, 0);
	cr_expect_eq(box_slot(&writer, last)->flags,
		     RW_FLAG_UNTRACKED | RW_UNTRACKED_EXPIRED << RW_FLAG_UNTRACKED_SHIFT);
}

Test(writer, host_samples_are_numbered_and_overwrite_the_oldest)
{
	struct box_writer writer;

	fixture_create(&writer);
	for (uint32_t i = 0; i < RW_BOX_SAMPLES + 1; i++)
		box_writer_sample(&writer, &(struct rw_host_sample){ .tid = i, .kind = RW_SAMPLE_STATE });
	cr_expect_eq(writer.header->samples_head, RW_BOX_SAMPLES + 1);
	cr_expect_eq(writer.samples[0].tid, RW_BOX_SAMPLES);
	cr_expect_eq(writer.samples[0].ticket, RW_BOX_SAMPLES + 1);
	cr_expect_eq(writer.samples[1].tid, 1);
}

Test(writer, a_limit_of_file_sizes_costs_the_box_and_not_the_process)
{
	struct rlimit limit = { 102400, 102400 };
	struct box_writer writer;
	struct box_request request = { .directory = fixture_directory(), .job = "test", .rank = 0 };

	signal(SIGXFSZ, SIG_DFL);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_expect_eq(box_writer_create(&writer, &request), -EFBIG);
	cr_expect_not_null(strstr(writer.note, "File too large"), "%s", writer.note);
}

Test(writer, a_box_is_as_large_as_the_limit_of_file_sizes_lets_it)
{
	struct rlimit limit = { 4 << 20, 4 << 20 };
	struct box_writer writer;
	struct box_request request = { .directory = fixture_directory(), .job = "test", .rank = 0, .history_bytes = 64 << 20 };

	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_assert_eq(box_writer_create(&writer, &request), 0);
	cr_expect_str_empty(writer.note);
	cr_expect_gt(writer.header->ring_slots, RW_BOX_RING_MIN);
	cr_expect_leq(writer.header->total_size, 4u << 20);
	cr_expect_eq(writer.header->history_limited, 1);
}
