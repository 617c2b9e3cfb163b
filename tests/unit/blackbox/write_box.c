/* SPDX-License-Identifier: MIT */
/* Writes a small box, prints its path, and removes it when its input ends. Prints an empty line where there is none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blackbox/writer.h"

static void add_operation(struct box_writer *writer, uint64_t number, uint32_t known, uint32_t finished)
{
	uint64_t ticket;
	struct rw_operation *slot = box_claim(writer, RW_OWNER_HOST | RW_OWNER_GPU, &ticket);

	slot->function = RW_FUNCTION_ALL_GATHER;
	slot->count = 4096;
	slot->sequence = 100 + number;
	slot->api_ns = 5000 + number;
	box_known(slot, RW_KNOWN_IDENT | RW_KNOWN_API | known);
	box_publish(slot, ticket);
	box_release(slot, ticket, finished);
}

int main(void)
{
	static char directory[] = "/dev/shm/rankwatch-document-XXXXXX";
	struct box_request request = { .directory = directory, .job = "job-1", .history_bytes = 1 };
	struct box_writer writer;

	if (!mkdtemp(directory) || box_writer_create(&writer, &request) || *writer.note) {
		puts("");
		return 0;
	}
	strcpy(writer.header->host, "host-a");
	add_operation(&writer, 0, RW_KNOWN_DONE, RW_OWNER_PENDING);
	add_operation(&writer, 1, 0, RW_OWNER_PENDING);
	add_operation(&writer, 2, 0, 0);
	puts(writer.path);
	fflush(stdout);
	while (getchar() != EOF)
		;
	unlink(writer.path);
	rmdir(directory);
	return 0;
}
