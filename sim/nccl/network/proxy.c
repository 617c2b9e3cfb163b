/* SPDX-License-Identifier: MIT */
#include "sim/nccl/network/proxy.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sim/nccl/log.h"
#include "sim/nccl/network/network.h"
#include "sim/nccl/network/pxn.h"
#include "sim/nccl/profiler/channel_op.h"
#include "sim/nccl/profiler/profiler.h"
#include "sim/nccl/release.h"

#define APPEND_BATCHES 17 /* that NCCL takes before it looks at what runs again */

/* sizeof(struct ncclProxyOpsPool), src/include/proxy.h of 2.28.9, but for its last few hundred bytes. */
enum { QUEUE_BYTES = 2048 * 72 * 240 };

struct proxy {
	struct ncclComm *comm;
	pthread_t thread;
	pthread_mutex_t lock;
	int wake_fd; /* eventfd: there is something to look at */
	struct pollfd *fds;
	struct posting posted;             /* not yet taken by the thread; under the lock */
	unsigned int posted_order;         /* behind everything that was posted so far; so, too */
	bool stop;                         /* under the lock */
	_Atomic bool has_queue;            /* there was room for it */
	struct channel_ops *channels;      /* the thread's, as all below */
	bool idle;                         /* nothing moved when it looked last */
	void *turn_handle, *posted_handle; /* of ProxyCtrl; never cleared */
};

/* A tmpfs without a size has no limit and says 0 of everything. */
static bool queue_fits(void)
{
	struct statfs system;

	return !statfs("/dev/shm", &system) &&
	       (!system.f_blocks || system.f_bavail * (uint64_t)system.f_bsize >= QUEUE_BYTES);
}

void proxy_need_queue(struct proxy *proxy)
{
	if (release()->channel_thread || atomic_load(&proxy->has_queue))
		return;
	if (!queue_fits()) {
		log_warn(
		    "Error: failed to extend /dev/shm/nccl-XXXXXX to %d bytes, error: No space left on device (28)",
		    QUEUE_BYTES);
		raise(SIGSEGV);
	}
	atomic_store(&proxy->has_queue, true);
}

static bool is_active(const struct proxy *proxy)
{
	struct network *network = proxy->comm->network;

	return channel_ops_are_active(proxy->channels) || (network && network_has_transfers(network));
}

/* Moves what can be moved. Reported when that changes: whether anything did, or a kernel is watched, which never is
 * idle.
 */
