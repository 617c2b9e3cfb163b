/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "blackbox/packed.h"
#include "blackbox/saved.h"
#include "blackbox/unpack.h"
#include "tests/sanitized.h"
#include "tests/unit/blackbox/fixture.h"

TestSuite(saved, .fini = fixture_remove);

enum { SLOTS = RW_BOX_RING_MIN };

static const char saved_name[] = "saved.rwbox.gz";

/* Saves in the test's directory and opens the copy. */
static void save(struct box_reader *original, struct box_reader *copy)
{
	int directory = open(fixture_directory(), O_RDONLY | O_DIRECTORY);
	char why[160] = "";

	cr_assert_eq(box_save(original, directory, saved_name, why), 0, "%s", why);
	cr_assert_eq(box_reader_open(copy, directory, saved_name, geteuid(), why), 0, "%s", why);
	close(directory);
}

static void expect_same_operations(const struct box_reader *original, const struct box_reader *copy, uint64_t first,
				   uint32_t count)
{
	static struct rw_operation here[SLOTS], there[SLOTS];
	static enum box_slot here_states[SLOTS], there_states[SLOTS];

	cr_assert_eq(box_reader_operations(original, first, count, here, here_states), (int)count);
	cr_assert_eq(box_reader_operations(copy, first, count, there, there_states), (int)count);
	for (uint32_t i = 0; i < count; i++) {
		cr_assert_eq(there_states[i], here_states[i], "claim %lu: %d, was %d", first + i, there_states[i],
			     here_states[i]);
		if (here_states[i] == BOX_SLOT_OK || here_states[i] == BOX_SLOT_OLDER)
			cr_assert_eq(memcmp(&here[i], &there[i], sizeof(here[i])), 0, "claim %lu", first + i);
	}
}

Test(saved, a_box_is_read_as_it_was_and_is_much_smaller)
{
	struct box_writer writer;
	struct box_reader original, copy;
	struct stat status;
	char path[256];

	fixture_create(&writer);
	for (uint64_t i = 0; i < 40; i++)
		fixture_operation(&writer, i, 100 + i);
	for (uint64_t ticket = 1; ticket < 20; ticket++)
		fixture_finish(&writer, ticket);
	fixture_open(&original, &writer);
	save(&original, &copy);
	/* This process is the writer, and it lives. */
	cr_expect_eq(copy.header.end, RW_BOX_COPIED);
	original.header.end = RW_BOX_COPIED;
	cr_expect_eq(memcmp(&original.header, &copy.header, sizeof(copy.header)), 0);
	expect_same_operations(&original, &copy, 0, 40);
	snprintf(path, sizeof(path), "%s/%s", fixture_directory(), saved_name);
	cr_assert_eq(stat(path, &status), 0);
	cr_expect_lt(status.st_size, 16384);
	cr_expect_eq(status.st_mode & 0777, 0600);
	box_reader_close(&original);
	box_reader_close(&copy);
}

Test(saved, a_ring_that_turned_keeps_its_order_and_what_is_still_in_flight_from_the_turn_before)
{
	for (uint64_t extra = 0; extra < 700; extra += 233) {
		struct box_writer writer;
		struct box_reader original, copy;

		fixture_create(&writer);
		fixture_operation(&writer, 77, 1); /* stays in flight */
		for (uint64_t i = 0; i < SLOTS + extra; i++)
			fixture_finish(&writer, fixture_operation(&writer, i, 100 + i));
		fixture_open(&original, &writer);
		save(&original, &copy);
		expect_same_operations(&original, &copy, original.header.head - SLOTS, SLOTS);
		box_reader_close(&original);
		box_reader_close(&copy);
		fixture_remove();
	}
}

