/* SPDX-License-Identifier: MIT */
/* Which profiler events the less usual calls bring, and on which thread: NCCL 2.28.9's. */
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "ranks.h"
#include "recording.h"

#define COUNT 1000

static void init(void)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
}

TestSuite(calls, .init = init, .timeout = 60);

static void expect(const struct rank *rank, const char *what, const char *expected)
{
	if (rank->rank == 0)
		recording_expect(what, expected);
}

static void all_to_all_main(struct rank *rank)
{
	float *buffer = device_alloc(4 * COUNT * sizeof(float));

	recording_attach();
	recording_drop();
	NCCL(ncclAlltoAll(buffer, buffer + 2 * COUNT, COUNT, ncclFloat32, rank->comm, rank->stream));
	expect(rank, "AlltoAll",
	       "GroupApi start in - depth 1\n"
	       "GroupApi state 23\n"
	       "P2pApi start in GroupApi Send 1000 ncclFloat32\n"
	       "P2pApi stop\n"
	       "P2pApi start in GroupApi Recv 1000 ncclFloat32\n"
	       "P2pApi stop\n"
	       "P2pApi start in GroupApi Send 1000 ncclFloat32\n"
	       "P2pApi stop\n"
	       "P2pApi start in GroupApi Recv 1000 ncclFloat32\n"
	       "P2pApi stop\n"
	       "GroupApi state 24\n"
	       "KernelLaunch start in GroupApi\n"
	       "KernelLaunch stop\n"
	       "Group start in -\n"
	       "P2p start in P2pApi Send 1000 ncclFloat32 peer 0 rank 0 group Group\n"
	       "P2p start in P2pApi Recv 1000 ncclFloat32 peer 0 rank 0 group Group\n"
	       "P2p start in P2pApi Send 1000 ncclFloat32 peer 1 rank 0 group Group\n"
	       "P2p start in P2pApi Recv 1000 ncclFloat32 peer 1 rank 0 group Group\n"
	       "P2p stop\n"
	       "P2p stop\n"
	       "P2p stop\n"
	       "P2p stop\n"
	       "Group stop\n"
	       "GroupApi stop\n");
	CU(cuStreamSynchronize(rank->stream));
}

Test(calls, all_to_all_is_sends_and_receives_without_its_name)
{
	ranks_run(2, all_to_all_main);
}

static void rooted_main(struct rank *rank)
{
	float *buffer = device_alloc(4 * COUNT * sizeof(float));

	recording_attach();
	recording_drop();
	NCCL(ncclGather(buffer, buffer + COUNT, COUNT, ncclFloat32, 1, rank->comm, rank->stream));
	expect(rank, "Gather",
	       "GroupApi start in - depth 1\n"
	       "GroupApi state 23\n"
	       "P2pApi start in GroupApi Send 1000 ncclFloat32\n"
	       "P2pApi stop\n"
	       "GroupApi state 24\n"
	       "KernelLaunch start in GroupApi\n"
	       "KernelLaunch stop\n"
	       "Group start in -\n"
	       "P2p start in P2pApi Send 1000 ncclFloat32 peer 1 rank 0 group Group\n"
	       "P2p stop\n"
	       "Group stop\n"
	       "GroupApi stop\n");
	NCCL(ncclScatter(buffer, buffer + 2 * COUNT, COUNT, ncclFloat32, 1, rank->comm, rank->stream));
	expect(rank, "Scatter",
	       "GroupApi start in - depth 1\n"
	       "GroupApi state 23\n"
	       "P2pApi start in GroupApi Recv 1000 ncclFloat32\n"
	       "P2pApi stop\n"
	       "GroupApi state 24\n"
	       "KernelLaunch start in GroupApi\n"
	       "KernelLaunch stop\n"
	       "Group start in -\n"
	       "P2p start in P2pApi Recv 1000 ncclFloat32 peer 1 rank 0 group Group\n"
	       "P2p stop\n"
	       "Group stop\n"
	       "GroupApi stop\n");
	CU(cuStreamSynchronize(rank->stream));
}

Test(calls, gather_and_scatter_are_one_half_on_ranks_that_are_not_the_root)
{
	ranks_run(2, rooted_main);
}

#define API_OF_COPY                                                                                                    \
	"GroupApi start in - depth 2\n"                                                                                \
	"GroupApi state 23\n"                                                                                          \
	"P2pApi start in GroupApi Send 1000 ncclFloat32\n"                                                             \
	"P2pApi stop\n"                                                                                                \
	"P2pApi start in GroupApi Recv 1000 ncclFloat32\n"                                                             \
	"P2pApi stop\n"                                                                                                \
	"GroupApi state 24\n"

