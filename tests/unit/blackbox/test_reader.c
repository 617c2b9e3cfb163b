/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blackbox/host_memory.h"
#include "blackbox/process.h"
#include "tests/unit/blackbox/fixture.h"

TestSuite(reader, .fini = fixture_remove);

enum { SLOTS = RW_BOX_RING_MIN };

static struct rw_operation slots[SLOTS];
static enum box_slot states[SLOTS];

Test(reader, what_was_written_is_read)
{
	struct box_writer writer;
	struct box_reader reader;

	fixture_create(&writer);
	for (uint64_t i = 0; i < 10; i++)
		fixture_operation(&writer, i, 100 + i);
	fixture_open(&reader, &writer);
	cr_assert_eq(reader.header.head, 10);
	cr_assert_eq(box_reader_operations(&reader, 0, 10, slots, states), 10);
	for (uint64_t i = 0; i < 10; i++) {
		cr_expect_eq(states[i], BOX_SLOT_OK);
		cr_expect_eq(slots[i].ticket, i + 1);
		cr_expect_eq(slots[i].sequence, i);
		cr_expect_eq(slots[i].known, RW_KNOWN_IDENT | RW_KNOWN_API);
	}
}

/* The collector opens boxes for as long as a job starts processes. */
Test(reader, what_is_closed_leaves_no_descriptor_and_may_be_closed_again)
{
	struct box_writer writer;
	struct box_reader reader;

	fixture_create(&writer);
	fixture_open(&reader, &writer);
	int fd = reader.fd;
	cr_assert_geq(fcntl(fd, F_GETFD), 0);
	box_reader_close(&reader);
	cr_expect_eq(fcntl(fd, F_GETFD), -1);
	cr_expect_eq(reader.fd, -1);
	box_reader_close(&reader);
}

Test(reader, a_run_across_the_end_of_the_ring_is_read_in_order)
{
	struct box_writer writer;
	struct box_reader reader;

	fixture_create(&writer);
	for (uint64_t i = 0; i < SLOTS + 20; i++)
		fixture_finish(&writer, fixture_operation(&writer, i, 100 + i));
	fixture_open(&reader, &writer);
	cr_assert_eq(box_reader_operations(&reader, 20, SLOTS, slots, states), SLOTS);
	for (uint64_t i = 0; i < SLOTS; i++) {
		cr_assert_eq(states[i], BOX_SLOT_OK);
		cr_assert_eq(slots[i].sequence, i + 20);
	}
	cr_assert_eq(box_reader_operations(&reader, 0, 20, slots, states), 20);
	cr_expect_eq(states[0], BOX_SLOT_GONE);
	cr_expect_eq(states[19], BOX_SLOT_GONE);
}

Test(reader, a_slot_being_claimed_is_busy)
{
	struct box_writer writer;
	struct box_reader reader;
	uint64_t ticket;

	fixture_create(&writer);
	box_claim(&writer, RW_OWNER_HOST, &ticket);
	fixture_open(&reader, &writer);
	cr_assert_eq(box_reader_operations(&reader, 0, 1, slots, states), 1);
	cr_expect_eq(states[0], BOX_SLOT_BUSY);
}

Test(reader, an_operation_in_flight_for_a_turn_of_the_ring_is_found_behind_the_claim_that_passed_it)
{
	struct box_writer writer;
	struct box_reader reader;

	fixture_create(&writer);
	fixture_operation(&writer, 77, 1);
	for (uint64_t i = 0; i < SLOTS; i++)
		fixture_finish(&writer, fixture_operation(&writer, i, 100 + i));
	fixture_open(&reader, &writer);
	cr_assert_eq(box_reader_operations(&reader, SLOTS, 1, slots, states), 1);
	cr_expect_eq(states[0], BOX_SLOT_OLDER);
	cr_expect_eq(slots[0].ticket, 1);
	cr_expect_eq(slots[0].sequence, 77);
	cr_assert_eq(box_reader_operations(&reader, 0, 1, slots, states), 1);
	cr_expect_eq(states[0], BOX_SLOT_OK);
}

