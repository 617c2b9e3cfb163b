/* SPDX-License-Identifier: MIT */
/* Communicators: waiting, groups, split, point to point, and what is left when ranks die. */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "ranks.h"

#define RANKS 4

TestSuite(communicators, .timeout = 90);

static ncclResult_t all_reduce_one(struct rank *rank, float *buffer)
{
	return ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, rank->comm, rank->stream);
}

static void late_main(struct rank *rank)
{
	struct board *board = rank->shared;
	float *buffer = device_alloc(sizeof(float));

	*buffer = 1;
	connect_ranks(rank);
	if (rank->rank == 0)
		wait_until(&board->go, 1);
	NCCL(all_reduce_one(rank, buffer));
	if (rank->rank != 0) {
		CHECK(cuStreamQuery(rank->stream) == CUDA_ERROR_NOT_READY);
		CHECK(rests());
		CHECK(cuStreamQuery(rank->stream) == CUDA_ERROR_NOT_READY);
		atomic_fetch_add(&board->ready, 1);
	}
	CU(cuStreamSynchronize(rank->stream));
	CHECK(*buffer == (float)rank->nranks);
}

Test(communicators, a_late_rank_makes_the_streams_of_the_others_wait_asleep)
{
	struct ranks ranks;

	ranks_start(&ranks, RANKS, late_main);
	struct board *board = ranks.shared;
	for (int i = 0; i < DEADLINE_S * 1000 && atomic_load(&board->ready) < RANKS - 1; i++)
		usleep(1000);
	atomic_store(&board->go, 1);
	ranks_join(&ranks);
}

/* Far more than the channels between two ranks hold: both must send and receive at once. */
static void exchange_main(struct rank *rank)
{
	size_t count = 1000003;
	int next = (rank->rank + 1) % rank->nranks, before = (rank->rank + rank->nranks - 1) % rank->nranks;
	int32_t *out = device_alloc(count * sizeof(*out)), *in = device_alloc(2 * count * sizeof(*in));

	for (size_t i = 0; i < count; i++)
		out[i] = rank->rank * 1000 + (int32_t)(i % 1000);
	NCCL(ncclGroupStart());
	NCCL(ncclSend(out, count, ncclInt32, next, rank->comm, rank->stream));
	NCCL(ncclSend(out + 1, count - 1, ncclInt32, next, rank->comm, rank->stream));
	NCCL(ncclRecv(in, count, ncclInt32, before, rank->comm, rank->stream));
	NCCL(ncclRecv(in + count, count - 1, ncclInt32, before, rank->comm, rank->stream));
	NCCL(ncclGroupEnd());
	CU(cuStreamSynchronize(rank->stream));
	for (size_t i = 0; i < count; i++)
		CHECK(in[i] == before * 1000 + (int32_t)(i % 1000));
	for (size_t i = 0; i + 1 < count; i++)
		CHECK(in[count + i] == before * 1000 + (int32_t)((i + 1) % 1000));
}

Test(communicators, ranks_send_and_receive_around_a_ring_in_one_group)
{
	ranks_run(3, exchange_main);
}

static void self_main(struct rank *rank)
{
	int32_t *buffer = device_alloc(2 * sizeof(*buffer));

	buffer[0] = 42;
	NCCL(ncclGroupStart());
	NCCL(ncclSend(&buffer[0], 1, ncclInt32, rank->rank, rank->comm, rank->stream));
	NCCL(ncclRecv(&buffer[1], 1, ncclInt32, rank->rank, rank->comm, rank->stream));
	NCCL(ncclGroupEnd());
	CU(cuStreamSynchronize(rank->stream));
	CHECK(buffer[1] == 42);
}

Test(communicators, a_rank_may_send_to_itself)
{
	ranks_run(2, self_main);
}

