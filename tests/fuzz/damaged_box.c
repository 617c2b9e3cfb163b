/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/damaged_box.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blackbox/writer.h"

#define MS UINT64_C(1000000)

enum { OPERATIONS = 40 };

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

	slot->function = RW_FUNCTION_ALL_REDUCE;
	slot->sequence = (uint64_t)i;
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
	writer.header->world_size = 2;
	for (uint64_t i = 0; i < 2; i++) {
		writer.communicators[i].id = 1 + i;
		writer.communicators[i].nranks = 2;
		writer.communicators[i].created_ns = (2 + i) * MS;
	}
	writer.header->comms_used = 2;
	for (int i = 0; i < OPERATIONS; i++)
		add_operation(i);
	add_samples();
	good = malloc(writer.size);
	memcpy(good, writer.map, writer.size);
}

/* Makes the changes of one kind. Returns where to cut the file, its size if not at all. */
static size_t write_changes(const uint8_t *data, size_t size, bool between_polls)
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

void damaged_box_change(const uint8_t *data, size_t size, bool between_polls)
{
	if (!good)
		make_box();
	if (ftruncate(writer.fd, (off_t)write_changes(data, size, between_polls)))
		abort();
}

void damaged_box_restore(void)
{
	if (ftruncate(writer.fd, (off_t)writer.size))
		abort();
	memcpy(writer.map, good, writer.size);
}

int damaged_box_open(struct box_reader *reader)
{
	char why[160] = "";
	int err = box_reader_open(reader, AT_FDCWD, writer.path, (uid_t)-1, why);

	/* Every refusal is a sentence. */
	if (err && (!strchr(why, ':') || reader->fd != -1))
		abort();
	return err;
}
