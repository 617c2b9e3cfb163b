/* SPDX-License-Identifier: MIT */
/*
 * A copy of what another process writes may have a newer word beside an older one, in any order: on Arm even where x86
 * keeps the order of the stores. Here the first copy is so, the file is not. The linker leads pread here.
 */
#include <criterion/criterion.h>

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/blackbox/fixture.h"

static struct box_writer writer;
static struct box_reader reader;
static void (*tear)(char *copy, uint64_t offset); /* the next copy; NULL: it stays whole */

ssize_t __wrap_pread64(int fd, void *buffer, size_t size, off_t offset);
ssize_t __wrap___pread64_chk(int fd, void *buffer, size_t size, off_t offset, size_t room);

ssize_t __wrap_pread64(int fd, void *buffer, size_t size, off_t offset)
{
	ssize_t got = syscall(SYS_pread64, fd, buffer, size, offset);

	if (tear)
		tear(buffer, (uint64_t)offset);
	tear = NULL;
	return got;
}

ssize_t __wrap___pread64_chk(int fd, void *buffer, size_t size, off_t offset, size_t room)
{
	cr_assert_leq(size, room);
	return __wrap_pread64(fd, buffer, size, offset);
}

static void set_up(void)
{
	fixture_create(&writer);
	fixture_open(&reader, &writer);
}

static void tear_down(void)
{
	box_reader_close(&reader);
	box_writer_close(&writer);
	fixture_remove();
}

TestSuite(torn, .init = set_up, .fini = tear_down);

static void older_id(char *copy, uint64_t offset)
{
	((struct rw_box_header *)copy)->init.id = offset;
}

Test(torn, a_call_that_makes_a_communicator_is_seen_whole_or_at_the_next_look)
{
	writer.header->init = (struct rw_init){ .since_ns = 50, .id = 77, .nranks = 8, .rank = 3 };
	tear = older_id;
	cr_assert_eq(box_reader_refresh(&reader), 0);
	cr_expect(reader.header.init.since_ns == 0 && reader.header.init.id == 0);
	cr_assert_eq(box_reader_refresh(&reader), 0);
	cr_expect(reader.header.init.since_ns == 50 && reader.header.init.id == 77);
}

static void older_anchor_and_device(char *copy, uint64_t offset)
{
	struct rw_box_header *header = (struct rw_box_header *)copy;

	header->anchors[0].monotonic_ns = header->devices[0].used = (uint32_t)offset;
}

Test(torn, what_a_counter_of_the_header_counts_is_there)
{
	writer.header->devices[0].used = 1;
	writer.header->comms_used = 1;
	writer.header->anchors[0] = (struct rw_anchor){ .monotonic_ns = 5, .realtime_ns = 6 };
	writer.header->anchors_written = 1;
	tear = older_anchor_and_device;
	cr_assert_eq(box_reader_refresh(&reader), 0);
	cr_expect(reader.header.anchors_written == 1 && reader.header.anchors[0].monotonic_ns == 5);
	cr_expect(reader.header.comms_used == 1 && reader.header.devices[0].used == 1);
}

static void time_of_an_earlier_wait(char *copy, uint64_t offset)
{
	(void)offset;
	((struct rw_gpu_progress *)copy)[1].signal_since_ns = 10;
}

Test(torn, no_wait_for_a_signal_is_seen_with_the_time_of_an_earlier_one)
{
	struct rw_gpu_progress progress[2];

	writer.gpu[1].signalled = 4;
	writer.gpu[1].signal_waits = 5;
	writer.gpu[1].signal_since_ns = 900;
	tear = time_of_an_earlier_wait;
	cr_assert_eq(box_reader_progress(&reader, 0, 2, progress), 2);
	cr_expect(progress[1].signal_waits == 5 && progress[1].signal_since_ns == 900);
}

static void sums_of_the_last_channel(char *copy, uint64_t offset)
{
	(void)offset;
	((struct rw_wait *)copy)->first_ns = 1;
	((struct rw_wait *)copy)->network_ns = 1000000;
}

Test(torn, no_channel_has_the_waits_of_the_one_before_it)
{
	struct rw_wait wait;

	writer.waits[0].key = RW_WAIT_USED | 3;
	writer.waits[0].first_ns = 500;
	writer.waits[0].network_ns = 7;
	tear = sums_of_the_last_channel;
	cr_assert_eq(box_reader_waits(&reader, 0, 1, &wait), 1);
	cr_expect(wait.key == 0, "which one it is will be seen next time");
	cr_assert_eq(box_reader_waits(&reader, 0, 1, &wait), 1);
	cr_expect(wait.key == (RW_WAIT_USED | 3) && wait.network_ns == 7);
}
