/* SPDX-License-Identifier: MIT */
#include "plugin/init/kernel_events.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/vfs.h>

#include "plugin/guest/message.h"
#include "plugin/recording/recording.h"

/* The first NCCL that needs no queue, as ncclGetVersion counts, and its profiler interface; that of 2.29.2 to
 * 2.30.7. */
enum { WITHOUT_QUEUE = 23100, WITHOUT_QUEUE_ABI = 7, LOSES_BROADCASTS_ABI = 6 };

/* sizeof(struct ncclProxyOpsPool), src/include/proxy.h of 2.28.9: 2,048 operations for each of 72 ranks, of 240 bytes
 * each, are 33.8 MiB. The rest is for releases whose operations are larger. */
#define QUEUE_BYTES (UINT64_C(36) << 20)

static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
static bool refused;
static uint64_t most_ranks; /* that the host has of one communicator */
static uint64_t at_first;   /* bytes that were free before any queue was made; 0: not looked yet */

/* A tmpfs without a size has no limit and says 0 of everything. */
static uint64_t free_bytes(void)
{
	struct statfs system;

	if (statfs("/dev/shm", &system))
		return 0;
	return system.f_blocks ? (uint64_t)system.f_bavail * (uint64_t)system.f_bsize : UINT64_MAX;
}

static uint64_t ranks_of_host(const struct communicator_init *communicator)
{
	int hosts = communicator->nnodes > 0 ? communicator->nnodes : 1;
	int ranks = (communicator->nranks + hosts - 1) / hosts;

	return ranks > 0 ? (uint64_t)ranks : 1;
}

static bool speaks(const struct recording *recording)
{
	return recording->box.header->local_rank <= 0;
}

/* As NCCL reads its settings: what is no number counts as 0. */
static bool broadcasts_are_counted(void)
{
	const char *text = getenv("NCCL_ALLGATHERV_ENABLE");

	errno = 0;
	return text && *text && strtoll(text, NULL, 0) == 0 && !errno;
}

static bool refuse_broadcasts(const struct recording *recording)
{
	if (speaks(recording))
		message("RANKWATCH_KERNELCH=1: NCCL is not asked for kernel events. From 2.29.2 to 2.30.7 "
			"ncclCommDestroy can wait for ever "
			"with them, after Broadcasts of several roots in one group; NCCL_ALLGATHERV_ENABLE=0 makes "
			"them safe");
	refused = true;
	return false;
}

static bool refuse_room(const struct recording *recording, uint64_t needed, uint64_t available)
{
	if (speaks(recording))
		message("RANKWATCH_KERNELCH=1: NCCL is not asked for kernel events. On this host it needs %llu MiB of "
			"/dev/shm for them, "
			"%llu are free, and before 2.31 it crashes where they do not fit (NVIDIA/nccl#2326)",
			(unsigned long long)(needed >> 20), (unsigned long long)(available >> 20));
	refused = true;
	return false;
}

static bool look(const struct recording *recording, uint64_t ranks)
{
	uint64_t available = free_bytes(), living = atomic_load_explicit(&recording->living, memory_order_relaxed);

	if (ranks > most_ranks)
		most_ranks = ranks;
	if (!at_first)
		at_first = available;
	uint64_t newest = ranks * QUEUE_BYTES, all = living * most_ranks * QUEUE_BYTES;
	if (newest > available)
		return refuse_room(recording, newest, available);
	/* Some of the queues may have been made already, which does not show. */
	if (all > at_first)
		return refuse_room(recording, all, at_first);
	return true;
}

static bool look_at_all(const struct recording *recording, const struct communicator_init *newest)
{
	if (newest->abi == LOSES_BROADCASTS_ABI && !broadcasts_are_counted())
		return refuse_broadcasts(recording);
	return look(recording, ranks_of_host(newest));
}

bool kernel_events_are_safe(const struct recording *recording, const struct communicator_init *newest)
{
	if (recording->nccl_version >= WITHOUT_QUEUE || newest->abi >= WITHOUT_QUEUE_ABI)
		return true;
	pthread_mutex_lock(&looking);
	bool fits = !refused && look_at_all(recording, newest);
	pthread_mutex_unlock(&looking);
	return fits;
}
