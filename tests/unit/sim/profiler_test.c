/* SPDX-License-Identifier: MIT */
/* The profiler plugin is found, loaded and called as NCCL 2.28.9 does: the same calls in the same order. */
#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "ranks.h"
#include "recording.h"

#define COUNT 1000

enum call { ALL_REDUCE, REDUCE, REDUCE_SCATTER, ALL_GATHER, BROADCAST };

static ncclResult_t make_call(struct rank *rank, enum call call, void *buffer, size_t count)
{
	switch (call) {
	case ALL_REDUCE:
		return ncclAllReduce(buffer, buffer, count, ncclFloat32, ncclSum, rank->comm, rank->stream);
	case REDUCE:
		return ncclReduce(buffer, buffer, count, ncclFloat32, ncclSum, 1, rank->comm, rank->stream);
	case REDUCE_SCATTER:
		return ncclReduceScatter(buffer, buffer, count, ncclBfloat16, ncclSum, rank->comm, rank->stream);
	case ALL_GATHER:
		return ncclAllGather(buffer, buffer, count, ncclFloat32, rank->comm, rank->stream);
	default:
		return ncclBroadcast(buffer, buffer, count, ncclFloat64, 1, rank->comm, rank->stream);
	}
}

#define ONE_CALL(api, coll)                                                                                            \
	"GroupApi start in - depth 1\n"                                                                                \
	"GroupApi state 23\n"                                                                                          \
	"CollApi start in GroupApi " api "\n"                                                                          \
	"CollApi stop\n"                                                                                               \
	"GroupApi state 24\n"                                                                                          \
	"KernelLaunch start in GroupApi\n"                                                                             \
	"KernelLaunch stop\n"                                                                                          \
	"Group start in -\n"                                                                                           \
	"Coll start in CollApi " coll " group Group\n"                                                                 \
	"Coll stop\n"                                                                                                  \
	"Group stop\n"                                                                                                 \
	"GroupApi stop\n"

static const struct {
	enum call call;
	const char *name, *expected;
} calls[] = {
	{ ALL_REDUCE, "AllReduce",
	  ONE_CALL("AllReduce 1000 ncclFloat32 root 0", "AllReduce #0 1000 ncclFloat32 root 0 rank 0") },
	{ REDUCE, "Reduce", ONE_CALL("Reduce 1000 ncclFloat32 root 1", "Reduce #0 1000 ncclFloat32 root 1 rank 0") },
	{ REDUCE_SCATTER, "ReduceScatter",
	  ONE_CALL("ReduceScatter 1000 ncclBfloat16 root 0", "ReduceScatter #0 1000 ncclBfloat16 root 0 rank 0") },
	{ ALL_GATHER, "AllGather",
	  ONE_CALL("AllGather 1000 ncclFloat32 root 0", "AllGather #0 4000 ncclInt8 root 0 rank 0") },
	{ BROADCAST, "Broadcast",
	  ONE_CALL("Broadcast 1000 ncclFloat64 root 1", "Broadcast #0 8000 ncclInt8 root 1 rank 0") },
	{ ALL_REDUCE, "the second AllReduce",
	  ONE_CALL("AllReduce 1000 ncclFloat32 root 0", "AllReduce #1 1000 ncclFloat32 root 0 rank 0") },
};

static void each_call_main(struct rank *rank)
{
	void *buffer = device_alloc(2 * COUNT * sizeof(double));

	recording_attach();
	if (rank->rank == 0)
		recording_expect("init", "init - 1 nodes 1 rank 0 of 2\n");
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		NCCL(make_call(rank, calls[i].call, buffer, COUNT));
		if (rank->rank == 0)
			recording_expect(calls[i].name, calls[i].expected);
	}
	NCCL(make_call(rank, ALL_REDUCE, buffer, 0));
	if (rank->rank == 0)
		recording_expect("a call without elements", "");
	CU(cuStreamSynchronize(rank->stream));
}

Test(profiler, each_collective_is_announced_in_the_order_of_nccl)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	ranks_run(2, each_call_main);
}

static void group_main(struct rank *rank)
{
	void *buffer = device_alloc(4 * COUNT * sizeof(float));
	CUstream second;

	CU(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
	recording_attach();
	recording_drop();
	NCCL(ncclGroupStart());
	NCCL(ncclAllReduce(buffer, buffer, 10, ncclFloat32, ncclSum, rank->comm, rank->stream));
	NCCL(ncclAllGather(buffer, buffer, COUNT, ncclFloat32, rank->comm, second));
	NCCL(ncclGroupEnd());
	/* The larger one comes first in the plan, whatever the order of the calls. */
	if (rank->rank == 0)
		recording_expect("group",
				 "GroupApi start in - depth 2\n"
				 "GroupApi state 23\n"
				 "CollApi start in GroupApi AllReduce 10 ncclFloat32 root 0\n"
				 "CollApi stop\n"
				 "CollApi start in GroupApi AllGather 1000 ncclFloat32 root 0\n"
				 "CollApi stop\n"
				 "GroupApi state 24\n"
				 "KernelLaunch start in GroupApi\n"
				 "KernelLaunch stop\n"
				 "Group start in -\n"
				 "Coll start in CollApi AllGather #0 4000 ncclInt8 root 0 rank 0 group Group\n"
				 "Coll start in CollApi AllReduce #0 10 ncclFloat32 root 0 rank 0 group Group\n"
				 "Coll stop\n"
				 "Coll stop\n"
				 "Group stop\n"
				 "GroupApi stop\n");
	CU(cuStreamSynchronize(rank->stream));
}

Test(profiler, a_group_is_one_launch_with_all_its_collectives)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	ranks_run(2, group_main);
}

