/* SPDX-License-Identifier: MIT */
/* Faults of a rank whose program goes another way: its first collective of one step is not what the others call. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/workload/faults/fault.h"
#include "sim/workload/training/collective.h"
#include "sim/workload/training/gpu.h"

struct spoiler {
	void (*spoil)(struct spoiler *spoiler, const struct collective_call *call);
	bool first, mine; /* the next call is a step's first; in that step it is to be spoilt */
	bool holds;
	struct collective_call held;
	CUdeviceptr word; /* made with the first use */
};

static void skip(struct spoiler *spoiler, const struct collective_call *call)
{
	if (!spoiler->mine)
		collective_issue(call);
}

static void call_twice(struct spoiler *spoiler, const struct collective_call *call)
{
	collective_issue(call);
	if (spoiler->mine)
		collective_issue(call);
}

static void halve_count(struct spoiler *spoiler, const struct collective_call *call)
{
	struct collective_call changed = *call;

	changed.count /= spoiler->mine ? 2 : 1;
	collective_issue(&changed);
}

/* Of the same size: with another, NCCL would write past the end of the buffers. Of one that computes: to gathered bytes
 * a type means nothing. */
static void change_type(struct spoiler *spoiler, const struct collective_call *call)
{
	struct collective_call changed = *call;

	spoiler->first = call->function == COLLECTIVE_ALL_GATHER;
	if (spoiler->mine && !spoiler->first)
		changed.type = call->type == ncclBfloat16 ? ncclFloat16 : ncclInt32;
	collective_issue(&changed);
}

static void swap_with_next(struct spoiler *spoiler, const struct collective_call *call)
{
	if (spoiler->mine) {
		spoiler->held = *call;
		spoiler->holds = true;
		return;
	}
	collective_issue(call);
}

/* All ranks broadcast a word first; one of them takes another rank for its root. */
static void mistake_root(struct spoiler *spoiler, const struct collective_call *call)
{
	struct collective_call broadcast = *call;

	if (!spoiler->word)
		spoiler->word = gpu_allocate(sizeof(uint32_t));
	broadcast.function = COLLECTIVE_BROADCAST;
	broadcast.send = broadcast.recv = spoiler->word;
	broadcast.count = 1;
	broadcast.type = ncclFloat32;
	broadcast.root = spoiler->mine ? 1 : 0;
	collective_issue(&broadcast);
	collective_issue(call);
}

static const struct {
	const char *name;
	void (*spoil)(struct spoiler *spoiler, const struct collective_call *call);
} ways[] = {
	{ "skip", skip },	  { "extra", call_twice },	  { "count", halve_count },
	{ "type", change_type }, { "order", swap_with_next }, { "root", mistake_root },
};

static void before_call(void *argument, const struct collective_call *call)
{
	struct spoiler *spoiler = argument;

	if (spoiler->first) {
		spoiler->first = false;
		spoiler->spoil(spoiler, call);
		return;
	}
	collective_issue(call);
	/* Behind one of another kind: two alike would be no mistake that anybody could see. */
	if (spoiler->holds && call->function != spoiler->held.function) {
		collective_issue(&spoiler->held);
		spoiler->holds = false;
	}
}

static int open_spoiler(struct fault *fault)
{
	struct spoiler *spoiler = calloc(1, sizeof(*spoiler));

	fault->tool = spoiler;
	if (!spoiler)
		return -ENOMEM;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(ways[i].name, fault->options->fault->name))
			spoiler->spoil = ways[i].spoil;
	collective_set_hook(before_call, spoiler);
	return 0;
}

static void close_spoiler(struct fault *fault)
{
	struct spoiler *spoiler = fault->tool;

	collective_set_hook(NULL, NULL);
	if (spoiler->word)
		GPU_CHECK(cuMemFree(spoiler->word));
	free(spoiler);
}

static void spoil_next(struct fault *fault, int step)
{
	struct spoiler *spoiler = fault->tool;

	spoiler->first = true;
	spoiler->mine = fault_begins(fault, step);
}

#define SPOILS .harms = true, .open = open_spoiler, .close = close_spoiler, .between_steps = spoil_next

const struct fault_kind fault_collective_kinds[] = {
	{ .name = "skip", SPOILS, .doc = "it leaves out one collective" },
	{ .name = "extra", SPOILS, .doc = "it calls one collective twice" },
	{ .name = "count", SPOILS, .doc = "it calls one collective with half of the count" },
	{ .name = "type", SPOILS, .doc = "it calls one reduction with int32 instead of float" },
	{ .name = "order", SPOILS, .doc = "it calls two collectives in the wrong order" },
	{ .name = "root", SPOILS, .doc = "it broadcasts from another root than the others" },
	{ 0 },
};
