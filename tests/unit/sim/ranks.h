/* SPDX-License-Identifier: MIT */
/* Tests of the stand-in run their ranks as forked processes, one device each; a rank that fails says where and exits 1.
 */
#ifndef TEST_SIM_RANKS_H
#define TEST_SIM_RANKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include <cuda.h>
#include <nccl.h>

#define RANKS_MAX  16
#define DEADLINE_S 30 /* of whoever waits for others */

struct rank {
	int rank, nranks;
	ncclComm_t comm;
	CUstream stream;
	void *shared; /* zeroed memory that all ranks and the test share, SHARED_BYTES long */
};

#define SHARED_BYTES 65536

typedef void rank_main(struct rank *rank);

struct ranks {
	int count;
	pid_t pids[RANKS_MAX];
	void *shared;
};

/* Forks the ranks; each opens its device, a stream and the communicator before main runs. */
void ranks_start(struct ranks *ranks, int count, rank_main *main);
/* Waits for all; asserts that each exited 0. */
void ranks_join(struct ranks *ranks);
/* Both; also destroys the communicator in every rank. */
void ranks_run(int count, rank_main *main);

/* What ranks tell each other and the test: at the start of the shared memory. */
struct board {
	atomic_int ready, go;
	atomic_int arrived[8];
	ncclUniqueId id;
};

/* Checks that the value is at least that before a deadline. */
void wait_until(atomic_int *value, int least);
/* All ranks come here, for each number below 8 once. */
void wait_for_all(struct rank *rank, int number);

/* The first collective of all ranks, which connects them: later ones are enqueued without waiting for anybody. */
void connect_ranks(struct rank *rank);

uint64_t now_ns(void);
/* For a second, is there a fifth of it in which this process takes no processor time to speak of? Its threads may still
 * start in the others; who polls takes some in all. */
bool rests(void);

/* In a rank. */
#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                        \
			_Exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)
#define NCCL(call) CHECK((call) == ncclSuccess)
#define CU(call)   CHECK((call) == CUDA_SUCCESS)

void *device_alloc(size_t size);

#endif
