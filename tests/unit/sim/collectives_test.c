/* SPDX-License-Identifier: MIT */
/* Every collective, with every data type and operator, for counts around all the sizes at which the way changes. */
#include <string.h>

#include <criterion/criterion.h>

#include "sim/nccl/data/number.h"
#include "ranks.h"

#define RANKS        4
#define SMALL_COUNTS 5

static const size_t counts[] = { 1, 3, 7, 255, 1000, 70001, 300000 };

/* Small whole numbers: every type holds them, and most sums of four of them, exactly. */
static double value_at(int rank, size_t i)
{
	return (double)((size_t)(rank + 1) * (i % 3 + 1) % 4);
}

static void put(ncclDataType_t type, void *buffer, size_t i, double value)
{
	switch (type) {
	case ncclInt8:
		((int8_t *)buffer)[i] = (int8_t)value;
		break;
	case ncclUint8:
		((uint8_t *)buffer)[i] = (uint8_t)value;
		break;
	case ncclInt32:
		((int32_t *)buffer)[i] = (int32_t)value;
		break;
	case ncclUint32:
		((uint32_t *)buffer)[i] = (uint32_t)value;
		break;
	case ncclInt64:
		((int64_t *)buffer)[i] = (int64_t)value;
		break;
	case ncclUint64:
		((uint64_t *)buffer)[i] = (uint64_t)value;
		break;
	case ncclFloat16:
		((uint16_t *)buffer)[i] = (uint16_t)small_float_encode((float)value, &small_float16);
		break;
	case ncclFloat32:
		((float *)buffer)[i] = (float)value;
		break;
	case ncclFloat64:
		((double *)buffer)[i] = value;
		break;
	case ncclBfloat16:
		((uint16_t *)buffer)[i] = (uint16_t)small_float_encode((float)value, &small_bfloat16);
		break;
	case ncclFloat8e4m3:
		((uint8_t *)buffer)[i] = (uint8_t)small_float_encode((float)value, &small_e4m3);
		break;
	default:
		((uint8_t *)buffer)[i] = (uint8_t)small_float_encode((float)value, &small_e5m2);
		break;
	}
}

static bool is_integer(ncclDataType_t type)
{
	return type <= ncclUint64;
}

static double reduced(ncclDataType_t type, ncclRedOp_t op, int nranks, size_t i)
{
	double result = value_at(0, i);

	for (int rank = 1; rank < nranks; rank++) {
		double next = value_at(rank, i);
		if (op == ncclProd)
			result *= next;
		else if (op == ncclMax)
			result = next > result ? next : result;
		else if (op == ncclMin)
			result = next < result ? next : result;
		else
			result += next;
	}
	if (op == ncclAvg)
		result = is_integer(type) ? (double)((long)result / nranks) : result / nranks;
	return result;
}

static bool holds(ncclDataType_t type, const void *buffer, size_t i, double value)
{
	unsigned char expected[8];
	size_t size = number_size(type);

	put(type, expected, 0, value);
	return memcmp((const char *)buffer + i * size, expected, size) == 0;
}

struct buffers {
	void *send, *recv;
};

static struct buffers buffers_new(const struct rank *rank, ncclDataType_t type, size_t sent, size_t received)
{
	struct buffers buffers = { device_alloc(sent * number_size(type)), device_alloc(received * number_size(type)) };

	for (size_t i = 0; i < sent; i++)
		put(type, buffers.send, i, value_at(rank->rank, i));
	memset(buffers.recv, 0xa5, received * number_size(type));
	return buffers;
}

static void buffers_free(const struct buffers *buffers)
{
	CU(cuMemFree((CUdeviceptr)(uintptr_t)buffers->send));
	CU(cuMemFree((CUdeviceptr)(uintptr_t)buffers->recv));
}

typedef void check_collective(struct rank *rank, ncclDataType_t type, ncclRedOp_t op, size_t count);

