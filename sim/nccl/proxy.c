/* SPDX-License-Identifier: MIT */
#include "proxy.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "log.h"
#include "network.h"
#include "profiler.h"
#include "pxn.h"

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

/* Under the lock. Only the oldest plan can be running: plans of one communicator run one after the other. */
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

/* What goes on within the host is over when the profiler has heard of it; the rest is the network's. */
static void append(struct proxy *proxy, struct transfer *incoming)
{
	void *control = proxy->comm->network ? profiler_control_start(proxy->comm) : NULL;
	struct transfer **at = &incoming;
	int added = 0;

	profiler_control_state(control, STATE_APPEND, 0);
	for (; *at; added++) {
		struct transfer *transfer = *at;
		profiler_transfer(&transfer->events, TRANSFER_START, 0, 0, 0);
		if (transfer->wire) {
			at = &transfer->next;
			continue;
		}
		profiler_transfer(&transfer->events, TRANSFER_PROGRESS, 0, 0, 0);
		*at = transfer->next;
		free(transfer);
	}
	profiler_control_state(control, STATE_APPEND_END, added);
	profiler_control_stop(control);
	if (incoming)
		network_append(proxy->comm->network, incoming);
}

static void advance(struct proxy *proxy)
{
	bool was_idle = proxy->idle;

	proxy->idle = !network_advance(proxy->comm->network);
	void *control = profiler_control_start(proxy->comm);
	if (was_idle != proxy->idle)
		profiler_control_state(control, proxy->idle ? STATE_IDLE : STATE_ACTIVE, 0);
	profiler_control_stop(control);
}

/* Returns false when the thread has nothing left to do. */
static bool look(struct proxy *proxy)
{
	struct network *network = proxy->comm->network;

	pthread_mutex_lock(&proxy->lock);
	struct transfer *incoming = proxy->incoming;
	bool stop = proxy->stop;
	proxy->incoming = NULL;
	deliver(proxy);
	pthread_mutex_unlock(&proxy->lock);
	if (incoming)
		append(proxy, incoming);
	if (proxy->comm->pxn)
		pxn_receive(proxy->comm->pxn);
	if (!network)
		return !stop;
	do
		advance(proxy);
	while (!proxy->idle);
	return !stop || (network_is_busy(network) && !atomic_load(&proxy->comm->stop));
}

static nfds_t set_fds(struct proxy *proxy)
{
	struct ncclComm *comm = proxy->comm;
	nfds_t count = 1 + (comm->network ? network_poll(comm->network, proxy->fds + 1) : 0);

	proxy->fds[0] = (struct pollfd){ .fd = proxy->wake_fd, .events = POLLIN };
	if (comm->pxn)
		proxy->fds[count++] = (struct pollfd){ .fd = pxn_fd(comm->pxn), .events = POLLIN };
	return count;
}

/* NCCL's thread sleeps only when it has no operation; while it has one it would look again and again. */
static void sleep_or_wait(struct proxy *proxy)
{
	struct network *network = proxy->comm->network;
	nfds_t count = set_fds(proxy);
	bool sleeps = network && !network_has_transfers(network);
	void *control = sleeps ? profiler_control_start(proxy->comm) : NULL;
	eventfd_t times;

	profiler_control_state(control, STATE_SLEEP, 0);
	poll(proxy->fds, count, -1);
	profiler_control_state(control, STATE_WAKEUP, 0);
	profiler_control_stop(control);
	/* Before looking again: whoever wakes the thread after this makes the next poll() return at once. */
	eventfd_read(proxy->wake_fd, &times);
}

static void *proxy_main(void *argument)
{
	struct proxy *proxy = argument;

	while (look(proxy))
		sleep_or_wait(proxy);
	return NULL;
}

static ncclResult_t start_thread(struct proxy *proxy)
{
	sigset_t all, before;
	char name[16];

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	proxy->running = pthread_create(&proxy->thread, NULL, proxy_main, proxy) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!proxy->running)
		return ncclSystemError;
	snprintf(name, sizeof(name), "NCCL Progress%2d", proxy->comm->device & 0xf);
	pthread_setname_np(proxy->thread, name);
	return ncclSuccess;
}

static void proxy_free(struct proxy *proxy)
{
	free(proxy->fds);
	if (proxy->wake_fd >= 0)
		close(proxy->wake_fd);
}

ncclResult_t proxy_start(struct proxy *proxy, struct ncclComm *comm)
{
	proxy->comm = comm;
	pthread_mutex_init(&proxy->lock, NULL);
	proxy->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	proxy->fds = calloc((size_t)comm->nranks + 2, sizeof(*proxy->fds));
	ncclResult_t result = proxy->wake_fd >= 0 && proxy->fds ? start_thread(proxy) : ncclSystemError;
	if (result == ncclSuccess)
		return ncclSuccess;
	log_warn("cannot start the progress thread of a communicator");
	proxy_free(proxy);
	return result;
}

void proxy_stop(struct proxy *proxy)
{
	if (!proxy->running)
		return;
	pthread_mutex_lock(&proxy->lock);
	proxy->stop = true;
	pthread_mutex_unlock(&proxy->lock);
	proxy_wake(proxy);
	pthread_join(proxy->thread, NULL);
	proxy->running = false;
	while (proxy->entries) {
		struct proxy_entry *entry = proxy->entries;
		proxy->entries = entry->next;
		plan_drop(entry->plan);
		free(entry);
	}
	transfers_drop(proxy->incoming);
	proxy_free(proxy);
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
	pthread_mutex_unlock(&proxy->lock);
	proxy_wake(proxy);
}

void proxy_add_transfers(struct proxy *proxy, struct transfer *transfers)
{
	pthread_mutex_lock(&proxy->lock);
	struct transfer **at = &proxy->incoming;
	while (*at)
		at = &(*at)->next;
	*at = transfers;
	pthread_mutex_unlock(&proxy->lock);
	proxy_wake(proxy);
}

void proxy_wake(struct proxy *proxy)
{
	eventfd_write(proxy->wake_fd, 1);
}
