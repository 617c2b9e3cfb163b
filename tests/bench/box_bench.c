// SPDX-License-Identifier: MIT
/* What one black-box update costs, and how fast a reader gets through a ring. Prints one JSON object. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blackbox/reader.h"
#include "blackbox/writer.h"
#include "tests/bench/stopwatch.h"

enum { ROUNDS = 200, PER_ROUND = 10000, BATCH = 1024 };

static void update(struct box_writer *writer, uint64_t sequence)
{
	uint64_t ticket;
	struct rw_operation *slot = box_claim(writer, RW_OWNER_HOST, &ticket);

	if (!slot)
		return;
	slot->function = RW_FUNCTION_ALL_REDUCE;
	slot->count = 1024;
	slot->sequence = sequence;
	slot->api_ns = sequence; /* no clock: the update alone is measured */
	box_known(slot, RW_KNOWN_IDENT | RW_KNOWN_API);
	box_publish(slot, ticket);
	box_release(slot, ticket, RW_OWNER_HOST);
}

/* Median ns of one claim, fill, publish, release. */
static double measure_claims(struct box_writer *writer)
{
	static double rounds[ROUNDS];
	uint64_t sequence = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin = stopwatch_now();

		for (int i = 0; i < PER_ROUND; i++)
			update(writer, sequence++);
		rounds[round] = (double)(stopwatch_now() - begin) / PER_ROUND;
	}
	return stopwatch_median(rounds, ROUNDS);
}

/* Median ns of one later update: a field and its known bit in a slot that is in flight. */
static double measure_updates(struct box_writer *writer)
{
	static double rounds[ROUNDS];
	uint64_t tickets[BATCH];

	for (int i = 0; i < BATCH; i++) {
		struct rw_operation *slot = box_claim(writer, RW_OWNER_HOST, &tickets[i]);

		box_publish(slot, tickets[i]);
	}
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t begin = stopwatch_now();

		for (int i = 0; i < PER_ROUND; i++) {
			struct rw_operation *slot = box_slot(writer, tickets[i % BATCH]);

			slot->return_ns = (uint64_t)i;
			box_known(slot, RW_KNOWN_RETURN);
		}
		rounds[round] = (double)(stopwatch_now() - begin) / PER_ROUND;
	}
	for (int i = 0; i < BATCH; i++)
		box_release(box_slot(writer, tickets[i]), tickets[i], RW_OWNER_HOST);
	return stopwatch_median(rounds, ROUNDS);
}

/* Million slots a second, copied and checked. */
static double measure_reader(const char *path)
{
	static struct rw_operation slots[BATCH];
	enum box_slot states[BATCH];
	struct box_reader reader;
	char why[160];
	uint64_t read = 0, begin;

	if (box_reader_open(&reader, AT_FDCWD, path, (uid_t)-1, why)) {
		fprintf(stderr, "box_bench: %s\n", why);
		exit(1);
	}
	begin = stopwatch_now();
	for (int pass = 0; pass < 20; pass++) {
		uint64_t first = reader.header.head - reader.header.ring_slots;

		for (uint64_t at = 0; at < reader.header.ring_slots; at += BATCH)
			read += (uint64_t)box_reader_operations(&reader, first + at, BATCH, slots, states);
	}
	double seconds = (double)(stopwatch_now() - begin) / 1e9;

	box_reader_close(&reader);
	return (double)read / seconds / 1e6;
}

int main(void)
{
	char directory[] = "/dev/shm/rankwatch-bench-XXXXXX";
	struct box_writer writer;
	int err;

	if (!mkdtemp(directory)) {
		perror("box_bench: /dev/shm");
		return 1;
	}
	err = box_writer_create(&writer, &(struct box_request){ .directory = directory, .job = "bench", .local_ranks = 1 });
	if (err || !writer.path[0]) {
		fprintf(stderr, "box_bench: no black box: %s\n", err ? strerror(-err) : writer.note);
		return 1;
	}
	double claim = measure_claims(&writer), later = measure_updates(&writer);

	printf("{\"bench\":\"box\",\"ring_slots\":%u,\"claim_to_release_ns\":%.1f,\"slot_update_ns\":%.1f,"
	       "\"reader_million_slots_s\":%.2f}\n",
	       writer.header->ring_slots, claim, later, measure_reader(writer.path));
	unlink(writer.path);
	box_writer_close(&writer);
	rmdir(directory);
	return 0;
}