static void check_all_reduce(struct rank *rank, ncclDataType_t type, ncclRedOp_t op, size_t count)
{
	struct buffers b = buffers_new(rank, type, count, count);

	NCCL(ncclAllReduce(b.send, b.recv, count, type, op, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	for (size_t i = 0; i < count; i++)
		CHECK(holds(type, b.recv, i, reduced(type, op, rank->nranks, i)));
	/* And in place. */
	NCCL(ncclAllReduce(b.send, b.send, count, type, op, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(memcmp(b.send, b.recv, count * number_size(type)) == 0);
	buffers_free(&b);
}

static void check_reduce(struct rank *rank, ncclDataType_t type, ncclRedOp_t op, size_t count)
{
	struct buffers b = buffers_new(rank, type, count, count);
	int root = 1;

	NCCL(ncclReduce(b.send, rank->rank == root ? b.recv : NULL, count, type, op, root, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	for (size_t i = 0; rank->rank == root && i < count; i++)
		CHECK(holds(type, b.recv, i, reduced(type, op, rank->nranks, i)));
	buffers_free(&b);
}

static void check_reduce_scatter(struct rank *rank, ncclDataType_t type, ncclRedOp_t op, size_t count)
{
	struct buffers b = buffers_new(rank, type, count * (size_t)rank->nranks, count);
	size_t mine = count * (size_t)rank->rank;

	NCCL(ncclReduceScatter(b.send, b.recv, count, type, op, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	for (size_t i = 0; i < count; i++)
		CHECK(holds(type, b.recv, i, reduced(type, op, rank->nranks, mine + i)));
	buffers_free(&b);
}

static void check_all_gather(struct rank *rank, ncclDataType_t type, ncclRedOp_t op, size_t count)
{
	struct buffers b = buffers_new(rank, type, count, count * (size_t)rank->nranks);

	(void)op;
	NCCL(ncclAllGather(b.send, b.recv, count, type, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	for (int from = 0; from < rank->nranks; from++) {
		for (size_t i = 0; i < count; i++)
			CHECK(holds(type, b.recv, (size_t)from * count + i, value_at(from, i)));
	}
	buffers_free(&b);
}

static void check_broadcast(struct rank *rank, ncclDataType_t type, ncclRedOp_t op, size_t count)
{
	struct buffers b = buffers_new(rank, type, count, count);
	int root = 2;

	(void)op;
	NCCL(ncclBroadcast(rank->rank == root ? b.send : NULL, b.recv, count, type, root, rank->comm, rank->stream));
	NCCL(ncclBcast(b.send, count, type, root, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	for (size_t i = 0; i < count; i++)
		CHECK(holds(type, b.recv, i, value_at(root, i)) && holds(type, b.send, i, value_at(root, i)));
	buffers_free(&b);
}

/* Twice the sum: an operator whose factor is 2 on all ranks. */
static void check_factor(struct rank *rank, ncclDataType_t type, ncclRedOp_t op, size_t count)
{
	struct buffers b = buffers_new(rank, type, count, count);
	unsigned char two[8];

	put(type, two, 0, 2);
	NCCL(ncclRedOpCreatePreMulSum(&op, two, type, ncclScalarHostImmediate, rank->comm));
	NCCL(ncclAllReduce(b.send, b.recv, count, type, op, rank->comm, rank->stream));
	NCCL(ncclRedOpDestroy(op, rank->comm));
	CU(cuStreamSynchronize(rank->stream));
	for (size_t i = 0; i < count; i++)
		CHECK(holds(type, b.recv, i, 2 * reduced(type, ncclSum, rank->nranks, i)));
	buffers_free(&b);
}

static void check_all_to_all(struct rank *rank, ncclDataType_t type, ncclRedOp_t op, size_t count)
{
	size_t all = count * (size_t)rank->nranks;
	struct buffers b = buffers_new(rank, type, all, all);

	(void)op;
	NCCL(ncclAlltoAll(b.send, b.recv, count, type, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	for (int from = 0; from < rank->nranks; from++) {
		for (size_t i = 0; i < count; i++)
			CHECK(holds(type, b.recv, (size_t)from * count + i,
				    value_at(from, (size_t)rank->rank * count + i)));
	}
	buffers_free(&b);
}

static void check_gather(struct rank *rank, ncclDataType_t type, ncclRedOp_t op, size_t count)
{
	struct buffers b = buffers_new(rank, type, count, count * (size_t)rank->nranks);
	int root = 1;

	(void)op;
	NCCL(ncclGather(b.send, rank->rank == root ? b.recv : NULL, count, type, root, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	for (int from = 0; from < rank->nranks && rank->rank == root; from++) {
		for (size_t i = 0; i < count; i++)
			CHECK(holds(type, b.recv, (size_t)from * count + i, value_at(from, i)));
	}
	buffers_free(&b);
}

static void check_scatter(struct rank *rank, ncclDataType_t type, ncclRedOp_t op, size_t count)
{
	struct buffers b = buffers_new(rank, type, count * (size_t)rank->nranks, count);
	size_t mine = count * (size_t)rank->rank;
	int root = 2;

	(void)op;
	NCCL(ncclScatter(rank->rank == root ? b.send : NULL, b.recv, count, type, root, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	for (size_t i = 0; i < count; i++)
		CHECK(holds(type, b.recv, i, value_at(root, mine + i)));
	buffers_free(&b);
}

static void every_type_and_op(struct rank *rank, check_collective *check, ncclRedOp_t last_op)
{
	for (ncclDataType_t type = 0; type < ncclNumTypes; type++) {
		for (ncclRedOp_t op = 0; op <= last_op; op++) {
			for (size_t i = 0; i < SMALL_COUNTS; i++)
				check(rank, type, op, counts[i]);
		}
	}
	for (size_t i = SMALL_COUNTS; i < sizeof(counts) / sizeof(*counts); i++)
		check(rank, ncclFloat32, ncclSum, counts[i]);
}

static void all_reduce_main(struct rank *rank)
{
	every_type_and_op(rank, check_all_reduce, ncclAvg);
}

static void reduce_main(struct rank *rank)
{
	every_type_and_op(rank, check_reduce, ncclAvg);
}

static void reduce_scatter_main(struct rank *rank)
{
	every_type_and_op(rank, check_reduce_scatter, ncclAvg);
}

static void all_gather_main(struct rank *rank)
{
	every_type_and_op(rank, check_all_gather, ncclSum);
}

static void broadcast_main(struct rank *rank)
{
	every_type_and_op(rank, check_broadcast, ncclSum);
}

static void factor_main(struct rank *rank)
{
	every_type_and_op(rank, check_factor, ncclSum);
}

static void exchange_main(struct rank *rank)
{
	every_type_and_op(rank, check_all_to_all, ncclSum);
	every_type_and_op(rank, check_gather, ncclSum);
	every_type_and_op(rank, check_scatter, ncclSum);
}

/* Both buffers are given on all ranks: each decides by its own windows whether this is the copy engine's work. */
static void check_rooted(struct rank *rank)
{
	size_t count = 70001, all = count * (size_t)rank->nranks, mine = count * (size_t)rank->rank;
	struct buffers b = buffers_new(rank, ncclInt32, all, all);

	NCCL(ncclScatter(b.send, b.recv, count, ncclInt32, 1, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	for (size_t i = 0; i < count; i++)
		CHECK(holds(ncclInt32, b.recv, i, value_at(1, mine + i)));
	NCCL(ncclGather(b.send, b.recv, count, ncclInt32, 1, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	for (size_t i = 0; i < all && rank->rank == 1; i++)
		CHECK(holds(ncclInt32, b.recv, i, value_at((int)(i / count), i % count)));
	buffers_free(&b);
}

/* On the copy engine's way they are collectives of their own; the data is the same. */
static void copy_engine_main(struct rank *rank)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclComm_t whole = rank->comm;
	ncclWindow_t window;

	config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
	NCCL(ncclCommSplit(whole, 0, 0, &rank->comm, &config));
	NCCL(ncclCommWindowRegister(rank->comm, (void *)4096, (size_t)1 << 62, &window, NCCL_WIN_COLL_SYMMETRIC));
	check_all_to_all(rank, ncclFloat32, ncclSum, 70001);
	check_all_gather(rank, ncclInt8, ncclSum, 300000);
	check_rooted(rank);
	NCCL(ncclCommWindowDeregister(rank->comm, window));
	NCCL(ncclCommDestroy(rank->comm));
	rank->comm = whole;
}

Test(collectives, an_operator_with_a_factor_is_right_for_every_type)
{
	ranks_run(RANKS, factor_main);
}

Test(collectives, all_to_all_gather_and_scatter_move_every_part_to_its_place)
{
	ranks_run(RANKS, exchange_main);
}

Test(collectives, the_copy_engine_moves_the_same)
{
	ranks_run(RANKS, copy_engine_main);
}

Test(collectives, all_reduce_is_right_for_every_type_operator_and_count)
{
	ranks_run(RANKS, all_reduce_main);
}

Test(collectives, reduce_gives_the_root_the_result_and_leaves_the_others_alone)
{
	ranks_run(RANKS, reduce_main);
}

Test(collectives, reduce_scatter_gives_each_rank_its_part)
{
	ranks_run(RANKS, reduce_scatter_main);
}

Test(collectives, all_gather_puts_every_rank_in_its_place)
{
	ranks_run(RANKS, all_gather_main);
}

Test(collectives, broadcast_copies_the_root_to_all)
{
	ranks_run(RANKS, broadcast_main);
}

static void in_place_main(struct rank *rank)
{
	size_t count = 40000, mine = count * (size_t)rank->rank;
	float *buffer = device_alloc(count * (size_t)rank->nranks * sizeof(float));

	for (size_t i = 0; i < count; i++)
		buffer[mine + i] = (float)value_at(rank->rank, i);
	NCCL(ncclAllGather(buffer + mine, buffer, count, ncclFloat32, rank->comm, rank->stream));
	NCCL(ncclReduceScatter(buffer, buffer + mine, count, ncclFloat32, ncclSum, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	for (size_t i = 0; i < count; i++)
		CHECK(buffer[mine + i] == (float)(rank->nranks * value_at(rank->rank, i)));
}

Test(collectives, all_gather_and_reduce_scatter_work_in_place)
{
	ranks_run(RANKS, in_place_main);
}

static void odd_main(struct rank *rank)
{
	check_all_reduce(rank, ncclInt32, ncclSum, 100003);
	check_reduce_scatter(rank, ncclBfloat16, ncclSum, 50001);
}

Test(collectives, a_number_of_ranks_that_divides_nothing_is_served)
{
	ranks_run(7, odd_main);
}

static void alone_main(struct rank *rank)
{
	check_all_reduce(rank, ncclFloat32, ncclSum, 1000);
	check_all_gather(rank, ncclFloat32, ncclSum, 1000);
}

Test(collectives, a_single_rank_copies)
{
	ranks_run(1, alone_main);
}
