/* SPDX-License-Identifier: MIT */
#include "profiler.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "log.h"
#include "number.h"
#include "plugin.h"

#define WARPS             16
#define SIMPLE_FROM_BYTES (64u << 10)

/* Asking for an event also brings those it hangs from. */
#define WITH_PROXY     (EVENT_PROXY_OP | EVENT_PROXY_STEP | EVENT_KERNEL_CH | EVENT_NET_PLUGIN)
#define COLL_BITS      (EVENT_COLL | WITH_PROXY)
#define P2P_BITS       (EVENT_P2P | WITH_PROXY)
#define GROUP_BITS     (EVENT_GROUP | EVENT_COLL | EVENT_P2P | WITH_PROXY)
#define COLL_API_BITS  (EVENT_COLL_API | COLL_BITS)
#define P2P_API_BITS   (EVENT_P2P_API | P2P_BITS)
#define GROUP_API_BITS (GROUP_BITS | EVENT_GROUP_API | EVENT_COLL_API | EVENT_P2P_API | EVENT_KERNEL_LAUNCH)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const struct profiler_v5 *plugin;
static void *library;
static unsigned int users;
static bool failed; /* a failed load is not tried again */
static int mask;    /* one for the process; the plugin may change it at any time */

/* As in NCCL, the handles of the API events are not cleared: a start that does not write leaves the previous one. */
static _Thread_local struct {
	int mask;
	bool in_group;
	void *group_handle, *coll_handle, *p2p_handle;
} api;

static void profiler_use(void)
{
	pthread_mutex_lock(&lock);
	if (!plugin && !failed)
		plugin = plugin_open(&library);
	failed = !plugin;
	users++;
	pthread_mutex_unlock(&lock);
}

void profiler_attach(struct ncclComm *comm)
{
	profiler_use();
	/* Not under the lock: init may run for several communicators at once. */
	if (!plugin)
		return;
	ncclResult_t result = plugin->init(&comm->profiler, comm->hash, &mask, comm->name[0] ? comm->name : NULL,
					   comm->hosts.count, comm->nranks, comm->rank, log_for_plugin);
	if (result != ncclSuccess)
		log_info("PROFILER/Plugin: init returned %d, the plugin stays loaded", (int)result);
}

void profiler_detach(struct ncclComm *comm)
{
	if (plugin && comm->profiler)
		plugin->finalize(comm->profiler);
	pthread_mutex_lock(&lock);
	if (--users == 0 && plugin) {
		plugin = NULL;
		mask = 0;
		dlclose(library);
	}
	pthread_mutex_unlock(&lock);
}

static void start(void *context, void **handle, struct event_v5 *event)
{
	plugin->start_event(context, handle, event);
}

static void stop(void *handle)
{
	if (plugin && handle)
		plugin->stop_event(handle);
}

void profiler_group_api_start(struct ncclComm *comm, int depth)
{
	struct event_v5 event = { .type = EVENT_GROUP_API, .group_api.depth = depth };

	if (api.in_group)
		return;
	api.in_group = true;
	api.mask = __atomic_load_n(&mask, __ATOMIC_RELAXED);
	if (!plugin || !(api.mask & GROUP_API_BITS))
		return;
	start(comm->profiler, &api.group_handle, &event);
	if (api.group_handle)
		plugin->record_state(api.group_handle, STATE_GROUP_START_API_STOP, NULL);
}

void profiler_group_end_start(void)
{
	if (plugin && api.in_group && api.group_handle)
		plugin->record_state(api.group_handle, STATE_GROUP_END_API_START, NULL);
}

void profiler_group_api_stop(void)
{
	if (api.in_group)
		stop(api.group_handle);
	api.group_handle = NULL;
	api.in_group = false;
}

static void coll_api_start(const struct task *task)
{
	struct event_v5 event = {
		.type = EVENT_COLL_API,
		.parent = task->group_api_handle,
		.coll_api = { function_name(task->function), task->count, number_name(task->type), task->root_or_peer,
			      task->stream, false },
	};

	start(task->comm->profiler, &api.coll_handle, &event);
}

static void p2p_api_start(const struct task *task)
{
	struct event_v5 event = {
		.type = EVENT_P2P_API,
		.parent = task->group_api_handle,
		.p2p_api = { function_name(task->function), task->count, number_name(task->type), task->stream, false },
	};

	start(task->comm->profiler, &api.p2p_handle, &event);
}

void profiler_api_start(struct task *task)
{
	bool p2p = task_is_p2p(task);

	task->event_mask = api.mask;
	task->group_api_handle = api.group_handle;
	if (plugin && p2p && api.mask & P2P_API_BITS)
		p2p_api_start(task);
	if (plugin && !p2p && api.mask & COLL_API_BITS)
		coll_api_start(task);
	task->api_handle = p2p ? api.p2p_handle : api.coll_handle;
}

void profiler_api_stop(const struct task *task)
{
	if (task->event_mask & (task_is_p2p(task) ? P2P_API_BITS : COLL_API_BITS))
		stop(task->api_handle);
}

