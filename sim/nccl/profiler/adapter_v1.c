/* SPDX-License-Identifier: MIT */
/*
 * Versions 1 to 3. Coll and P2p hang from the group. From NCCL 2.27 on, whose own version is 4, they name no
 * communicator; the traffic is lost from 2.26 on, and version 1's operator already in 2.24.
 */
#include "sim/nccl/profiler/adapter.h"

#include <string.h>

static const char *const functions[] = V1_FUNCTIONS;
static const char *const algorithms[] = V1_ALGORITHMS;
static const char *const protocols[] = V1_PROTOCOLS;

#define COUNT(names) (sizeof(names) / sizeof(*(names)))

/* NCCL's adapters answer with the number of the last comparison when no name fits. */
static uint8_t number_of(const char *const *names, size_t count, const char *name, uint8_t otherwise)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(names[i], name) == 0)
			return (uint8_t)i;
	}
	return otherwise;
}

#define V1_SEND   6
#define V1_PAT    6
#define V1_SIMPLE 2

/* The types that the adapter of NCCL knows by name; what it does not know is ncclFloat64. */
static uint8_t type_of(const struct event *event, int native_abi)
{
	switch (event->type_number) {
	case ncclUint8:
		return native_abi == 1 ? ncclUint8 : ncclFloat64;
	case ncclFloat8e4m3:
	case ncclFloat8e5m2:
		return ncclFloat64;
	default:
		return (uint8_t)event->type_number;
	}
}

/* What is the same in all three, as far as the version has it. */
static bool copy_simple(const struct event *event, int version, void *out)
{
	size_t end = 0;

	switch (event->v7.type) {
	case EVENT_GROUP:
	case EVENT_PROXY_CTRL:
		end = offsetof(struct event_v7, group_api);
		break;
	case EVENT_PROXY_OP:
		end = offsetof(struct event_v7, proxy_op) + sizeof(event->v7.proxy_op);
		break;
	case EVENT_PROXY_STEP:
		end = offsetof(struct event_v7, proxy_step) + sizeof(event->v7.proxy_step);
		break;
	case EVENT_KERNEL_CH:
		end = version == 3 ? offsetof(struct event_v7, kernel_ch) + 1 : 0;
		break;
	case EVENT_NET_PLUGIN:
		end = version == 3 ? offsetof(struct event_v7, net_plugin) + sizeof(event->v7.net_plugin) : 0;
		break;
	}
	memcpy(out, &event->v7, end);
	return end != 0;
}

/* Members that all three have, by the same name. */
#define COPY_COLL(out, event, native_abi) \
	do { \
		const struct event_v7 *from = &(event)->v7; \
\
		(out)->parent = from->coll.group; \
		(out)->coll.comm_name = (native_abi) <= 3 ? (event)->comm_name : NULL; \
		(out)->coll.comm_hash = (native_abi) <= 3 ? (event)->comm_hash : 0; \
		(out)->coll.sequence = from->coll.sequence; \
		(out)->coll.send = from->coll.send; \
		(out)->coll.recv = from->coll.recv; \
		(out)->coll.count = from->coll.count; \
		(out)->coll.root = from->coll.root; \
		(out)->coll.channels = from->coll.channels; \
		(out)->coll.warps = from->coll.warps; \
	} while (0)

static void coll_v1(const struct event *event, int native_abi, struct event_v1 *out)
{
	const struct event_v7 *v7 = &event->v7;

	COPY_COLL(out, event, native_abi);
	out->coll.function = number_of(functions, COUNT(functions), v7->coll.function, V1_SEND);
	out->coll.type = type_of(event, native_abi);
	out->coll.op = native_abi == 1 ? (uint32_t)event->op : 0;
	out->coll.traffic = native_abi <= 2 ? event->traffic : 0;
	out->coll.algorithm = number_of(algorithms, COUNT(algorithms), v7->coll.algorithm, V1_PAT);
	out->coll.protocol = number_of(protocols, COUNT(protocols), v7->coll.protocol, V1_SIMPLE);
}

