/* SPDX-License-Identifier: MIT */
/* Connections at first use: on the host, inside the group's end, before the launch, and not without the peers. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "ranks.h"
#include "recording.h"

#define RANKS 4

TestSuite(connect, .timeout = 60);

/* One call on a thread of its own, which may sit in it. */
struct caller {
	struct rank *rank;
	ncclResult_t (*call)(struct rank *rank);
	CUcontext context;
	pthread_t thread;
	ncclResult_t result;
	atomic_int tid; /* 0: it does not run yet */
	atomic_bool returned;
};

static void *caller_main(void *argument)
{
	struct caller *caller = argument;

	atomic_store(&caller->tid, gettid());
	CU(cuCtxSetCurrent(caller->context));
	caller->result = caller->call(caller->rank);
	atomic_store(&caller->returned, true);
	return NULL;
}

static void start(struct caller *caller, struct rank *rank, ncclResult_t (*call)(struct rank *rank))
{
	*caller = (struct caller){ .rank = rank, .call = call };
	CU(cuCtxGetCurrent(&caller->context));
	CHECK(pthread_create(&caller->thread, NULL, caller_main, caller) == 0);
}

static ncclResult_t join(struct caller *caller)
{
	CHECK(pthread_join(caller->thread, NULL) == 0);
	return caller->result;
}

static float *number(void)
{
	static float *buffers;

	if (!buffers)
		buffers = device_alloc(2 * sizeof(*buffers));
	return buffers;
}

static ncclResult_t reduce(struct rank *rank)
{
	*number() = 1;
	return ncclAllReduce(number(), number(), 1, ncclFloat32, ncclSum, rank->comm, rank->stream);
}

static ncclResult_t gather(struct rank *rank)
{
	return ncclReduce(number(), number(), 1, ncclFloat32, ncclSum, 0, rank->comm, rank->stream);
}

/* To the next and from the one before, around the ring. */
static ncclResult_t pass_on(struct rank *rank)
{
	int next = (rank->rank + 1) % rank->nranks, previous = (rank->rank + rank->nranks - 1) % rank->nranks;

	NCCL(ncclGroupStart());
	NCCL(ncclSend(number(), 1, ncclFloat32, next, rank->comm, rank->stream));
	NCCL(ncclRecv(number() + 1, 1, ncclFloat32, previous, rank->comm, rank->stream));
	return ncclGroupEnd();
}

static bool records(const char *wanted)
{
	return strstr(recording_read(), wanted);
}

/* Waits until the call has come to its group's end; the recording is that of ABI v5. */
static void wait_for_group_end(void)
{
	uint64_t until = now_ns() + DEADLINE_S * 1000000000ull;

	while (!records("GroupApi state 24")) {
		CHECK(now_ns() < until);
		usleep(1000);
	}
}

static char state_of_thread(int tid)
{
	char path[64], text[512] = "";

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	FILE *file = fopen(path, "r");
	CHECK(file && fgets(text, sizeof(text), file));
	fclose(file);
	const char *name_ends = strrchr(text, ')');
	CHECK(name_ends && name_ends[1] == ' ');
	return name_ends[2];
}

/* It sits in its call: it sleeps whenever it is looked at, and not only as long as a lock of the recording is taken. */
static void wait_until_it_sleeps(const struct caller *caller)
{
	enum { LOOKS = 5, APART_US = 10000 };
	uint64_t until = now_ns() + DEADLINE_S * 1000000000ull;

	for (int asleep = 0; asleep < LOOKS; usleep(APART_US)) {
		CHECK(now_ns() < until && !atomic_load(&caller->returned));
		asleep = state_of_thread(atomic_load(&caller->tid)) == 'S' ? asleep + 1 : 0;
	}
}

/* Rank 0 comes when all others have sat in the call for a tenth of a second: time to return in, wrongly. */
static void late_main(struct rank *rank, ncclResult_t (*call)(struct rank *rank))
{
	struct board *board = rank->shared;
	struct caller caller;

	recording_attach();
	recording_drop();
	if (rank->rank == 0) {
		wait_until(&board->ready, rank->nranks - 1);
		NCCL(call(rank));
	} else {
		start(&caller, rank, call);
		wait_for_group_end();
		usleep(100000);
		CHECK(!atomic_load(&caller.returned));
		CHECK(records("Api stop\n") && !records("KernelLaunch"));
		atomic_fetch_add(&board->ready, 1);
		NCCL(join(&caller));
		CHECK(records("KernelLaunch start in GroupApi\n"));
	}
	CU(cuStreamSynchronize(rank->stream));
}

static void late_collective_main(struct rank *rank)
{
	late_main(rank, reduce);
	CHECK(*number() == (float)rank->nranks);
}

Test(connect, the_first_collective_waits_on_the_host_for_all_ranks)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	ranks_run(RANKS, late_collective_main);
}

static void late_pair_main(struct rank *rank)
{
	connect_ranks(rank);
	late_main(rank, pass_on);
}

/* Rank 2 has no business with rank 0. */
Test(connect, one_who_does_not_come_to_the_first_ring_of_pairs_keeps_all_others_waiting)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	ranks_run(RANKS, late_pair_main);
}

