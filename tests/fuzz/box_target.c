/* SPDX-License-Identifier: MIT */
/*
 * The reader and the feed against a damaged box. The input is not a box (900 KiB) but a list of changes to a good one:
 *
 *   u8   bit 7: made between two polls, else before the box is opened; bits 0-6: length, 0 = cut the file at offset
 *   u32  offset, little endian, taken modulo the size of the file
 *   u8[] the new bytes
 *
 * tests/fuzz/seeds.py writes the kept corpus.
 */
#include "tests/fuzz/box_target.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blackbox/writer.h"
#include "feed/feed.h"
#include "tests/fuzz/doubting_analysis.h"

#define MS UINT64_C(1000000)

enum { POLLS = 3, OPERATIONS = 40 };

static struct box_writer writer;
static char *good; /* bytes of the undamaged box */

static void remove_box(void)
{
	char *slash = strrchr(writer.path, '/');

	unlink(writer.path);
	*slash = '\0';
	rmdir(writer.path);
}

/* Operation number i: some enqueued, some finished, the first for ever in flight. */
static void add_operation(int i)
{
	uint64_t ticket;
	struct rw_operation *slot = box_claim(&writer, RW_OWNER_HOST | RW_OWNER_GPU, &ticket);

	slot->api_ns = (10 + (uint64_t)i) * MS;
	slot->progress = ticket;
	slot->launch_end_ns = slot->api_ns + MS;
	slot->return_ns = slot->api_ns + 2 * MS;
	slot->started_seen_ns = slot->api_ns + 3 * MS;
	slot->done_seen_ns = slot->api_ns + 4 * MS;
	box_known(slot, RW_KNOWN_IDENT | RW_KNOWN_API);
	box_publish(slot, ticket);
	if (i % 8 == 0)
		return;
	box_known(slot, RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_STARTED | RW_KNOWN_DONE);
	box_release(slot, ticket, RW_OWNER_PENDING);
}

static void add_samples(void)
{
	struct rw_host_sample sample = { .monotonic_ns = 20 * MS, .tid = 7, .fd = 3, .kind = RW_SAMPLE_THREAD };

	strcpy(sample.text, "python-main");
	box_writer_sample(&writer, &sample);
	sample.kind = RW_SAMPLE_FILE;
	strcpy(sample.text, "/mnt/slow/events");
	box_writer_sample(&writer, &sample);
	sample.kind = RW_SAMPLE_STATE;
	sample.state = 'D';
	box_writer_sample(&writer, &sample);
}

static void make_box(void)
{
	static char directory[] = "/dev/shm/rankwatch-fuzz-XXXXXX";
	struct box_request request = { .directory = directory, .job = "fuzz", .history_bytes = 1 };

	if (!mkdtemp(directory) || box_writer_create(&writer, &request) || !*writer.path) {
		fprintf(stderr, "skipped: no box in /dev/shm: %s\n", writer.note);
		exit(77);
	}
	atexit(remove_box);
	writer.header->created_ns = MS;
	writer.header->drain_ns = 100 * MS;
	writer.communicators[0].born_ns = 2 * MS;
	writer.communicators[1].born_ns = 3 * MS;
	writer.header->comms_used = 2;
	for (int i = 0; i < OPERATIONS; i++)
		add_operation(i);
	add_samples();
	good = malloc(writer.size);
	memcpy(good, writer.map, writer.size);
}

/* Makes the changes of one kind. Returns where to cut the file, its size if not at all. */
static size_t change(const uint8_t *data, size_t size, bool between_polls)
{
	size_t cut = writer.size;

	while (size >= 5) {
		size_t length = data[0] & 127;
		uint32_t offset;

		memcpy(&offset, data + 1, sizeof(offset));
		offset %= (uint32_t)writer.size;
		if (length > size - 5)
			length = size - 5;
		if (data[0] >> 7 == between_polls && !(data[0] & 127))
			cut = offset;
		else if (data[0] >> 7 == between_polls)
			memcpy((char *)writer.map + offset, data + 5,
			       length < writer.size - offset ? length : writer.size - offset);
		data += 5 + length;
		size -= 5 + length;
	}
	return cut;
}

static void restore(void)
{
	if (ftruncate(writer.fd, (off_t)writer.size))
		abort();
	memcpy(writer.map, good, writer.size);
}

static struct feed *open_feed(analysis_process_id id)
{
	struct box_reader reader;
	char why[160] = "";

	if (!box_reader_open(&reader, AT_FDCWD, writer.path, (uid_t)-1, why))
		return feed_new(doubting_analysis(), id, &reader);
	/* Every refusal is a sentence. */
	if (!strchr(why, ':') || reader.fd != -1)
		abort();
	return NULL;
}

static void poll_changing(struct feed *feed, const uint8_t *data, size_t size)
{
	for (uint64_t poll = 0; poll < POLLS; poll++) {
		if (feed_poll(feed, (200 + 800 * poll) * MS) < 0)
			break;
		if (ftruncate(writer.fd, (off_t)change(data, size, true)))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!good)
		make_box();
	if (ftruncate(writer.fd, (off_t)change(data, size, false)))
		abort();

	struct feed *live = open_feed(1), *dead[] = { open_feed(2), open_feed(3) };

	if (dead[0] && dead[1])
		feed_replay(dead, 2, doubting_analysis());
	if (live)
		poll_changing(live, data, size);
	feed_free(live);
	feed_free(dead[0]);
	feed_free(dead[1]);
	restore();
	return 0;
}
