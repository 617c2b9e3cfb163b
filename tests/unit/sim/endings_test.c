/* SPDX-License-Identifier: MIT */
/* How communicators end, and what can be made of their rest: shrink, revoke, and several ranks in one process. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "ranks.h"

#define RANKS 4

TestSuite(endings, .timeout = 90);

static void reduce_and_check(struct rank *rank, ncclComm_t comm)
{
	float *buffer = device_alloc(sizeof(float));
	int size;

	NCCL(ncclCommCount(comm, &size));
	*buffer = 1;
	NCCL(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(*buffer == (float)size);
}

static void shrink_main(struct rank *rank)
{
	int excluded[] = { 2, 0 }, number = -1, size = 0;
	ncclComm_t rest;

	if (rank->rank % 2 == 0) {
		CHECK(ncclCommShrink(rank->comm, excluded, 2, &rest, NULL, NCCL_SHRINK_DEFAULT) == ncclInvalidArgument);
		return;
	}
	NCCL(ncclCommShrink(rank->comm, excluded, 2, &rest, NULL, NCCL_SHRINK_DEFAULT));
	NCCL(ncclCommUserRank(rest, &number));
	NCCL(ncclCommCount(rest, &size));
	CHECK(number == rank->rank / 2 && size == 2);
	reduce_and_check(rank, rest);
	NCCL(ncclCommDestroy(rest));
}

Test(endings, shrink_leaves_the_listed_ranks_out_and_keeps_the_order_of_the_others)
{
	ranks_run(RANKS, shrink_main);
}

static void shrink_dead_main(struct rank *rank)
{
	struct board *board = rank->shared;
	float *buffer = device_alloc(sizeof(float));
	int dead = 1;
	ncclComm_t rest;

	connect_ranks(rank);
	atomic_fetch_add(&board->ready, 1);
	if (rank->rank == dead)
		pause();
	wait_until(&board->go, 1);
	NCCL(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, rank->comm, rank->stream));
	CHECK(cuStreamQuery(rank->stream) == CUDA_ERROR_NOT_READY);
	NCCL(ncclCommShrink(rank->comm, &dead, 1, &rest, NULL, NCCL_SHRINK_ABORT));
	reduce_and_check(rank, rest);
	NCCL(ncclCommDestroy(rest));
}

Test(endings, shrink_with_abort_ends_what_waits_for_a_dead_rank_and_goes_on_without_it)
{
	struct ranks ranks;
	int status;

	if (getenv("TEST_HOSTS"))
		cr_skip_test("a death on another host is an error of the communicator, with which shrink refuses");
	ranks_start(&ranks, RANKS, shrink_dead_main);
	struct board *board = ranks.shared;
	for (int i = 0; i < 30000 && atomic_load(&board->ready) < RANKS; i++)
		usleep(1000);
	cr_assert_eq(atomic_load(&board->ready), RANKS);
	kill(ranks.pids[1], SIGKILL);
	cr_assert_eq(waitpid(ranks.pids[1], &status, 0), ranks.pids[1]);
	ranks.pids[1] = 0;
	atomic_store(&board->go, 1);
	ranks_join(&ranks);
}

static void revoke_main(struct rank *rank)
{
	float *buffer = device_alloc(sizeof(float));
	ncclComm_t child;

	connect_ranks(rank);
	wait_for_all(rank, 0); /* one that revokes passes nothing on to those who are still in there */
	if (rank->rank != 0)
		NCCL(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, rank->comm, rank->stream));
	CHECK(ncclCommRevoke(rank->comm, 1) == ncclInvalidArgument);
	NCCL(ncclCommRevoke(rank->comm, NCCL_REVOKE_DEFAULT));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, rank->comm, rank->stream) == ncclInvalidUsage);
	CHECK(strstr(ncclGetLastError(NULL), "revoked"));
	CHECK(ncclCommRevoke(rank->comm, NCCL_REVOKE_DEFAULT) == ncclInvalidArgument);
	NCCL(ncclCommSplit(rank->comm, 0, 0, &child, NULL));
	reduce_and_check(rank, child);
	NCCL(ncclCommDestroy(child));
}

Test(endings, a_revoked_communicator_stops_and_can_only_be_divided_and_ended)
{
	ranks_run(RANKS, revoke_main);
}

static void finalize_main(struct rank *rank)
{
	NCCL(ncclCommFinalize(rank->comm));
	CHECK(ncclCommFinalize(rank->comm) == ncclInvalidArgument);
}

Test(endings, finalize_is_called_once)
{
	ranks_run(2, finalize_main);
}

static void scalable_main(struct rank *rank)
{
	struct board *board = rank->shared;
	ncclUniqueId *ids = (ncclUniqueId *)(board + 1);
	ncclComm_t comm;

	if (rank->rank < 2)
		NCCL(ncclGetUniqueId(&ids[rank->rank]));
	wait_for_all(rank, 0);
	CHECK(ncclCommInitRankScalable(&comm, rank->nranks, rank->rank, RANKS + 1, ids, NULL) == ncclInvalidArgument);
	NCCL(ncclCommInitRankScalable(&comm, rank->nranks, rank->rank, 2, ids, NULL));
	reduce_and_check(rank, comm);
	NCCL(ncclCommDestroy(comm));
}

Test(endings, several_unique_ids_make_one_communicator)
{
	ranks_run(RANKS, scalable_main);
}

static bool device_is_in_use(int device)
{
	unsigned int flags;
	int active = 0;

	CU(cuDevicePrimaryCtxGetState(device, &flags, &active));
	return active;
}

/* Each rank holds its device's primary context until it is freed. */
static void one_process_main(struct rank *rank)
{
	ncclComm_t comms[3];
	int devices[] = { 4, 5, 6 };

	(void)rank;
	NCCL(ncclCommInitAll(comms, 3, devices));
	for (int i = 0; i < 2; i++) {
		NCCL(ncclCommDestroy(comms[i]));
		CHECK(device_is_in_use(devices[i]));
	}
	NCCL(ncclCommAbort(comms[2]));
	for (int i = 0; i < 3; i++)
		CHECK(!device_is_in_use(devices[i]));
}

Test(endings, the_last_rank_of_a_process_to_end_frees_all_of_them)
{
	ranks_run(1, one_process_main);
}

static void group_end_main(struct rank *rank)
{
	ncclComm_t comms[3];
	int devices[] = { 4, 5, 6 };

	(void)rank;
	NCCL(ncclCommInitAll(comms, 3, devices));
	NCCL(ncclGroupStart());
	for (int i = 0; i < 3; i++)
		NCCL(ncclCommDestroy(comms[i]));
	NCCL(ncclGroupEnd());
	for (int i = 0; i < 3; i++)
		CHECK(!device_is_in_use(devices[i]));
}

Test(endings, a_group_may_destroy_all_ranks_of_a_process)
{
	ranks_run(1, group_end_main);
}
