/* SPDX-License-Identifier: MIT */
/* Built once per version of the interface, ABI. */
#include "tests/abi/second_plugin.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "plugin/nccl/profiler_v2.h"
#include "plugin/nccl/profiler_v4.h"
#include "plugin/nccl/profiler_v5.h"

enum { HANDLES = 1 << 18 };

struct handle {
	uint64_t type; /* 0 = not given out */
};

PLUGIN_EXPORT struct second second;

static struct handle handles[HANDLES];
static size_t given;
static int context;

static int index_of(uint64_t type)
{
	int bit = type ? __builtin_ctzll(type) : 0;

	return bit < SECOND_TYPES ? bit : 0;
}

/* NCCL calls a profiler from the program's threads and from its own proxy threads, at the same time. */
static void count_one(unsigned int *number)
{
	__atomic_fetch_add(number, 1, __ATOMIC_RELAXED);
}

static const struct handle *own(const void *pointer)
{
	const struct handle *handle = pointer;

	if (!handle)
		return NULL;
	if (handle >= handles && handle < handles + HANDLES && handle->type)
		return handle;
	count_one(&second.foreign);
	return NULL;
}

/* SECOND_REPORT: a file to which the counts go when the library goes, to be compared. */
__attribute__((destructor)) static void report(void)
{
	const char *path = getenv("SECOND_REPORT");
	FILE *file = path && second.inits ? fopen(path, "ae") : NULL;

	if (!file)
		return;
	fprintf(file, "inits %u finalizes %u foreign %u:", second.inits, second.finalizes, second.foreign);
	for (int i = 0; i < SECOND_TYPES; i++)
		fprintf(file, " %u/%u/%u", second.starts[i], second.stops[i], second.states[i]);
	fputc('\n', file);
	fclose(file);
}

static int begin(void **made, int *mask)
{
	const char *wanted = getenv("SECOND_MASK");

	if (wanted)
		second.wanted_mask = (int)strtol(wanted, NULL, 0);
	second.inits++;
	second.mask = mask;
	*mask = second.wanted_mask;
	*made = second.gives_null ? NULL : &context;
	return second.init_result;
}

#if ABI < 4
static int init(void **made, int *mask)
{
	return begin(made, mask);
}
#elif ABI == 4
static int init(void **made, int *mask, const char *name, uint64_t id, int nodes, int ranks, int rank,
		profiler_log *log)
{
	if (log)
		log(3, 0x4000, __FILE__, __LINE__, "%s %lx %d of %d on %d", name, (unsigned long)id, rank, ranks,
		    nodes);
	return begin(made, mask);
}
#else
static int init(void **made, uint64_t id, int *mask, const char *name, int nodes, int ranks, int rank,
		profiler_log *log)
{
	if (log)
		log(3, 0x4000, __FILE__, __LINE__, "%s %lx %d of %d on %d", name, (unsigned long)id, rank, ranks,
		    nodes);
	return begin(made, mask);
}
#endif

#if ABI == 1
typedef struct profiler_v1_event event;
#elif ABI < 4
typedef struct profiler_v2_event event;
#elif ABI == 4
typedef struct profiler_v4_event event;
#else
typedef struct profiler_v5_event event;
#endif

static void look_at_task(const event *descriptor)
{
	const struct handle *parent = own(descriptor->parent);

	second.count = descriptor->type == PROFILER_COLL ? descriptor->coll.count : descriptor->p2p.count;
	second.from_group += parent && parent->type == PROFILER_GROUP;
#if ABI >= 5
	own(descriptor->type == PROFILER_COLL ? descriptor->coll.group : descriptor->p2p.group);
#endif
}

static int start_event(void *from, void **made, event *descriptor)
{
	if (from != (second.gives_null ? NULL : (void *)&context))
		count_one(&second.foreign);
	own(descriptor->parent);
	count_one(&second.starts[index_of(descriptor->type)]);
	if (descriptor->type == PROFILER_COLL || descriptor->type == PROFILER_P2P)
		look_at_task(descriptor);
	*made = NULL;
	if (second.gives_null)
		return 0;
	struct handle *mine = &handles[__atomic_fetch_add(&given, 1, __ATOMIC_RELAXED) % HANDLES];

	mine->type = descriptor->type;
	*made = mine;
	return 0;
}

static int stop_event(void *handle)
{
	const struct handle *stopped = own(handle);

	if (stopped)
		count_one(&second.stops[index_of(stopped->type)]);
	return 0;
}

static int record_event_state(void *handle, int state, void *arguments)
{
	const struct handle *changed = own(handle);
	(void)state, (void)arguments;

	if (changed)
		count_one(&second.states[index_of(changed->type)]);
	return 0;
}

static int finalize(void *from)
{
	if (from != &context)
		count_one(&second.foreign);
	second.finalizes++;
	return 0;
}

#define PASTE(a, b) a##b
#define SYMBOL(abi) PASTE(ncclProfiler_v, abi)
#if ABI < 4
PLUGIN_EXPORT extern const struct profiler_v1 SYMBOL(ABI);
const struct profiler_v1 SYMBOL(ABI) = {
	"second", init, (int (*)(void *, void **, void *))start_event, stop_event, record_event_state, finalize
};
#elif ABI == 4
PLUGIN_EXPORT extern const struct profiler_v4 SYMBOL(ABI);
const struct profiler_v4 SYMBOL(ABI) = { "second", init, start_event, stop_event, record_event_state, finalize };
#else
PLUGIN_EXPORT extern const struct profiler_v5 SYMBOL(ABI);
const struct profiler_v5 SYMBOL(ABI) = { "second", init, start_event, stop_event, record_event_state, finalize };
#endif
