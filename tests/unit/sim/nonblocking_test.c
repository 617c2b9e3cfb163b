/* SPDX-License-Identifier: MIT */
/* Communicators with config.blocking = 0: calls return ncclInProgress and go on behind the caller. */
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "ranks.h"

#define RANKS 3

TestSuite(nonblocking, .timeout = 90);

static ncclConfig_t nonblocking(void)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

	config.blocking = 0;
	return config;
}

static ncclResult_t state_of(ncclComm_t comm)
{
	ncclResult_t state;

	NCCL(ncclCommGetAsyncError(comm, &state));
	return state;
}

/* What a program does after every call: polls until the state is no longer "in progress". */
static ncclResult_t settle(ncclComm_t comm)
{
	uint64_t until = now_ns() + DEADLINE_S * 1000000000ull;
	ncclResult_t state;

	while ((state = state_of(comm)) == ncclInProgress) {
		CHECK(now_ns() < until);
		usleep(1000);
	}
	return state;
}

static bool went_on(ncclResult_t result)
{
	return result == ncclSuccess || result == ncclInProgress;
}

static ncclUniqueId new_id(struct rank *rank)
{
	struct board *board = rank->shared;

	if (rank->rank == 0)
		NCCL(ncclGetUniqueId(&board->id));
	wait_for_all(rank, 0);
	return board->id;
}

static ncclComm_t open_nonblocking(struct rank *rank)
{
	ncclConfig_t config = nonblocking();
	ncclUniqueId id = new_id(rank);
	ncclComm_t comm;

	CHECK(went_on(ncclCommInitRankConfig(&comm, rank->nranks, id, rank->rank, &config)));
	NCCL(settle(comm));
	return comm;
}

static void init_main(struct rank *rank)
{
	ncclConfig_t config = nonblocking();
	struct board *board = rank->shared;
	ncclUniqueId id = new_id(rank);
	float *buffer = device_alloc(sizeof(float));
	ncclComm_t comm;
	int count = 0;

	if (rank->rank == 0)
		wait_until(&board->ready, rank->nranks - 1);
	ncclResult_t result = ncclCommInitRankConfig(&comm, rank->nranks, id, rank->rank, &config);
	CHECK(went_on(result));
	if (rank->rank != 0) {
		/* Rank 0 has not come, so nothing can be done yet. */
		CHECK(result == ncclInProgress && state_of(comm) == ncclInProgress);
		CHECK(ncclCommCount(comm, &count) == ncclInvalidArgument);
		CHECK(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, comm, rank->stream) ==
		      ncclInvalidArgument);
		CHECK(strstr(ncclGetLastError(NULL), "before the previous operation"));
		CHECK(ncclCommDestroy(comm) == ncclInvalidArgument);
		atomic_fetch_add(&board->ready, 1);
	}
	NCCL(settle(comm));
	NCCL(ncclCommCount(comm, &count));
	CHECK(count == rank->nranks);
	*buffer = 1;
	CHECK(went_on(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, comm, rank->stream)));
	NCCL(settle(comm));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(*buffer == (float)rank->nranks);
	CHECK(went_on(ncclCommFinalize(comm)));
	NCCL(settle(comm));
	NCCL(ncclCommDestroy(comm));
}

Test(nonblocking, an_init_that_waits_for_a_late_rank_is_in_progress_and_the_communicator_unusable)
{
	ranks_run(RANKS, init_main);
}

static void group_main(struct rank *rank)
{
	ncclComm_t comm = open_nonblocking(rank);
	float *buffer = device_alloc(2 * sizeof(float));

	buffer[0] = buffer[1] = 2;
	NCCL(ncclGroupStart());
	NCCL(ncclAllReduce(&buffer[0], &buffer[0], 1, ncclFloat32, ncclSum, comm, rank->stream));
	NCCL(ncclAllReduce(&buffer[1], &buffer[1], 1, ncclFloat32, ncclMax, comm, rank->stream));
	CHECK(ncclGroupEnd() == ncclInProgress);
	NCCL(settle(comm));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(buffer[0] == (float)(2 * rank->nranks) && buffer[1] == 2);
	NCCL(ncclCommDestroy(comm));
}

Test(nonblocking, a_group_is_launched_behind_its_end)
{
	ranks_run(RANKS, group_main);
}

static void children_main(struct rank *rank)
{
	ncclComm_t comm = open_nonblocking(rank), split = NULL, shrunk = NULL;
	int last = rank->nranks - 1, size = 0;

	CHECK(went_on(ncclCommSplit(comm, rank->rank == last ? NCCL_SPLIT_NOCOLOR : 0, 0, &split, NULL)));
	NCCL(settle(comm));
	CHECK(!split == (rank->rank == last));
	if (rank->rank != last) {
		NCCL(ncclCommCount(split, &size));
		CHECK(size == rank->nranks - 1);
		CHECK(went_on(ncclCommShrink(comm, &last, 1, &shrunk, NULL, NCCL_SHRINK_DEFAULT)));
		NCCL(settle(comm));
		NCCL(ncclCommCount(shrunk, &size));
		CHECK(size == rank->nranks - 1);
		NCCL(ncclCommDestroy(split));
		NCCL(ncclCommDestroy(shrunk));
	}
	NCCL(ncclCommDestroy(comm));
}

Test(nonblocking, children_are_there_once_the_parent_has_settled)
{
	ranks_run(RANKS, children_main);
}

static void abort_init_main(struct rank *rank)
{
	ncclConfig_t config = nonblocking();
	struct board *board = rank->shared;
	ncclUniqueId id = new_id(rank);
	ncclComm_t comm;

	if (rank->rank == 0) {
		/* It serves the id: were it gone, their inits would fail instead of waiting. */
		wait_until(&board->ready, rank->nranks - 1);
		return;
	}
	CHECK(ncclCommInitRankConfig(&comm, rank->nranks, id, rank->rank, &config) == ncclInProgress);
	NCCL(ncclCommAbort(comm));
	atomic_fetch_add(&board->ready, 1);
}

Test(nonblocking, abort_ends_an_init_whose_last_rank_never_comes)
{
	ranks_run(RANKS, abort_init_main);
}

/* A name that nobody serves any more: the error is the state, and only abort takes the communicator. */
static void failed_init_main(struct rank *rank)
{
	ncclConfig_t config = nonblocking();
	ncclUniqueId id = { { 0 } };
	ncclComm_t comm;

	/* The answer may be the state before or after the failure. */
	CHECK(ncclCommInitRankConfig(&comm, 2, id, rank->rank, &config) != ncclSuccess);
	CHECK(settle(comm) == ncclInvalidArgument);
	CHECK(ncclCommDestroy(comm) == ncclInvalidArgument);
	NCCL(ncclCommAbort(comm));
}

Test(nonblocking, the_error_of_a_failed_init_is_the_state)
{
	ranks_run(1, failed_init_main);
}

static void mixed_main(struct rank *rank)
{
	ncclConfig_t config = nonblocking();
	ncclUniqueId id = new_id(rank);
	ncclComm_t comm, other;

	NCCL(ncclGroupStart());
	NCCL(ncclCommSplit(rank->comm, 0, 0, &other, NULL));
	CHECK(ncclCommInitRankConfig(&comm, rank->nranks, id, rank->rank, &config) == ncclInvalidArgument);
	CHECK(strstr(ncclGetLastError(NULL), "not allowed in the same group"));
	CHECK(!comm);
	CHECK(ncclGroupEnd() == ncclInvalidArgument);
	CHECK(!other);
}

Test(nonblocking, a_group_is_blocking_or_not)
{
	ranks_run(1, mixed_main);
}
