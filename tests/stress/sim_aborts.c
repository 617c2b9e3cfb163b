/* SPDX-License-Identifier: MIT */
/*
 * Ends of communicators, over and over, with eight ranks as threads of one process: aborts by other threads while
 * collectives wait on all streams, aborts of work that goes on behind its caller, and whole lives without growth of
 * memory, threads, descriptors or mappings.
 */
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cuda.h>
#include <nccl.h>

#define RANKS        8
#define ABORT_ROUNDS 20
#define LIVES        100
#define WARM_UP      10 /* lives after which nothing may grow */
#define DEADLINE_S   60
#define GROWTH_BYTES (64 << 10)

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                        \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)
#define NCCL(call) CHECK((call) == ncclSuccess)
#define CU(call)   CHECK((call) == CUDA_SUCCESS)

struct rank {
	int number;
	ncclUniqueId id;
	ncclComm_t comm;
	CUstream stream;
	float *buffer;
	pthread_t thread;
};

static pthread_barrier_t all;

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void all_reduce(struct rank *rank)
{
	ncclResult_t result =
	    ncclAllReduce(rank->buffer, rank->buffer, 1, ncclFloat32, ncclSum, rank->comm, rank->stream);

	CHECK(result == ncclSuccess || result == ncclInProgress);
}

static void rank_open(struct rank *rank)
{
	CUcontext context;
	CUdeviceptr pointer;

	CU(cuDevicePrimaryCtxRetain(&context, rank->number));
	CU(cuCtxSetCurrent(context));
	CU(cuStreamCreate(&rank->stream, CU_STREAM_NON_BLOCKING));
	CU(cuMemAlloc(&pointer, sizeof(float)));
	rank->buffer = (float *)(uintptr_t)pointer;
}

static void rank_close(struct rank *rank)
{
	CU(cuStreamSynchronize(rank->stream));
	CU(cuMemFree((CUdeviceptr)(uintptr_t)rank->buffer));
	CU(cuStreamDestroy(rank->stream));
	CU(cuDevicePrimaryCtxRelease(rank->number));
}

/* Rank 0 stays away from the last one, so that the others wait for ever. */
static void *running_main(void *argument)
{
	struct rank *rank = argument;

	rank_open(rank);
	NCCL(ncclCommInitRank(&rank->comm, RANKS, rank->id, rank->number));
	for (int i = 0; i < 10; i++)
		all_reduce(rank);
	if (rank->number != 0)
		all_reduce(rank);
	pthread_barrier_wait(&all); /* from here on the watchdogs abort */
	rank_close(rank);
	return NULL;
}

static void *watchdog_main(void *argument)
{
	struct rank *rank = argument;

	pthread_barrier_wait(&all);
	NCCL(ncclCommAbort(rank->comm));
	return NULL;
}

static ncclResult_t state_of(ncclComm_t comm)
{
	ncclResult_t state;

	NCCL(ncclCommGetAsyncError(comm, &state));
	return state;
}

/* False: still in progress after a while, because its stream takes no more. */
static bool settles(ncclComm_t comm, double limit_s)
{
	double until = now_s() + limit_s;

	while (state_of(comm) == ncclInProgress) {
		if (now_s() > until)
			return false;
		usleep(1000);
	}
	return true;
}

/* Collectives that wait for rank 0 fill the stream's queue, until a launch hangs on the thread behind the call. */
static void *behind_main(void *argument)
{
	struct rank *rank = argument;
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;

	config.blocking = 0;
	rank_open(rank);
	ncclResult_t result = ncclCommInitRankConfig(&rank->comm, RANKS, rank->id, rank->number, &config);
	CHECK(result == ncclSuccess || result == ncclInProgress);
	CHECK(settles(rank->comm, DEADLINE_S) && state_of(rank->comm) == ncclSuccess);
	pthread_barrier_wait(&all);
	do {
		if (rank->number != 0)
			all_reduce(rank);
	} while (rank->number != 0 && settles(rank->comm, 0.2));
	pthread_barrier_wait(&all);
	NCCL(ncclCommAbort(rank->comm));
	rank_close(rank);
	return NULL;
}