static void copy_to_self(struct rank *rank, const float *from, float *to)
{
	NCCL(ncclGroupStart());
	NCCL(ncclSend(from, COUNT, ncclFloat32, rank->rank, rank->comm, rank->stream));
	NCCL(ncclRecv(to, COUNT, ncclFloat32, rank->rank, rank->comm, rank->stream));
	NCCL(ncclGroupEnd());
	CU(cuStreamSynchronize(rank->stream));
}

static void self_main(struct rank *rank)
{
	float *buffer = device_alloc(2 * COUNT * sizeof(float));

	recording_attach();
	recording_drop();
	copy_to_self(rank, buffer, buffer);
	expect(rank, "in place", API_OF_COPY "GroupApi stop\n");
	copy_to_self(rank, buffer, buffer + COUNT);
	expect(rank, "elsewhere",
	       API_OF_COPY "KernelLaunch start in GroupApi\n"
			   "KernelLaunch stop\n"
			   "Group start in -\n"
			   "P2p start in P2pApi Send 1000 ncclFloat32 peer 0 rank 0 group Group\n"
			   "P2p start in P2pApi Recv 1000 ncclFloat32 peer 0 rank 0 group Group\n"
			   "P2p stop\n"
			   "P2p stop\n"
			   "Group stop\n"
			   "GroupApi stop\n");
	CHECK(ncclSend(buffer, COUNT, ncclFloat32, rank->rank, rank->comm, rank->stream) == ncclInvalidUsage);
	CHECK(strstr(ncclGetLastError(NULL), "without a matching recv"));
}

Test(calls, a_copy_to_oneself_in_place_is_api_events_alone)
{
	ranks_run(1, self_main);
}

static void simulate_main(struct rank *rank)
{
	float *buffer = device_alloc(COUNT * sizeof(float));
	ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER, bad = { 0 };

	recording_attach();
	recording_drop();
	*buffer = 1;
	NCCL(ncclGroupStart());
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
	NCCL(ncclGroupSimulateEnd(&info));
	expect(rank, "simulation",
	       "GroupApi start in - depth 2\n"
	       "GroupApi state 23\n"
	       "CollApi start in GroupApi AllReduce 1000 ncclFloat32 root 0\n"
	       "CollApi stop\n"
	       "GroupApi state 24\n"
	       "GroupApi stop\n");
	CU(cuStreamSynchronize(rank->stream));
	CHECK(*buffer == 1);
	NCCL(ncclGroupStart());
	CHECK(ncclGroupSimulateEnd(&bad) == ncclInvalidArgument);
	CHECK(ncclGroupSimulateEnd(&info) == ncclInvalidUsage);
}

Test(calls, a_simulated_group_end_launches_nothing)
{
	ranks_run(2, simulate_main);
}

/* Lines that tell the order of launches; the API's lines are the user's thread's. */
static size_t count_lines(const char *text, const char *start)
{
	size_t count = 0;

	for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line != NULL)
		count += strncmp(line, start, strlen(start)) == 0;
	return count;
}

static void two_devices_main(struct rank *rank)
{
	ncclComm_t comms[2];
	CUstream streams[2];
	CUcontext context;

	(void)rank;
	NCCL(ncclCommInitAll(comms, 2, (int[]){ 4, 5 }));
	recording_attach();
	recording_drop();
	NCCL(ncclGroupStart());
	for (int i = 0; i < 2; i++) {
		CU(cuDevicePrimaryCtxRetain(&context, 4 + i));
		CU(cuCtxSetCurrent(context));
		CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
		float *buffer = device_alloc(COUNT * sizeof(float));
		NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, comms[i], streams[i]));
	}
	NCCL(ncclGroupEnd());
	/* Kernel and events of one, then kernel and events of the other; NCCL puts the newest first. */
	recording_expect("two devices",
			 "GroupApi start in - depth 2\n"
			 "GroupApi state 23\n"
			 "CollApi start in GroupApi AllReduce 1000 ncclFloat32 root 0\n"
			 "CollApi stop\n"
			 "CollApi start in GroupApi AllReduce 1000 ncclFloat32 root 0\n"
			 "CollApi stop\n"
			 "GroupApi state 24\n"
			 "KernelLaunch start in GroupApi\n"
			 "KernelLaunch stop\n"
			 "Group start in -\n"
			 "Coll start in CollApi AllReduce #0 1000 ncclFloat32 root 0 rank 1 group Group\n"
			 "Coll stop\n"
			 "Group stop\n"
			 "KernelLaunch start in GroupApi\n"
			 "KernelLaunch stop\n"
			 "Group start in -\n"
			 "Coll start in CollApi AllReduce #0 1000 ncclFloat32 root 0 rank 0 group Group\n"
			 "Coll stop\n"
			 "Group stop\n"
			 "GroupApi stop\n");
	for (int i = 0; i < 2; i++)
		CU(cuStreamSynchronize(streams[i]));
	NCCL(ncclCommDestroy(comms[0]));
	expect(rank, "the first destroy", "");
	NCCL(ncclCommDestroy(comms[1]));
	CHECK(count_lines(recording_read(), "finalize") == 2);
}

