/* SPDX-License-Identifier: MIT */
/* How long a profiler plugin stays loaded, and who is called when its init fails. */
#include <dlfcn.h>
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

static void all_reduce(struct rank *rank, void *buffer)
{
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat32, ncclSum, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
}

static bool is_loaded(void)
{
	void *library = dlopen(getenv("NCCL_PROFILER_PLUGIN"), RTLD_NOW | RTLD_NOLOAD);

	return library && dlclose(library) == 0;
}

static ncclComm_t split(struct rank *rank)
{
	ncclComm_t child;

	NCCL(ncclCommSplit(rank->comm, 0, 0, &child, NULL));
	return child;
}

/* The first communicator's init fails. */
static void failed_init_main(struct rank *rank)
{
	CHECK(is_loaded() == (getenv("EXPECTED")[0] == '+'));
	if (!is_loaded())
		return;
	recording_attach();
	recording_drop();
	all_reduce(rank, device_alloc(COUNT * sizeof(float)));
	CHECK((strlen(recording_read()) > 0) == (getenv("EXPECTED")[1] == '+'));
}

Test(life, a_plugin_whose_init_failed_is_forgotten_or_called_on_or_closed)
{
	setenv("RECORDING_FAIL", "1", 1);
	setenv("EXPECTED", "+-", 1);
	choose("2.23.4", RECORDING_PLUGIN_V1, "2");
	ranks_run(2, failed_init_main);
	choose("2.27.5", RECORDING_PLUGIN_V4, "2");
	ranks_run(2, failed_init_main);
	setenv("EXPECTED", "++", 1);
	choose("2.28.9", RECORDING_PLUGIN_V5, "2");
	ranks_run(2, failed_init_main);
	choose("2.29.7", RECORDING_PLUGIN_V6, "2");
	ranks_run(2, failed_init_main);
	setenv("EXPECTED", "--", 1);
	choose("2.30.7", RECORDING_PLUGIN_V6, "2");
	ranks_run(2, failed_init_main);
}

/* The second communicator's init fails: its use is given back then, and again when it goes. */
static void closed_early_main(struct rank *rank)
{
	ncclComm_t child = split(rank);

	CHECK(is_loaded());
	NCCL(ncclCommDestroy(child));
	CHECK(is_loaded() == (getenv("EXPECTED")[0] == '+'));
	all_reduce(rank, device_alloc(COUNT * sizeof(float)));
}

Test(life, from_2_30_on_a_failed_init_closes_the_plugin_under_the_other_communicators)
{
	setenv("RECORDING_FAIL", "2", 1);
	setenv("EXPECTED", "+", 1);
	choose("2.29.7", RECORDING_PLUGIN_V6, "2");
	ranks_run(2, closed_early_main);
	setenv("EXPECTED", "-", 1);
	choose("2.30.7", RECORDING_PLUGIN_V6, "2");
	ranks_run(2, closed_early_main);
	choose("2.31.2", RECORDING_PLUGIN_V7, "2");
	ranks_run(2, closed_early_main);
}

/* Two ranks on one device: refused before the profiler hears of them. */
static void never_made_main(struct rank *rank)
{
	ncclComm_t comms[2];
	ncclUniqueId id;

	(void)rank;
	CHECK(is_loaded());
	NCCL(ncclGetUniqueId(&id));
	NCCL(ncclGroupStart());
	NCCL(ncclCommInitRank(&comms[0], 2, id, 0));
	NCCL(ncclCommInitRank(&comms[1], 2, id, 1));
	CHECK(ncclGroupEnd() == ncclInvalidUsage);
	CHECK(is_loaded());
	ncclCommAbort(comms[0]);
	CHECK(!is_loaded());
}

Test(life, a_communicator_that_was_never_made_closes_the_plugin_under_the_others)
{
	choose("2.28.9", RECORDING_PLUGIN_V5, "2");
	ranks_run(1, never_made_main);
}

static void no_context_main(struct rank *rank)
{
	ncclComm_t child = split(rank);

	recording_attach();
	recording_drop();
	NCCL(ncclCommDestroy(child));
	recording_expect(getenv("SIM_NCCL_VERSION"), getenv("EXPECTED"));
}

Test(life, finalize_comes_without_a_context_until_2_27)
{
	setenv("RECORDING_NO_CONTEXT", "1", 1);
	setenv("EXPECTED", "finalize nothing\n", 1);
	choose("2.23.4", RECORDING_PLUGIN_V1, "2");
	ranks_run(2, no_context_main);
	choose("2.27.5", RECORDING_PLUGIN_V4, "2");
	ranks_run(2, no_context_main);
	setenv("EXPECTED", "", 1);
	choose("2.28.9", RECORDING_PLUGIN_V5, "2");
	ranks_run(2, no_context_main);
}
