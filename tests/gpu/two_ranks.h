/* SPDX-License-Identifier: MIT */
/* Two processes with one communicator, on one GPU where there is only one. */
#ifndef TESTS_GPU_TWO_RANKS_H
#define TESTS_GPU_TWO_RANKS_H

#include <nccl.h>
#include <stdbool.h>
#include <stdint.h>

#include "device.h"

enum { TWO_RANKS_LIMIT_S = 120 }; /* a rank that is still there then is killed by SIGALRM */

struct two_ranks_board;

struct two_ranks {
	int number, size;
	struct device device;
	CUstream stream;
	ncclComm_t comm;
	struct two_ranks_board *board; /* shared by the processes */
	unsigned int turns;
	uint64_t end_ns;
};

/*
 * Starts the ranks (alone: one rank, in a process all the same), each with a communicator and RANK, LOCAL_RANK,
 * WORLD_SIZE in its environment; hosts: each claims a host of its own, by which NCCL lets two ranks have one device.
 * Returns the exit status: 0 when both ranks returned 0.
 */
int two_ranks_run(int size, bool hosts, int (*be_rank)(struct two_ranks *self));

/* The same without a communicator, until be_rank makes it by two_ranks_connect(). */
int two_ranks_run_apart(int size, bool hosts, int (*be_rank)(struct two_ranks *self));
void two_ranks_connect(struct two_ranks *self);

/* again: both ranks begin another turn, in which they call NCCL, or neither: `seconds` after rank 0's begin it ends. */
void two_ranks_begin(struct two_ranks *self, double seconds);
bool two_ranks_again(struct two_ranks *self);

void two_ranks_need(ncclResult_t result, const char *what);
#define NCCL_CHECK(call) two_ranks_need(call, #call)

#endif