Test(reader, communicators_and_progress_are_read_and_the_room_is_respected)
{
	struct box_writer writer;
	struct box_reader reader;
	struct rw_communicator communicators[4];
	struct rw_gpu_progress progress[4];

	fixture_create(&writer);
	memset(writer.communicators[1].name, 'x', sizeof(writer.communicators[1].name));
	writer.communicators[1].id = 42;
	writer.communicators[1].created_ns = 7;
	writer.gpu[1].gpu_done = 9;
	writer.gpu[RW_BOX_COMMS - 1].gpu_done = 77;
	fixture_open(&reader, &writer);
	cr_assert_eq(box_reader_communicators(&reader, 0, 4, communicators), 4);
	cr_expect_eq(communicators[0].created_ns, 0);
	cr_expect_eq(communicators[1].id, 42);
	cr_expect_eq(strlen(communicators[1].name), 63, "terminated whatever the file holds");
	cr_assert_eq(box_reader_progress(&reader, 0, 4, progress), 4);
	cr_expect_eq(progress[1].gpu_done, 9);
	cr_expect_eq(box_reader_progress(&reader, RW_BOX_COMMS - 1, 4, progress), 1);
	cr_expect_eq(progress[0].gpu_done, 77, "the entry that was asked for");
	cr_expect_eq(box_reader_communicators(&reader, 1, 1, communicators), 1);
	cr_expect_eq(communicators[0].id, 42);
	cr_expect_eq(box_reader_communicators(&reader, RW_BOX_COMMS, 4, communicators), 0);
}

Test(reader, communicators_are_read_again_where_they_have_changed)
{
	struct box_writer writer;
	struct box_reader reader;
	struct rw_communicator known[40], copied[40];

	fixture_create(&writer);
	for (int i = 0; i < 40; i++) {
		writer.communicators[i].id = 100 + (uint64_t)i;
		writer.communicators[i].created_ns = 7 + (uint64_t)i;
	}
	memset(writer.communicators[39].name, 'x', sizeof(writer.communicators[39].name));
	fixture_open(&reader, &writer);
	cr_assert_eq(box_reader_communicators(&reader, 0, 40, known), 40);
	cr_expect_eq(box_reader_communicators_again(&reader, 0, 30, known, copied), 0, "nothing has changed");

	writer.communicators[3].api_count = 5;
	cr_assert_eq(box_reader_communicators_again(&reader, 0, 30, known, copied), 1);
	cr_expect(copied[3].api_count == 5 && copied[3].created_ns == 10 && copied[29].id == 129);
	cr_assert_eq(box_reader_communicators_again(&reader, 30, 10, known + 30, copied), 1,
		     "its name is not terminated in the file");
	cr_expect(strlen(copied[9].name) == 63 && copied[9].id == 139);

	writer.communicators[3].created_ns = 0;
	cr_assert_eq(box_reader_communicators_again(&reader, 0, 30, known, copied), 1);
	cr_expect_eq(copied[3].created_ns, 0, "it is being given to another one");
	writer.communicators[3].created_ns = 99;
	cr_assert_eq(box_reader_communicators_again(&reader, 0, 30, known, copied), 1);
	cr_expect(copied[3].created_ns == 99 && copied[2].created_ns == 9);
	cr_expect_eq(box_reader_communicators_again(&reader, RW_BOX_COMMS - 1, 2, known, copied), -EINVAL);
}

Test(reader, host_samples_are_read_by_number)
{
	struct box_writer writer;
	struct box_reader reader;
	struct rw_host_sample samples[3];

	fixture_create(&writer);
	for (uint32_t i = 0; i < RW_BOX_SAMPLES + 1; i++)
		box_writer_sample(&writer, &(struct rw_host_sample){ .tid = i });
	fixture_open(&reader, &writer);
	cr_assert_eq(box_reader_samples(&reader, RW_BOX_SAMPLES - 1, 3, samples, states), 3);
	cr_expect_eq(states[0], BOX_SLOT_OK);
	cr_expect_eq(samples[1].tid, RW_BOX_SAMPLES);
	cr_expect_eq(states[2], BOX_SLOT_BUSY, "not written yet");
	cr_assert_eq(box_reader_samples(&reader, 0, 1, samples, states), 1);
	cr_expect_eq(states[0], BOX_SLOT_GONE);
}

static void expect_refused(const struct box_writer *writer, int err, const char *sentence)
{
	struct box_reader reader;
	char why[160] = "";

	cr_expect_eq(box_reader_open(&reader, AT_FDCWD, writer->path, (uid_t)-1, why), err);
	cr_expect_not_null(strstr(why, sentence), "\"%s\" is not in \"%s\"", sentence, why);
	cr_expect_eq(reader.fd, -1);
}

