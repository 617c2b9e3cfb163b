/* SPDX-License-Identifier: MIT */
#include "sim/nccl/comm/comm_life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim/nccl/comm/clique.h"
#include "sim/nccl/comm/config.h"
#include "sim/nccl/data/fabric.h"
#include "sim/nccl/data/flip.h"
#include "sim/nccl/data/kernel.h"
#include "sim/nccl/launch/connect.h"
#include "sim/nccl/launch/work_count.h"
#include "sim/nccl/log.h"
#include "sim/nccl/network/network.h"
#include "sim/nccl/network/proxy.h"
#include "sim/nccl/network/pxn.h"
#include "sim/nccl/profiler/profiler.h"
#include "sim/nccl/quirk.h"
#include "sim/nccl/release.h"

#define ABORT_WAKE_NS 1000000

static void wait_a_moment(struct ncclComm *comm)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ABORT_WAKE_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&comm->idle, &comm->lock, &until);
}

void comm_wake(struct ncclComm *comm)
{
	if (comm->segment.shared)
		segment_wake(&comm->segment, comm->rank);
}

void comm_drain(struct ncclComm *comm)
{
	pthread_mutex_lock(&comm->lock);
	while (comm->running) {
		if (!atomic_load(&comm->stop)) {
			pthread_cond_wait(&comm->idle, &comm->lock);
			continue;
		}
		/* A wait may have looked at the flag just before it was set: wake until all have ended. */
		comm_wake(comm);
		wait_a_moment(comm);
	}
	pthread_mutex_unlock(&comm->lock);
}

void comm_quiesce(struct ncclComm *comm)
{
	comm_drain(comm);
	proxy_stop(comm->proxy);
}

static void free_windows(struct ncclWindow_vidmem *windows)
{
	while (windows) {
		struct ncclWindow_vidmem *next = windows->next;
		free(windows);
		windows = next;
	}
}

static void comm_free(struct ncclComm *comm)
{
	proxy_close(comm->proxy);
	if (comm->order)
		driver.cuEventDestroy(comm->order);
	capture_close(&comm->capture);
	if (comm->module)
		driver.cuModuleUnload(comm->module);
	network_close(comm->network);
	pxn_close(comm->pxn);
	hosts_leave(&comm->hosts);
	segment_unmap(&comm->segment);
	profiler_detach(comm);
	if (comm->context)
		driver.cuDevicePrimaryCtxRelease(comm->device);
	free(comm->operators);
	free_windows(comm->windows);
	free(comm->works);
	pthread_cond_destroy(&comm->idle);
	pthread_mutex_destroy(&comm->lock);
	free(comm);
}

void comm_reclaim(struct ncclComm *comm)
{
	struct ncclComm *members = clique_leave(comm);

	for (struct ncclComm *member = members; member; member = member->sibling)
		comm_quiesce(member);
	while (members) {
		struct ncclComm *next = members->sibling;
		comm_free(members);
		members = next;
	}
}

static ncclResult_t load_kernel(struct ncclComm *comm)
{
	if (driver.cuModuleLoadData(&comm->module, &kernel_image) == CUDA_SUCCESS)
		return DRIVER(cuModuleGetFunction, &comm->kernel, comm->module, KERNEL_NAME);
	log_warn("this libcuda.so.1 is not the stand-in driver that the stand-in NCCL needs: check LD_LIBRARY_PATH");
	return ncclUnhandledCudaError;
}

/* With the communicator's context current. */
static ncclResult_t open_device(struct ncclComm *comm)
{
	ncclResult_t result = DRIVER(cuDeviceGetPCIBusId, comm->pci, sizeof(comm->pci), comm->device);

	if (result == ncclSuccess)
		result = DRIVER(cuEventCreate, &comm->order, CU_EVENT_DISABLE_TIMING);
	if (result == ncclSuccess)
		result = capture_open(&comm->capture);
	return result == ncclSuccess ? load_kernel(comm) : result;
}

ncclResult_t comm_meet(struct ncclComm *comm)
{
	return hosts_meet(&comm->hosts, &comm->segment, &comm->stop);
}

