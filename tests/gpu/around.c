/* SPDX-License-Identifier: MIT */
/*
 * What it costs to see an operation's start and end on the GPU (marks.h), around an AllReduce and around nothing.
 *   gpu_around alone|two|hosts SECONDS REPEAT
 * SECONDS: for each operation on each GPU. REPEAT: operations between two looks at the clock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "marks.h"
#include "two_ranks.h"

enum { LARGE = 64 << 20, SMALL = 8 };

struct operation {
	const struct two_ranks *rank;
	CUdeviceptr send, receive;
	size_t bytes;
};

static double seconds;
static int repeat;

static void operate(void *argument)
{
	const struct operation *operation = argument;

	if (operation->bytes)
		NCCL_CHECK(ncclAllReduce((void *)operation->send, (void *)operation->receive,
					 operation->bytes / sizeof(float), ncclFloat, ncclSum, operation->rank->comm,
					 operation->rank->stream));
}

static void measure(struct marks *marks, struct two_ranks *rank, struct operation *operation, bool filled)
{
	char around[64] = "an empty stream";

	if (operation->bytes)
		snprintf(around, sizeof(around), "AllReduce of %zu bytes", operation->bytes);
	marks_begin(marks, operate, operation);
	two_ranks_begin(rank, seconds);
	while (!marks_are_full(marks) && two_ranks_again(rank))
		marks_turn(marks, filled, operate, operation);
	if (rank->number == 0)
		marks_print(marks, around, rank->size, filled);
}

static int be_rank(struct two_ranks *rank)
{
	static const size_t sizes[] = { 0, SMALL, LARGE };
	static struct marks marks;
	struct operation operation = { .rank = rank, .send = device_memory(LARGE), .receive = device_memory(LARGE) };

	marks_open(&marks, &rank->device, rank->stream, repeat);
	for (int filled = 0; filled < 2; filled++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			operation.bytes = sizes[i];
			measure(&marks, rank, &operation, filled);
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	seconds = argc == 4 ? strtod(argv[2], NULL) : 0;
	repeat = argc == 4 ? (int)strtol(argv[3], NULL, 10) : 0;
	if (seconds <= 0 || repeat <= 0) {
		fprintf(stderr, "usage: gpu_around alone|two|hosts SECONDS REPEAT\n");
		return 2;
	}
	return two_ranks_run(strcmp(argv[1], "alone") ? 2 : 1, !strcmp(argv[1], "hosts"), be_rank);
}
