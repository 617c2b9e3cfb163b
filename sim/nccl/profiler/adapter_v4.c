/* SPDX-License-Identifier: MIT */
/* Versions 4 to 7: each event is the head of version 7's, up to the last member that the version has. */
#include "sim/nccl/profiler/adapter.h"

#include <string.h>

#define END(member) (offsetof(struct event_v7, member) + sizeof(((struct event_v7 *)0)->member))

/* 0: the version has no such event. */
static const struct {
	uint64_t type;
	size_t v4, v5, v6, v7;
} ends[] = {
	{ EVENT_GROUP, END(rank), END(rank), END(rank), END(rank) },
	{ EVENT_COLL, END(coll.protocol), END(coll.group), END(coll.group), END(coll.user_tag) },
	{ EVENT_P2P, END(p2p.channels), END(p2p.group), END(p2p.group), END(p2p.user_tag) },
	{ EVENT_PROXY_OP, END(proxy_op), END(proxy_op), END(proxy_op), END(proxy_op) },
	{ EVENT_PROXY_STEP, END(proxy_step), END(proxy_step), END(proxy_step), END(proxy_step) },
	{ EVENT_PROXY_CTRL, END(rank), END(rank), END(rank), END(rank) },
	{ EVENT_KERNEL_CH, END(kernel_ch), END(kernel_ch), END(kernel_ch), END(kernel_ch) },
	{ EVENT_NET_PLUGIN, END(net_plugin), END(net_plugin), END(net_plugin), END(net_plugin) },
	{ EVENT_GROUP_API, 0, END(group_api), END(group_api), END(group_api) },
	{ EVENT_COLL_API, 0, END(coll_api.captured), END(coll_api.captured), END(coll_api.user_tag) },
	{ EVENT_P2P_API, 0, END(p2p_api.captured), END(p2p_api.captured), END(p2p_api.user_tag) },
	{ EVENT_KERNEL_LAUNCH, 0, END(kernel_launch), END(kernel_launch), END(kernel_launch) },
	{ EVENT_CE_COLL, 0, 0, END(ce_coll.stream), END(ce_coll.user_tag) },
	{ EVENT_CE_SYNC, 0, 0, END(ce_sync), END(ce_sync) },
	{ EVENT_CE_BATCH, 0, 0, END(ce_batch.intra_sync), END(ce_batch.intra_sync) },
	{ EVENT_KERNEL_PHASE, 0, 0, 0, END(kernel_phase) },
};

static size_t find(uint64_t type)
{
	size_t i = 0;

	while (ends[i].type != type)
		i++;
	return i;
}

static bool copy_head(const struct event *event, size_t end, bool native, union adapter_event *out)
{
	if (native)
		memset(out, 0, sizeof(*out));
	memcpy(out, &event->v7, end);
	return end != 0;
}

/* The type is one byte, and what follows it is padding. A newer NCCL forgets to copy nChannels of P2p. */
bool adapter_convert_v4(const struct event *event, int native_abi, union adapter_event *out)
{
	bool native = native_abi == 4;
	size_t end = ends[find(event->v7.type)].v4;

	if (event->v7.type == EVENT_P2P && !native)
		end = END(p2p.peer);
	if (!copy_head(event, end, native, out))
		return false;
	memset((uint8_t *)out + 1, native ? 0 : ADAPTER_POISON, offsetof(struct event_v7, parent) - 1);
	if (event->v7.type == EVENT_COLL)
		out->v7.parent = event->v7.coll.group;
	if (event->v7.type == EVENT_P2P)
		out->v7.parent = event->v7.p2p.group;
	return true;
}

bool adapter_convert_v5(const struct event *event, int native_abi, union adapter_event *out)
{
	return copy_head(event, ends[find(event->v7.type)].v5, native_abi == 5, out);
}

bool adapter_convert_v6(const struct event *event, int native_abi, union adapter_event *out)
{
	return copy_head(event, ends[find(event->v7.type)].v6, native_abi == 6, out);
}

bool adapter_convert_v7(const struct event *event, int native_abi, union adapter_event *out)
{
	return copy_head(event, ends[find(event->v7.type)].v7, native_abi == 7, out);
}