/* One damage to a header at a time. */
#define DAMAGE(field, value, err, sentence)                                                                         \
	do {                                                                                                         \
		struct rw_box_header good = *writer.header;                                                          \
		writer.header->field = (value);                                                                      \
		expect_refused(&writer, (err), (sentence));                                                          \
		*writer.header = good;                                                                               \
	} while (0)

Test(reader, every_damaged_header_is_refused_with_a_sentence)
{
	struct box_writer writer;

	fixture_create(&writer);
	cr_assert_eq(chdir(fixture_directory()), 0);
	cr_assert_eq(rename(writer.path, "b"), 0);
	strcpy(writer.path, "b");
	DAMAGE(magic[0], 'X', -EINVAL, "not a black box");
	DAMAGE(layout, 2, -EPROTO, "is of another version of rankwatch: layout 2, this one reads layout 1");
	DAMAGE(required_features, 1, -EPROTO, "is of a newer version of rankwatch: it needs features 0x1");
	DAMAGE(header_size, 4096, -EINVAL, "header of 4096 bytes");
	DAMAGE(operation_size, 128, -EINVAL, "operations of 128 bytes");
	DAMAGE(ring_slots, 1000, -EINVAL, "ring of 1000 slots");
	DAMAGE(ring_slots, 0, -EINVAL, "ring of 0 slots");
	DAMAGE(ring_slots, 1536, -EINVAL, "ring of 1536 slots");
	DAMAGE(ring_slots, 1u << 20, -EINVAL, "1048576 operations");
	DAMAGE(ring_slots, 2048, -EINVAL, "operations at offset");
	DAMAGE(comm_slots, 0, -EINVAL, "0 communicators");
	DAMAGE(comm_slots, 1025, -EINVAL, "1025 communicators");
	DAMAGE(sample_slots, 4097, -EINVAL, "4097 host samples");
	DAMAGE(total_size, UINT64_MAX, -EIO, "truncated");
	DAMAGE(total_size, 8192, -EINVAL, "control page at offset");
	DAMAGE(control_offset, 0, -EINVAL, "control page at offset 0");
	DAMAGE(comms_offset, UINT64_MAX - 7, -EINVAL, "communicators at offset");
	DAMAGE(gpu_offset, 12288, -EINVAL, "GPU page at offset 12288");
	DAMAGE(samples_offset, 12289, -EINVAL, "host samples at offset 12289");
	DAMAGE(ring_offset, 1u << 30, -EINVAL, "operations at offset");
	DAMAGE(ring_slots, 512, -EINVAL, "ring of 512 slots");
	DAMAGE(sample_slots, 0, -EINVAL, "0 host samples");
	DAMAGE(wait_slots, 0, -EINVAL, "0 network waits");
	DAMAGE(wait_slots, RW_BOX_WAITS + 1, -EINVAL, "513 network waits");
	DAMAGE(waits_offset, 8, -EINVAL, "network waits at offset 8");
	DAMAGE(total_size, good.total_size + 1, -EIO, "truncated");
	DAMAGE(total_size, good.total_size - 1, -EINVAL, "operations at offset");
	DAMAGE(samples_offset, good.samples_offset + 4, -EINVAL, "host samples at offset");
	/* Each table begins where the one before ends, or behind that. */
	DAMAGE(control_offset, RW_BOX_HEADER_SIZE - 8, -EINVAL, "control page at offset");
	DAMAGE(comms_offset, good.comms_offset - 8, -EINVAL, "communicators at offset");
	DAMAGE(gpu_offset, good.comms_offset + good.comm_slots * sizeof(struct rw_communicator) - 8, -EINVAL,
	       "GPU page at offset");
	DAMAGE(samples_offset, good.samples_offset - 8, -EINVAL, "host samples at offset");
	DAMAGE(waits_offset, good.waits_offset - 8, -EINVAL, "network waits at offset");
	DAMAGE(ring_offset, good.ring_offset - 8, -EINVAL, "operations at offset");
}

/* What the file holds behind its box is nobody's, and fewer of something than there may be are no damage. */
Test(reader, a_header_at_its_limits_is_read)
{
	struct box_writer writer;
	struct box_reader reader;

	fixture_create(&writer);
	cr_assert_eq(ftruncate(writer.fd, (off_t)writer.header->total_size + 4096), 0);
	writer.header->comm_slots = 1;
	writer.header->sample_slots = 1;
	writer.header->wait_slots = 1;
	writer.header->comms_used = 1;
	fixture_open(&reader, &writer);
	cr_expect_eq(reader.header.comms_used, 1);
	box_reader_close(&reader);
	writer.header->comms_used = 2;
	fixture_open(&reader, &writer);
	cr_expect_eq(reader.header.comms_used, 1, "as many as there are");
	box_reader_close(&reader);
	writer.header->optional_features = 0;
	writer.header->wait_slots = 99999;
	writer.header->waits_offset = 3;
	fixture_open(&reader, &writer);
	box_reader_close(&reader);
}

