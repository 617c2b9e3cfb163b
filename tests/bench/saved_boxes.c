/* SPDX-License-Identifier: MIT */
/*
 * Makes the saved boxes of a large job, so that reading them can be measured: saved_boxes DIRECTORY RANKS OPERATIONS.
 * Each rank's box has the largest ring; ranks call 20 collectives a step of 200 ms on one communicator, each at a
 * moment of its own. Every 8 ranks are on a machine of their own, whose CLOCK_MONOTONIC is ahead by 1,000 s of that of
 * the one before and gains 5 parts per million on it, within 50.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blackbox/saved.h"
#include "blackbox/writer.h"

enum { STEP = 20, PLACE_NS = 10000000, LATE_NS = 1 << 20 };

static uint64_t random_below(uint64_t *state, uint64_t limit)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*state >> 33) % limit;
}

/* What the machine's clock shows at this moment. */
static uint64_t shown(int machine, uint64_t ns)
{
	return ns + (uint64_t)machine * UINT64_C(1000000000000) + ns / 1000000 * 5 * (uint64_t)(machine % 10);
}

static void record(struct box_writer *writer, int machine, uint64_t number, uint64_t late_ns)
{
	uint64_t ticket, start_ns = shown(machine, UINT64_C(1000000000) + number * PLACE_NS);
	uint64_t at_ns = start_ns + late_ns, begin_ns = start_ns + LATE_NS;
	struct rw_operation *slot = box_claim(writer, RW_OWNER_HOST | RW_OWNER_GPU, &ticket);

	if (!slot)
		return;
	slot->function = RW_FUNCTION_ALL_REDUCE;
	slot->dtype = RW_DTYPE_BFLOAT16;
	slot->count = (number % STEP + 1) << 16;
	slot->sequence = number;
	slot->api_tid = 4711;
	slot->api_ns = at_ns;
	slot->launch_begin_ns = at_ns + 5000;
	slot->launch_end_ns = at_ns + 9000;
	slot->return_ns = at_ns + 12000;
	slot->progress = number + 1;
	slot->send_address = UINT64_C(0x7f0000000000) + (number % STEP << 24);
	slot->recv_address = slot->send_address + (1 << 23);
	slot->gpu_source = RW_GPU_SOURCE_WATERMARK;
	slot->started_seen_ns = at_ns + 20000;
	slot->done_seen_ns = begin_ns + 2000000 + late_ns / 7;
	box_known(slot, RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_TASK | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN |
			    RW_KNOWN_STARTED | RW_KNOWN_DONE);
	box_publish(slot, ticket);
	box_release(slot, ticket, RW_OWNER_HOST);
	box_release(slot, ticket, RW_OWNER_GPU);
	writer->header->drain_ns = slot->done_seen_ns;
}

static int make(int directory, int rank, int ranks, uint64_t operations)
{
	struct box_request request = {
		.job = "saved-boxes", .rank = rank, .local_ranks = 1, .history_bytes = UINT64_C(64) << 20
	};
	uint64_t state = (uint64_t)rank + 1;
	int machine = rank / 8;
	struct box_writer writer;
	struct box_reader reader;
	char name[BOX_SAVED_NAME], why[160] = "";

	if (box_writer_create(&writer, &request)) {
		fprintf(stderr, "saved_boxes: %s\n", writer.note);
		return 1;
	}
	snprintf(writer.header->host, sizeof(writer.header->host), "node-%d", machine);
	snprintf(writer.header->boot_id, sizeof(writer.header->boot_id), "%08d-0000-0000-0000-000000000000", machine);
	writer.header->pid = 100000 + (uint32_t)rank;
	writer.header->start_time_ticks = 1;
	writer.header->world_rank = rank;
	writer.header->world_size = ranks;
	writer.header->end = RW_BOX_EXITED;
	writer.header->created_ns = shown(machine, 900000000);
	writer.header->devices[0] = (struct rw_device){ .ordinal = rank % 8, .used = 1 };
	writer.communicators[0].id = 0xfeed;
	writer.communicators[0].rank = rank;
	writer.communicators[0].nranks = ranks;
	writer.communicators[0].nnodes = (ranks + 7) / 8;
	writer.communicators[0].created_ns = shown(machine, 950000000);
	writer.header->comms_used = 1;
	for (uint64_t i = 0; i < operations; i++)
		record(&writer, machine, i, random_below(&state, LATE_NS));
	writer.communicators[0].api_count = operations;
	writer.communicators[0].launched = operations;
	writer.gpu[0].gpu_started = writer.gpu[0].gpu_done = operations;

	int err = box_reader_open(&reader, AT_FDCWD, writer.path, geteuid(), why);

	if (!err) {
		box_saved_name(&reader.header, name);
		err = box_save(&reader, directory, name, why);
		box_reader_close(&reader);
	}
	if (err)
		fprintf(stderr, "saved_boxes: %s\n", why);
	unlink(writer.path);
	box_writer_close(&writer);
	return err != 0;
}

int main(int argc, char **argv)
{
	int directory = argc == 4 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (directory < 0) {
		fprintf(stderr, "usage: saved_boxes DIRECTORY RANKS OPERATIONS\n");
		return 2;
	}
	for (int rank = 0; rank < atoi(argv[2]); rank++)
		if (make(directory, rank, atoi(argv[2]), strtoull(argv[3], NULL, 10)))
			return 1;
	return 0;
}
