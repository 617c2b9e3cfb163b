/* SPDX-License-Identifier: MIT */
/*
 * AllReduces through the interposer's wrappers, over a NCCL and a driver that do nothing: what tests/bench/run counts
 * the instructions of. Linked behind the interposer, which is the order of a preload.
 *   wrapper_bench ABI CALLS ABI: of the callbacks that NCCL makes meanwhile; 0: none, the wrappers make the operations
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/null/null_nccl.h"
#include "tests/null/null_player.h"

enum { COUNT = 1 << 14 };

static float input[COUNT], output[COUNT];

int main(int argc, char **argv)
{
	void *comm;

	if (argc != 3) {
		fprintf(stderr, "usage: wrapper_bench ABI CALLS\n");
		return 2;
	}
	null_player_use((int)strtol(argv[1], NULL, 10));
	if (ncclCommInitRank(&comm, 8, (struct null_unique_id){ { 1 } }, 0) != 0 || !null_player_records()) {
		fprintf(stderr, "wrapper_bench: the interposer does not record\n");
		return 1;
	}
	for (long i = strtol(argv[2], NULL, 10); i > 0; i--)
		ncclAllReduce(input, output, COUNT, NULL_NCCL_FLOAT, NULL_NCCL_SUM, comm, NULL);
	return ncclCommDestroy(comm);
}
