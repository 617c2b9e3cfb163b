/* SPDX-License-Identifier: MIT */
/* The profiler plugin is found, loaded and called as NCCL 2.28.9 does; the order of all calls is in sequences_test.c.
 */
#include <dlfcn.h>
#include <signal.h>
#include <string.h>
#include <sys/vfs.h>
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

static int count_text(const char *wanted)
{
	int found = 0;

	for (const char *at = recording_read(); (at = strstr(at, wanted)); at++)
		found++;
	return found;
}

static bool sleeps_behind(const char *text)
{
	const char *found = strstr(recording_read(), text);

	return found && strstr(found, "ProxyCtrl state 15");
}

/* The plugin writes no handle the second time, and is told again of the end of what has ended. */
static void stale_main(struct rank *rank)
{
	void *buffer = device_alloc(COUNT * sizeof(float));
	uint64_t until = now_ns() + 20000000000u;

	recording_attach();
	NCCL(make_call(rank, ALL_REDUCE, buffer, COUNT));
	CU(cuStreamSynchronize(rank->stream));
	while (!sleeps_behind("KernelCh stop\n")) /* then the slot is free */
		CHECK(now_ns() < until);
	setenv("RECORDING_SILENT", "0x40", 1);
	NCCL(make_call(rank, ALL_REDUCE, buffer, COUNT));
	while (count_text("KernelCh stop\n") < 2)
		CHECK(now_ns() < until);
	CHECK(count_text("KernelCh start in") == 2);
	CU(cuStreamSynchronize(rank->stream));
}

Test(profiler, a_kernel_channel_that_gets_no_handle_has_that_of_whoever_had_its_slot)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V5, 1);
	setenv("RECORDING_MASK", "0x60", 1);
	ranks_run(2, stale_main);
}

static bool one_is_told;

/* Alone: no other communicator's thread tells anything meanwhile. */
static void one_rank_main(struct rank *rank)
{
	ncclComm_t child;

	recording_attach();
	CHECK(!one_is_told || wait_for_text("ProxyCtrl state 15"));
	recording_drop();
	NCCL(ncclCommSplit(rank->comm, 0, 0, &child, NULL));
	CHECK(!one_is_told || wait_for_text("ProxyCtrl state 15"));
	NCCL(ncclCommDestroy(child));
	const char *wakeup = strstr(recording_read(), "ProxyCtrl state 16");
	CHECK(!one_is_told || (wakeup && strstr(wakeup, "ProxyCtrl state 17") && strstr(wakeup, "ProxyCtrl state 18")));
	CHECK(one_is_told || !strstr(recording_read(), "ProxyCtrl"));
}

static void play_one_rank(const char *release, const char *plugin, bool told)
{
	setenv("NCCL_CUMEM_ENABLE", "0", 1);
	setenv("SIM_NCCL_VERSION", release, 1);
	setenv("NCCL_PROFILER_PLUGIN", plugin, 1);
	setenv("RECORDING_MASK", "0x20", 1);
	one_is_told = told;
	ranks_run(1, one_rank_main);
}

/* Collectives are connected at first use, without the proxy: on one host its thread has nothing to do but KernelCh. */
static void late_thread_main(struct rank *rank)
{
	void *buffer = device_alloc(COUNT * sizeof(float));
	bool channels = getenv("EXPECTED")[0];

	recording_attach();
	NCCL(make_call(rank, ALL_REDUCE, buffer, COUNT));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(!channels || wait_for_text("ProxyCtrl state 18")); /* AppendEnd */
	const char *control = strstr(recording_read(), "ProxyCtrl"), *call = strstr(recording_read(), "AllReduce");
	CHECK(channels ? control > call : !control);
}

static void play_late_thread(const char *mask, const char *expected)
{
	setenv("NCCL_PROFILER_PLUGIN", RECORDING_PLUGIN_V6, 1);
	setenv("SIM_NCCL_VERSION", "2.30.7", 1);
	setenv("RECORDING_MASK", mask, 1);
	setenv("EXPECTED", expected, 1);
	ranks_run(2, late_thread_main);
}

Test(profiler, with_connections_at_first_use_there_is_no_progress_thread_on_one_host)
{
	play_late_thread("0x22", "");
}

Test(profiler, with_connections_at_first_use_the_first_kernel_channel_makes_the_progress_thread)
{
	play_late_thread("0x62", "channels");
}

Test(profiler, in_2_28_9_a_communicator_of_one_rank_has_no_progress_thread)
{
	play_one_rank("2.28.9", RECORDING_PLUGIN_V5, false);
}

Test(profiler, in_2_30_7_a_communicator_of_one_rank_has_a_progress_thread)
{
	play_one_rank("2.30.7", RECORDING_PLUGIN_V6, true);
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

static bool shared_memory_is_full;

int statfs(const char *path, struct statfs *system)
{
	int (*real)(const char *, struct statfs *) = (int (*)(const char *, struct statfs *))dlsym(RTLD_NEXT, "statfs64");
	int result = real(path, system);

	if (shared_memory_is_full && strcmp(path, "/dev/shm") == 0)
		*system = (struct statfs){ .f_bsize = 4096, .f_blocks = 16384, .f_bavail = 8000 };
	return result;
}

static void crash(int signal)
{
	(void)signal;
	_exit(0);
}

static void crash_main(struct rank *rank)
{
	signal(SIGSEGV, crash);
	NCCL(make_call(rank, ALL_REDUCE, device_alloc(COUNT * sizeof(float)), COUNT));
	CHECK(false);
}

static void full_main(struct rank *rank)
{
	NCCL(make_call(rank, ALL_REDUCE, device_alloc(COUNT * sizeof(float)), COUNT));
	CU(cuStreamSynchronize(rank->stream));
}

static void play_full(const char *release, const char *plugin, const char *mask, rank_main *main)
{
	shared_memory_is_full = true;
	setenv("SIM_NCCL_VERSION", release, 1);
	setenv("NCCL_PROFILER_PLUGIN", plugin, 1);
	setenv("RECORDING_MASK", mask, 1);
	ranks_run(2, main);
}

/* NVIDIA/nccl#2326. */
Test(profiler, kernel_channels_crash_the_job_where_their_queue_has_no_room)
{
	play_full("2.30.7", RECORDING_PLUGIN_V6, "0x40", crash_main);
}

Test(profiler, without_kernel_channels_no_room_is_needed)
{
	play_full("2.30.7", RECORDING_PLUGIN_V6, "0x2", full_main);
}

Test(profiler, kernel_channels_of_2_31_need_no_queue)
{
	play_full("2.31.2", RECORDING_PLUGIN_V7, "0x40", full_main);
}