static bool advance(struct proxy *proxy)
{
	struct network *network = proxy->comm->network;
	bool watches = channel_ops_are_active(proxy->channels);
	bool reported = channel_ops_advance(proxy->channels);
	bool moved = network && network_advance(network);
	bool idle = !watches && !moved;

	if (idle != proxy->idle)
		profiler_control(proxy->comm, &proxy->turn_handle, idle ? STATE_IDLE : STATE_ACTIVE);
	proxy->idle = idle;
	return reported || moved;
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

/* Until something may have changed. Before looking: whoever wakes the thread after this makes the next poll() return.
 */
static void wait_for_change(struct proxy *proxy)
{
	nfds_t count = set_fds(proxy);
	eventfd_t times;

	poll(proxy->fds, count, -1);
	eventfd_read(proxy->wake_fd, &times);
	if (proxy->comm->pxn)
		pxn_receive(proxy->comm->pxn);
}

/* Under the lock, as in NCCL. */
static bool may_sleep(const struct proxy *proxy)
{
	return !proxy->posted.ops && !proxy->posted.transfers && !proxy->stop;
}

/* What still comes over the network while there is no operation is of no interest to a profiler. */
static void sleep_until_posted(struct proxy *proxy)
{
	struct network *network = proxy->comm->network;

	if (!may_sleep(proxy))
		return;
	profiler_control_start(proxy->comm, &proxy->posted_handle);
	profiler_control_state(proxy->posted_handle, STATE_SLEEP, 0);
	while (may_sleep(proxy)) {
		pthread_mutex_unlock(&proxy->lock);
		while (network && network_advance(network))
			;
		wait_for_change(proxy);
		pthread_mutex_lock(&proxy->lock);
	}
	profiler_control_state(proxy->posted_handle, STATE_WAKEUP, 0);
	profiler_control_stop(proxy->posted_handle);
}

static unsigned int first_order(const struct posting *posted)
{
	unsigned int of_op = posted->ops ? posted->ops->order : ~0u;
	unsigned int of_transfer = posted->transfers ? posted->transfers->order : ~0u;

	return of_op < of_transfer ? of_op : of_transfer;
}

static struct channel_op *take_ops(struct posting *posted, unsigned int end)
{
	struct channel_op *taken = NULL, **tail = &taken;

	while (posted->ops && posted->ops->order < end) {
		*tail = posted->ops;
		tail = &posted->ops->next;
		posted->ops = posted->ops->next;
	}
	*tail = NULL;
	return taken;
}

static struct transfer *take_transfers(struct posting *posted, unsigned int end)
{
	struct transfer *taken = NULL, **tail = &taken;

	while (posted->transfers && posted->transfers->order < end) {
		*tail = posted->transfers;
		tail = &posted->transfers->next;
		posted->transfers = posted->transfers->next;
	}
	*tail = NULL;
	return taken;
}

/* What goes on within the host is over when the profiler has heard of it; the rest is the network's. */
static void append_transfer(struct proxy *proxy, struct transfer *transfer)
{
	profiler_transfer(&transfer->events, TRANSFER_START, 0, 0, 0);
	if (transfer->wire) {
		network_append(proxy->comm->network, transfer);
		return;
	}
	profiler_transfer(&transfer->events, TRANSFER_PROGRESS, 0, 0, 0);
	free(transfer);
}

static void append(struct proxy *proxy, struct posting taken)
{
	int added = 0;

	profiler_control_start(proxy->comm, &proxy->posted_handle);
	profiler_control_state(proxy->posted_handle, STATE_APPEND, 0);
	for (; taken.transfers; added++) {
		struct transfer *transfer = taken.transfers;
		taken.transfers = transfer->next;
		transfer->next = NULL;
		append_transfer(proxy, transfer);
	}
	for (; taken.ops; added++) {
		struct channel_op *op = taken.ops;
		taken.ops = op->next;
		channel_ops_add(proxy->channels, op);
	}
	profiler_control_state(proxy->posted_handle, STATE_APPEND_END, added);
	profiler_control_stop(proxy->posted_handle);
}

/* Sleeps only when it has no operation. False: nothing to take. */
static bool take_posted(struct proxy *proxy, bool *ends)
{
	struct posting taken;

	pthread_mutex_lock(&proxy->lock);
	if (!is_active(proxy))
		sleep_until_posted(proxy);
	bool takes = !is_active(proxy) || proxy->posted.ops || proxy->posted.transfers;
	unsigned int end = first_order(&proxy->posted) + APPEND_BATCHES;
	taken.ops = take_ops(&proxy->posted, end);
	taken.transfers = take_transfers(&proxy->posted, end);
	*ends = proxy->stop && !proxy->posted.ops && !proxy->posted.transfers;
	pthread_mutex_unlock(&proxy->lock);
	if (takes)
		append(proxy, taken);
	return takes;
}

/* Others wait for what is on its way, of which no profiler hears. */
static void flush(struct proxy *proxy)
{
	struct network *network = proxy->comm->network;

	while (network && network_is_busy(network) && !atomic_load(&proxy->comm->stop)) {
		if (!network_advance(network))
			wait_for_change(proxy);
	}
}

/* At its end the proxy waits for works whose events have not come. The thread of 2.31 gives up those that are not to be
 * seen yet. */
static bool has_ended(const struct proxy *proxy, bool stands)
{
	struct network *network = proxy->comm->network;

	if (release()->channel_thread && stands)
		return !network || !network_has_transfers(network);
	return !is_active(proxy);
}

static void *proxy_main(void *argument)
{
	struct proxy *proxy = argument;
	bool ends = false, goes_on = true;

	while (goes_on && !atomic_load(&proxy->comm->stop)) {
		bool moved = advance(proxy);
		bool took = take_posted(proxy, &ends);
		goes_on = !(ends && has_ended(proxy, !moved && !took));
		if (goes_on && !moved && !took)
			wait_for_change(proxy);
	}
	flush(proxy);
	return NULL;
}

/* NCCL gives its threads names only when asked to; else they have that of the thread that made them. */
static void set_name(const struct proxy *proxy)
{
	const char *wanted = getenv("NCCL_SET_THREAD_NAME");
	char name[16];

	if (!wanted || strtol(wanted, NULL, 0) == 0)
		return;
	snprintf(name, sizeof(name), "NCCL Progress%2d", proxy->comm->device & 0xf);
	pthread_setname_np(proxy->thread, name);
}

static ncclResult_t start_thread(struct proxy *proxy)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	bool made = pthread_create(&proxy->thread, NULL, proxy_main, proxy) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!made)
		return ncclSystemError;
	set_name(proxy);
	atomic_store(&proxy->comm->wake_fd, proxy->wake_fd);
	return ncclSuccess;
}

