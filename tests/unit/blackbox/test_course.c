/* SPDX-License-Identifier: MIT */
/*
 * What is read of black boxes that are drawn from numbers, live and from their saved copies, in runs that begin and end
 * anywhere: at the end of a ring, of a table, of a chunk, or behind it. One line for each look, with a number that is
 * made of all that was read. Other tests say what must be so; this one that nothing changes unnoticed. A change that is
 * meant: `ninja -C build box-courses`. With COURSES_SHOWN=FILE what was read lies there in full.
 */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blackbox/saved.h"
#include "tests/kept_text.h"
#include "tests/unit/blackbox/fixture.h"

enum { BOXES = 10, LOOKS = 8, READS = 12, SLOTS = 300 };

static struct box_writer writer;
static uint64_t state;
static FILE *out, *read_; /* what is kept; what was read since the last line */
static char *text, *words;
static size_t text_size, words_size;

TestSuite(box_course, .fini = fixture_remove);

static uint32_t draw(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % below;
}

static void claim(void)
{
	uint64_t ticket;
	struct rw_operation *slot = box_claim(&writer, 1 + draw(RW_OWNER_PENDING), &ticket);

	if (!slot)
		return;
	slot->comm = (uint16_t)draw(1024);
	slot->count = draw(1000);
	slot->api_ns = ticket * 1000;
	slot->scan_out.lane_sum = draw(1000); /* the last bytes of a slot */
	box_known(slot, 1 + draw(2047));
	if (draw(40) == 0)
		return; /* it is never published */
	box_publish(slot, ticket);
	if (draw(6))
		box_release(slot, ticket, RW_OWNER_PENDING);
	else
		box_release(slot, ticket, draw(RW_OWNER_PENDING));
}

/* One of the last turns of the ring, its last owner included. */
static void go_on(void)
{
	uint64_t head = writer.header->head, ticket = head > 2000 ? head - draw(2000) : draw((uint32_t)head + 2);
	struct rw_operation *slot = box_slot(&writer, ticket);
	uint32_t bit = 1u << draw(5);

	if (!slot)
		return;
	switch (draw(3)) {
	case 0: fprintf(out, "%d", box_hold(slot, ticket, bit)); break;
	case 1: box_release(slot, ticket + (draw(4) == 0), bit); break;
	default: box_known(slot, bit << draw(8));
	}
}

static void act(void)
{
	static const uint32_t bursts[] = {
		1, 7, 127, 128, 129, 600, RW_BOX_RING_MIN - 1, RW_BOX_RING_MIN, RW_BOX_RING_MIN + 1, 2500
	};
	uint32_t claims = bursts[draw(10)], samples = draw(4) ? draw(700) : RW_BOX_SAMPLES - 2 + draw(5);

	for (uint32_t i = 0; i < claims; i++)
		claim();
	for (uint32_t i = draw(60); i; i--)
		go_on();
	for (uint32_t i = 0; i < samples; i++) {
		struct rw_host_sample sample = { .monotonic_ns = 1 + draw(100000) };

		sample.tid = draw(50);
		sample.kind = (uint8_t)draw(4);
		sample.fd = (int32_t)draw(9);
		snprintf(sample.text, sizeof(sample.text), "%u", draw(100000));
		box_writer_sample(&writer, &sample);
	}
	for (uint32_t i = draw(40); i; i--) {
		struct rw_communicator *entry = &writer.communicators[draw(3) ? draw(40) : RW_BOX_COMMS - 1 - draw(40)];

		entry->id = draw(1000);
		entry->created_ns = draw(9) * 1000;
		int letter = 'a' + (int)draw(26);
		memset(entry->name, letter, draw(sizeof(entry->name) + 1));
	}
	for (uint32_t i = draw(20); i; i--) {
		struct rw_gpu_progress *page = &writer.gpu[draw(3) ? draw(40) : RW_BOX_COMMS - 1 - draw(40)];

		page->gpu_started += draw(50);
	}
	for (uint32_t i = draw(20); i; i--) {
		struct rw_wait *wait = &writer.waits[draw(3) ? draw(40) : RW_BOX_WAITS - 1 - draw(40)];

		*wait = (struct rw_wait){ .key = RW_WAIT_USED | draw(99) };
		wait->network_ns = draw(999);
		wait->flush_us = draw(99);
	}
	if (draw(3) == 0) {
		uint64_t oldest = writer.header->head - draw(draw(2) ? 255 : 1025);

		if (draw(8) == 0)
			oldest = writer.header->head - RW_BOX_RING_MIN / 4 - draw(2);
		uint32_t expired = box_writer_expire(&writer, oldest);

		fprintf(out, "expired %u, ", expired);
	}
}

