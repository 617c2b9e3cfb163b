/* SPDX-License-Identifier: MIT */
/* In which order the calls of a group are launched, and in how many kernels: with more ranks and calls than the
 * recorded sequences have. The expectations follow from NCCL 2.28.9's source. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "ranks.h"
#include "recording.h"

#define COUNT 1000

TestSuite(schedule, .timeout = 100);

static void choose(const char *mask, const char *expected)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	setenv("RECORDING_MASK", mask, 1);
	setenv("EXPECTED", expected, 1);
}

/* "Send 1", "Recv 2" and so on, of the P2p events. */
static void expect_peers(void)
{
	char found[512] = "";

	for (const char *at = recording_read(); (at = strstr(at, "P2p start in")); at++) {
		char function[8], peer[8];
		CHECK(sscanf(at, "P2p start in %*s %7s %*s %*s peer %7s", function, peer) == 2);
		snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s %s, ", function, peer);
	}
	if (strcmp(found, getenv("EXPECTED")) == 0)
		return;
	fprintf(stderr, "expected %s\nbut there was %s\n", getenv("EXPECTED"), found);
	_Exit(1);
}

static void all_to_all_main(struct rank *rank)
{
	float *buffer = device_alloc((size_t)2 * COUNT * (size_t)rank->nranks * sizeof(float));
	float *received = buffer + (size_t)COUNT * (size_t)rank->nranks;

	for (int i = 0; i < COUNT * rank->nranks; i++)
		buffer[i] = (float)(rank->rank * 100 + i / COUNT);
	recording_attach();
	recording_drop();
	NCCL(ncclAlltoAll(buffer, received, COUNT, ncclFloat32, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	for (int i = 0; i < COUNT * rank->nranks; i++)
		CHECK(received[i] == (float)(i / COUNT * 100 + rank->rank));
	if (rank->rank == 0)
		expect_peers();
}

Test(schedule, sends_go_up_and_receives_come_from_below_on_one_host)
{
	choose("4", "Send 0, Recv 0, Send 1, Recv 2, Send 2, Recv 1, ");
	ranks_run(3, all_to_all_main);
}

/* Places of the schedule are then as many ranks as all hosts have, here two. */
Test(schedule, the_own_host_comes_first_and_then_the_others_place_by_place)
{
	setenv("TEST_HOSTS", "3", 1);
	choose("4", "Send 0, Recv 0, Send 1, Recv 1, Send 2, Recv 4, Send 3, Recv 5, Send 4, Recv 2, Send 5, Recv 3, ");
	ranks_run(6, all_to_all_main);
}

static int count(const char *text)
{
	int found = 0;

	for (const char *at = recording_read(); (at = strstr(at, text)); at++)
		found++;
	return found;
}

static void expect_launches(int wanted)
{
	CHECK(count("KernelLaunch start") == wanted);
	CHECK(count("Group start in -") == wanted);
	CHECK(count("GroupApi start") == 1);
	recording_drop();
}

/* As many as one kernel takes, and one more. */
static void collectives_main(struct rank *rank)
{
	const int fit = 1017;
	float *buffer = device_alloc(sizeof(float));

	recording_attach();
	for (int calls = fit; calls <= fit + 1; calls++) {
		*buffer = 1;
		recording_drop();
		NCCL(ncclGroupStart());
		for (int i = 0; i < calls; i++)
			NCCL(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclMax, rank->comm, rank->stream));
		NCCL(ncclGroupEnd());
		expect_launches(1 + calls - fit);
		CU(cuStreamSynchronize(rank->stream));
		CHECK(*buffer == 1);
	}
}

Test(schedule, a_group_of_more_collectives_than_a_kernel_takes_is_several_launches)
{
	choose("0x801", "");
	ranks_run(2, collectives_main);
}

/* The channels of all KernelCh events, in ascending order: in which order they begin is the GPU's. */
static void expect_channels(const char *wanted)
{
	uint64_t until = now_ns() + 20000000000u;
	int counts[8] = { 0 };
	char found[64] = "";

	while (count("KernelCh stop") < (int)strlen(wanted) && now_ns() < until)
		usleep(1000);
	for (const char *at = recording_read(); (at = strstr(at, "KernelCh start in Coll channel ")); at++)
		counts[at[strlen("KernelCh start in Coll channel ")] - '0']++;
	for (int channel = 0; channel < 8; channel++)
		for (int i = 0; i < counts[channel]; i++)
			snprintf(found + strlen(found), sizeof(found) - strlen(found), "%d", channel);
	if (strcmp(found, wanted) == 0)
		return;
	fprintf(stderr, "expected channels %s\nbut there were %s\n", wanted, found);
	_Exit(1);
}

/* Of three small ones each has a channel of its own; a large one takes what there is, and leaves room on the last. */
static void channels_main(struct rank *rank)
{
	size_t large = 1 << 18;
	float *buffer = device_alloc(large * sizeof(float));

	recording_attach();
	recording_drop();
	NCCL(ncclGroupStart());
	for (int i = 0; i < 3; i++)
		NCCL(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclMax, rank->comm, rank->stream));
	NCCL(ncclGroupEnd());
	CU(cuStreamSynchronize(rank->stream));
	if (rank->rank == 0) {
		expect_channels("012");
		CHECK(count("ProxyCtrl state 17") == 1); /* all three were appended at once */
	}
	recording_drop();
	NCCL(ncclGroupStart());
	NCCL(ncclAllReduce(buffer, buffer, large, ncclFloat32, ncclMax, rank->comm, rank->stream));
	NCCL(ncclAllReduce(buffer, buffer, 1, ncclInt32, ncclMax, rank->comm, rank->stream));
	NCCL(ncclGroupEnd());
	CU(cuStreamSynchronize(rank->stream));
	if (rank->rank == 0)
		expect_channels("012345677");
}