static void two_streams_main(struct rank *rank)
{
	float *buffer = device_alloc(2 * sizeof(float));
	CUstream second;

	CU(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	buffer[0] = buffer[1] = 0;
	/* 1.0f arrives on both streams; every collective must come after its own stream's fill. */
	for (int i = 0; i < 50; i++) {
		CU(cuMemsetD32Async((CUdeviceptr)(uintptr_t)&buffer[0], 0x3f800000, 1, rank->stream));
		CU(cuMemsetD32Async((CUdeviceptr)(uintptr_t)&buffer[1], 0x3f800000, 1, second));
		NCCL(ncclGroupStart());
		NCCL(ncclAllReduce(&buffer[0], &buffer[0], 1, ncclFloat32, ncclSum, rank->comm, rank->stream));
		NCCL(ncclAllReduce(&buffer[1], &buffer[1], 1, ncclFloat32, ncclSum, rank->comm, second));
		NCCL(ncclGroupEnd());
		/* And what follows on either stream comes after the group. */
		CU(cuStreamSynchronize(i % 2 ? second : rank->stream));
		CHECK(buffer[0] == (float)rank->nranks && buffer[1] == (float)rank->nranks);
	}
}

Test(communicators, a_group_on_two_streams_orders_both)
{
	ranks_run(RANKS, two_streams_main);
}

/* One communicator used on alternating streams: its collectives still run one after the other. */
static void alternate_main(struct rank *rank)
{
	float *buffer = device_alloc(sizeof(float));
	CUstream streams[2] = { rank->stream };

	CU(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
	*buffer = 1;
	for (int i = 0; i < 20; i++)
		NCCL(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclAvg, rank->comm, streams[i % 2]));
	CU(cuStreamSynchronize(streams[1]));
	CHECK(*buffer == 1);
}

Test(communicators, collectives_on_different_streams_keep_the_order_of_their_calls)
{
	ranks_run(RANKS, alternate_main);
}

/* Grid of 2 x 2: rows by color, order within them turned round by key. */
static void split_main(struct rank *rank)
{
	ncclComm_t row;
	int number = -1, size = -1;
	float *buffer = device_alloc(sizeof(float));

	NCCL(ncclCommSplit(rank->comm, rank->rank / 2, -rank->rank, &row, NULL));
	NCCL(ncclCommCount(row, &size));
	NCCL(ncclCommUserRank(row, &number));
	CHECK(size == 2 && number == 1 - rank->rank % 2);
	*buffer = (float)rank->rank;
	NCCL(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, row, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(*buffer == (rank->rank / 2 ? 5 : 1));
	NCCL(ncclCommFinalize(row));
	NCCL(ncclCommDestroy(row));
}

Test(communicators, split_makes_groups_by_color_and_orders_them_by_key)
{
	ranks_run(RANKS, split_main);
}

static int shared_memory_files(void)
{
	DIR *directory = opendir("/dev/shm");
	struct dirent *entry;
	int count = 0;

	while (directory && (entry = readdir(directory)))
		count += strstr(entry->d_name, "nccl") != NULL;
	if (directory)
		closedir(directory);
	return count;
}

static void killed_main(struct rank *rank)
{
	struct board *board = rank->shared;
	float *buffer = device_alloc(sizeof(float));

	NCCL(all_reduce_one(rank, buffer));
	CU(cuStreamSynchronize(rank->stream));
	atomic_fetch_add(&board->ready, 1);
	if (rank->rank == 1)
		pause();
	NCCL(all_reduce_one(rank, buffer));
	wait_until(&board->go, 1);
	/* The peer is dead: this never ends by itself, and nobody is told. */
	ncclResult_t error = ncclSystemError;
	NCCL(ncclCommGetAsyncError(rank->comm, &error));
	CHECK(error == ncclSuccess);
	CHECK(cuStreamQuery(rank->stream) == CUDA_ERROR_NOT_READY);
	NCCL(ncclCommAbort(rank->comm));
	rank->comm = NULL;
	CU(cuStreamSynchronize(rank->stream));
}

Test(communicators, the_death_of_a_rank_leaves_the_others_waiting_until_they_abort)
{
	struct ranks ranks;
	int status;

	ranks_start(&ranks, RANKS, killed_main);
	struct board *board = ranks.shared;
	for (int i = 0; i < DEADLINE_S * 1000 && atomic_load(&board->ready) < RANKS; i++)
		usleep(1000);
	cr_assert_eq(atomic_load(&board->ready), RANKS);
	kill(ranks.pids[1], SIGKILL);
	cr_assert_eq(waitpid(ranks.pids[1], &status, 0), ranks.pids[1]);
	ranks.pids[1] = 0;
	atomic_store(&board->go, 1);
	ranks_join(&ranks);
	cr_expect_eq(shared_memory_files(), 0);
}

static void abort_p2p_main(struct rank *rank)
{
	float *buffer = device_alloc(sizeof(float));

	/* Connected: the next receive is enqueued, whoever answers. */
	if (rank->rank == 0)
		NCCL(ncclRecv(buffer, 1, ncclFloat32, 1, rank->comm, rank->stream));
	else
		NCCL(ncclSend(buffer, 1, ncclFloat32, 0, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	if (rank->rank == 0)
		NCCL(ncclRecv(buffer, 1, ncclFloat32, 1, rank->comm, rank->stream));
	NCCL(ncclCommAbort(rank->comm));
	rank->comm = NULL;
	CU(cuStreamSynchronize(rank->stream));
}

Test(communicators, abort_ends_a_receive_that_nobody_answers)
{
	ranks_run(2, abort_p2p_main);
}

static void misuse_main(struct rank *rank)
{
	float *buffer = device_alloc(sizeof(float));
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclComm_t other;
	ncclUniqueId id = { { 0 } };

	CHECK(ncclGroupEnd() == ncclInvalidUsage);
	CHECK(ncclAllReduce(buffer, buffer, 1, ncclNumTypes, ncclSum, rank->comm, NULL) == ncclInvalidArgument);
	CHECK(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclNumOps, rank->comm, NULL) == ncclInvalidArgument);
	CHECK(ncclBroadcast(buffer, buffer, 1, ncclFloat32, 2, rank->comm, NULL) == ncclInvalidArgument);
	CHECK(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, NULL, NULL) == ncclInvalidArgument);
	CHECK(strstr(ncclGetLastError(NULL), "comm argument is NULL"));
	CHECK(ncclCommInitRank(&other, 2, id, 0) == ncclInvalidArgument);
	CHECK(ncclCommInitRank(&other, 2, id, 2) == ncclInvalidArgument);
	config.blocking = 2;
	CHECK(ncclCommInitRankConfig(&other, 2, id, 0, &config) == ncclInvalidArgument);
	/* One bad call spoils its group, and the next group is clean. */
	NCCL(ncclGroupStart());
	NCCL(all_reduce_one(rank, buffer));
	CHECK(ncclAllReduce(buffer, buffer, 1, ncclNumTypes, ncclSum, rank->comm, NULL) == ncclInvalidArgument);
	CHECK(ncclGroupEnd() == ncclInvalidArgument);
	NCCL(all_reduce_one(rank, buffer));
	CU(cuStreamSynchronize(rank->stream));
}

Test(communicators, misuse_gets_the_error_of_nccl_and_a_sentence)
{
	ranks_run(2, misuse_main);
}

static void same_device_main(struct rank *rank)
{
	struct board *board = rank->shared;
	CUcontext context;
	ncclComm_t comm;

	if (rank->rank == 0)
		NCCL(ncclGetUniqueId(&board->id));
	atomic_fetch_add(&board->ready, rank->rank == 0);
	wait_until(&board->ready, 1);
	CU(cuDevicePrimaryCtxRetain(&context, 0));
	CU(cuCtxSetCurrent(context));
	CHECK(ncclCommInitRank(&comm, rank->nranks, board->id, rank->rank) == ncclInvalidUsage);
	CHECK(strstr(ncclGetLastError(NULL), "Duplicate GPU"));
}

Test(communicators, two_ranks_on_one_device_are_refused)
{
	ranks_run(2, same_device_main);
}

Test(communicators, one_process_drives_several_devices)
{
	ncclComm_t comms[3];
	CUstream streams[3];
	float *buffers[3];
	CUcontext context;

	setenv("SIM_QUIET", "1", 1);
	cr_assert_eq(cuInit(0), CUDA_SUCCESS);
	cr_assert_eq(ncclCommInitAll(comms, 3, NULL), ncclSuccess);
	cr_assert_eq(ncclGroupStart(), ncclSuccess);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(cuDevicePrimaryCtxRetain(&context, i), CUDA_SUCCESS);
		cr_assert_eq(cuCtxSetCurrent(context), CUDA_SUCCESS);
		cr_assert_eq(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
		buffers[i] = device_alloc(sizeof(float));
		*buffers[i] = (float)(i + 1);
		cr_assert_eq(ncclAllReduce(buffers[i], buffers[i], 1, ncclFloat32, ncclProd, comms[i], streams[i]),
			     ncclSuccess);
	}
	cr_assert_eq(ncclGroupEnd(), ncclSuccess);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(cuStreamSynchronize(streams[i]), CUDA_SUCCESS);
		cr_expect_eq(*buffers[i], 6.0f);
		cr_expect_eq(ncclCommDestroy(comms[i]), ncclSuccess);
	}
}

/* One rank of a process with two. */
struct member {
	ncclComm_t comm;
	CUcontext context;
	CUstream stream;
	float *buffer;
	atomic_bool returned;
};

static void *call_as_member(void *argument)
{
	struct member *member = argument;

	CU(cuCtxSetCurrent(member->context));
	NCCL(ncclAllReduce(member->buffer, member->buffer, 1, ncclFloat32, ncclSum, member->comm, member->stream));
	atomic_store(&member->returned, true);
	CU(cuStreamSynchronize(member->stream));
	return NULL;
}

/* The first rank's call alone: has it returned before the second one's is made? */
static void together_main(struct rank *rank)
{
	bool together = strcasecmp(getenv("NCCL_LAUNCH_MODE"), "GROUP") == 0;
	struct member members[2] = { 0 };
	pthread_t threads[2];
	ncclComm_t comms[2];

	(void)rank;
	NCCL(ncclCommInitAll(comms, 2, NULL));
	for (int i = 0; i < 2; i++) {
		members[i].comm = comms[i];
		CU(cuDevicePrimaryCtxRetain(&members[i].context, i));
		CU(cuCtxSetCurrent(members[i].context));
		CU(cuStreamCreate(&members[i].stream, CU_STREAM_NON_BLOCKING));
		members[i].buffer = device_alloc(sizeof(float));
		*members[i].buffer = 1;
	}
	NCCL(ncclGroupStart()); /* connects them: the next calls need not wait for each other on the host */
	for (int i = 0; i < 2; i++)
		NCCL(ncclBroadcast(members[i].buffer, members[i].buffer, 1, ncclFloat32, 0, comms[i], members[i].stream));
	NCCL(ncclGroupEnd());
	CHECK(pthread_create(&threads[0], NULL, call_as_member, &members[0]) == 0);
	if (together)
		usleep(100000); /* time to return in, wrongly */
	else
		while (!atomic_load(&members[0].returned))
			usleep(1000);
	CHECK(atomic_load(&members[0].returned) == !together);
	CHECK(pthread_create(&threads[1], NULL, call_as_member, &members[1]) == 0);
	for (int i = 0; i < 2; i++) {
		CHECK(pthread_join(threads[i], NULL) == 0);
		CHECK(*members[i].buffer == 2);
		NCCL(ncclCommDestroy(members[i].comm));
	}
}

Test(communicators, in_launch_mode_group_the_ranks_of_a_process_launch_together)
{
	setenv("NCCL_LAUNCH_MODE", "GROUP", 1);
	ranks_run(1, together_main);
	setenv("NCCL_LAUNCH_MODE", "PARALLEL", 1);
	ranks_run(1, together_main);
}

Test(communicators, the_version_is_that_of_the_header)
{
	int version = 0;

	cr_expect_eq(ncclGetVersion(&version), ncclSuccess);
	cr_expect_eq(version, NCCL_VERSION_CODE);
}