/* Where a run begins, and how long it is: around what a table holds, a look at communicators (16) and a chunk (128
 * operations). */
static void drawn_run(uint32_t slots, uint32_t *first, uint32_t *room)
{
	static const uint32_t rooms[] = { 0, 1, 15, 16, 17, 127, 128, 129, 255, SLOTS };

	*room = draw(3) ? draw(SLOTS) : rooms[draw(10)];
	*first = draw(2) ? draw(slots) : slots - draw(3) * (*room / 2);
	*first += draw(3);
	*first -= *first > 0;
}

static void read_operations(const struct box_reader *reader)
{
	static struct rw_operation slots[SLOTS];
	enum box_slot states[SLOTS];
	uint32_t first, room;
	uint64_t head = reader->header.head;

	drawn_run(RW_BOX_RING_MIN, &first, &room);
	uint64_t number = head > RW_BOX_RING_MIN && draw(8) ? head - RW_BOX_RING_MIN + first : first;
	int got = box_reader_operations(reader, number, room, slots, states);

	fprintf(read_, "operations %lu, %u: %d\n", number, room, got);
	for (int i = 0; i < got; i++) {
		fprintf(read_, "%d", states[i]);
		if (states[i] == BOX_SLOT_OK || states[i] == BOX_SLOT_OLDER)
			fprintf(read_, " %lu %x %x %x %u %lu %lu %lu", slots[i].ticket, slots[i].known, slots[i].owner,
				slots[i].flags, slots[i].comm, slots[i].count, slots[i].api_ns,
				slots[i].scan_out.lane_sum);
		fprintf(read_, "\n");
	}
}

static void read_samples(const struct box_reader *reader)
{
	static struct rw_host_sample samples[SLOTS];
	enum box_slot states[SLOTS];
	uint32_t first, room;
	uint64_t head = reader->header.samples_head;

	drawn_run(RW_BOX_SAMPLES, &first, &room);
	uint64_t number = head > RW_BOX_SAMPLES && draw(8) ? head - RW_BOX_SAMPLES + first : first;
	int got = box_reader_samples(reader, number, room, samples, states);

	fprintf(read_, "samples %lu, %u: %d\n", number, room, got);
	for (int i = 0; i < got; i++)
		if (states[i] == BOX_SLOT_OK)
			fprintf(read_, "%lu %u %u %d %.24s\n", samples[i].monotonic_ns, samples[i].tid, samples[i].kind,
				samples[i].fd, samples[i].text);
		else
			fprintf(read_, "%d\n", states[i]);
}

/* Also as a feed reads them again: some are known as they are, some as they were. */
static void read_communicators(const struct box_reader *reader)
{
	static struct rw_communicator known[SLOTS], entries[SLOTS];
	uint32_t first, room;

	drawn_run(RW_BOX_COMMS, &first, &room);
	int got = box_reader_communicators(reader, first, room, known);

	fprintf(read_, "communicators %u, %u: %d\n", first, room, got);
	for (int i = 0; i < got; i++)
		fprintf(read_, "%lu %s %lu\n", known[i].id, known[i].name, known[i].created_ns);
	if (got < 0)
		return;
	memcpy(entries, known, sizeof(entries));
	if (got && draw(2))
		known[draw((uint32_t)got)].created_ns++;
	if (got && draw(2))
		known[draw((uint32_t)got)].id++;
	fprintf(read_, "again: %d\n", box_reader_communicators_again(reader, first, room, known, entries));
	for (int i = 0; i < got; i++)
		fprintf(read_, "%lu %s %lu\n", entries[i].id, entries[i].name, entries[i].created_ns);
}