/* Every host counts its devices for itself. */
static bool same_device(const struct ncclComm *comm, int a, int b)
{
	const struct segment_rank *ranks = comm->segment.shared->ranks;

	return comm->hosts.places[a].host == comm->hosts.places[b].host &&
	       strncmp(ranks[a].pci, ranks[b].pci, sizeof(ranks[a].pci)) == 0;
}

static bool devices_may_be_shared(void)
{
	const char *text = getenv("NCCL_MULTI_RANK_GPU_ENABLE");

	return release()->shares_devices && text && strcmp(text, "1") == 0;
}

static ncclResult_t check_devices(const struct ncclComm *comm)
{
	const struct segment_rank *ranks = comm->segment.shared->ranks;

	for (int a = 0; a < comm->nranks && !devices_may_be_shared(); a++) {
		for (int b = 0; b < a; b++) {
			if (!same_device(comm, a, b))
				continue;
			log_warn("Duplicate GPU detected : rank %d and rank %d both on CUDA device %.16s", b, a,
				 ranks[a].pci);
			return ncclInvalidUsage;
		}
	}
	return ncclSuccess;
}

static ncclResult_t meet_others(struct ncclComm *comm)
{
	struct segment_rank *mine = &comm->segment.shared->ranks[comm->rank];

	mine->pid = getpid();
	memcpy(mine->pci, comm->pci, sizeof(mine->pci));
	ncclResult_t result = comm_meet(comm);
	return result == ncclSuccess ? check_devices(comm) : result;
}

/* NCCL's order: the others are known, then the profiler, then the progress thread, then all go on together. */
static ncclResult_t connect_ranks(struct ncclComm *comm, const ncclUniqueId *id)
{
	ncclResult_t result = quirk_check();

	if (result == ncclSuccess)
		result = flip_check();
	if (result == ncclSuccess)
		result = fabric_check();
	if (result == ncclSuccess)
		result = open_device(comm);
	if (result == ncclSuccess)
		result = hosts_join(&comm->hosts, &comm->segment, id, comm->nranks, comm->rank, &comm->stop);
	if (result == ncclSuccess)
		result = meet_others(comm);
	if (result == ncclSuccess)
		result = clique_join(comm, id);
	clique_read_mode();
	if (result == ncclSuccess)
		result = network_open(&comm->network, comm);
	if (result == ncclSuccess)
		result = pxn_open(&comm->pxn, comm);
	if (result == ncclSuccess)
		result = fabric_search(comm);
	if (result != ncclSuccess)
		return result;
	profiler_attach(comm);
	connect_init(comm);
	result = proxy_start(comm);
	ncclResult_t met = comm_meet(comm);
	return result != ncclSuccess ? result : met;
}

ncclResult_t comm_new(struct ncclComm **out, const ncclConfig_t *config, CUdevice device)
{
	struct ncclComm *comm = calloc(1, sizeof(*comm));
	ncclResult_t result = comm ? config_read(&comm->config, config) : ncclSystemError;

	if (result == ncclSuccess && !(comm->works = work_count_new()))
		result = ncclSystemError;
	if (result != ncclSuccess) {
		free(comm);
		return result;
	}
	atomic_init(&comm->wake_fd, -1);
	comm->device = device;
	if (comm->config.commName)
		snprintf(comm->name, sizeof(comm->name), "%s", comm->config.commName);
	pthread_mutex_init(&comm->lock, NULL);
	pthread_cond_init(&comm->idle, NULL);
	*out = comm;
	return ncclSuccess;
}

ncclResult_t comm_init(struct ncclComm *comm, const ncclUniqueId *id, uint64_t hash, int rank, int nranks)
{
	comm->rank = rank;
	comm->nranks = nranks;
	comm->hash = hash;
	ncclResult_t result = DRIVER(cuDevicePrimaryCtxRetain, &comm->context, comm->device);
	if (result == ncclSuccess)
		result = DRIVER(cuCtxPushCurrent, comm->context);
	if (result == ncclSuccess) {
		result = connect_ranks(comm, id);
		driver.cuCtxPopCurrent(NULL);
	}
	log_info("ncclCommInitRank comm %p rank %d nranks %d cudaDev %d busId %s commId 0x%llx - Init %s", (void *)comm,
		 comm->rank, comm->nranks, comm->device, comm->pci, (unsigned long long)hash,
		 result == ncclSuccess ? "COMPLETE" : "FAILED");
	return result;
}