/* Rank 0 calls when all others have returned: one that waited for it would wait for ever. */
static void enqueue_all(struct rank *rank, ncclResult_t (*call)(struct rank *rank), int number)
{
	struct board *board = rank->shared;

	if (rank->rank == 0)
		wait_until(&board->arrived[number], rank->nranks - 1);
	NCCL(call(rank));
	atomic_fetch_add(&board->arrived[number], 1);
	CU(cuStreamSynchronize(rank->stream));
}

static void once_main(struct rank *rank)
{
	NCCL(reduce(rank));
	NCCL(pass_on(rank));
	enqueue_all(rank, reduce, 0);
	enqueue_all(rank, gather, 1); /* by the same algorithm */
	enqueue_all(rank, pass_on, 2);
}

Test(connect, what_is_connected_is_enqueued_without_waiting)
{
	ranks_run(RANKS, once_main);
}

static void at_init_main(struct rank *rank)
{
	enqueue_all(rank, reduce, 0);
}

Test(connect, without_cumem_init_connects_the_collectives)
{
	setenv("NCCL_CUMEM_ENABLE", "0", 1);
	ranks_run(RANKS, at_init_main);
}

Test(connect, init_connects_the_collectives_where_it_is_told_to)
{
	setenv("NCCL_RUNTIME_CONNECT", "0", 1);
	ranks_run(RANKS, at_init_main);
}

Test(connect, init_connects_the_collectives_of_old_releases)
{
	setenv("SIM_NCCL_VERSION", "2.21.5", 1);
	ranks_run(RANKS, at_init_main);
}

static ncclResult_t state_of(ncclComm_t comm)
{
	ncclResult_t state;

	NCCL(ncclCommGetAsyncError(comm, &state));
	return state;
}

static void settle(ncclComm_t comm)
{
	uint64_t until = now_ns() + DEADLINE_S * 1000000000ull;

	while (state_of(comm) == ncclInProgress) {
		CHECK(now_ns() < until);
		usleep(1000);
	}
	CHECK(state_of(comm) == ncclSuccess);
}

static void nonblocking_main(struct rank *rank)
{
	struct board *board = rank->shared;
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclComm_t comm, first = rank->comm;

	config.blocking = 0;
	CHECK(ncclCommSplit(rank->comm, 0, rank->rank, &comm, &config) == ncclSuccess);
	settle(comm);
	recording_attach();
	recording_drop();
	rank->comm = comm;
	if (rank->rank == 0)
		wait_until(&board->ready, rank->nranks - 1);
	ncclResult_t result = reduce(rank);
	CHECK(result == ncclInProgress || (rank->rank == 0 && result == ncclSuccess));
	if (rank->rank != 0) {
		usleep(100000);
		CHECK(state_of(comm) == ncclInProgress);
		CHECK(records("GroupApi stop\n") && !records("KernelLaunch"));
		atomic_fetch_add(&board->ready, 1);
	}
	settle(comm);
	CHECK(records("KernelLaunch start in GroupApi\n"));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(*number() == (float)rank->nranks);
	NCCL(ncclCommDestroy(comm));
	rank->comm = first;
}

Test(connect, a_communicator_that_does_not_block_connects_behind_its_caller)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	ranks_run(RANKS, nonblocking_main);
}

static void abort_main(struct rank *rank)
{
	struct caller caller;

	recording_attach();
	recording_drop();
	if (rank->rank != 0) {
		start(&caller, rank, rank->rank == 1 ? reduce : pass_on);
		wait_for_group_end();
		wait_until_it_sleeps(&caller);
	}
	NCCL(ncclCommAbort(rank->comm));
	rank->comm = NULL;
	if (rank->rank != 0)
		CHECK(join(&caller) != ncclSuccess);
}

/* Whoever aborts first takes the unique id's server with it, which nobody needs any more. */
Test(connect, abort_on_another_thread_ends_the_wait)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	ranks_run(3, abort_main);
}

static void two_main(struct rank *rank)
{
	ncclComm_t other;
	float *buffers = device_alloc(2 * sizeof(*buffers));

	NCCL(ncclCommSplit(rank->comm, 0, rank->rank, &other, NULL));
	buffers[0] = buffers[1] = 1;
	/* Unlike orders: were they connected one after the other, the ranks would wait for each other for ever. */
	ncclComm_t comms[] = { rank->comm, other };
	NCCL(ncclGroupStart());
	for (int i = 0; i < 2; i++) {
		int at = (i + rank->rank) % 2;
		NCCL(ncclAllReduce(&buffers[at], &buffers[at], 1, ncclFloat32, ncclSum, comms[at], rank->stream));
	}
	NCCL(ncclGroupEnd());
	CU(cuStreamSynchronize(rank->stream));
	CHECK(buffers[0] == (float)rank->nranks && buffers[1] == (float)rank->nranks);
	NCCL(ncclCommDestroy(other));
}

Test(connect, the_communicators_of_a_group_connect_side_by_side)
{
	ranks_run(2, two_main);
}
