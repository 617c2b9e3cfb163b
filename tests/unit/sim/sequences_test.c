/* SPDX-License-Identifier: MIT */
/* What a profiler plugin hears, call by call, against what NCCL 2.28.9's own host code did (nccl-2.28.9-1.sequences).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "sim/nccl/profiler/profiler_abi.h"
#include "ranks.h"
#include "sequences.h"

#define COUNT    1000
#define BIG      65536
#define CHANNELS 32768 /* elements that the stand-in spreads over several channels */
#define ALL      0xFFF

/* As it was recorded: collectives are connected in init, where NCCL makes the progress thread, too. */
static void connect_in_init(void)
{
	setenv("NCCL_CUMEM_ENABLE", "0", 1);
}

TestSuite(sequences, .timeout = 100, .init = connect_in_init);

static float *first, *second;

/* Each rank for itself: the other one may be a phase behind. */
static void synchronize(struct rank *rank, const char *next_phase)
{
	CU(cuStreamSynchronize(rank->stream));
	if (rank->rank == 0)
		sequences_expect(next_phase);
}

static void all_reduce(struct rank *rank, size_t count)
{
	NCCL(ncclAllReduce(first, first, count, ncclFloat32, ncclSum, rank->comm, rank->stream));
}

static void all_gather(struct rank *rank, ncclComm_t comm, size_t count)
{
	NCCL(ncclAllGather(first, second, count, ncclFloat32, comm, rank->stream));
}

static void play_collectives(struct rank *rank)
{
	all_reduce(rank, CHANNELS);
	synchronize(rank, "broadcast-and-all-gather");
	NCCL(ncclBroadcast(first, first, COUNT, ncclFloat64, 1, rank->comm, rank->stream));
	all_gather(rank, rank->comm, COUNT);
	synchronize(rank, "two-all-gathers");
	NCCL(ncclGroupStart());
	all_gather(rank, rank->comm, COUNT);
	all_gather(rank, rank->comm, COUNT);
	NCCL(ncclGroupEnd());
	synchronize(rank, "order-of-collectives");
	NCCL(ncclGroupStart());
	all_reduce(rank, BIG);
	NCCL(ncclAllReduce(second, second, BIG / 4, ncclInt32, ncclSum, rank->comm, rank->stream));
	all_reduce(rank, 16);
	all_gather(rank, rank->comm, BIG / 2);
	all_reduce(rank, 12);
	NCCL(ncclGroupEnd());
	synchronize(rank, "send-and-receive");
}

static void play_p2p(struct rank *rank)
{
	int peer = 1 - rank->rank;

	NCCL(ncclGroupStart());
	NCCL(ncclRecv(second, COUNT, ncclFloat32, peer, rank->comm, rank->stream));
	NCCL(ncclSend(first, COUNT, ncclFloat32, peer, rank->comm, rank->stream));
	NCCL(ncclGroupEnd());
	synchronize(rank, "all-to-all");
	NCCL(ncclAlltoAll(first, second, COUNT, ncclFloat32, rank->comm, rank->stream));
	synchronize(rank, "gather");
	NCCL(ncclGather(first, second, COUNT, ncclFloat32, 0, rank->comm, rank->stream));
	synchronize(rank, "nothing");
	NCCL(ncclGroupStart());
	NCCL(ncclGroupEnd());
	all_reduce(rank, 0);
	synchronize(rank, "capture");
}