static void read_tables(const struct box_reader *reader)
{
	static struct rw_gpu_progress progress[SLOTS];
	static struct rw_wait waits[SLOTS];
	uint32_t first, room;

	drawn_run(RW_BOX_COMMS, &first, &room);
	int got = box_reader_progress(reader, first, room, progress);

	fprintf(read_, "progress %u, %u: %d\n", first, room, got);
	for (int i = 0; i < got; i++)
		fprintf(read_, "%lu ", progress[i].gpu_started);
	drawn_run(RW_BOX_WAITS, &first, &room);
	got = box_reader_waits(reader, first, room, waits);
	fprintf(read_, "\nwaits %u, %u: %d\n", first, room, got);
	for (int i = 0; i < got; i++)
		fprintf(read_, "%lx %lu %u ", waits[i].key, waits[i].network_ns, waits[i].flush_us);
}

/* Bytes anywhere, those at the box's end and behind it included. */
static void read_bytes(const struct box_reader *reader)
{
	char bytes[512];
	uint64_t size = reader->header.total_size;
	uint64_t at =
	    draw(2) ? size - draw(2 * sizeof(bytes)) : RW_BOX_HEADER_SIZE + draw((uint32_t)size - RW_BOX_HEADER_SIZE);
	size_t count = draw(sizeof(bytes) + 1);
	int err = box_reader_bytes(reader, bytes, count, at);

	fprintf(read_, "bytes %lu, %zu: %d\n", at, count, err);
	for (size_t i = 0; !err && i < count; i++)
		fprintf(read_, "%02x", (unsigned char)bytes[i]);
}

static uint64_t number_of_read(void)
{
	const char *path = getenv("COURSES_SHOWN");
	FILE *shown = path ? fopen(path, "ae") : NULL;
	uint64_t number = 14695981039346656037u;

	fclose(read_);
	for (size_t i = 0; i < words_size; i++)
		number = (number ^ (unsigned char)words[i]) * 1099511628211u;
	if (shown) {
		fputs(words, shown);
		fclose(shown);
	}
	free(words);
	return number;
}

static void look(const struct box_reader *reader, const char *what)
{
	static void (*const reads[])(const struct box_reader *) = { read_operations,    read_operations, read_samples,
								    read_communicators, read_tables,     read_bytes };

	read_ = open_memstream(&words, &words_size);
	cr_assert(read_);
	for (int i = 0; i < READS; i++)
		reads[draw(sizeof(reads) / sizeof(*reads))](reader);
	fprintf(out, "%s: head %lu, dropped %lu, samples %lu, expired %lu: %016lx\n", what, reader->header.head,
		reader->header.dropped, reader->header.samples_head, reader->header.untracked[RW_UNTRACKED_EXPIRED],
		number_of_read());
}

static void look_at_copy(struct box_reader *reader)
{
	int directory = open(fixture_directory(), O_RDONLY | O_DIRECTORY);
	struct box_reader copy;
	char why[160] = "";

	cr_assert_eq(box_save(reader, directory, "saved.rwbox.gz", why), 0, "%s", why);
	cr_assert_eq(box_reader_open(&copy, directory, "saved.rwbox.gz", (uid_t)-1, why), 0, "%s", why);
	look(&copy, "its copy");
	box_reader_close(&copy);
	close(directory);
}

static void compare(const char *name)
{
	fclose(out);
	kept_text_compare(COURSES, name, text, "ninja -C build box-courses");
	free(text);
}

Test(box_course, of_boxes_that_are_read, .timeout = 60)
{
	out = open_memstream(&text, &text_size);
	for (uint32_t number = 0; number < BOXES; number++) {
		struct box_reader reader;

		state = number + 1;
		fixture_create(&writer);
		fixture_open(&reader, &writer);
		fprintf(out, "box %u\n", number);
		for (int i = 0; i < LOOKS; i++) {
			act();
			cr_assert_eq(box_reader_refresh(&reader), 0);
			look(&reader, "box");
			if (i % 3 == 0)
				look_at_copy(&reader);
		}
		box_reader_close(&reader);
		box_writer_close(&writer);
	}
	compare("boxes");
}
