/* SPDX-License-Identifier: MIT */
/* What plugins of older versions hear of newer releases, and what releases do with masks and handles. */
#include <string.h>

#include <criterion/criterion.h>

#include "ranks.h"
#include "recording.h"

#define COUNT 1000

static void choose(const char *release, const char *plugin, const char *mask)
{
	setenv("SIM_NCCL_VERSION", release, 1);
	setenv("NCCL_PROFILER_PLUGIN", plugin, 1);
	setenv("RECORDING_MASK", mask, 1);
}

static void exchange(struct rank *rank, void *buffer, ncclDataType_t type)
{
	NCCL(ncclGroupStart());
	NCCL(ncclSend(buffer, COUNT, type, 1 - rank->rank, rank->comm, rank->stream));
	NCCL(ncclRecv((char *)buffer + COUNT * sizeof(float), COUNT, type, 1 - rank->rank, rank->comm, rank->stream));
	NCCL(ncclGroupEnd());
}

static void both_main(struct rank *rank)
{
	void *buffer = device_alloc(2 * COUNT * sizeof(float));

	recording_attach();
	recording_drop();
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclMax, rank->comm, rank->stream));
	exchange(rank, buffer, ncclUint8);
	if (rank->rank == 0)
		recording_expect(getenv("SIM_NCCL_VERSION"), getenv("EXPECTED"));
	CU(cuStreamSynchronize(rank->stream));
}

#define CALLS_IN(group, coll, send, recv)                                                                              \
	group "Coll start in Group " coll "\n"                                                                         \
	      "Coll stop\n"                                                                                            \
	      "Group stop\n" group "P2p start in Group " send "\n"                                                     \
	      "P2p start in Group " recv "\n"                                                                          \
	      "P2p stop\n"                                                                                             \
	      "P2p stop\n"                                                                                             \
	      "Group stop\n"
#define CALLS(coll, send, recv) CALLS_IN("Group start in -\n", coll, send, recv)
#define TEXT_CALLS(end, comm)                                                                                          \
	CALLS("AllReduce #0 1000 ncclFloat32 " end, "Send 1000 Unknown peer 1 comm - " comm,                           \
	      "Recv 1000 Unknown peer 1 comm - " comm)
/* As numbers: 4 AllReduce, 7 ncclFloat32, 1 RING, 0 LL, 6 Send, 7 Recv; ncclUint8 becomes 8, ncclFloat64. */
#define NUMBER_CALLS(end, comm)                                                                                        \
	CALLS("4 #0 1000 7 1 0 " end, "6 1000 8 peer 1 comm - " comm, "7 1000 8 peer 1 comm - " comm)
#define GROUP_V4 "Group start in - padding *\n"
#define CALLS_V4                                                                                                       \
	CALLS_IN(GROUP_V4, "AllReduce #0 1000 ncclFloat32 root 0 rank 0",                                              \
		 "Send 1000 Unknown peer 1 rank 0 channels *", "Recv 1000 Unknown peer 1 rank 0 channels *")

/* 2.26 gives version 3's layout to a plugin of version 2: traffic is made of channels and warps, "algorithm" is LL. */
static const struct {
	const char *release, *plugin, *expected;
} adapted[] = {
	{ "2.24.3", RECORDING_PLUGIN_V1, NUMBER_CALLS("comm - 1 traffic 8000 op 0", "1") },
	{ "2.26.2", RECORDING_PLUGIN_V1, NUMBER_CALLS("comm - 1 traffic 0 op 0", "1") },
	{ "2.27.5", RECORDING_PLUGIN_V1, NUMBER_CALLS("comm - 0 traffic 0 op 0", "0") },
	{ "2.31.2", RECORDING_PLUGIN_V1, NUMBER_CALLS("comm - 0 traffic 0 op 0", "0") },
	{ "2.26.2", RECORDING_PLUGIN_V2, TEXT_CALLS("LL * comm - 1 traffic 4097 op 0", "1") },
	{ "2.28.9", RECORDING_PLUGIN_V2, TEXT_CALLS("RING LL comm - 0 traffic 0 op 0", "0") },
	{ "2.27.3", RECORDING_PLUGIN_V3, TEXT_CALLS("RING LL comm - 0 traffic 0 op 0", "0") },
	{ "2.30.7", RECORDING_PLUGIN_V3, TEXT_CALLS("RING LL comm - 0 traffic 0 op 0", "0") },
	{ "2.28.9", RECORDING_PLUGIN_V4, CALLS_V4 },
	{ "2.31.2", RECORDING_PLUGIN_V4, CALLS_V4 },
};