static void *life_main(void *argument)
{
	struct rank *rank = argument;
	ncclComm_t child;

	rank_open(rank);
	NCCL(ncclCommInitRank(&rank->comm, RANKS, rank->id, rank->number));
	all_reduce(rank);
	NCCL(ncclCommSplit(rank->comm, rank->number % 2, 0, &child, NULL));
	NCCL(ncclCommDestroy(child));
	CU(cuStreamSynchronize(rank->stream));
	NCCL(ncclCommFinalize(rank->comm));
	NCCL(ncclCommDestroy(rank->comm));
	rank_close(rank);
	return NULL;
}

static void start_ranks(struct rank *ranks, void *(*main)(void *))
{
	ncclUniqueId id;

	NCCL(ncclGetUniqueId(&id));
	for (int i = 0; i < RANKS; i++) {
		ranks[i] = (struct rank){ .number = i, .id = id };
		CHECK(pthread_create(&ranks[i].thread, NULL, main, &ranks[i]) == 0);
	}
}

static void join_ranks(struct rank *ranks)
{
	for (int i = 0; i < RANKS; i++)
		pthread_join(ranks[i].thread, NULL);
}

static void abort_running(void)
{
	struct rank ranks[RANKS];
	pthread_t watchdogs[RANKS];

	CHECK(pthread_barrier_init(&all, NULL, 2 * RANKS) == 0);
	start_ranks(ranks, running_main);
	for (int i = 0; i < RANKS; i++)
		CHECK(pthread_create(&watchdogs[i], NULL, watchdog_main, &ranks[i]) == 0);
	for (int i = 0; i < RANKS; i++)
		pthread_join(watchdogs[i], NULL);
	join_ranks(ranks);
	pthread_barrier_destroy(&all);
}

static void abort_behind(void)
{
	struct rank ranks[RANKS];

	CHECK(pthread_barrier_init(&all, NULL, RANKS) == 0);
	start_ranks(ranks, behind_main);
	join_ranks(ranks);
	pthread_barrier_destroy(&all);
}

static void live(void)
{
	struct rank ranks[RANKS];

	start_ranks(ranks, life_main);
	join_ranks(ranks);
}

static size_t count_entries(const char *path)
{
	DIR *directory = opendir(path);
	size_t count = 0;

	CHECK(directory);
	while (readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static size_t count_mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	size_t count = 0;
	int c;

	CHECK(maps);
	while ((c = getc(maps)) != EOF)
		count += c == '\n';
	fclose(maps);
	return count;
}

struct size {
	size_t threads, descriptors, mappings, heap;
};

/* Threads that serve ids end behind the ranks: waits until there are no more than before. */
static struct size measure(size_t threads)
{
	double until = now_s() + DEADLINE_S;

	while (count_entries("/proc/self/task") > threads && now_s() < until)
		usleep(1000);
	return (struct size){ count_entries("/proc/self/task"), count_entries("/proc/self/fd"), count_mappings(),
			      mallinfo2().uordblks };
}

/* The least of a second: a thread that was joined takes a moment to go, and a sanitizer has one of its own. */
static size_t idle_threads(void)
{
	double until = now_s() + 1;
	size_t least = count_entries("/proc/self/task");

	while (now_s() < until) {
		size_t count = count_entries("/proc/self/task");
		least = count < least ? count : least;
		usleep(10000);
	}
	return least;
}

static void check_growth(void)
{
	size_t threads = idle_threads();

	for (int i = 0; i < WARM_UP; i++)
		live();
	struct size before = measure(threads);
	for (int i = WARM_UP; i < LIVES; i++)
		live();
	struct size after = measure(threads);
	printf("after %d lives: %zu threads, %zu descriptors, %zu mappings, %zu bytes of heap\n", WARM_UP,
	       before.threads, before.descriptors, before.mappings, before.heap);
	printf("after %d lives: %zu threads, %zu descriptors, %zu mappings, %zu bytes of heap\n", LIVES, after.threads,
	       after.descriptors, after.mappings, after.heap);
	CHECK(after.threads <= before.threads);
	CHECK(after.descriptors <= before.descriptors);
	/* A sanitizer's allocator shows no heap, and maps as it likes; stacks are kept for new threads. */
	CHECK(after.mappings <= before.mappings + RANKS || !after.heap);
	CHECK(after.heap <= before.heap + GROWTH_BYTES);
}

int main(void)
{
	setenv("SIM_QUIET", "1", 1);
	CU(cuInit(0));
	for (int round = 0; round < ABORT_ROUNDS; round++)
		abort_running();
	abort_behind();
	check_growth();
	return 0;
}