Test(schedule, collectives_of_a_launch_follow_each_other_over_the_channels)
{
	choose("0x60", "");
	ranks_run(2, channels_main);
}

static void p2p_main(struct rank *rank)
{
	const int fit = 247;
	int *buffer = device_alloc(2 * 256 * sizeof(int)), *received = buffer + 256, peer = 1 - rank->rank;

	recording_attach();
	for (int calls = fit; calls <= fit + 1; calls++) {
		recording_drop();
		NCCL(ncclGroupStart());
		for (int i = 0; i < calls; i++) {
			buffer[i] = i;
			NCCL(ncclSend(&buffer[i], 1, ncclInt32, peer, rank->comm, rank->stream));
			NCCL(ncclRecv(&received[i], 1, ncclInt32, peer, rank->comm, rank->stream));
		}
		NCCL(ncclGroupEnd());
		expect_launches(1 + calls - fit);
		CU(cuStreamSynchronize(rank->stream));
		for (int i = 0; i < calls; i++)
			CHECK(received[i] == i);
	}
}

Test(schedule, sends_to_one_rank_do_not_share_a_batch_and_fill_a_kernel_earlier)
{
	choose("0x801", "");
	ranks_run(2, p2p_main);
}

/* Sends and receives follow the last of the collectives, which takes a second launch. */
static void mixed_main(struct rank *rank)
{
	float *buffer = device_alloc(2 * sizeof(float));
	int peer = 1 - rank->rank;
	CUgraph graph;
	CUgraphExec exec;

	recording_attach();
	recording_drop();
	buffer[0] = 1;
	CU(cuStreamBeginCapture(rank->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	NCCL(ncclGroupStart());
	NCCL(ncclRecv(buffer + 1, 1, ncclFloat32, peer, rank->comm, rank->stream));
	NCCL(ncclSend(buffer, 1, ncclFloat32, peer, rank->comm, rank->stream));
	for (int i = 0; i < 1018; i++)
		NCCL(ncclAllReduce(buffer, buffer, 1, ncclFloat32, i ? ncclMax : ncclSum, rank->comm, rank->stream));
	NCCL(ncclGroupEnd());
	CU(cuStreamEndCapture(rank->stream, &graph));
	CU(cuGraphInstantiate(&exec, graph, 0));
	expect_launches(2);
	for (int i = 0; i < 2; i++)
		CU(cuGraphLaunch(exec, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(buffer[0] == 4 && buffer[1] == 4);
	CU(cuGraphExecDestroy(exec));
	CU(cuGraphDestroy(graph));
}

Test(schedule, a_captured_group_of_several_launches_is_replayed_whole)
{
	choose("0x801", "");
	ranks_run(2, mixed_main);
}

/* Two ranks in one process, driven by one thread. */
static void clique_main(struct rank *rank)
{
	ncclComm_t comms[2];
	CUstream streams[2];
	float *buffers[2];

	NCCL(ncclCommInitAll(comms, 2, (int[]){ 2, 3 }));
	for (int i = 0; i < 2; i++) {
		CUcontext context;
		CU(cuDevicePrimaryCtxRetain(&context, 2 + i));
		CU(cuCtxSetCurrent(context));
		CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
		buffers[i] = device_alloc(sizeof(float));
		*buffers[i] = (float)i;
	}
	recording_attach();
	recording_drop();
	NCCL(ncclGroupStart());
	for (int i = 0; i < 2 * 1018; i++)
		NCCL(ncclAllReduce(buffers[i % 2], buffers[i % 2], 1, ncclFloat32, ncclMax, comms[i % 2],
				   streams[i % 2]));
	NCCL(ncclGroupEnd());
	expect_launches(4);
	for (int i = 0; i < 2; i++) {
		CU(cuStreamSynchronize(streams[i]));
		CHECK(*buffers[i] == 1);
		NCCL(ncclCommDestroy(comms[i]));
	}
	(void)rank;
}

Test(schedule, ranks_of_one_process_launch_in_rounds_in_both_modes)
{
	choose("0x801", "");
	ranks_run(1, clique_main);
	setenv("NCCL_LAUNCH_MODE", "GROUP", 1);
	ranks_run(1, clique_main);
}