Test(reader, texts_are_terminated_whatever_the_file_holds)
{
	struct box_writer writer;
	struct box_reader reader;

	fixture_create(&writer);
	memset(writer.header->host, 'h', sizeof(writer.header->host));
	memset(writer.header->environment, 'e', sizeof(writer.header->environment));
	memset(writer.header->devices[15].pci, 'p', sizeof(writer.header->devices[15].pci));
	writer.header->comms_used = 99999;
	fixture_open(&reader, &writer);
	cr_expect_eq(strlen(reader.header.host), 63);
	cr_expect_eq(strlen(reader.header.environment), RW_BOX_ENVIRONMENT - 2);
	cr_expect_eq(strlen(reader.header.devices[15].pci), 15);
	cr_expect_eq(reader.header.comms_used, RW_BOX_COMMS);
}

Test(reader, every_text_of_the_header_is_terminated)
{
	static const struct {
		size_t offset, size;
	} texts[] = {
#define TEXT(field) { offsetof(struct rw_box_header, field), sizeof(((struct rw_box_header *)NULL)->field) }
		TEXT(boot_id), TEXT(host), TEXT(job), TEXT(rank_from), TEXT(process_name), TEXT(watchdog_from),
		TEXT(gpu_progress_state), TEXT(scan_state), TEXT(devices[0].pci), TEXT(devices[7].pci),
#undef TEXT
	};
	struct box_writer writer;
	struct box_reader reader;

	fixture_create(&writer);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		memset((char *)writer.header + texts[i].offset, 'x', texts[i].size);
	fixture_open(&reader, &writer);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		cr_expect_eq(strnlen((const char *)&reader.header + texts[i].offset, texts[i].size), texts[i].size - 1, "%zu", i);
}

Test(reader, what_is_no_regular_file_of_the_owner_is_refused)
{
	struct box_reader reader;
	char why[160];

	cr_assert_eq(chdir(fixture_directory()), 0);
	cr_assert_eq(mkfifo("fifo", 0600), 0);
	cr_expect_eq(box_reader_open(&reader, AT_FDCWD, "fifo", (uid_t)-1, why), -EINVAL);
	cr_expect_str_eq(why, "fifo: not a regular file");
	cr_assert_eq(symlink("fifo", "link"), 0);
	cr_expect_eq(box_reader_open(&reader, AT_FDCWD, "link", (uid_t)-1, why), -ELOOP);
	cr_expect_str_eq(why, "link: a symbolic link: not followed");
	cr_expect_eq(box_reader_open(&reader, AT_FDCWD, "nothing", (uid_t)-1, NULL), -ENOENT);
	close(open("empty", O_CREAT | O_WRONLY, 0600));
	cr_expect_eq(box_reader_open(&reader, AT_FDCWD, "empty", (uid_t)-1, why), -EINVAL);
	cr_expect_str_eq(why, "empty: not a black box: only 0 bytes");
	cr_expect_eq(box_reader_open(&reader, AT_FDCWD, "empty", geteuid() + 1, why), -EPERM);
	cr_expect_not_null(strstr(why, "not to uid"));
}

Test(reader, a_box_that_shrinks_or_changes_its_layout_is_given_up)
{
	struct box_writer writer;
	struct box_reader reader;

	fixture_create(&writer);
	fixture_open(&reader, &writer);
	cr_expect_eq(box_reader_refresh(&reader), 0);
	writer.header->comm_slots = 1;
	cr_expect_eq(box_reader_refresh(&reader), -EPROTO);
	writer.header->comm_slots = RW_BOX_COMMS;
	cr_assert_eq(ftruncate(writer.fd, 100000), 0);
	cr_expect_eq(box_reader_refresh(&reader), -EIO);
	cr_expect_eq(box_reader_operations(&reader, 0, 1, slots, states), -EIO);
}