static void p2p_v1(const struct event *event, int native_abi, struct event_v1 *out)
{
	const struct event_v7 *v7 = &event->v7;

	out->p2p.comm_name = native_abi <= 3 ? event->comm_name : NULL;
	out->p2p.comm_hash = native_abi <= 3 ? event->comm_hash : 0;
	out->p2p.function = number_of(functions, COUNT(functions), v7->p2p.function, V1_SEND);
	out->p2p.buffer = v7->p2p.buffer;
	out->p2p.type = type_of(event, native_abi);
	out->p2p.count = v7->p2p.count;
	out->p2p.peer = v7->p2p.peer;
}

bool adapter_convert_v1(const struct event *event, int native_abi, union adapter_event *out)
{
	struct event_v1 *v1 = &out->v1;

	memset(v1, 0, sizeof(*v1));
	v1->type = (uint8_t)event->v7.type;
	v1->rank = event->v7.rank;
	if (event->v7.type == EVENT_COLL) {
		coll_v1(event, native_abi, v1);
		return true;
	}
	if (event->v7.type == EVENT_P2P) {
		v1->parent = event->v7.p2p.group;
		p2p_v1(event, native_abi, v1);
		return true;
	}
	return copy_simple(event, 1, v1);
}

static void coll_v2(const struct event *event, int native_abi, struct event_v2 *out)
{
	const struct event_v7 *v7 = &event->v7;

	COPY_COLL(out, event, native_abi);
	out->coll.function = v7->coll.function;
	out->coll.type = v7->coll.type;
	out->coll.traffic = native_abi == 2 ? event->traffic : 0;
	out->coll.algorithm = v7->coll.algorithm;
	out->coll.protocol = v7->coll.protocol;
}

static void p2p_v2(const struct event *event, int native_abi, struct event_v2_p2p *out)
{
	const struct event_v7 *v7 = &event->v7;

	out->comm_name = native_abi <= 3 ? event->comm_name : NULL;
	out->comm_hash = native_abi <= 3 ? event->comm_hash : 0;
	out->function = v7->p2p.function;
	out->buffer = v7->p2p.buffer;
	out->type = v7->p2p.type;
	out->count = v7->p2p.count;
	out->peer = v7->p2p.peer;
}

/* NCCL 2.26 hands its own version 3 event over as if it were version 2: algorithm and protocol are not where they were.
 */
bool adapter_convert_v2(const struct event *event, int native_abi, union adapter_event *out)
{
	struct event_v2 *v2 = &out->v2;

	if (native_abi == 3)
		return event->v7.type < EVENT_KERNEL_CH && adapter_convert_v3(event, native_abi, out);
	memset(v2, 0, sizeof(*v2));
	v2->type = (uint8_t)event->v7.type;
	v2->rank = event->v7.rank;
	if (event->v7.type == EVENT_COLL) {
		coll_v2(event, native_abi, v2);
		return true;
	}
	if (event->v7.type == EVENT_P2P) {
		v2->parent = event->v7.p2p.group;
		p2p_v2(event, native_abi, &v2->p2p);
		return true;
	}
	return copy_simple(event, 2, v2);
}

static void coll_v3(const struct event *event, int native_abi, struct event_v3 *out)
{
	const struct event_v7 *v7 = &event->v7;

	COPY_COLL(out, event, native_abi);
	out->coll.function = v7->coll.function;
	out->coll.type = v7->coll.type;
	out->coll.algorithm = v7->coll.algorithm;
	out->coll.protocol = v7->coll.protocol;
}

bool adapter_convert_v3(const struct event *event, int native_abi, union adapter_event *out)
{
	struct event_v3 *v3 = &out->v3;

	memset(v3, 0, sizeof(*v3));
	v3->type = (uint8_t)event->v7.type;
	v3->rank = event->v7.rank;
	if (event->v7.type == EVENT_COLL) {
		coll_v3(event, native_abi, v3);
		return true;
	}
	if (event->v7.type == EVENT_P2P) {
		v3->parent = event->v7.p2p.group;
		p2p_v2(event, native_abi, &v3->p2p);
		return true;
	}
	return copy_simple(event, 3, v3);
}
