/* SPDX-License-Identifier: MIT */
#include "crafted_box.h"

#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char directory[] = "/dev/shm/rankwatch-console-test-XXXXXX";
static pid_t owner;

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)type;
	(void)walk;
	return remove(path);
}

static void remove_directory(void)
{
	if (getpid() == owner)
		nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

const char *crafted_directory(void)
{
	cr_assert(mkdtemp(directory), "a directory in /dev/shm");
	owner = getpid();
	atexit(remove_directory);
	return directory;
}

void crafted_box(struct box_writer *writer, const char *where, const char *job, int32_t rank, uint64_t comm_id)
{
	struct box_request request = {
		.directory = where, .job = job, .rank = rank, .local_ranks = 1, .history_bytes = 1 << 20
	};
	struct rw_communicator *communicator;

	cr_assert_eq(box_writer_create(writer, &request), 0, "%s", writer->note);
	snprintf(writer->header->job, sizeof(writer->header->job), "%s", job);
	snprintf(writer->header->host, sizeof(writer->header->host), "host-a");
	writer->header->world_rank = rank;
	writer->header->world_size = 8;
	communicator = &writer->communicators[0];
	communicator->id = comm_id;
	snprintf(communicator->name, sizeof(communicator->name), "fsdp");
	communicator->rank = rank;
	communicator->nranks = 8;
	communicator->created_ns = 1; /* before its operations, whose times are made up */
	writer->header->comms_used = 1;
}

uint64_t crafted_operation(struct box_writer *writer, uint64_t sequence, uint32_t known)
{
	uint64_t ticket;
	struct rw_operation *slot = box_claim(writer, RW_OWNER_HOST, &ticket);

	cr_assert(slot);
	slot->function = RW_FUNCTION_ALL_GATHER;
	slot->dtype = RW_DTYPE_BFLOAT16;
	slot->count = 4194304;
	slot->sequence = sequence;
	slot->api_tid = 4711;
	slot->api_ns = 1000 * sequence;
	slot->launch_begin_ns = 1000 * sequence + 10;
	slot->scan_out.first_bad = UINT64_MAX;
	box_known(slot, known);
	box_publish(slot, ticket);
	return ticket;
}