/* A process of its own that has a box. */
static pid_t start_writer(struct box_reader *reader)
{
	struct box_writer writer;
	int ready[2];

	fixture_directory();
	cr_assert_eq(pipe(ready), 0);

	pid_t child = fork();

	if (!child) {
		fixture_create(&writer);
		if (write(ready[1], writer.path, sizeof(writer.path)) == sizeof(writer.path))
			pause();
		_exit(1);
	}
	cr_assert_eq(read(ready[0], writer.path, sizeof(writer.path)), (ssize_t)sizeof(writer.path));
	fixture_open(reader, &writer);
	return child;
}

static void end_without_reaping(pid_t child)
{
	siginfo_t how;

	cr_assert_eq(waitid(P_PID, (id_t)child, &how, WEXITED | WNOWAIT), 0);
}

Test(reader, the_lock_tells_life_and_pid_of_the_writer)
{
	struct box_reader reader;
	pid_t pid = -1, child = start_writer(&reader);

	cr_expect_eq(box_reader_life(&reader, &pid), BOX_ALIVE);
	cr_expect_eq(pid, child);
	kill(child, SIGKILL);
	end_without_reaping(child);
	cr_expect_eq(box_reader_life(&reader, &pid), BOX_ORPHANED, "a zombie is no process");
	waitpid(child, NULL, 0);
	cr_expect_eq(box_reader_life(&reader, &pid), BOX_ORPHANED);
	cr_expect_eq(pid, 0);
}

static void *live_on(void *unused)
{
	pause();
	return unused;
}

static char state_of(pid_t pid)
{
	char path[32], stat[512];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	process_read_line(path, stat, sizeof(stat));
	return strrchr(stat, ')')[2];
}

Test(process, runs_while_any_of_its_threads_does)
{
	pid_t child = fork();

	if (!child) {
		pthread_t thread;

		pthread_create(&thread, NULL, live_on, NULL);
		syscall(SYS_exit, 0); /* of this thread alone */
	}
	uint64_t start_time = process_start_time(child);

	while (state_of(child) != 'Z')
		sched_yield();
	cr_expect(process_runs(child, start_time));
	cr_expect_not(process_runs(child, start_time + 1));
	kill(child, SIGKILL);
	end_without_reaping(child);
	cr_expect_not(process_runs(child, start_time));
	waitpid(child, NULL, 0);
	cr_expect_not(process_runs(child, start_time));
}

Test(process, of_a_line_as_much_is_read_as_there_is_room_for)
{
	char path[128], text[16];
	FILE *file;

	snprintf(path, sizeof(path), "%s/line", fixture_directory());
	file = fopen(path, "we");
	cr_assert(file);
	fputs("abcdefghijkl\nmore\n", file);
	fclose(file);
	memset(text, '.', sizeof(text));
	process_read_line(path, text, 8);
	cr_expect_arr_eq(text, "abcdefg\0........", sizeof(text));
	process_read_line(path, text, sizeof(text));
	cr_expect_str_eq(text, "abcdefghijkl", "without its end");
	fixture_remove();
}

Test(process, looking_at_one_leaves_no_descriptor_open)
{
	char text[40];
	int before = fixture_descriptors();

	process_boot_id(text);
	cr_expect_eq(strlen(text), 36);
	cr_expect_gt(process_start_time(getpid()), 0);
	cr_expect(process_runs(getpid(), process_start_time(getpid())));
	cr_expect_not(process_runs(getpid(), process_start_time(getpid()) + 1));
	process_read_line("/nowhere", text, sizeof(text));
	cr_expect_str_empty(text);
	cr_expect_neq(host_memory_left(""), 0);
	cr_expect_eq(fixture_descriptors(), before);
}

Test(reader, a_copy_is_unknown_while_its_process_runs_and_orphaned_after)
{
	struct box_reader reader, copy;
	pid_t child = start_writer(&reader);
	char *bytes = malloc(reader.header.total_size);

	cr_assert_eq(pread(reader.fd, bytes, reader.header.total_size, 0), (ssize_t)reader.header.total_size);
	cr_assert_eq(chdir(fixture_directory()), 0);

	int fd = open("copy.rwbox", O_WRONLY | O_CREAT, 0600);

	cr_assert_eq(write(fd, bytes, reader.header.total_size), (ssize_t)reader.header.total_size);
	cr_assert_eq(box_reader_open(&copy, AT_FDCWD, "copy.rwbox", geteuid(), NULL), 0);
	cr_expect_eq(box_reader_life(&copy, NULL), BOX_LIFE_UNKNOWN);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	cr_expect_eq(box_reader_life(&copy, NULL), BOX_ORPHANED);
	free(bytes);
}