Test(saved, network_waits_are_kept)
{
	static struct rw_wait here[RW_BOX_WAITS], there[RW_BOX_WAITS];
	struct box_writer writer;
	struct box_reader original, copy;

	fixture_create(&writer);
	for (int i = 0; i < RW_BOX_WAITS; i += 3)
		writer.waits[i] = (struct rw_wait){ .key = RW_WAIT_USED | (uint64_t)i, .network_ns = (uint64_t)i * i };
	fixture_operation(&writer, 1, 100);
	fixture_open(&original, &writer);
	save(&original, &copy);
	cr_assert_eq(box_reader_waits(&original, 0, RW_BOX_WAITS, here), RW_BOX_WAITS);
	cr_assert_eq(box_reader_waits(&copy, 0, RW_BOX_WAITS, there), RW_BOX_WAITS);
	cr_expect_eq(memcmp(here, there, sizeof(here)), 0);
	expect_same_operations(&original, &copy, 0, 1);
	box_reader_close(&original);
	box_reader_close(&copy);
}

/* A writer of another version may have shorter tables: each of them still begins at its own offset. */
Test(saved, what_lies_behind_a_gap_between_tables_is_kept)
{
	struct box_writer writer;
	struct box_reader original, copy;
	struct rw_gpu_progress progress[2];
	struct rw_host_sample sample;
	enum box_slot state;

	fixture_create(&writer);
	writer.header->comm_slots--;
	writer.header->sample_slots--;
	writer.communicators[0].created_ns = 100;
	writer.header->comms_used = 2;
	writer.gpu[1] = (struct rw_gpu_progress){ .gpu_started = 9, .gpu_done = 8 };
	box_writer_sample(&writer, &(struct rw_host_sample){ .tid = 77, .kind = RW_SAMPLE_STATE });
	writer.waits[0] = (struct rw_wait){ .key = RW_WAIT_USED | 1, .network_ns = 5 };
	fixture_operation(&writer, 1, 100);
	fixture_open(&original, &writer);
	save(&original, &copy);
	cr_assert_eq(box_reader_progress(&copy, 0, 2, progress), 2);
	cr_expect(progress[1].gpu_started == 9 && progress[1].gpu_done == 8);
	cr_assert_eq(box_reader_samples(&copy, 0, 1, &sample, &state), 1);
	cr_expect_eq(state, BOX_SLOT_OK);
	cr_expect_eq(sample.tid, 77);
	struct rw_wait wait;
	cr_assert_eq(box_reader_waits(&copy, 0, 1, &wait), 1);
	cr_expect_eq(wait.network_ns, 5);
	expect_same_operations(&original, &copy, 0, 1);
	box_reader_close(&original);
	box_reader_close(&copy);
}

/* Of `count` samples, the ring's last ones; one of them was being written when the copy was made. */
static void expect_samples_kept(uint64_t count)
{
	static struct rw_host_sample here[RW_BOX_SAMPLES], there[RW_BOX_SAMPLES];
	static enum box_slot here_states[RW_BOX_SAMPLES], there_states[RW_BOX_SAMPLES];
	uint64_t kept = count < RW_BOX_SAMPLES ? count : RW_BOX_SAMPLES, first = count - kept, busy = count - kept / 3 - 1;
	struct box_writer writer;
	struct box_reader original, copy;

	fixture_create(&writer);
	for (uint64_t i = 0; i < count; i++)
		box_writer_sample(&writer, &(struct rw_host_sample){
					       .tid = (uint32_t)(7 * i + 1), .kind = RW_SAMPLE_STATE, .text = "x" });
	writer.samples[busy % RW_BOX_SAMPLES].ticket = 0;
	fixture_open(&original, &writer);
	save(&original, &copy);
	cr_assert_eq(box_reader_samples(&original, first, (uint32_t)kept, here, here_states), (int)kept);
	cr_assert_eq(box_reader_samples(&copy, first, (uint32_t)kept, there, there_states), (int)kept);
	for (uint64_t i = 0; i < kept; i++) {
		static const struct rw_host_sample none;

		cr_assert_eq(there_states[i], here_states[i], "%lu of %lu", i, count);
		cr_assert_eq(memcmp(&there[i], first + i == busy ? &none : &here[i], sizeof(none)), 0, "%lu of %lu", i, count);
	}
	box_reader_close(&original);
	box_reader_close(&copy);
	fixture_remove();
}

