/* SPDX-License-Identifier: MIT */
/*
 * What becomes of the plugin where a program resets its device, destroys a context, or captures on another thread while
 * a communicator is made. The driver is the stand-in's; NCCL does nothing (null_nccl.h), so that every call of the
 * driver but the program's is the plugin's. contexts SCENARIO ABI     of NCCL's callbacks; 0: none, the wrappers make
 * the operations
 */
#include <cuda.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/abi/player.h"
#include "tests/null/null_nccl.h"
#include "tests/null/null_player.h"

enum { RANKS = 2, COUNT = 1000, ROUNDS = 3, LIMIT_S = 60 };

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                        \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)
#define CU(call) CHECK((call) == CUDA_SUCCESS)

static struct box_reader box = { .fd = -1 };
static const char *directory;
static uint64_t operations;

static void *make_communicator(void)
{
	void *comm;

	CHECK(ncclCommInitRank(&comm, RANKS, (struct null_unique_id){ { 1 } }, 0) == 0);
	if (box.fd < 0)
		player_read(&box, directory);
	return comm;
}

/* The plugin's thread has begun and ended two looks since. */
static void wait_for_looks(void)
{
	for (int i = 0; i < 2; i++) {
		CHECK(box_reader_refresh(&box) == 0);
		uint64_t before = box.header.drain_ns;

		while (box.header.drain_ns == before) {
			usleep(1000);
			CHECK(box_reader_refresh(&box) == 0);
		}
	}
}

/* One operation on memory and a stream of the current context: followed, and scanned on both sides. */
static void expect_whole(void *comm)
{
	struct rw_operation operation;
	CUdeviceptr buffer;
	CUstream stream;

	CU(cuMemAlloc(&buffer, COUNT * sizeof(float)));
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(ncclAllReduce((void *)(uintptr_t)buffer, (void *)(uintptr_t)buffer, COUNT, NULL_NCCL_FLOAT, NULL_NCCL_SUM,
			    comm, stream) == 0);
	CU(cuStreamSynchronize(stream));
	CHECK(box_reader_refresh(&box) == 0);
	CHECK(player_wait_finished(&box, operations++, &operation));
	CHECK(box_reader_refresh(&box) == 0);
	uint32_t wanted = RW_KNOWN_DONE | RW_KNOWN_SCAN_IN | RW_KNOWN_SCAN_OUT;
	if ((operation.known & wanted) != wanted || strcmp(box.header.scan_state, "all") != 0)
		fprintf(stderr, "known %#x, scan %s, progress %s\n", operation.known, box.header.scan_state,
			box.header.gpu_progress_state);
	CHECK((operation.known & wanted) == wanted && strcmp(box.header.scan_state, "all") == 0);
	CHECK(strcmp(box.header.gpu_progress_state, "watermark") == 0);
}

static void open_device(void)
{
	CUcontext context;

	CU(cuInit(0));
	CU(cuDevicePrimaryCtxRetain(&context, 0));
	CU(cuCtxSetCurrent(context));
}

/* As cudaDeviceReset() does, with a communicator that nobody has destroyed. */
static void reset(void)
{
	open_device();
	void *comm = make_communicator();

	for (int i = 0; i < ROUNDS; i++) {
		expect_whole(comm);
		CU(cuDevicePrimaryCtxReset(0));
		wait_for_looks();
		CHECK(ncclCommAbort(comm) == 0);
		open_device(); /* as the runtime does at the next call */
		comm = make_communicator();
	}
	expect_whole(comm);
	wait_for_looks();
}

static void destroyed(void)
{
	CUcontext context;

	open_device();
	for (int i = 0; i < ROUNDS; i++) {
		CU(cuCtxCreate(&context, NULL, 0, 0));
		void *comm = make_communicator();

		expect_whole(comm);
		CHECK(ncclCommDestroy(comm) == 0);
		CU(cuCtxDestroy(context));
		wait_for_looks();
	}
}

static atomic_int captured; /* 1: it is being captured, 2: it shall end */

static void *capture(void *context)
{
	CUdeviceptr buffer;
	CUstream stream;
	CUgraph graph;

	CU(cuCtxSetCurrent(context));
	CU(cuMemAlloc(&buffer, COUNT));
	CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	captured = 1;
	while (captured != 2)
		usleep(1000);
	CU(cuMemsetD8Async(buffer, 1, COUNT, stream));
	CU(cuStreamEndCapture(stream, &graph));
	return NULL;
}

/* What a communicator's init registers, allocates and loads ends no capture of another thread. */
static void capturing(void)
{
	CUcontext context;
	pthread_t thread;

	open_device();
	CU(cuCtxGetCurrent(&context));
	CHECK(pthread_create(&thread, NULL, capture, context) == 0);
	while (captured != 1)
		usleep(1000);
	void *comm = make_communicator();
	captured = 2;
	CHECK(pthread_join(thread, NULL) == 0);
	expect_whole(comm);
}

static const struct {
	const char *name;
	void (*play)(void);
} scenarios[] = { { "reset", reset }, { "destroyed", destroyed }, { "capturing", capturing } };

int main(int argc, char **argv)
{
	int status;

	if (argc < 3)
		return 2;
	setenv("RANKWATCH_SCAN", "all", 1);
	directory = player_directory();
	pid_t tester = fork(); /* the parent removes the directory */

	if (tester > 0) {
		CHECK(waitpid(tester, &status, 0) == tester);
		if (WIFSIGNALED(status))
			fprintf(stderr, "ended by signal %d\n", WTERMSIG(status));
		return status != 0;
	}
	alarm(LIMIT_S);
	null_player_use((int)strtol(argv[2], NULL, 10));
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (strcmp(scenarios[i].name, argv[1]) == 0) {
			scenarios[i].play();
			_exit(0);
		}
	_exit(2);
}
