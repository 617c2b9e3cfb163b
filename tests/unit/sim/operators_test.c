/* SPDX-License-Identifier: MIT */
/* Reduction operators that a program makes: ncclRedOpCreatePreMulSum. */
#include <string.h>

#include <criterion/criterion.h>

#include "ranks.h"

#define RANKS 4
#define COUNT 70001 /* more than one piece of anything */

/* Ranks multiply by 2, 3, 4 and 5: the sum of the factors is what ones become. */
static void factors_main(struct rank *rank)
{
	float factor = (float)(rank->rank + 2), *on_device = device_alloc(sizeof(float));
	float *send = device_alloc(COUNT * sizeof(float)), *recv = device_alloc(COUNT * sizeof(float));
	ncclRedOp_t now, later;

	for (size_t i = 0; i < COUNT; i++)
		send[i] = 1;
	NCCL(ncclRedOpCreatePreMulSum(&now, &factor, ncclFloat32, ncclScalarHostImmediate, rank->comm));
	NCCL(ncclRedOpCreatePreMulSum(&later, on_device, ncclFloat32, ncclScalarDevice, rank->comm));
	CHECK(now != later);
	factor = 100; /* was read already */
	NCCL(ncclAllReduce(send, recv, COUNT, ncclFloat32, now, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(recv[0] == 14 && recv[COUNT - 1] == 14);
	/* On the device it is read when the stream comes to it. */
	CU(cuMemsetD32Async((CUdeviceptr)(uintptr_t)on_device, 0x40000000, 1, rank->stream));
	NCCL(ncclReduceScatter(send, recv, COUNT / RANKS, ncclFloat32, later, rank->comm, rank->stream));
	NCCL(ncclRedOpDestroy(later, rank->comm));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(recv[0] == 2 * RANKS && recv[COUNT / RANKS - 1] == 2 * RANKS);
	NCCL(ncclReduce(send, recv, 1, ncclFloat32, now, 2, rank->comm, rank->stream));
	NCCL(ncclRedOpDestroy(now, rank->comm));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(recv[0] == (rank->rank == 2 ? 14 : 2 * RANKS));
}

Test(operators, each_rank_multiplies_by_its_own_factor_before_the_sum)
{
	ranks_run(RANKS, factors_main);
}

static void alone_main(struct rank *rank)
{
	int32_t factor = 7, *buffer = device_alloc(2 * sizeof(*buffer));
	ncclRedOp_t op;

	buffer[0] = 6;
	NCCL(ncclRedOpCreatePreMulSum(&op, &factor, ncclInt32, ncclScalarHostImmediate, rank->comm));
	NCCL(ncclAllReduce(&buffer[0], &buffer[1], 1, ncclInt32, op, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(buffer[1] == 42);
}

Test(operators, a_single_rank_multiplies_too)
{
	ranks_run(1, alone_main);
}

static void misuse_main(struct rank *rank)
{
	float factor = 2, *buffer = device_alloc(sizeof(float));
	ncclComm_t other;
	ncclRedOp_t op;

	NCCL(ncclCommSplit(rank->comm, 0, 0, &other, NULL));
	NCCL(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarHostImmediate, rank->comm));
	CHECK(ncclAllReduce(buffer, buffer, 1, ncclFloat32, op, other, rank->stream) == ncclInvalidArgument);
	CHECK(strstr(ncclGetLastError(NULL), "unknown to this communicator"));
	CHECK(ncclAllReduce(buffer, buffer, 1, ncclInt32, op, rank->comm, rank->stream) == ncclInvalidArgument);
	CHECK(strstr(ncclGetLastError(NULL), "does not match type"));
	CHECK(ncclRedOpDestroy(ncclSum, rank->comm) == ncclInvalidArgument);
	CHECK(ncclRedOpDestroy(op, other) == ncclInvalidArgument);
	NCCL(ncclRedOpDestroy(op, rank->comm));
	CHECK(ncclRedOpDestroy(op, rank->comm) == ncclInvalidArgument);
	CHECK(ncclAllReduce(buffer, buffer, 1, ncclFloat32, op, rank->comm, rank->stream) == ncclInvalidArgument);
	NCCL(ncclCommDestroy(other));
}

Test(operators, an_operator_belongs_to_its_communicator_and_type)
{
	ranks_run(2, misuse_main);
}

/* A program may make as many as it likes; places of destroyed ones are used again. */
static void many_main(struct rank *rank)
{
	float factor = 1;
	ncclRedOp_t ops[100], again;

	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		NCCL(ncclRedOpCreatePreMulSum(&ops[i], &factor, ncclFloat32, ncclScalarHostImmediate, rank->comm));
	NCCL(ncclRedOpDestroy(ops[42], rank->comm));
	NCCL(ncclRedOpCreatePreMulSum(&again, &factor, ncclFloat32, ncclScalarHostImmediate, rank->comm));
	CHECK(again == ops[42]);
}

Test(operators, the_place_of_a_destroyed_operator_is_used_again)
{
	ranks_run(1, many_main);
}