Test(saved, host_samples_are_kept_but_for_one_that_was_being_written)
{
	static const uint64_t counts[] = { 1, 255, 256, 257, 1000, RW_BOX_SAMPLES, RW_BOX_SAMPLES + 1, RW_BOX_SAMPLES + 300,
					   2 * RW_BOX_SAMPLES };

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		expect_samples_kept(counts[i]);
}

Test(saved, an_operation_that_is_being_claimed_has_no_bytes_of_the_one_before)
{
	struct box_writer writer;
	struct box_reader original, copy;
	struct rw_operation operation;
	enum box_slot state;
	uint64_t ticket;

	fixture_create(&writer);
	fixture_operation(&writer, 1, 100);
	struct rw_operation *slot = box_claim(&writer, RW_OWNER_HOST, &ticket);
	cr_assert_not_null(slot);
	slot->sequence = 99;
	fixture_operation(&writer, 3, 100);
	fixture_open(&original, &writer);
	save(&original, &copy);
	cr_assert_eq(box_reader_operations(&copy, 1, 1, &operation, &state), 1);
	cr_expect_eq(state, BOX_SLOT_BUSY);
	cr_expect_eq(operation.sequence, 0);
	cr_assert_eq(box_reader_operations(&copy, 2, 1, &operation, &state), 1);
	cr_expect_eq(state, BOX_SLOT_OK);
	cr_expect_eq(operation.sequence, 3);
	box_reader_close(&original);
	box_reader_close(&copy);
}

Test(saved, every_communicator_and_its_progress_are_kept)
{
	static struct rw_communicator here[RW_BOX_COMMS], there[RW_BOX_COMMS];
	static struct rw_gpu_progress progress[RW_BOX_COMMS];
	struct box_writer writer;
	struct box_reader original, copy;

	fixture_create(&writer);
	for (uint32_t i = 0; i < RW_BOX_COMMS; i++) {
		writer.communicators[i].id = 1000 + i;
		writer.communicators[i].created_ns = 1 + i;
		writer.gpu[i].gpu_started = 3 * i + 2;
		writer.gpu[i].gpu_done = 3 * i + 1;
	}
	writer.header->comms_used = RW_BOX_COMMS;
	fixture_open(&original, &writer);
	save(&original, &copy);
	cr_assert_eq(box_reader_communicators(&original, 0, RW_BOX_COMMS, here), RW_BOX_COMMS);
	cr_assert_eq(box_reader_communicators(&copy, 0, RW_BOX_COMMS, there), RW_BOX_COMMS);
	cr_expect_eq(memcmp(here, there, sizeof(here)), 0);
	cr_assert_eq(box_reader_progress(&copy, 0, RW_BOX_COMMS, progress), RW_BOX_COMMS);
	for (uint32_t i = 0; i < RW_BOX_COMMS; i++) {
		cr_assert_eq(progress[i].gpu_started, 3 * i + 2);
		cr_assert_eq(progress[i].gpu_done, 3 * i + 1);
	}
	box_reader_close(&original);
	box_reader_close(&copy);
}

