/* SPDX-License-Identifier: MIT */
/* SIM_NCCL_VERSION: each release says its number, and which calls its profiler plugin gets. */
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "ranks.h"
#include "recording.h"

#define COUNT 1000

static const struct {
	const char *name;
	int code;
} releases[] = {
	{ "2.21.5", 22105 }, { "2.23.4", 22304 }, { "2.24.3", 22403 }, { "2.26.2", 22602 }, { "2.27.3", 22703 },
	{ "2.27.5", 22705 }, { "2.28.9", 22809 }, { "2.29.7", 22907 }, { "2.30.7", 23007 }, { "2.31.2", 23102 },
};

static void version_main(struct rank *rank)
{
	int version = 0;

	(void)rank;
	NCCL(ncclGetVersion(&version));
	CHECK(version == atoi(getenv("EXPECTED_CODE")));
}

Test(release, each_one_says_its_own_number)
{
	char code[16];

	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++) {
		snprintf(code, sizeof(code), "%d", releases[i].code);
		setenv("SIM_NCCL_VERSION", releases[i].name, 1);
		setenv("EXPECTED_CODE", code, 1);
		ranks_run(1, version_main);
	}
	setenv("SIM_NCCL_VERSION", "", 1);
	setenv("EXPECTED_CODE", "22809", 1);
	ranks_run(1, version_main);
}

/* In this process: nothing is started before the value is refused. */
Test(release, a_value_that_names_none_is_refused_and_not_taken_for_another)
{
	ncclUniqueId id = { 0 };
	ncclComm_t comm = NULL;
	int version;

	setenv("SIM_NCCL_VERSION", "2.28", 1);
	cr_assert_eq(ncclGetUniqueId(&id), ncclInvalidUsage);
	cr_assert_eq(ncclCommInitRank(&comm, 1, id, 0), ncclInvalidUsage);
	cr_assert_eq(ncclCommInitAll(&comm, 1, NULL), ncclInvalidUsage);
	cr_assert_eq(ncclGetVersion(&version), ncclInvalidUsage);
	cr_assert_null(comm);
	cr_assert(strstr(ncclGetLastError(NULL), "SIM_NCCL_VERSION"));
}

static void say_refusal(const char *name)
{
	ncclUniqueId id;
	char text[512] = "";
	int said[2];

	cr_assert_eq(pipe(said), 0);
	dup2(said[1], STDERR_FILENO);
	setenv("SIM_NCCL_VERSION", name, 1);
	cr_assert_eq(ncclGetUniqueId(&id), ncclInvalidUsage);
	cr_assert_gt(read(said[0], text, sizeof(text) - 1), 0);
	cr_expect(strstr(text, name) && strstr(text, "nothing is known of how NCCL 2.32 calls its profiler"), "%s",
		  text);
}

/* It is out, but was not read. */
Test(release, one_that_is_newer_than_what_was_read_is_refused_by_name)
{
	say_refusal("2.32.3");
}

static void call(struct rank *rank, void *buffer)
{
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclMax, rank->comm, rank->stream));
	NCCL(ncclGroupStart());
	NCCL(ncclSend(buffer, COUNT, ncclUint8, 1 - rank->rank, rank->comm, rank->stream));
	NCCL(ncclRecv((char *)buffer + COUNT, COUNT, ncclUint8, 1 - rank->rank, rank->comm, rank->stream));
	NCCL(ncclGroupEnd());
}

static void native_main(struct rank *rank)
{
	void *buffer = device_alloc(COUNT * sizeof(float));

	recording_attach();
	call(rank, buffer);
	if (rank->rank == 0)
		recording_expect(getenv("SIM_NCCL_VERSION"), getenv("EXPECTED"));
	CU(cuStreamSynchronize(rank->stream));
}

#define OLD_CALLS(coll, send, recv)                                                                                    \
	"Group start in -\n"                                                                                           \
	"Coll start in Group " coll "Coll stop\n"                                                                      \
	"Group stop\n"                                                                                                 \
	"Group start in -\n"                                                                                           \
	"P2p start in Group " send "P2p start in Group " recv "P2p stop\n"                                             \
	"P2p stop\n"                                                                                                   \
	"Group stop\n"

