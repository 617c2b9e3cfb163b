/* SPDX-License-Identifier: MIT */
/* As recording_plugin.c, but of profiler version 4 and only counting: to see which events such a plugin gets. */
#include <stdio.h>
#include <string.h>

#include "profiler_abi.h"
#include "recording_plugin.h"

#define EXPORT __attribute__((visibility("default")))

static char text[4096];

EXPORT recording_text_function recording_text;
EXPORT recording_clear_function recording_clear;

const char *recording_text(void)
{
	return text;
}

void recording_clear(void)
{
	text[0] = '\0';
}

static ncclResult_t init(void **context, int *mask, const char *comm_name, uint64_t comm_hash, int nodes, int nranks,
			 int rank, profiler_log *log)
{
	(void)comm_name, (void)nodes, (void)log;
	snprintf(text, sizeof(text), "init %s rank %d of %d\n", comm_hash ? "named" : "unnamed", rank, nranks);
	*context = text;
	*mask = 0xE06;
	return ncclSuccess;
}

static ncclResult_t start_event(void *context, void **handle, struct event_v4 *event)
{
	size_t used = strlen(text);

	(void)context;
	snprintf(text + used, sizeof(text) - used, "start %d in %s\n", event->type, event->parent ? "something" : "-");
	*handle = text;
	return ncclSuccess;
}

static ncclResult_t stop_event(void *handle)
{
	size_t used = strlen(text);

	snprintf(text + used, sizeof(text) - used, "stop %d\n", handle == text);
	return ncclSuccess;
}

static ncclResult_t record_state(void *handle, enum profiler_state state, union profiler_state_args *args)
{
	size_t used = strlen(text);

	(void)handle, (void)args;
	snprintf(text + used, sizeof(text) - used, "state %d\n", (int)state);
	return ncclSuccess;
}

static ncclResult_t finalize(void *context)
{
	(void)context;
	return ncclSuccess;
}

EXPORT extern struct profiler_v4 ncclProfiler_v4;
struct profiler_v4 ncclProfiler_v4 = { "recording v4", init, start_event, stop_event, record_state, finalize };