Test(calls, one_thread_with_two_devices_launches_and_tells_one_after_the_other)
{
	ranks_run(1, two_devices_main);
}

static void settle(ncclComm_t comm)
{
	uint64_t until = now_ns() + DEADLINE_S * 1000000000ull;
	ncclResult_t state = ncclInProgress;

	while (state == ncclInProgress) {
		CHECK(now_ns() < until);
		usleep(1000);
		NCCL(ncclCommGetAsyncError(comm, &state));
	}
	NCCL(state);
}

static void nonblocking_main(struct rank *rank)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	float *buffer = device_alloc(COUNT * sizeof(float));
	ncclComm_t comm;

	config.blocking = 0;
	NCCL(ncclCommSplit(rank->comm, 0, 0, &comm, &config));
	recording_attach();
	recording_drop();
	ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, comm, rank->stream);
	settle(comm);
	const char *text = recording_read();
	CHECK(count_lines(text, "CollApi start in GroupApi AllReduce") == 1);
	CHECK(count_lines(text, "GroupApi stop") == 1);
	CHECK(count_lines(text, "(other thread) KernelLaunch start in GroupApi") == 1);
	CHECK(count_lines(text, "(other thread) Coll start in CollApi AllReduce #0") == 1);
	CHECK(count_lines(text, "(other thread) Coll stop") == 1);
	NCCL(ncclCommDestroy(comm));
}

Test(calls, without_blocking_the_launch_and_its_events_come_from_another_thread)
{
	ranks_run(2, nonblocking_main);
}

static void windows_main(struct rank *rank)
{
	float *buffer;
	ncclWindow_t window;
	void *handle;

	NCCL(ncclMemAlloc((void **)&buffer, COUNT * sizeof(float)));
	recording_attach();
	NCCL(ncclCommRegister(rank->comm, buffer, COUNT * sizeof(float), &handle));
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
	CHECK(count_lines(recording_read(), "Coll start") == 1);
	NCCL(ncclCommDeregister(rank->comm, handle));
	CHECK(ncclCommDeregister(rank->comm, handle) == ncclInvalidUsage);
	NCCL(ncclCommWindowRegister(rank->comm, buffer, COUNT * sizeof(float), &window, NCCL_WIN_COLL_SYMMETRIC));
	recording_drop();
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
	expect(rank, "symmetric windows",
	       "GroupApi start in - depth 1\n"
	       "GroupApi state 23\n"
	       "CollApi start in GroupApi AllReduce 1000 ncclFloat32 root 0\n"
	       "CollApi stop\n"
	       "GroupApi state 24\n"
	       "GroupApi stop\n");
	recording_drop();
	/* There is no symmetric kernel for it. */
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclMax, rank->comm, rank->stream));
	CHECK(count_lines(recording_read(), "Coll start") == 1);
	CU(cuStreamSynchronize(rank->stream));
	NCCL(ncclCommWindowDeregister(rank->comm, window));
	NCCL(ncclMemFree(buffer));
}

Test(calls, a_symmetric_window_makes_the_kernel_unseen)
{
	ranks_run(2, windows_main);
}

static void old_main(struct rank *rank)
{
	float *buffer = device_alloc(2 * sizeof(float));
	ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
	ncclWindow_t window;
	ncclComm_t child;
	int other = 1 - rank->rank;

	CHECK(ncclAlltoAll(buffer, buffer, 1, ncclFloat32, rank->comm, rank->stream) == ncclInvalidUsage);
	CHECK(strstr(ncclGetLastError(NULL), "NCCL 2.21.5"));
	CHECK(ncclGather(buffer, buffer, 1, ncclFloat32, 0, rank->comm, rank->stream) == ncclInvalidUsage);
	CHECK(ncclScatter(buffer, buffer, 1, ncclFloat32, 0, rank->comm, rank->stream) == ncclInvalidUsage);
	CHECK(ncclCommShrink(rank->comm, &other, 1, &child, NULL, 0) == ncclInvalidUsage);
	CHECK(ncclCommWindowRegister(rank->comm, buffer, 4, &window, 0) == ncclInvalidUsage);
	CHECK(ncclCommRevoke(rank->comm, 0) == ncclInvalidUsage);
	CHECK(ncclGroupSimulateEnd(&info) == ncclInvalidUsage);
	NCCL(ncclCommSplit(rank->comm, 0, 0, &child, NULL));
	NCCL(ncclCommDestroy(child));
}

Test(calls, a_release_refuses_the_calls_that_it_does_not_have)
{
	setenv("SIM_NCCL_VERSION", "2.21.5", 1);
	ranks_run(2, old_main);
}