#define NEW_CALLS                                                                                                      \
	"init - 1 nodes 1 rank 0 of 2\n"                                                                               \
	"GroupApi start in - depth 1\n"                                                                                \
	"GroupApi state 23\n"                                                                                          \
	"CollApi start in GroupApi AllReduce 1000 ncclFloat32 root 0\n"                                                \
	"CollApi stop\n"                                                                                               \
	"GroupApi state 24\n"                                                                                          \
	"KernelLaunch start in GroupApi\n"                                                                             \
	"KernelLaunch stop\n"                                                                                          \
	"Group start in -\n"                                                                                           \
	"Coll start in CollApi AllReduce #0 1000 ncclFloat32 root 0 rank 0 group Group\n"                              \
	"Coll stop\n"                                                                                                  \
	"Group stop\n"                                                                                                 \
	"GroupApi stop\n"                                                                                              \
	"GroupApi start in - depth 2\n"                                                                                \
	"GroupApi state 23\n"                                                                                          \
	"P2pApi start in GroupApi Send 1000 Unknown\n"                                                                 \
	"P2pApi stop\n"                                                                                                \
	"P2pApi start in GroupApi Recv 1000 Unknown\n"                                                                 \
	"P2pApi stop\n"                                                                                                \
	"GroupApi state 24\n"                                                                                          \
	"KernelLaunch start in GroupApi\n"                                                                             \
	"KernelLaunch stop\n"                                                                                          \
	"Group start in -\n"                                                                                           \
	"P2p start in P2pApi Send 1000 Unknown peer 1 rank 0 group Group\n"                                            \
	"P2p start in P2pApi Recv 1000 Unknown peer 1 rank 0 group Group\n"                                            \
	"P2p stop\n"                                                                                                   \
	"P2p stop\n"                                                                                                   \
	"Group stop\n"                                                                                                 \
	"GroupApi stop\n"

#define CALLS_V4                                                                                                       \
	OLD_CALLS("AllReduce #0 1000 ncclFloat32 root 0 rank 0\n", "Send 1000 Unknown peer 1 rank 0\n",                \
		  "Recv 1000 Unknown peer 1 rank 0\n")

/* The numbers of version 1: AllReduce 4, Send 6, Recv 7; ncclFloat32 7, ncclUint8 1; RING 1; LL 0. */
static const struct {
	const char *release, *plugin, *expected;
} natives[] = {
	{ "2.23.4", RECORDING_PLUGIN_V1,
	  "init\n" OLD_CALLS("4 #0 1000 7 1 0 comm - 1 traffic 8000 op 2\n", "6 1000 1 peer 1 comm - 1\n",
			     "7 1000 1 peer 1 comm - 1\n") },
	{ "2.24.3", RECORDING_PLUGIN_V2,
	  "init\n" OLD_CALLS("AllReduce #0 1000 ncclFloat32 RING LL comm - 1 traffic 8000 op 0\n",
			     "Send 1000 Unknown peer 1 comm - 1\n", "Recv 1000 Unknown peer 1 comm - 1\n") },
	{ "2.26.2", RECORDING_PLUGIN_V3,
	  "init\n" OLD_CALLS("AllReduce #0 1000 ncclFloat32 RING LL comm - 1 traffic 0 op 0\n",
			     "Send 1000 Unknown peer 1 comm - 1\n", "Recv 1000 Unknown peer 1 comm - 1\n") },
	{ "2.27.3", RECORDING_PLUGIN_V4, "init - 1 nodes 1 rank 0 of 2\n" CALLS_V4 },
	{ "2.27.5", RECORDING_PLUGIN_V4, "init - 1 nodes 1 rank 0 of 2\n" CALLS_V4 },
	{ "2.28.9", RECORDING_PLUGIN_V5, NEW_CALLS },
	{ "2.29.7", RECORDING_PLUGIN_V6, NEW_CALLS },
	{ "2.30.7", RECORDING_PLUGIN_V6, NEW_CALLS },
	{ "2.31.2", RECORDING_PLUGIN_V7, NEW_CALLS },
};

Test(release, each_one_calls_a_plugin_of_its_own_version_as_it_does)
{
	for (size_t i = 0; i < sizeof(natives) / sizeof(*natives); i++) {
		setenv("SIM_NCCL_VERSION", natives[i].release, 1);
		setenv("NCCL_PROFILER_PLUGIN", natives[i].plugin, 1);
		setenv("EXPECTED", natives[i].expected, 1);
		setenv("RECORDING_MASK", natives[i].plugin == natives[0].plugin ? "0x6" : "0xE06", 1);
		ranks_run(2, native_main);
	}
}

static void shared_main(struct rank *rank)
{
	ncclComm_t comms[2];
	ncclUniqueId id;

	(void)rank;
	NCCL(ncclGetUniqueId(&id));
	NCCL(ncclGroupStart());
	NCCL(ncclCommInitRank(&comms[0], 2, id, 0));
	NCCL(ncclCommInitRank(&comms[1], 2, id, 1));
	CHECK(ncclGroupEnd() == (getenv("EXPECTED")[0] == '+' ? ncclSuccess : ncclInvalidUsage));
	ncclCommAbort(comms[0]);
	ncclCommAbort(comms[1]);
}

Test(release, ranks_may_share_a_device_from_2_30_on_if_told_so)
{
	setenv("EXPECTED", "-", 1);
	setenv("SIM_NCCL_VERSION", "2.30.7", 1);
	ranks_run(1, shared_main);
	setenv("NCCL_MULTI_RANK_GPU_ENABLE", "1", 1);
	setenv("SIM_NCCL_VERSION", "2.28.9", 1);
	ranks_run(1, shared_main);
	setenv("EXPECTED", "+", 1);
	setenv("SIM_NCCL_VERSION", "2.30.7", 1);
	ranks_run(1, shared_main);
}
