/* SPDX-License-Identifier: MIT */
/* What SIM_NCCL_STALL, SIM_NCCL_SKEW and SIM_NCCL_SLOW do. */
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "ranks.h"

#define RANKS 4
#define COUNT 1000
#define HOP_MS 30

TestSuite(fabric, .timeout = 90);

static uint32_t *reduce(struct rank *rank)
{
	uint32_t *buffer = device_alloc(COUNT * sizeof(*buffer));

	for (size_t i = 0; i < COUNT; i++)
		buffer[i] = 1;
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclUint32, ncclSum, rank->comm, rank->stream));
	return buffer;
}

/* The others of its kind end, and so do other kinds behind nothing of it. */
static void stall_main(struct rank *rank)
{
	struct timespec pause = { .tv_nsec = 200000000 };

	uint32_t *first = reduce(rank);
	CU(cuStreamSynchronize(rank->stream));
	CHECK(first[0] == RANKS);
	uint32_t *second = reduce(rank);
	nanosleep(&pause, NULL);
	CHECK(cuStreamQuery(rank->stream) == CUDA_ERROR_NOT_READY);
	CHECK(second[0] == 1);
	NCCL(ncclCommAbort(rank->comm));
	rank->comm = NULL;
	CU(cuStreamSynchronize(rank->stream));
}

Test(fabric, one_collective_to_which_all_have_come_never_ends_until_it_is_aborted)
{
	setenv("SIM_NCCL_STALL", "AllReduce:1", 1);
	ranks_run(RANKS, stall_main);
}

static void skew_main(struct rank *rank)
{
	uint64_t *ends_ns = (uint64_t *)rank->shared + 1024, *comes_ns = ends_ns + RANKS; /* behind the board */
	CUevent end;

	comes_ns[rank->rank] = now_ns();
	uint32_t *buffer = reduce(rank);

	/* Hosts that spin would take each other's processors, and see the end late. */
	CU(cuEventCreate(&end, CU_EVENT_BLOCKING_SYNC));
	CU(cuEventRecord(end, rank->stream));
	CU(cuEventSynchronize(end));
	ends_ns[rank->rank] = now_ns();
	CHECK(buffer[COUNT - 1] == RANKS);
	wait_for_all(rank, 0);
	/* A machine that others keep busy makes ends later, never earlier. */
	for (int i = 0; i < RANKS; i++)
		CHECK(ends_ns[rank->rank] >= comes_ns[i] + (uint64_t)rank->rank * HOP_MS * 1000000);
}

Test(fabric, ends_come_one_hop_after_the_other)
{
	setenv("SIM_NCCL_SKEW", "30ms", 1);
	ranks_run(RANKS, skew_main);
}

static void slow_main(struct rank *rank)
{
	uint64_t start_ns = now_ns();

	uint32_t *first = reduce(rank);
	CHECK(now_ns() >= start_ns + UINT64_C(1000000000)); /* NCCL connects inside the call */
	uint64_t connected_ns = now_ns();
	reduce(rank);
	CHECK(now_ns() < connected_ns + UINT64_C(1000000000)); /* and only once */
	CU(cuStreamSynchronize(rank->stream));
	CHECK(first[0] == RANKS);
}

Test(fabric, a_slow_init_and_the_first_connection_take_their_time_once)
{
	uint64_t start_ns = now_ns();

	setenv("SIM_NCCL_SLOW", "init:1s,connect:1s", 1);
	ranks_run(RANKS, slow_main);
	cr_expect_geq(now_ns(), start_ns + UINT64_C(2000000000));
}

static void expect_refused(const char *name, const char *value)
{
	ncclUniqueId id;
	ncclComm_t comm;

	setenv(name, value, 1);
	CU(cuInit(0));
	NCCL(ncclGetUniqueId(&id));
	cr_expect_eq(ncclCommInitRank(&comm, 1, id, 0), ncclInvalidUsage, "%s=%s", name, value);
	NCCL(ncclCommAbort(comm)); /* it is there all the same */
}

Test(fabric, a_stall_of_a_send_makes_no_communicator)
{
	expect_refused("SIM_NCCL_STALL", "Send:0");
}

Test(fabric, a_skew_without_a_unit_makes_no_communicator)
{
	expect_refused("SIM_NCCL_SKEW", "30");
}

Test(fabric, a_slowness_of_something_else_makes_no_communicator)
{
	expect_refused("SIM_NCCL_SLOW", "init:1s,abort:2s");
}

Test(fabric, a_slowness_without_a_unit_makes_no_communicator)
{
	expect_refused("SIM_NCCL_SLOW", "init:20");
}