static const struct task *first_task(const struct plan *plan)
{
	return plan->collectives ? plan->collectives : plan->p2p;
}

void profiler_launch_start(struct plan *plan)
{
	const struct task *first = first_task(plan);
	struct event_v5 event = {
		.type = EVENT_KERNEL_LAUNCH,
		.parent = first->group_api_handle,
		.kernel_launch.stream = plan_launch_stream(plan),
	};

	if (plugin && first->event_mask & EVENT_KERNEL_LAUNCH)
		start(plan->comm->profiler, &plan->launch_handle, &event);
}

void profiler_launch_stop(struct plan *plan)
{
	stop(plan->launch_handle);
}

static void group_start(struct plan *plan)
{
	struct event_v5 event = { .type = EVENT_GROUP };

	if (plugin && first_task(plan)->event_mask & GROUP_BITS)
		start(plan->comm->profiler, &plan->group_handle, &event);
}

/* AllGather and Broadcast move bytes, and say so. */
static void coll_start(const struct plan *plan, struct task *task)
{
	struct ncclComm *comm = task->comm;
	uint64_t sequence = comm->sequences[task->function]++;
	size_t size = number_size(task->type);
	bool bytes = task->function == FUNCTION_ALLGATHER || task->function == FUNCTION_BROADCAST;
	struct event_v5 event = {
		.type = EVENT_COLL,
		.parent = task->api_handle,
		.rank = comm->rank,
		.coll.v4 = {
			.sequence = sequence,
			.function = function_name(task->function),
			.send = task->send,
			.recv = task->recv,
			.count = bytes ? task->count * size : task->count,
			.root = task->root_or_peer,
			.type = number_name(bytes ? ncclInt8 : task->type),
			.channels = task->channels,
			.warps = WARPS,
			.algorithm = "RING",
			.protocol = task->count * size >= SIMPLE_FROM_BYTES ? "SIMPLE" : "LL",
		},
		.coll.group = plan->group_handle,
	};

	if (plugin && task->event_mask & COLL_BITS)
		start(comm->profiler, &task->handle, &event);
}

static void p2p_start(const struct plan *plan, struct task *task)
{
	struct event_v5 event = {
		.type = EVENT_P2P,
		.parent = task->api_handle,
		.rank = task->comm->rank,
		.p2p.v4 = {
			.function = function_name(task->function),
			.buffer = task->function == FUNCTION_SEND ? (void *)task->send : task->recv,
			.type = number_name(task->type),
			.count = task->count,
			.peer = task->root_or_peer,
			.channels = task->channels,
		},
		.p2p.group = plan->group_handle,
	};

	if (plugin && task->event_mask & P2P_BITS)
		start(task->comm->profiler, &task->handle, &event);
}

static void stop_tasks(const struct task *task)
{
	for (; task; task = task->next)
		stop(task->handle);
}

void profiler_plan_events(struct plan *plan, void (*launched)(struct plan *plan))
{
	group_start(plan);
	for (struct task *task = plan->collectives; task; task = task->next)
		coll_start(plan, task);
	for (struct task *task = plan->p2p; task; task = task->next)
		p2p_start(plan, task);
	launched(plan);
	stop_tasks(plan->collectives);
	stop_tasks(plan->p2p);
	stop(plan->group_handle);
}

bool profiler_wants_channels(const struct task *task)
{
	return plugin && task->event_mask & EVENT_KERNEL_CH;
}

static void task_channels_start(struct task *task, uint64_t start_ns)
{
	if (!profiler_wants_channels(task))
		return;
	task->channel_handles = calloc(task->channels, sizeof(*task->channel_handles));
	for (uint8_t channel = 0; task->channel_handles && channel < task->channels; channel++) {
		struct event_v5 event = {
			.type = EVENT_KERNEL_CH,
			.parent = task->handle,
			.kernel_ch = { channel, start_ns },
		};
		start(task->comm->profiler, &task->channel_handles[channel], &event);
	}
}

static void task_channels_stop(struct task *task, uint64_t stop_ns)
{
	union profiler_state_args args = { .timer = stop_ns };

	for (uint8_t channel = 0; task->channel_handles && channel < task->channels; channel++) {
		if (!task->channel_handles[channel])
			continue;
		plugin->record_state(task->channel_handles[channel], STATE_KERNEL_CH_STOP, &args);
		stop(task->channel_handles[channel]);
	}
}

void profiler_channels_start(struct plan *plan, uint64_t start_ns)
{
	for (struct task *task = plan->collectives; task; task = task->next)
		task_channels_start(task, start_ns);
	for (struct task *task = plan->p2p; task; task = task->next)
		task_channels_start(task, start_ns);
}

void profiler_channels_stop(struct plan *plan, uint64_t stop_ns)
{
	for (struct task *task = plan->collectives; task; task = task->next)
		task_channels_stop(task, stop_ns);
	for (struct task *task = plan->p2p; task; task = task->next)
		task_channels_stop(task, stop_ns);
}
