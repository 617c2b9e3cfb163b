/* SPDX-License-Identifier: MIT */
#include "sim/nccl/release.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/nccl/log.h"

#define VARIABLE     "SIM_NCCL_VERSION"
#define DEFAULT_NAME "2.28.9"

#define PROXY        (EVENT_PROXY_OP | EVENT_PROXY_STEP)
#define CHANNELS_V3  (PROXY | EVENT_KERNEL_CH | EVENT_NET_PLUGIN)
#define CHANNELS_V7  (CHANNELS_V3 | EVENT_KERNEL_PHASE)
#define PLAN_V3      (EVENT_GROUP | EVENT_COLL | EVENT_P2P | CHANNELS_V3)
#define PLAN_V7      (PLAN_V3 | EVENT_KERNEL_PHASE)
#define API_V5       (EVENT_GROUP_API | EVENT_COLL_API | EVENT_P2P_API | EVENT_KERNEL_LAUNCH)
#define COPY_ENGINE  (EVENT_CE_COLL | EVENT_CE_SYNC | EVENT_CE_BATCH)

static const struct release_masks masks_none;

static const struct release_masks masks_v1 = {
	.group = EVENT_COLL | EVENT_P2P | PROXY,
	.coll = EVENT_COLL | PROXY,
	.p2p = EVENT_COLL | PROXY, /* asking for P2p alone brings none */
	.proxy_op = PROXY,
	.proxy_step = EVENT_PROXY_STEP,
};

static const struct release_masks masks_v3 = {
	.group = PLAN_V3,
	.coll = EVENT_COLL | CHANNELS_V3,
	.p2p = EVENT_P2P | PROXY | EVENT_KERNEL_CH,
	.proxy_op = PROXY | EVENT_NET_PLUGIN,
	.proxy_step = EVENT_PROXY_STEP | EVENT_NET_PLUGIN,
	.kernel_ch = EVENT_KERNEL_CH,
};

/* What interfaces 5 and newer have alike; PLAN and CHANNELS are those of interface 3 or 7. */
#define MASKS_V5(PLAN, CHANNELS) \
	.p2p_api = EVENT_P2P_API | EVENT_P2P | CHANNELS, .kernel_launch = EVENT_KERNEL_LAUNCH, .group = PLAN, \
	.coll = EVENT_COLL | CHANNELS, .p2p = EVENT_P2P | CHANNELS, .proxy_op = PROXY | EVENT_NET_PLUGIN, \
	.proxy_step = EVENT_PROXY_STEP | EVENT_NET_PLUGIN
#define MASKS_CE .ce_coll = COPY_ENGINE, .ce_sync = EVENT_CE_SYNC, .ce_batch = EVENT_CE_BATCH

static const struct release_masks masks_v5 = {
	MASKS_V5(PLAN_V3, CHANNELS_V3),
	.group_api = API_V5 | PLAN_V3,
	.coll_api = EVENT_COLL_API | EVENT_COLL | CHANNELS_V3,
	.kernel_ch = EVENT_KERNEL_CH,
};

static const struct release_masks masks_v6 = {
	MASKS_V5(PLAN_V3, CHANNELS_V3),
	MASKS_CE,
	.group_api = API_V5 | PLAN_V3 | COPY_ENGINE,
	.coll_api = EVENT_COLL_API | EVENT_COLL | CHANNELS_V3 | COPY_ENGINE,
	.kernel_ch = EVENT_KERNEL_CH,
};

static const struct release_masks masks_v7 = {
	MASKS_V5(PLAN_V7, CHANNELS_V7),
	MASKS_CE,
	.group_api = API_V5 | PLAN_V7 | COPY_ENGINE,
	.coll_api = EVENT_COLL_API | EVENT_COLL | CHANNELS_V7 | COPY_ENGINE,
	.kernel_ch = EVENT_KERNEL_CH | EVENT_KERNEL_PHASE,
	.kernel_phase = EVENT_KERNEL_PHASE,
};

/* What neighbouring releases have alike. */
#define UNTIL_2_27 \
	.connects_at_use = true, .init_error = INIT_ERROR_FORGETS, .skips_orphans = true, .finalizes_null = true
#define AS_2_23 \
	UNTIL_2_27, .calls = CALLS_2_23, .loader = LOADER_VERBATIM, .mask_at_plan = true, .masks = &masks_v1, \
	.stops_null = true, .counts_proxy_steps = true
#define AS_2_27 \
	UNTIL_2_27, .calls = CALLS_2_27, .profiler_abi = 4, .masks = &masks_v3, .counts_unheard = true, \
	.channel_times = true, .symmetric = EVENTS_API_ONLY
#define SINCE_2_28 \
	.connects_at_use = true, .loader = LOADER_USUAL, .none_disables = true, .net_fallback = true, \
	.counts_unheard = true, .channel_times = true
#define SINCE_2_29 SINCE_2_28, .broadcast_task = true, .says_mask = true, .copy_engine = EVENTS_WHOLE
#define SINCE_2_30 SINCE_2_29, .init_error = INIT_ERROR_DROPS, .proxy_of_one = true, .shares_devices = true

static const struct release releases[] = {
	{ .name = "2.21.5", .code = 22105, .masks = &masks_none },
	{ .name = "2.23.4", .code = 22304, .profiler_abi = 1, AS_2_23 },
	{ .name = "2.24.3", .code = 22403, .profiler_abi = 2, AS_2_23 },
	{ .name = "2.26.2", .code = 22602, .profiler_abi = 3, UNTIL_2_27, .calls = CALLS_2_23, .loader = LOADER_BOTH,
	  .masks = &masks_v3, .counts_unheard = true, .counts_proxy_steps = true },
	{ .name = "2.27.3", .code = 22703, AS_2_27, .loader = LOADER_EITHER },
	{ .name = "2.27.5", .code = 22705, AS_2_27, .loader = LOADER_USUAL },
	{ .name = "2.28.9", .code = 22809, .profiler_abi = 5, SINCE_2_28, .calls = CALLS_2_28,
	  .init_error = INIT_ERROR_IGNORED, .masks = &masks_v5, .symmetric = EVENTS_API_ONLY },
	{ .name = "2.29.7", .code = 22907, .profiler_abi = 6, SINCE_2_29, .calls = CALLS_2_29,
	  .init_error = INIT_ERROR_IGNORED, .masks = &masks_v6, .symmetric = EVENTS_API_ONLY },
	{ .name = "2.30.7", .code = 23007, .profiler_abi = 6, SINCE_2_30, .calls = CALLS_2_29, .masks = &masks_v6,
	  .symmetric = EVENTS_API_ONLY },
	{ .name = "2.31.2", .code = 23102, .profiler_abi = 7, SINCE_2_30, .calls = CALLS_2_31, .masks = &masks_v7,
	  .counts_each_run = true, .channel_thread = true, .clears_handles = true, .symmetric = EVENTS_WHOLE },
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

/* Out, but what they do was not read: not to be taken for misspelt, nor for their neighbours. */
static const char *const unread[] = { "2.32.3", "2.32.6" };

static const char *reason(const char *name)
{
	for (size_t i = 0; i < sizeof(unread) / sizeof(*unread); i++) {
		if (strcmp(unread[i], name) == 0)
			return "nothing is known of how NCCL 2.32 calls its profiler";
	}
	return "no such release";
}

static void refuse(const char *name)
{
	fprintf(stderr, VARIABLE "=%s: %s; the stand-in can be", name, reason(name));
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
