/* SPDX-License-Identifier: MIT */
#include "release.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

#define VARIABLE     "SIM_NCCL_VERSION"
#define DEFAULT_NAME "2.28.9"

static const struct release releases[] = {
	{ .name = "2.21.5", .code = 22105 },
	{ .name = "2.23.4",
	  .code = 22304,
	  .calls = CALLS_2_23,
	  .profiler_abi = 1,
	  .loader = LOADER_VERBATIM,
	  .init_error = INIT_ERROR_FORGETS,
	  .mask_per_plan = true,
	  .skips_orphans = true },
	{ .name = "2.24.3",
	  .code = 22403,
	  .calls = CALLS_2_23,
	  .profiler_abi = 2,
	  .loader = LOADER_VERBATIM,
	  .init_error = INIT_ERROR_FORGETS,
	  .mask_per_plan = true,
	  .skips_orphans = true,
	  .counts_unheard = true },
	{ .name = "2.26.2",
	  .code = 22602,
	  .calls = CALLS_2_23,
	  .profiler_abi = 3,
	  .loader = LOADER_BOTH,
	  .init_error = INIT_ERROR_FORGETS,
	  .counts_unheard = true },
	{ .name = "2.27.3",
	  .code = 22703,
	  .calls = CALLS_2_27,
	  .profiler_abi = 4,
	  .loader = LOADER_EITHER,
	  .init_error = INIT_ERROR_FORGETS,
	  .counts_unheard = true,
	  .symmetric = EVENTS_API_ONLY },
	{ .name = "2.27.5",
	  .code = 22705,
	  .calls = CALLS_2_27,
	  .profiler_abi = 4,
	  .loader = LOADER_USUAL,
	  .init_error = INIT_ERROR_FORGETS,
	  .counts_unheard = true,
	  .symmetric = EVENTS_API_ONLY },
	{ .name = "2.28.9",
	  .code = 22809,
	  .calls = CALLS_2_28,
	  .profiler_abi = 5,
	  .loader = LOADER_USUAL,
	  .init_error = INIT_ERROR_IGNORED,
	  .none_disables = true,
	  .net_fallback = true,
	  .counts_unheard = true,
	  .symmetric = EVENTS_API_ONLY },
	{ .name = "2.29.7",
	  .code = 22907,
	  .calls = CALLS_2_28,
	  .profiler_abi = 6,
	  .loader = LOADER_USUAL,
	  .init_error = INIT_ERROR_IGNORED,
	  .none_disables = true,
	  .net_fallback = true,
	  .counts_unheard = true,
	  .broadcast_task = true,
	  .symmetric = EVENTS_API_ONLY,
	  .copy_engine = EVENTS_WHOLE },
	{ .name = "2.30.7",
	  .code = 23007,
	  .calls = CALLS_2_28,
	  .profiler_abi = 6,
	  .loader = LOADER_USUAL,
	  .init_error = INIT_ERROR_DROPS,
	  .none_disables = true,
	  .net_fallback = true,
	  .counts_unheard = true,
	  .broadcast_task = true,
	  .says_mask = true,
	  .shares_devices = true,
	  .symmetric = EVENTS_API_ONLY,
	  .copy_engine = EVENTS_WHOLE },
	{ .name = "2.31.2",
	  .code = 23102,
	  .calls = CALLS_2_28,
	  .profiler_abi = 7,
	  .loader = LOADER_USUAL,
	  .init_error = INIT_ERROR_DROPS,
	  .none_disables = true,
	  .net_fallback = true,
	  .counts_unheard = true,
	  .broadcast_task = true,
	  .channel_thread = true,
	  .clears_handles = true,
	  .says_mask = true,
	  .shares_devices = true,
	  .symmetric = EVENTS_WHOLE,
	  .copy_engine = EVENTS_WHOLE },
};

static const struct release *chosen;
static ncclResult_t check_result = ncclSuccess;

static const struct release *find(const char *name)
{
	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++) {
		if (strcmp(releases[i].name, name) == 0)
			return &releases[i];
	}
	return NULL;
}

static void refuse(const char *name)
{
	fprintf(stderr, VARIABLE "=%s: no such release; the stand-in can be", name);
	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++)
		fprintf(stderr, " %s", releases[i].name);
	fprintf(stderr, "\n");
	check_result = ncclInvalidUsage;
}

static void choose(void)
{
	const char *name = getenv(VARIABLE);

	chosen = find(name && *name ? name : DEFAULT_NAME);
	if (chosen)
		return;
	refuse(name);
	chosen = find(DEFAULT_NAME);
}

const struct release *release(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, choose);
	return chosen;
}

ncclResult_t release_check(void)
{
	release();
	if (check_result != ncclSuccess)
		log_warn(VARIABLE " names no release that the stand-in can be");
	return check_result;
}

ncclResult_t release_offers(enum release_calls calls, const char *call)
{
	if (release()->calls >= calls)
		return ncclSuccess;
	log_warn("%s : NCCL %s, which " VARIABLE " chose, has no such call", call, release()->name);
	return ncclInvalidUsage;
}
