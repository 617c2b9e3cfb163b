/* SPDX-License-Identifier: MIT */
#include "ranks.h"

#include <fcntl.h>
#include <sched.h>
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

bool rests(void)
{
	enum { PART_US = 200000, PART_MOST_NS = 4000000, REST_PARTS = 4, PARTS = 25 };
	int quiet = 0;

	/* What went before may have to end first, which takes longer where others have the processor. */
	for (int part = 0; part < PARTS && quiet < REST_PARTS; part++) {
		uint64_t before_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
		usleep(PART_US);
		quiet = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns < PART_MOST_NS ? quiet + 1 : 0;
	}
	return quiet == REST_PARTS;
}

void wait_until(atomic_int *value, int least)
{
	uint64_t until = now_ns() + DEADLINE_S * 1000000000ull;

	while (atomic_load(value) < least) {
		CHECK(now_ns() < until);
		usleep(1000);
	}
}

void wait_for_all(struct rank *rank, int number)
{
	struct board *board = rank->shared;

	atomic_fetch_add(&board->arrived[number], 1);
	wait_until(&board->arrived[number], rank->nranks);
}

void *device_alloc(size_t size)
{
	CUdeviceptr pointer;

	CU(cuMemAlloc(&pointer, size ? size : 1));
	return (void *)(uintptr_t)pointer;
}

void connect_ranks(struct rank *rank)
{
	float *buffer = device_alloc(sizeof(*buffer));

	NCCL(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	CU(cuMemFree((CUdeviceptr)(uintptr_t)buffer));
}

/* At the end of the shared memory: how rank 0 gives the others the unique id. */
struct introduction {
	atomic_bool ready;
	ncclUniqueId id;
};

static struct introduction *introduction_of(const struct rank *rank)
{
	return (struct introduction *)((char *)rank->shared + SHARED_BYTES) - 1;
}

static ncclUniqueId exchange_id(const struct rank *rank)
{
	struct introduction *introduction = introduction_of(rank);

	if (rank->rank == 0) {
		NCCL(ncclGetUniqueId(&introduction->id));
		atomic_store(&introduction->ready, true);
	}
	while (!atomic_load(&introduction->ready))
		usleep(1000);
	return introduction->id;
}

static void rank_open(struct rank *rank)
{
	CUcontext context;

	CU(cuInit(0));
	CU(cuDevicePrimaryCtxRetain(&context, rank->rank));
	CU(cuCtxSetCurrent(context));
	CU(cuStreamCreate(&rank->stream, CU_STREAM_NON_BLOCKING));
	NCCL(ncclCommInitRank(&rank->comm, rank->nranks, exchange_id(rank), rank->rank));
}

static void enter_network(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0 && setns(fd, CLONE_NEWNET) == 0);
	close(fd);
}

/* TEST_HOSTS=N: contiguous blocks of ranks claim N hosts, so that every test can be run over a network, too.
 * TEST_NETNS=FILE: the last rank joins that network namespace. */
static void claim_host(const struct rank *rank)
{
	const char *hosts = getenv("TEST_HOSTS");
	char name[32];

	const char *network = getenv("TEST_NETNS");

	if (!hosts)
		return;
	if (network && rank->rank == rank->nranks - 1)
		enter_network(network);
	snprintf(name, sizeof(name), "host-%d", rank->rank * atoi(hosts) / rank->nranks);
	setenv("NCCL_HOSTID", name, 1);
}

static void rank_process(struct rank *rank, rank_main *main)
{
	/* A test that fails half way must not leave ranks that wait for ever. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	claim_host(rank);
	rank_open(rank);
	main(rank);
	if (rank->comm)
		NCCL(ncclCommDestroy(rank->comm));
	_Exit(0);
}

/* The test itself has no thread of NCCL when it forks: a child would inherit the locks such a thread holds. */
void ranks_start(struct ranks *ranks, int count, rank_main *main)
{
	setenv("SIM_QUIET", "1", 1);
	setenv("NCCL_SOCKET_IFNAME", "lo", 0);
	setenv("SIM_CUDA_DEVICES", "16", 1);
	ranks->count = count;
	ranks->shared = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(ranks->shared, MAP_FAILED);
	for (int i = 0; i < count; i++) {
		struct rank rank = { .rank = i, .nranks = count, .shared = ranks->shared };
		ranks->pids[i] = fork();
		cr_assert_geq(ranks->pids[i], 0);
		if (ranks->pids[i] == 0)
			rank_process(&rank, main);
	}
}

static int rank_of(const struct ranks *ranks, pid_t pid)
{
	int rank = 0;

	while (rank < ranks->count && ranks->pids[rank] != pid)
		rank++;
	return rank;
}

/* The others would wait for ever for a rank that failed. */
static void kill_all(const struct ranks *ranks)
{
	for (int i = 0; i < ranks->count; i++) {
		if (ranks->pids[i] > 0)
			kill(ranks->pids[i], SIGKILL);
	}
}

void ranks_join(struct ranks *ranks)
{
	int status;
	pid_t pid;

	while ((pid = wait(&status)) > 0) {
		int rank = rank_of(ranks, pid);
		if (rank == ranks->count)
			continue;
		ranks->pids[rank] = 0;
		if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
			kill_all(ranks);
		cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "rank %d ended with status 0x%x", rank,
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