Test(adapter, an_older_plugin_gets_what_a_newer_release_has_left_of_its_events)
{
	for (size_t i = 0; i < sizeof(adapted) / sizeof(*adapted); i++) {
		choose(adapted[i].release, adapted[i].plugin, "0xE06");
		setenv("EXPECTED", adapted[i].expected, 1);
		ranks_run(2, both_main);
	}
}

static void all_reduce(struct rank *rank, void *buffer)
{
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
}

static void wait_for(const char *wanted)
{
	uint64_t until = now_ns() + 20000000000u;

	while (!strstr(recording_read(), wanted))
		CHECK(now_ns() < until);
}

static void poison_main(struct rank *rank)
{
	recording_attach();
	all_reduce(rank, device_alloc(COUNT * sizeof(float)));
	CHECK(strstr(recording_read(), getenv("EXPECTED")));
}

Test(adapter, group_states_of_a_version_5_plugin_have_arguments_that_nobody_filled_in)
{
	choose("2.28.9", RECORDING_PLUGIN_V5, "0xE06");
	setenv("EXPECTED", "GroupApi state 23\n", 1);
	ranks_run(2, poison_main);
	choose("2.29.7", RECORDING_PLUGIN_V5, "0xE06");
	setenv("EXPECTED", "GroupApi state 23 *\n", 1);
	ranks_run(2, poison_main);
	choose("2.31.2", RECORDING_PLUGIN_V6, "0xE06");
	ranks_run(2, poison_main);
}

static void channel_main(struct rank *rank)
{
	recording_attach();
	all_reduce(rank, device_alloc(COUNT * sizeof(float)));
	wait_for("KernelCh stop\n");
	CHECK(strstr(recording_read(), getenv("EXPECTED")));
	CHECK(!strstr(recording_read(), "KernelCh state") == (getenv("EXPECTED_STATE")[0] == '-'));
}

Test(adapter, channels_have_times_from_version_4_on)
{
	setenv("EXPECTED", "KernelCh start in Coll\n", 1);
	setenv("EXPECTED_STATE", "-", 1);
	choose("2.26.2", RECORDING_PLUGIN_V3, "0x40");
	ranks_run(2, channel_main);
	choose("2.28.9", RECORDING_PLUGIN_V3, "0x40");
	ranks_run(2, channel_main);
	setenv("EXPECTED", "KernelCh start in Coll channel 0 timed\n", 1);
	setenv("EXPECTED_STATE", "+", 1);
	choose("2.27.5", RECORDING_PLUGIN_V4, "0x40");
	ranks_run(2, channel_main);
	choose("2.30.7", RECORDING_PLUGIN_V4, "0x40");
	ranks_run(2, channel_main);
}