/* What it holds but its memory: calls may come after it has stopped. */
static void give_back(struct proxy *proxy)
{
	channel_ops_drop(proxy->posted.ops);
	transfers_drop(proxy->posted.transfers);
	proxy->posted = (struct posting){ 0 };
	channel_ops_free(proxy->channels);
	proxy->channels = NULL;
	free(proxy->fds);
	proxy->fds = NULL;
	if (proxy->wake_fd >= 0)
		close(proxy->wake_fd);
	proxy->wake_fd = -1;
}

/* NCCL makes the thread with the first connection that it drives: to the own network, which a communicator that
 * connects in init has always (init.cc); to another host; for the events of channels (profiler.cc). */
static bool is_needed_in_init(const struct ncclComm *comm)
{
	return comm->network || (comm->collectives_connected && (comm->nranks > 1 || release()->proxy_of_one));
}

static struct proxy *proxy_new(struct ncclComm *comm)
{
	struct proxy *proxy = calloc(1, sizeof(*proxy));

	if (!proxy)
		return NULL;
	proxy->comm = comm;
	pthread_mutex_init(&proxy->lock, NULL);
	proxy->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	proxy->fds = calloc((size_t)comm->nranks + 2, sizeof(*proxy->fds));
	proxy->channels = channel_ops_new();
	if (proxy->wake_fd >= 0 && proxy->fds && proxy->channels)
		return proxy;
	proxy_close(proxy);
	return NULL;
}

ncclResult_t proxy_start(struct ncclComm *comm)
{
	comm->proxy = proxy_new(comm);
	if (!comm->proxy) {
		log_warn("no memory for the progress thread of a communicator");
		return ncclSystemError;
	}
	return is_needed_in_init(comm) ? proxy_need_thread(comm->proxy) : ncclSuccess;
}

static bool is_running(const struct proxy *proxy)
{
	return atomic_load(&proxy->comm->wake_fd) >= 0;
}

ncclResult_t proxy_need_thread(struct proxy *proxy)
{
	ncclResult_t result = ncclSuccess;

	pthread_mutex_lock(&proxy->lock);
	if (!is_running(proxy) && !proxy->stop)
		result = start_thread(proxy);
	pthread_mutex_unlock(&proxy->lock);
	if (result != ncclSuccess)
		log_warn("cannot start the progress thread of a communicator");
	return result;
}

void proxy_stop(struct proxy *proxy)
{
	if (!proxy)
		return;
	pthread_mutex_lock(&proxy->lock);
	proxy->stop = true;
	pthread_mutex_unlock(&proxy->lock);
	if (is_running(proxy)) {
		comm_wake_proxy(proxy->comm);
		pthread_join(proxy->thread, NULL);
		atomic_store(&proxy->comm->wake_fd, -1);
	}
	give_back(proxy);
}

void proxy_close(struct proxy *proxy)
{
	if (!proxy)
		return;
	proxy_stop(proxy);
	pthread_mutex_destroy(&proxy->lock);
	free(proxy);
}

/* Behind what was posted before; returns the order of what comes next. */
static unsigned int append_ops(struct channel_op **at, struct channel_op *ops, unsigned int first)
{
	unsigned int next = first;

	while (*at)
		at = &(*at)->next;
	*at = ops;
	for (struct channel_op *op = ops; op; op = op->next) {
		op->order += first;
		next = op->order + 1;
	}
	return next;
}

static unsigned int append_transfers(struct transfer **at, struct transfer *transfers, unsigned int first)
{
	unsigned int next = first;

	while (*at)
		at = &(*at)->next;
	*at = transfers;
	for (struct transfer *transfer = transfers; transfer; transfer = transfer->next) {
		transfer->order += first;
		next = transfer->order + 1;
	}
	return next;
}

void proxy_post(struct proxy *proxy, struct posting posting)
{
	pthread_mutex_lock(&proxy->lock);
	unsigned int behind_ops = append_ops(&proxy->posted.ops, posting.ops, proxy->posted_order);
	unsigned int behind = append_transfers(&proxy->posted.transfers, posting.transfers, proxy->posted_order);
	proxy->posted_order = behind > behind_ops ? behind : behind_ops;
	pthread_mutex_unlock(&proxy->lock);
	comm_wake_proxy(proxy->comm);
}