static CUgraphExec capture_all_reduce(struct rank *rank)
{
	CUgraph graph;
	CUgraphExec exec;

	CU(cuStreamBeginCapture(rank->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	all_reduce(rank, COUNT);
	CU(cuStreamEndCapture(rank->stream, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	CU(cuGraphDestroy(graph));
	return exec;
}

static void play_graphs(struct rank *rank)
{
	CUgraphExec with = capture_all_reduce(rank);
	synchronize(rank, "replay");
	CU(cuGraphLaunch(with, rank->stream));
	synchronize(rank, "capture-without-channels");
	sequences_mask(ALL & ~EVENT_KERNEL_CH);
	CUgraphExec without = capture_all_reduce(rank);
	synchronize(rank, "replay-without-channels");
	CU(cuGraphLaunch(without, rank->stream));
	synchronize(rank, "call-behind-it");
	all_reduce(rank, COUNT);
	synchronize(rank, "split");
	sequences_mask(ALL);
	CU(cuGraphExecDestroy(with));
	CU(cuGraphExecDestroy(without));
}

static void play_two(struct rank *rank)
{
	ncclComm_t comms[2] = { rank->comm };

	NCCL(ncclCommSplit(rank->comm, 0, rank->rank, &comms[1], NULL));
	synchronize(rank, "two-communicators");
	bool first_is_b = sequences_name_by_number();
	ncclComm_t a = comms[first_is_b], b = comms[!first_is_b];
	NCCL(ncclGroupStart());
	all_gather(rank, b, COUNT);
	all_gather(rank, a, COUNT);
	NCCL(ncclGroupEnd());
	synchronize(rank, "finalize");
	NCCL(ncclCommFinalize(b));
	synchronize(rank, "destroy");
	NCCL(ncclCommDestroy(b));
	synchronize(rank, "end");
	rank->comm = a;
}

static void one_host_main(struct rank *rank)
{
	first = device_alloc(BIG * sizeof(float));
	second = device_alloc(BIG * sizeof(float));
	CU(cuLaunchHostFunc(rank->stream, sequences_note_callback, NULL));
	synchronize(rank, "all-reduce");
	play_collectives(rank);
	play_p2p(rank);
	play_graphs(rank);
	play_two(rank);
}

Test(sequences, every_phase_on_one_host_is_as_nccl_plays_it)
{
	sequences_begin("init");
	setenv("NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN", 1);
	ranks_run(2, one_host_main);
}

static void wait_until_done(ncclComm_t comm)
{
	ncclResult_t state = ncclInProgress;

	while (state == ncclInProgress) {
		NCCL(ncclCommGetAsyncError(comm, &state));
		usleep(1000);
	}
	CHECK(state == ncclSuccess);
}

static void non_blocking_main(struct rank *rank)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclComm_t world = rank->comm;
	ncclResult_t result;

	first = device_alloc(COUNT * sizeof(float));
	config.blocking = 0;
	result = ncclCommSplit(world, 0, rank->rank, &rank->comm, &config);
	CHECK(result == ncclSuccess || result == ncclInProgress);
	wait_until_done(world);
	wait_until_done(rank->comm);
	NCCL(ncclCommDestroy(world));
	sequences_begin("non-blocking");
	result = ncclAllReduce(first, first, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream);
	CHECK(result == ncclSuccess || result == ncclInProgress);
	wait_until_done(rank->comm);
	synchronize(rank, "end");
}

Test(sequences, of_a_group_that_does_not_block_the_launch_comes_from_a_thread_of_its_own)
{
	setenv("NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN", 1);
	sequences_first_mask(ALL & ~(EVENT_KERNEL_CH | EVENT_PROXY_CTRL));
	ranks_run(2, non_blocking_main);
}

static void two_hosts_main(struct rank *rank)
{
	first = device_alloc(COUNT * 2 * sizeof(float));
	sequences_begin("two-hosts");
	all_reduce(rank, 1024);
	synchronize(rank, "end");
}

Test(sequences, between_hosts_the_receive_is_announced_first_with_the_steps_of_nccl)
{
	setenv("NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN", 1);
	setenv("NCCL_PROTO", "Simple", 1);
	setenv("TEST_HOSTS", "2", 1);
	sequences_first_mask(ALL & ~(EVENT_KERNEL_CH | EVENT_PROXY_CTRL | EVENT_PROXY_STEP | EVENT_NET_PLUGIN));
	ranks_run(2, two_hosts_main);
}