static void broadcast_main(struct rank *rank)
{
	void *buffer = device_alloc(COUNT * sizeof(float));

	recording_attach();
	NCCL(ncclBroadcast(buffer, buffer, COUNT, ncclFloat32, 0, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(strstr(recording_read(), "CollApi start in GroupApi Broadcast"));
	CHECK(!strstr(recording_read(), "Coll start in CollApi") == (getenv("EXPECTED")[0] == '-'));
	CHECK(!strstr(recording_read(), "KernelLaunch start") == (getenv("EXPECTED")[0] == '-'));
	recording_drop();
	setenv("NCCL_ALLGATHERV_ENABLE", "0", 1);
	NCCL(ncclBroadcast(buffer, buffer, COUNT, ncclFloat32, 0, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	CHECK(strstr(recording_read(), "Coll start in CollApi Broadcast #1"));
}

Test(adapter, a_broadcast_is_one_event_from_2_29_on_and_still_counted)
{
	setenv("EXPECTED", "+", 1);
	choose("2.28.9", RECORDING_PLUGIN_V5, "0xE06");
	ranks_run(2, broadcast_main);
	setenv("EXPECTED", "-", 1);
	choose("2.29.7", RECORDING_PLUGIN_V6, "0xE06");
	ranks_run(2, broadcast_main);
	choose("2.31.2", RECORDING_PLUGIN_V7, "0xE06");
	ranks_run(2, broadcast_main);
}

static void orphan_main(struct rank *rank)
{
	recording_attach();
	recording_drop();
	all_reduce(rank, device_alloc(COUNT * sizeof(float)));
	if (rank->rank == 0)
		recording_expect(getenv("SIM_NCCL_VERSION"), getenv("EXPECTED"));
}

Test(adapter, below_a_group_without_a_handle_nothing_is_started_until_2_28)
{
	setenv("RECORDING_NULL", "1", 1);
	setenv("EXPECTED", "Group start in -\n", 1);
	choose("2.23.4", RECORDING_PLUGIN_V1, "2");
	ranks_run(2, orphan_main);
	choose("2.27.5", RECORDING_PLUGIN_V4, "2");
	ranks_run(2, orphan_main);
	choose("2.28.9", RECORDING_PLUGIN_V4, "2");
	setenv("EXPECTED", GROUP_V4 "Coll start in - AllReduce #0 1000 ncclFloat32 root 0 rank 0\nColl stop\n", 1);
	ranks_run(2, orphan_main);
}

Test(adapter, a_coll_without_a_handle_is_stopped_all_the_same_before_2_26)
{
	setenv("RECORDING_NULL", "2", 1);
	setenv("EXPECTED",
	       "Group start in -\nColl start in Group 4 #0 1000 7 1 0 comm - 1 traffic 8000 op 0\n- stop\nGroup stop\n",
	       1);
	choose("2.23.4", RECORDING_PLUGIN_V1, "2");
	ranks_run(2, orphan_main);
	setenv("EXPECTED",
	       "Group start in -\nColl start in Group AllReduce #0 1000 ncclFloat32 root 0 rank 0\nGroup stop\n", 1);
	choose("2.27.5", RECORDING_PLUGIN_V4, "2");
	ranks_run(2, orphan_main);
}

static void p2p_alone_main(struct rank *rank)
{
	recording_attach();
	recording_drop();
	exchange(rank, device_alloc(2 * COUNT * sizeof(float)), ncclFloat32);
	CU(cuStreamSynchronize(rank->stream));
	CHECK(!strstr(recording_read(), "P2p start") == (getenv("EXPECTED")[0] == '-'));
}

Test(adapter, asking_for_p2p_alone_brings_none_before_2_26)
{
	setenv("EXPECTED", "-", 1);
	choose("2.24.3", RECORDING_PLUGIN_V2, "4");
	ranks_run(2, p2p_alone_main);
	setenv("EXPECTED", "+", 1);
	choose("2.26.2", RECORDING_PLUGIN_V3, "4");
	ranks_run(2, p2p_alone_main);
}

static void unheard_main(struct rank *rank)
{
	void *buffer = device_alloc(2 * COUNT * sizeof(float));

	recording_attach();
	recording_drop();
	all_reduce(rank, buffer);
	CHECK(!strstr(recording_read(), "Coll start"));
	setenv("RECORDING_MASK", "2", 1);
	/* A second communicator's init changes the mask of both. */
	ncclComm_t second;
	NCCL(ncclCommSplit(rank->comm, 0, 0, &second, NULL));
	recording_drop();
	all_reduce(rank, buffer);
	CHECK(strstr(recording_read(), getenv("EXPECTED")));
	NCCL(ncclCommDestroy(second));
}

Test(adapter, what_nobody_listens_to_is_counted_from_2_26_on)
{
	choose("2.24.3", RECORDING_PLUGIN_V2, "0x20");
	setenv("EXPECTED", "AllReduce #0", 1);
	ranks_run(2, unheard_main);
	choose("2.26.2", RECORDING_PLUGIN_V3, "0x20");
	setenv("EXPECTED", "AllReduce #1", 1);
	ranks_run(2, unheard_main);
}

static void mask_main(struct rank *rank)
{
	void *buffer = device_alloc(COUNT * sizeof(float));

	recording_attach();
	recording_mask(0);
	NCCL(ncclGroupStart());
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
	recording_mask(2);
	NCCL(ncclGroupEnd());
	CU(cuStreamSynchronize(rank->stream));
	CHECK(!strstr(recording_read(), "Coll start") == (getenv("EXPECTED")[0] == '-'));
}

Test(adapter, the_mask_of_the_call_counts_and_before_2_26_that_of_the_launch)
{
	setenv("EXPECTED", "+", 1);
	choose("2.24.3", RECORDING_PLUGIN_V2, "2");
	ranks_run(2, mask_main);
	setenv("EXPECTED", "-", 1);
	choose("2.26.2", RECORDING_PLUGIN_V3, "2");
	ranks_run(2, mask_main);
	choose("2.28.9", RECORDING_PLUGIN_V5, "2");
	ranks_run(2, mask_main);
}

static void nothing_main(struct rank *rank)
{
	recording_attach();
	recording_drop();
	all_reduce(rank, device_alloc(COUNT * sizeof(float)));
	recording_expect(getenv("SIM_NCCL_VERSION"), "");
}

/* Asked for by a version 6 plugin, CeColl brings the API events of every collective. */
Test(adapter, bits_of_the_copy_engine_are_taken_out_of_a_version_5_plugins_mask)
{
	choose("2.30.7", RECORDING_PLUGIN_V5, "0x1000");
	ranks_run(2, nothing_main);
}

static void roots_main(struct rank *rank)
{
	char *buffer = device_alloc(2 * COUNT);

	recording_attach();
	NCCL(ncclGroupStart());
	for (int root = 0; root < 2; root++)
		NCCL(ncclBroadcast(buffer + root * COUNT, buffer + root * COUNT, COUNT, ncclInt8,
				   getenv("EXPECTED")[0] == '2' ? 0 : root, rank->comm, rank->stream));
	NCCL(ncclGroupEnd());
	setenv("NCCL_ALLGATHERV_ENABLE", "0", 1);
	NCCL(ncclBroadcast(buffer, buffer, COUNT, ncclInt8, 0, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	char first[32];
	snprintf(first, sizeof(first), "Broadcast #%s", getenv("EXPECTED"));
	CHECK(strstr(recording_read(), first));
}

Test(adapter, broadcasts_of_several_roots_in_one_group_are_not_counted)
{
	choose("2.30.7", RECORDING_PLUGIN_V6, "2");
	setenv("EXPECTED", "0", 1);
	ranks_run(2, roots_main);
	setenv("EXPECTED", "2", 1);
	ranks_run(2, roots_main);
}

/* After a p2p call the thread's handle is forgotten; the next call that gets none has no parent. */
static void fresh_main(struct rank *rank)
{
	void *buffer = device_alloc(2 * COUNT * sizeof(float));

	recording_attach();
	exchange(rank, buffer, ncclFloat32);
	setenv("RECORDING_SILENT", "0x400", 1);
	recording_drop();
	exchange(rank, buffer, ncclFloat32);
	CU(cuStreamSynchronize(rank->stream));
	CHECK(!strstr(recording_read(), "P2pApi stop"));
	CHECK(strstr(recording_read(), "P2p start in - Send"));
}

Test(adapter, a_p2p_call_that_gets_no_handle_has_none)
{
	choose("2.28.9", RECORDING_PLUGIN_V5, "0xE06");
	ranks_run(2, fresh_main);
}

static void stale_main(struct rank *rank)
{
	void *buffer = device_alloc(2 * COUNT * sizeof(float));

	recording_attach();
	all_reduce(rank, buffer);
	setenv("RECORDING_SILENT", "0x200", 1);
	recording_drop();
	all_reduce(rank, buffer);
	/* Started without a handle, it is stopped and made a parent as the first one was. */
	CHECK(strstr(recording_read(), "CollApi start in GroupApi AllReduce 1000 ncclFloat32 root 0\nCollApi stop\n"));
	CHECK(strstr(recording_read(), "Coll start in CollApi"));
}

Test(adapter, a_collective_that_gets_no_handle_has_that_of_the_last_one)
{
	choose("2.28.9", RECORDING_PLUGIN_V5, "0xE06");
	ranks_run(2, stale_main);
}