Test(reader, a_box_of_another_boot_is_orphaned)
{
	struct box_writer writer;
	struct box_reader reader;

	fixture_create(&writer);
	fixture_open(&reader, &writer);
	cr_expect_eq(box_reader_life(&reader, NULL), BOX_LIFE_UNKNOWN, "our own lock is not seen, our process is");
	writer.header->boot_id[0] ^= 1;
	cr_assert_eq(box_reader_refresh(&reader), 0);
	cr_expect_eq(box_reader_life(&reader, NULL), BOX_ORPHANED);
}

/* One thing of our process's identity at a time: a process of the same number is not the writer by that. */
#define IDENTITY(field, value, life)                                                                          \
	do {                                                                                                  \
		struct rw_box_header good = *writer.header;                                                  \
		writer.header->field = (value);                                                              \
		cr_assert_eq(box_reader_refresh(&reader), 0);                                                \
		cr_expect_eq(box_reader_life(&reader, NULL), (life), #field " is %lu", (unsigned long)(value)); \
		*writer.header = good;                                                                       \
	} while (0)

Test(reader, a_process_is_the_writer_only_in_its_namespace_and_since_its_start)
{
	struct box_writer writer;
	struct box_reader reader;

	fixture_create(&writer);
	fixture_open(&reader, &writer);
	IDENTITY(pid_namespace, good.pid_namespace, BOX_LIFE_UNKNOWN);
	IDENTITY(pid_namespace, good.pid_namespace + 1, BOX_ORPHANED);
	IDENTITY(pid_namespace, 0, BOX_ORPHANED);
	IDENTITY(start_time_ticks, good.start_time_ticks + 1, BOX_ORPHANED);
	IDENTITY(start_time_ticks, 0, BOX_ORPHANED);
	IDENTITY(pid, UINT32_MAX, BOX_ORPHANED);
	box_reader_close(&reader);
}

Test(reader, network_waits_are_read_where_the_box_has_them_and_their_offset_does_not_change)
{
	static struct rw_wait waits[RW_BOX_WAITS];
	struct box_writer writer;
	struct box_reader reader;

	fixture_create(&writer);
	writer.waits[7].key = RW_WAIT_USED | 3;
	writer.waits[7].network_ns = 42;
	fixture_open(&reader, &writer);
	cr_assert_eq(box_reader_waits(&reader, 0, RW_BOX_WAITS + 9, waits), RW_BOX_WAITS);
	cr_expect_eq(waits[7].network_ns, 42);
	cr_expect_eq(RW_WAIT_PEER(waits[7].key), 3);
	cr_expect_eq(box_reader_waits(&reader, RW_BOX_WAITS, 1, waits), 0);
	writer.header->waits_offset += 8;
	cr_expect_eq(box_reader_refresh(&reader), -EPROTO);
}

Test(reader, a_box_of_a_writer_without_network_waits_is_read_as_ever)
{
	struct box_writer writer;
	struct box_reader reader;
	struct rw_wait wait;

	fixture_create(&writer);
	writer.header->optional_features = 0;
	writer.header->waits_offset = UINT64_MAX;
	writer.header->wait_slots = 0;
	fixture_open(&reader, &writer);
	cr_expect_eq(box_reader_waits(&reader, 0, 1, &wait), 0);
	cr_expect_eq(box_reader_refresh(&reader), 0);
}

Test(reader, the_operations_of_a_box_without_network_waits_are_checked_too)
{
	struct box_writer writer;

	fixture_create(&writer);
	cr_assert_eq(chdir(fixture_directory()), 0);
	cr_assert_eq(rename(writer.path, "b"), 0);
	strcpy(writer.path, "b");
	writer.header->optional_features = 0;
	DAMAGE(ring_offset, UINT64_C(1) << 40, -EINVAL, "operations at offset");
	DAMAGE(ring_offset, good.samples_offset, -EINVAL, "operations at offset");
}

/* A service may be started without a standard input: then the box is the first descriptor there is. */
Test(reader, a_box_is_read_where_its_descriptor_is_0)
{
	struct box_writer writer;
	struct box_reader reader;

	fixture_create(&writer);
	fixture_operation(&writer, 0, 100);
	close(0);
	errno = ELOOP; /* whatever failed before */
	fixture_open(&reader, &writer);
	cr_assert_eq(reader.fd, 0);
	cr_expect_eq(reader.header.head, 1);
	box_reader_close(&reader);
	cr_expect_eq(fcntl(0, F_GETFD), -1);
}
