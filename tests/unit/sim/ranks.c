/* SPDX-License-Identifier: MIT */
#include "ranks.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <criterion/criterion.h>

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t process_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void *device_alloc(size_t size)
{
	CUdeviceptr pointer;

	CU(cuMemAlloc(&pointer, size ? size : 1));
	return (void *)(uintptr_t)pointer;
}

static void rank_open(struct rank *rank, const ncclUniqueId *id)
{
	CUcontext context;

	CU(cuInit(0));
	CU(cuDevicePrimaryCtxRetain(&context, rank->rank));
	CU(cuCtxSetCurrent(context));
	CU(cuStreamCreate(&rank->stream, CU_STREAM_NON_BLOCKING));
	NCCL(ncclCommInitRank(&rank->comm, rank->nranks, *id, rank->rank));
}

static void rank_process(struct rank *rank, const ncclUniqueId *id, rank_main *main)
{
	/* A test that fails half way must not leave ranks that wait for ever. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rank_open(rank, id);
	main(rank);
	if (rank->comm)
		NCCL(ncclCommDestroy(rank->comm));
	_Exit(0);
}

void ranks_start(struct ranks *ranks, int count, rank_main *main)
{
	ncclUniqueId id;

	setenv("SIM_QUIET", "1", 1);
	setenv("SIM_CUDA_DEVICES", "16", 1);
	cr_assert_eq(ncclGetUniqueId(&id), ncclSuccess);
	ranks->count = count;
	ranks->shared = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(ranks->shared, MAP_FAILED);
	for (int i = 0; i < count; i++) {
		struct rank rank = { .rank = i, .nranks = count, .shared = ranks->shared };
		ranks->pids[i] = fork();
		cr_assert_geq(ranks->pids[i], 0);
		if (ranks->pids[i] == 0)
			rank_process(&rank, &id, main);
	}
}

void ranks_join(struct ranks *ranks)
{
	for (int i = 0; i < ranks->count; i++) {
		int status = -1;
		if (ranks->pids[i] <= 0)
			continue;
		cr_assert_eq(waitpid(ranks->pids[i], &status, 0), ranks->pids[i]);
		cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "rank %d ended with status 0x%x", i,
			  (unsigned int)status);
	}
	munmap(ranks->shared, SHARED_BYTES);
}

void ranks_run(int count, rank_main *main)
{
	struct ranks ranks;

	ranks_start(&ranks, count, main);
	ranks_join(&ranks);
}
