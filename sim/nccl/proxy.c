/* SPDX-License-Identifier: MIT */
#include "proxy.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "plan.h"
#include "profiler.h"

struct proxy_entry {
	struct proxy_entry *next;
	struct plan *plan;
	bool started;
};

/* Returns true when the plan has nothing more to say. Called without the lock: the plugin may take its time. */
static bool entry_advance(struct proxy_entry *entry)
{
	uint64_t start_ns = atomic_load(&entry->plan->start_ns);
	uint64_t stop_ns = atomic_load(&entry->plan->stop_ns);

	if (start_ns && !entry->started) {
		profiler_channels_start(entry->plan, start_ns);
		entry->started = true;
	}
	if (stop_ns)
		profiler_channels_stop(entry->plan, stop_ns);
	return stop_ns != 0;
}

/* Only the oldest plan can be running: plans of one communicator run one after the other. */
static void deliver(struct proxy *proxy)
{
	while (proxy->entries) {
		struct proxy_entry *entry = proxy->entries;
		pthread_mutex_unlock(&proxy->lock);
		bool done = entry_advance(entry);
		pthread_mutex_lock(&proxy->lock);
		if (!done)
			return;
		proxy->entries = entry->next;
		plan_drop(entry->plan);
		free(entry);
	}
}

static void *proxy_main(void *argument)
{
	struct proxy *proxy = argument;

	pthread_mutex_lock(&proxy->lock);
	do {
		while (!proxy->woken && !proxy->stop)
			pthread_cond_wait(&proxy->work, &proxy->lock);
		proxy->woken = false;
		deliver(proxy);
	} while (!proxy->stop);
	pthread_mutex_unlock(&proxy->lock);
	return NULL;
}

ncclResult_t proxy_start(struct proxy *proxy, int device)
{
	sigset_t all, before;
	char name[16];

	pthread_mutex_init(&proxy->lock, NULL);
	pthread_cond_init(&proxy->work, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	proxy->running = pthread_create(&proxy->thread, NULL, proxy_main, proxy) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!proxy->running)
		return ncclSystemError;
	snprintf(name, sizeof(name), "NCCL Progress%2d", device & 0xf);
	pthread_setname_np(proxy->thread, name);
	return ncclSuccess;
}

void proxy_stop(struct proxy *proxy)
{
	if (!proxy->running)
		return;
	pthread_mutex_lock(&proxy->lock);
	proxy->stop = true;
	pthread_cond_signal(&proxy->work);
	pthread_mutex_unlock(&proxy->lock);
	pthread_join(proxy->thread, NULL);
	proxy->running = false;
	while (proxy->entries) {
		struct proxy_entry *entry = proxy->entries;
		proxy->entries = entry->next;
		plan_drop(entry->plan);
		free(entry);
	}
}

void proxy_add(struct proxy *proxy, struct plan *plan)
{
	struct proxy_entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		return;
	atomic_fetch_add(&plan->references, 1);
	entry->plan = plan;
	pthread_mutex_lock(&proxy->lock);
	struct proxy_entry **at = &proxy->entries;
	while (*at)
		at = &(*at)->next;
	*at = entry;
	proxy->woken = true;
	pthread_cond_signal(&proxy->work);
	pthread_mutex_unlock(&proxy->lock);
}

void proxy_wake(struct proxy *proxy)
{
	pthread_mutex_lock(&proxy->lock);
	proxy->woken = true;
	pthread_cond_signal(&proxy->work);
	pthread_mutex_unlock(&proxy->lock);
}
