/* SPDX-License-Identifier: MIT */
/* What a profiler hears of collectives that NCCL runs as a symmetric kernel or on the copy engine, per release. */
#include <string.h>

#include <criterion/criterion.h>

#include "ranks.h"
#include "recording.h"

#define COUNT 1000

static void choose(const char *release, const char *plugin, const char *mask, const char *expected)
{
	setenv("SIM_NCCL_VERSION", release, 1);
	setenv("NCCL_PROFILER_PLUGIN", plugin, 1);
	setenv("RECORDING_MASK", mask, 1);
	setenv("EXPECTED", expected, 1);
}

static void *symmetric_buffer(struct rank *rank)
{
	void *buffer = device_alloc(COUNT * 2 * sizeof(float));
	ncclWindow_t window;

	NCCL(ncclCommWindowRegister(rank->comm, buffer, COUNT * 2 * sizeof(float), &window, NCCL_WIN_COLL_SYMMETRIC));
	return buffer;
}

/* A symmetric collective, then a classic one. */
static void symmetric_main(struct rank *rank)
{
	void *buffer = symmetric_buffer(rank), *other = device_alloc(COUNT * sizeof(float));

	recording_attach();
	recording_drop();
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
	NCCL(ncclAllReduce(other, other, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	if (rank->rank == 0)
		recording_expect(getenv("SIM_NCCL_VERSION"), getenv("EXPECTED"));
}

#define API                                                                                                            \
	"GroupApi start in - depth 1\n"                                                                                \
	"GroupApi state 23\n"                                                                                          \
	"CollApi start in GroupApi AllReduce 1000 ncclFloat32 root 0\n"                                                \
	"CollApi stop\n"                                                                                               \
	"GroupApi state 24\n"
#define PLAN(coll)                                                                                                     \
	"KernelLaunch start in GroupApi\n"                                                                             \
	"KernelLaunch stop\n"                                                                                          \
	"Group start in -\n"                                                                                           \
	"Coll start in CollApi AllReduce " coll " group Group\n"                                                       \
	"Coll stop\n"                                                                                                  \
	"Group stop\n"
#define END "GroupApi stop\n"

Test(path, of_a_symmetric_kernel_only_the_call_is_heard_until_2_31)
{
	const char *half = API END API PLAN("#0 1000 ncclFloat32 root 0 rank 0") END;

	choose("2.27.5", RECORDING_PLUGIN_V4, "2",
	       "Group start in -\nColl start in Group AllReduce #0 1000 ncclFloat32 root 0 rank 0\nColl stop\nGroup "
	       "stop\n");
	ranks_run(2, symmetric_main);
	choose("2.28.9", RECORDING_PLUGIN_V5, "0xE06", half);
	ranks_run(2, symmetric_main);
	choose("2.30.7", RECORDING_PLUGIN_V6, "0xE06", half);
	ranks_run(2, symmetric_main);
	choose("2.31.2", RECORDING_PLUGIN_V7, "0xE06",
	       API PLAN("#0 1000 ncclFloat32 root 0 rank 0 symmetric") END API PLAN("#1 1000 ncclFloat32 root 0 rank 0")
		   END);
	ranks_run(2, symmetric_main);
}

static void phase_main(struct rank *rank)
{
	void *buffer = symmetric_buffer(rank);
	uint64_t until = now_ns() + 20000000000u;

	recording_attach();
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	while (!strstr(recording_read(), "KernelCh stop\n"))
		CHECK(now_ns() < until);
	CHECK(!strstr(recording_read(), "KernelPhase start in KernelCh channel 0 compute\n"
					"(other thread) KernelPhase state 31 timed\n"
					"(other thread) KernelPhase stop\n") == (getenv("EXPECTED")[0] == '-'));
}

Test(path, a_symmetric_kernel_has_phases_below_its_channels)
{
	choose("2.31.2", RECORDING_PLUGIN_V7, "0x8000", "+");
	ranks_run(2, phase_main);
	/* The adapter takes version 7's bit out of the mask. */
	choose("2.31.2", RECORDING_PLUGIN_V6, "0x8040", "-");
	ranks_run(2, phase_main);
}

static void copy_main(struct rank *rank)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclComm_t world = rank->comm;
	ncclWindow_t window;
	char *buffer = device_alloc(4 * COUNT);

	config.CTAPolicy = NCCL_CTA_POLICY_ZERO;
	NCCL(ncclCommSplit(world, 0, rank->rank, &rank->comm, &config));
	NCCL(ncclCommWindowRegister(rank->comm, buffer, (size_t)4 * COUNT, &window, NCCL_WIN_COLL_SYMMETRIC));
	recording_attach();
	recording_drop();
	for (int i = 0; i < 2; i++)
		NCCL(ncclAllGather(buffer, buffer + 2 * COUNT, COUNT / 4, ncclFloat32, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	if (rank->rank == 0)
		recording_expect(getenv("SIM_NCCL_VERSION"), getenv("EXPECTED"));
	NCCL(ncclCommDestroy(rank->comm));
	rank->comm = world;
}

#define COPY_API                                                                                                       \
	"GroupApi start in - depth 1\n"                                                                                \
	"GroupApi state 23\n"                                                                                          \
	"CollApi start in GroupApi AllGather 250 ncclFloat32 root 0\n"                                                   \
	"CollApi stop\n"                                                                                               \
	"GroupApi state 24\n"
/* As its classic kernels do, the copy engine says bytes of an AllGather. */
#define COPY(sequence)                                                                                                 \
	COPY_API "CeColl start in CollApi AllGather " sequence " 1000 ncclInt8 rank 0\n"                               \
		 "CeSync start in CeColl complete 0 of 2\n"                                                            \
		 "CeSync stop\n"                                                                                       \
		 "CeBatch start in CeColl 2 of 2000 bytes\n"                                                           \
		 "CeBatch stop\n"                                                                                      \
		 "CeSync start in CeColl complete 1 of 2\n"                                                            \
		 "CeSync stop\n"                                                                                       \
		 "CeColl stop\n"                                                                                       \
		 "GroupApi stop\n"

Test(path, the_copy_engine_is_heard_from_2_29_on_and_numbered_by_its_synchronisations)
{
	choose("2.28.9", RECORDING_PLUGIN_V5, "0x7E06", "");
	ranks_run(2, copy_main);
	choose("2.29.7", RECORDING_PLUGIN_V6, "0x7E06", COPY("#0") COPY("#2"));
	ranks_run(2, copy_main);
	choose("2.31.2", RECORDING_PLUGIN_V7, "0x7E06", COPY("#0") COPY("#2"));
	ranks_run(2, copy_main);
}

/* The adapter leaves the states' arguments as they were. */
#define CALL_ALONE                                                                                                     \
	"GroupApi start in - depth 1\n"                                                                                \
	"GroupApi state 23 *\n"                                                                                        \
	"CollApi start in GroupApi AllGather 250 ncclFloat32 root 0\n"                                                   \
	"CollApi stop\n"                                                                                               \
	"GroupApi state 24 *\n"                                                                                        \
	"GroupApi stop\n"

Test(path, of_the_copy_engine_a_version_5_plugin_hears_the_call_alone)
{
	choose("2.30.7", RECORDING_PLUGIN_V5, "0x7E06", CALL_ALONE CALL_ALONE);
	ranks_run(2, copy_main);
}