Test(saved, what_cannot_be_saved_is_said_and_leaves_nothing)
{
	struct box_writer writer;
	struct box_reader reader;
	char why[160] = "", gone[128];
	int directory = open(fixture_directory(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	fixture_create(&writer);
	fixture_open(&reader, &writer);
	cr_expect_eq(box_save(&reader, directory, "nowhere/copy.rwbox.gz", why), -ENOENT);
	cr_expect_str_eq(why, "nowhere/copy.rwbox.gz: not saved: No such file or directory");
	snprintf(gone, sizeof(gone), "%s/taken.rwbox.gz", fixture_directory());
	cr_assert_eq(mkdir(gone, 0700), 0);
	cr_expect_eq(box_save(&reader, directory, "taken.rwbox.gz", why), -EISDIR);
	cr_expect_str_eq(why, "taken.rwbox.gz: not saved: Is a directory");
	DIR *entries = opendir(fixture_directory());
	cr_assert_not_null(entries);
	for (const struct dirent *entry; (entry = readdir(entries));)
		cr_expect(entry->d_name[0] != '.' || !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."), "%s",
			  entry->d_name);
	closedir(entries);
	cr_assert_eq(ftruncate(writer.fd, 4096), 0);
	cr_expect_eq(box_save(&reader, directory, "copy.rwbox.gz", why), -EIO);
	cr_expect_str_eq(why, "copy.rwbox.gz: not saved: Input/output error");
	close(directory);
}

Test(saved, a_header_is_one_when_it_is_whole_and_of_a_size_that_boxes_have)
{
	static unsigned char bytes[sizeof(struct rw_box_header) + 1];
	struct rw_box_header *header = (void *)bytes, found;

	memcpy(header->magic, RW_BOX_MAGIC, sizeof(header->magic));
	header->total_size = sizeof(*header);
	cr_expect(box_saved_header(&found, bytes, sizeof(*header)));
	cr_expect_eq(found.total_size, sizeof(*header));
	cr_expect_not(box_saved_header(&found, bytes, sizeof(*header) - 1));
	header->total_size = sizeof(*header) - 1;
	cr_expect_not(box_saved_header(&found, bytes, sizeof(*header)));
	header->total_size = 64 << 20;
	cr_expect(box_saved_header(&found, bytes, sizeof(*header)));
	header->total_size++;
	cr_expect_not(box_saved_header(&found, bytes, sizeof(*header)));
	header->total_size = 64 << 20;
	header->magic[7] ^= 1;
	cr_expect_not(box_saved_header(&found, bytes, sizeof(*header)));
}

Test(saved, a_copy_of_a_copy_is_the_same)
{
	struct box_writer writer;
	struct box_reader original, copy, again;

	fixture_create(&writer);
	for (uint64_t i = 0; i < 2000; i++)
		fixture_finish(&writer, fixture_operation(&writer, i, 100 + i));
	fixture_open(&original, &writer);
	save(&original, &copy);
	save(&copy, &again);
	expect_same_operations(&original, &again, 2000 - SLOTS, SLOTS);
	box_reader_close(&original);
	box_reader_close(&copy);
	box_reader_close(&again);
}

/* kept: NULL = the reader is closed again. */
static int open_bytes(const void *bytes, size_t size, struct box_reader *kept, char *why)
{
	int directory = open(fixture_directory(), O_RDONLY | O_DIRECTORY);
	int fd = openat(directory, "odd.rwbox.gz", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	struct box_reader reader;

	cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
	close(fd);
	int err = box_reader_open(&reader, directory, "odd.rwbox.gz", geteuid(), why);

	if (kept)
		*kept = reader;
	else
		box_reader_close(&reader);
	close(directory);
	return err;
}

Test(saved, a_file_that_was_cut_or_changed_anywhere_is_refused_with_a_reason_or_read_right)
{
	struct box_writer writer;
	struct box_reader original, copy;
	static unsigned char bytes[1 << 20];
	char path[256], why[160];

	fixture_create(&writer);
	for (uint64_t i = 0; i < 100; i++)
		fixture_finish(&writer, fixture_operation(&writer, i, 100 + i));
	fixture_open(&original, &writer);
	save(&original, &copy);
	snprintf(path, sizeof(path), "%s/%s", fixture_directory(), saved_name);
	int fd = open(path, O_RDONLY);
	ssize_t size = read(fd, bytes, sizeof(bytes));
	original.header.end = copy.header.end;
	close(fd);
	box_reader_close(&copy);

	cr_assert(size > 100 && size < (ssize_t)sizeof(bytes));
	/* Every length where most of the box comes out of few bytes: zlib itself misses some of them. */
	for (ssize_t length = 2; length < size; length += length < 2500 ? 1 : 1 + length / 50) {
		*why = '\0';
		cr_assert_lt(open_bytes(bytes, (size_t)length, NULL, why), 0, "cut to %zd", length);
		cr_assert(*why, "cut to %zd", length);
	}
	for (ssize_t at = 12; at < size; at += 97) {
		bytes[at] ^= 0x10;
		/* Some bits of a deflate stream mean nothing: what is read must be right. */
		if (!open_bytes(bytes, (size_t)size, &copy, why)) {
			cr_assert_eq(memcmp(&original.header, &copy.header, sizeof(copy.header)), 0, "changed at %zd",
				     at);
			expect_same_operations(&original, &copy, 0, 100);
			box_reader_close(&copy);
		}
		bytes[at] ^= 0x10;
	}
	box_reader_close(&original);
}

static size_t compress_into(unsigned char *packed, size_t room, const void *bytes, size_t size)
{
	z_stream stream = { 0 };

	cr_assert_eq(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	stream.next_in = (unsigned char *)bytes;
	stream.avail_in = (unsigned)size;
	stream.next_out = packed;
	stream.avail_out = (unsigned)room;
	cr_assert_eq(deflate(&stream, Z_FINISH), Z_STREAM_END);
	size_t used = stream.total_out;

	deflateEnd(&stream);
	return used;
}

Test(saved, gzip_of_something_else_and_a_small_file_that_unpacks_to_much_are_refused)
{
	static char zeros[80 << 20];
	static unsigned char packed[1 << 20];
	struct box_writer writer;
	struct box_reader original;
	char why[160];

	fixture_create(&writer);
	fixture_open(&original, &writer);
	size_t size = compress_into(packed, sizeof(packed), "hello", 5);
	cr_expect_lt(open_bytes(packed, size, NULL, why), 0);
	cr_expect(strstr(why, "not a black box"), "%s", why);

	memcpy(zeros, &original.header, sizeof(original.header));
	size = compress_into(packed, sizeof(packed), zeros, sizeof(zeros));
	cr_expect_lt(open_bytes(packed, size, NULL, why), 0);
	cr_expect(strstr(why, "longer than its header says"), "%s", why);

	((struct rw_box_header *)zeros)->total_size = UINT64_C(1) << 40;
	size = compress_into(packed, sizeof(packed), zeros, 100000);
	cr_expect_lt(open_bytes(packed, size, NULL, why), 0);
	cr_expect(strstr(why, "not a black box"), "%s", why);
}

static int lowest_free_descriptor(void)
{
	int fd = dup(0);

	cr_assert_geq(fd, 0);
	close(fd);
	return fd;
}

Test(saved, what_cannot_be_read_from_its_beginning_is_refused_and_no_descriptor_is_kept)
{
	int ends[2];
	char why[160];
	uint64_t bytes;

	cr_assert_eq(pipe(ends), 0);
	int before = lowest_free_descriptor();
	cr_expect_lt(box_saved_unpack(ends[0], &bytes, "a pipe", why), 0);
	cr_expect(strstr(why, "a pipe"), "%s", why);
	cr_expect_eq(lowest_free_descriptor(), before);
	close(ends[0]);
	close(ends[1]);
}

/* As gzip makes it: one member. */
static size_t compress_box(unsigned char *packed, size_t room, const struct box_reader *original)
{
	unsigned char *bytes = malloc(original->header.total_size);

	cr_assert_eq(pread(original->fd, bytes, original->header.total_size, 0), (ssize_t)original->header.total_size);
	size_t size = compress_into(packed, room, bytes, original->header.total_size);

	free(bytes);
	return size;
}

Test(saved, a_box_that_gzip_packed_and_something_was_appended_to_is_refused)
{
	static unsigned char packed[1 << 20];
	struct box_writer writer;
	struct box_reader original;
	char why[160];

	fixture_create(&writer);
	fixture_open(&original, &writer);
	size_t size = compress_box(packed, sizeof(packed), &original);

	cr_assert_eq(open_bytes(packed, size, NULL, why), 0, "%s", why);
	for (size_t more = 1; more <= 16; more++) {
		packed[size + more - 1] = 'x';
		cr_expect_lt(open_bytes(packed, size + more, NULL, why), 0, "%zu bytes more", more);
		cr_expect(strstr(why, "damaged: its gzip data end early or are wrong"), "%s", why);
	}
}

Test(saved, a_box_that_gzip_packed_is_read_too_and_few_of_them_at_once)
{
	enum { BOXES = 12 };
	static unsigned char packed[1 << 20];
	static char zeros[64 << 20];
	struct box_reader original, copies[BOXES], again;
	struct box_writer writer;
	char why[160];
	int opened = 0;

	fixture_create(&writer);
	for (uint64_t i = 0; i < 40; i++)
		fixture_finish(&writer, fixture_operation(&writer, i, 100 + i));
	fixture_open(&original, &writer);
	size_t size = compress_box(packed, sizeof(packed), &original);

	cr_assert_eq(open_bytes(packed, size, &copies[0], why), 0, "%s", why);
	expect_same_operations(&original, &copies[0], 0, 40);
	box_reader_close(&copies[0]);

	/* 65 KB that unpack to the most that a box may have: 512 MiB of them, and not a byte more. */
	struct rw_box_header *header = (struct rw_box_header *)zeros;

	*header = original.header;
	header->total_size = sizeof(zeros);
	size = compress_into(packed, sizeof(packed), zeros, sizeof(zeros));
	cr_assert_lt(size, 100000);
	while (opened < BOXES && !open_bytes(packed, size, &copies[opened], why))
		opened++;
	cr_expect_eq(opened, 8);
	cr_expect_not_null(strstr(why, "too many such boxes are open"), "%s", why);
	box_reader_close(&copies[0]);
	cr_expect_eq(open_bytes(packed, size, &again, why), 0, "%s", why);
}

static long resident_kib(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[128];
	long kib = -1;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "VmRSS: %ld", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib;
}

/* By this process so far, as the kernel counts. */
static unsigned long bytes_read(void)
{
	unsigned long bytes;
	FILE *file = fopen("/proc/self/io", "r");

	cr_assert(file && fscanf(file, "rchar: %lu", &bytes) == 1);
	fclose(file);
	return bytes;
}

static void read_in_part(const struct box_reader *copy, uint64_t part)
{
	uint64_t parts_first = copy->header.ring_offset / PACKED_MEMBER + 1,
		 at = (parts_first + part) * PACKED_MEMBER + PACKED_MEMBER / 4;
	static struct rw_operation operation;
	enum box_slot state;

	cr_assert_eq(
	    box_reader_operations(copy, (at - copy->header.ring_offset) / sizeof(operation), 1, &operation, &state), 1);
	cr_assert_eq(state, BOX_SLOT_OK);
}

/* Three parts of the ring stay unpacked. */
Test(saved, the_part_that_was_not_read_for_longest_is_packed_again)
{
	struct box_writer writer;
	struct box_reader original, copy;

	fixture_create(&writer);
	for (uint64_t i = 0; i < SLOTS; i++)
		fixture_finish(&writer, fixture_operation(&writer, i, 100 + i));
	fixture_open(&original, &writer);
	save(&original, &copy);
	for (uint64_t part = 0; part < 4; part++)
		read_in_part(&copy, part);
	unsigned long before = bytes_read();

	for (uint64_t part = 3; part > 0; part--)
		read_in_part(&copy, part);
	cr_expect_lt(bytes_read() - before, 1000, "the last three are there");
	before = bytes_read();
	read_in_part(&copy, 0);
	cr_expect_gt(bytes_read() - before, 1000, "the first is not");
	box_reader_close(&original);
	box_reader_close(&copy);
}

Test(saved, hundreds_of_boxes_are_open_at_once_in_little_memory)
{
	enum { BOXES = 60 };
	static struct box_reader copies[BOXES];
	struct box_request request = { .directory = fixture_directory(),
				       .job = "test",
				       .local_ranks = 1,
				       .history_bytes = 8 << 20,
				       .root = "/nonexistent" };
	struct box_writer writer;
	struct box_reader original;
	char why[160];

	cr_assert_eq(box_writer_create(&writer, &request), 0);
	for (uint64_t i = 0; i < writer.ring_mask; i++)
		fixture_finish(&writer, fixture_operation(&writer, i, 100 + i * 7919));
	fixture_open(&original, &writer);
	save(&original, &copies[0]);
	long before_kib = resident_kib();
	int directory = open(fixture_directory(), O_RDONLY | O_DIRECTORY);

	for (int i = 1; i < BOXES; i++)
		cr_assert_eq(box_reader_open(&copies[i], directory, saved_name, geteuid(), why), 0, "%s", why);
	for (int i = 1; i < BOXES; i += 20)
		expect_same_operations(&original, &copies[i], writer.ring_mask - SLOTS, SLOTS);
	/* Unpacked they would be 240 MiB. */
	if (!SANITIZED)
		cr_expect_lt(resident_kib() - before_kib, 40 * 1024);
	for (int i = 0; i < BOXES; i++)
		box_reader_close(&copies[i]);
	close(directory);
}

Test(saved, a_saved_box_is_never_taken_for_one_that_is_written)
{
	struct box_reader original, copy, live;
	struct box_writer writer;
	char why[160], odd[] = "odd.rwbox";

	fixture_create(&writer);
	fixture_operation(&writer, 1, 100);
	fixture_open(&original, &writer);
	save(&original, &copy);
	int directory = open(fixture_directory(), O_RDONLY | O_DIRECTORY);

	cr_assert_eq(renameat(directory, saved_name, directory, odd), 0);
	cr_expect_eq(box_reader_open_live(&live, directory, odd, geteuid(), why), -EINVAL);
	cr_expect_not_null(strstr(why, "a saved box"), "%s", why);
	cr_expect_eq(live.fd, -1);
	close(directory);
	box_reader_close(&original);
	box_reader_close(&copy);
}

Test(saved, the_name_tells_rank_process_and_time_and_says_unknown_ranks_so)
{
	struct rw_box_header header = { .world_rank = 3, .pid = 4711, .created_realtime_ns = 1795219512000000000 };
	char name[BOX_SAVED_NAME];

	box_saved_name(&header, name);
	cr_expect_str_eq(name, "rank3-4711-20261121T000512Z.rwbox.gz");
	header.world_rank = 0;
	box_saved_name(&header, name);
	cr_expect_str_eq(name, "rank0-4711-20261121T000512Z.rwbox.gz");
	header.world_rank = -1;
	box_saved_name(&header, name);
	cr_expect_str_eq(name, "rankunknown-4711-20261121T000512Z.rwbox.gz");
	cr_expect(box_is_name(name));
	cr_expect(box_is_name("rank0-1.rwbox"));
	cr_expect_not(box_is_name("rank0-1.rwbox.bak"));
	cr_expect_not(box_is_name(".rwbox"));
}

Test(saved, a_copy_that_cannot_be_examined_is_refused_with_the_reason)
{
	struct packed *packed;
	char why[160] = "";

	cr_expect_eq(packed_open(&packed, -1, "rank3.box.gz", why), -EBADF);
	cr_expect_str_eq(why, "rank3.box.gz: Bad file descriptor");
	cr_expect_null(packed);
	cr_expect_eq(packed_open(&packed, -1, "rank3.box.gz", NULL), -EBADF);
}
