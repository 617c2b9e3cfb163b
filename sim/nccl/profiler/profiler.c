/* SPDX-License-Identifier: MIT */
/* The life of the plugin: loaded with the first communicator, closed with the last, by the release's rules. */
#include "sim/nccl/profiler/profiler.h"

#include <stdio.h>

#include "sim/nccl/log.h"
#include "sim/nccl/profiler/plugin.h"
#include "sim/nccl/profiler/profiler_call.h"
#include "sim/nccl/release.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct plugin plugin;
static enum { NOT_TRIED, LOADED, FAILED } status; /* a failed load is not tried again */
static int users;                                 /* below 0 where NCCL counts wrong */
static int mask; /* one for the process, and never reset; the plugin may change it at any time */

static void use(void)
{
	pthread_mutex_lock(&lock);
	if (status == NOT_TRIED)
		status = plugin_open(&plugin) ? LOADED : FAILED;
	if (status == LOADED)
		users++;
	pthread_mutex_unlock(&lock);
}

/* Every communicator that goes gives back one use, whether it had one or not. */
static void give_back(void)
{
	pthread_mutex_lock(&lock);
	if (--users == 0) {
		plugin_close(&plugin);
		status = NOT_TRIED;
	}
	pthread_mutex_unlock(&lock);
}

static ncclResult_t init(struct ncclComm *comm)
{
	const struct profiler_table *table = plugin.table;
	const char *name = comm->name[0] ? comm->name : NULL;
	int version = plugin.adapter->version, nodes = comm->hosts.count;

	if (version <= 3)
		return table->init.v1(&comm->profiler, &mask);
	if (version == 4)
		return table->init.v4(&comm->profiler, &mask, name, comm->hash, nodes, comm->nranks, comm->rank,
				      log_for_plugin);
	return table->init.v5(&comm->profiler, comm->hash, &mask, name, nodes, comm->nranks, comm->rank,
			      log_for_plugin);
}

static void init_failed(ncclResult_t result)
{
	switch (release()->init_error) {
	case INIT_ERROR_FORGETS:
		log_warn("Profiler init failed with error (%d). Continue without profiler.", (int)result);
		plugin.table = NULL;
		break;
	case INIT_ERROR_DROPS:
		give_back();
		/* fall through */
	case INIT_ERROR_IGNORED:
		log_info("Profiler init failed with error '%d'. Continue without profiler.", (int)result);
	}
}

void profiler_attach(struct ncclComm *comm)
{
	use();
	/* Not under the lock: init may run for several communicators at once. */
	if (!plugin.table)
		return;
	int lost = plugin.adapter->version == release()->profiler_abi ? 0 : plugin.adapter->lost_mask;
	ncclResult_t result = init(comm);
	if (result == ncclSuccess)
		__atomic_and_fetch(&mask, ~lost, __ATOMIC_RELAXED); /* others may be in their init */
	else
		init_failed(result);
	int now = profiler_mask();
	if (release()->says_mask && now)
		log_info("Profiler event mask: 0x%x (%d)", (unsigned int)now, now);
}

void profiler_detach(struct ncclComm *comm)
{
	if (plugin.table && (comm->profiler || release()->finalizes_null))
		plugin.table->finalize(comm->profiler);
	give_back();
}

bool profiler_is_loaded(void)
{
	return plugin.table;
}

int profiler_mask(void)
{
	return __atomic_load_n(&mask, __ATOMIC_RELAXED);
}

void profiler_start(const struct ncclComm *comm, void **handle, struct event *event)
{
	event->comm_name = comm->name[0] ? comm->name : NULL;
	event->comm_hash = comm->hash;
	profiler_start_in(comm->profiler, handle, event);
}

void profiler_start_in(void *context, void **handle, const struct event *event)
{
	if (plugin.table)
		adapter_start(plugin.adapter, plugin.table, context, handle, event);
}

void profiler_stop_any(void *handle)
{
	if (plugin.table)
		plugin.table->stop_event(handle);
}

void profiler_stop(void *handle)
{
	if (handle)
		profiler_stop_any(handle);
}

void profiler_record(void *handle, enum profiler_state state, const struct profiler_state_args *args)
{
	if (handle && plugin.table)
		adapter_record(plugin.adapter, plugin.table, handle, state, args);
}