static void p2p_main(struct rank *rank)
{
	float *buffer = device_alloc(2 * COUNT * sizeof(float));
	int peer = 1 - rank->rank;

	recording_attach();
	recording_drop();
	NCCL(ncclGroupStart());
	NCCL(ncclSend(buffer, COUNT, ncclFloat32, peer, rank->comm, rank->stream));
	NCCL(ncclRecv(buffer + COUNT, COUNT, ncclFloat32, peer, rank->comm, rank->stream));
	NCCL(ncclGroupEnd());
	if (rank->rank == 0)
		recording_expect("p2p", "GroupApi start in - depth 2\n"
					"GroupApi state 23\n"
					"P2pApi start in GroupApi Send 1000 ncclFloat32\n"
					"P2pApi stop\n"
					"P2pApi start in GroupApi Recv 1000 ncclFloat32\n"
					"P2pApi stop\n"
					"GroupApi state 24\n"
					"KernelLaunch start in GroupApi\n"
					"KernelLaunch stop\n"
					"Group start in -\n"
					"P2p start in P2pApi Send 1000 ncclFloat32 peer 1 rank 0 group Group\n"
					"P2p start in P2pApi Recv 1000 ncclFloat32 peer 1 rank 0 group Group\n"
					"P2p stop\n"
					"P2p stop\n"
					"Group stop\n"
					"GroupApi stop\n");
	CU(cuStreamSynchronize(rank->stream));
}

Test(profiler, the_peer_of_a_p2p_call_is_known_at_the_launch_only)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	ranks_run(2, p2p_main);
}

static bool wait_for_text(const char *wanted)
{
	uint64_t until = now_ns() + 20000000000u;

	while (!strstr(recording_read(), wanted) && now_ns() < until)
		usleep(1000);
	return strstr(recording_read(), wanted);
}

/* Only KernelCh is asked for: its ancestors come, the launch does not. */
static void channels_main(struct rank *rank)
{
	void *buffer = device_alloc(COUNT * sizeof(float));

	recording_attach();
	recording_drop();
	NCCL(make_call(rank, ALL_REDUCE, buffer, COUNT));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(wait_for_text("(other thread) KernelCh start in Coll channel 0 timed\n"));
	CHECK(wait_for_text("(other thread) KernelCh state 22 timed\n(other thread) KernelCh stop\n"));
	CHECK(strstr(recording_read(), "GroupApi start"));
	CHECK(strstr(recording_read(), "CollApi start"));
	CHECK(strstr(recording_read(), "Group start"));
	CHECK(!strstr(recording_read(), "KernelLaunch"));
}

Test(profiler, asking_for_a_child_brings_its_ancestors)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	setenv("RECORDING_MASK", "0x40", 1);
	ranks_run(2, channels_main);
}

static void split_main(struct rank *rank)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclComm_t child;

	config.commName = "tensor";
	recording_attach();
	recording_drop();
	NCCL(ncclCommSplit(rank->comm, rank->rank % 2, 0, &child, &config));
	if (rank->rank == 2)
		recording_expect("split", "init tensor 1 nodes 1 rank 1 of 2\n");
	NCCL(ncclCommDestroy(child));
	if (rank->rank == 2)
		recording_expect("destroy", "finalize\n");
	NCCL(ncclCommSplit(rank->comm, NCCL_SPLIT_NOCOLOR, 0, &child, NULL));
	CHECK(!child);
}

Test(profiler, split_children_have_a_name_and_a_life_of_their_own)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	ranks_run(4, split_main);
}

static bool is_loaded(void)
{
	void *library = dlopen(RECORDING_PLUGIN_V5, RTLD_NOW | RTLD_NOLOAD);

	return library && dlclose(library) == 0;
}

static void reload_main(struct rank *rank)
{
	ncclUniqueId id;

	CHECK(is_loaded());
	NCCL(ncclCommDestroy(rank->comm));
	CHECK(!is_loaded());
	NCCL(ncclGetUniqueId(&id));
	NCCL(ncclCommInitRank(&rank->comm, 1, id, 0));
	recording_attach();
	recording_expect("the second load", "init - 1 nodes 1 rank 0 of 1\n");
}

Test(profiler, the_plugin_is_closed_with_the_last_communicator_and_loaded_again_with_the_next)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	ranks_run(1, reload_main);
}

static void unloaded_main(struct rank *rank)
{
	(void)rank;
	CHECK(!is_loaded());
}

Test(profiler, none_loads_nothing)
{
	setenv("NCCL_PROFILER_PLUGIN", "none", 1);
	ranks_run(1, unloaded_main);
}

Test(profiler, a_missing_plugin_is_no_error)
{
	setenv("NCCL_PROFILER_PLUGIN", "/nonexistent/plugin.so", 1);
	ranks_run(1, unloaded_main);
}

static void loaded_main(struct rank *rank)
{
	(void)rank;
	CHECK(is_loaded());
}

/* The plugin's directory is on LD_LIBRARY_PATH (meson.build). */
Test(profiler, a_bare_name_is_completed_as_nccl_does)
{
	setenv("NCCL_PROFILER_PLUGIN", "recording", 1);
	ranks_run(1, loaded_main);
	setenv("NCCL_PROFILER_PLUGIN", "libnccl-profiler-recording.so", 1);
	ranks_run(1, loaded_main);
}
