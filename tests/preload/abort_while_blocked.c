/* SPDX-License-Identifier: MIT */
/*
 * A driver that does not return from one of the calls that a communicator's init makes: an abort of another
 * communicator on another thread returns all the same, the box says which call it is, and when the driver goes on
 * everything is as if nothing had happened. abort_while_blocked ABI     of NCCL's callbacks; 0: none, the wrappers make
 * the communicator
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/abi/player.h"
#include "tests/null/null_cuda.h"
#include "tests/null/null_nccl.h"
#include "tests/null/null_player.h"

enum { RANKS = 2, COUNT = 16, LIMIT_S = 20 };

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                        \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

/* Of the second communicator's init, which is on another device. said: as the box has it, where that differs; "": it is
 * not named wherever it is called. */
static const struct {
	const char *name, *said;
} calls[] = {
	{ "cuCtxGetCurrent", NULL },
	{ "cuCtxGetDevice", "" },
	{ "cuDeviceGetAttribute", NULL },
	{ "cuMemHostGetDevicePointer_v2", "cuMemHostGetDevicePointer" },
	{ "cuThreadExchangeStreamCaptureMode", NULL },
	{ "cuModuleLoadData", NULL },
	{ "cuModuleGetFunction", NULL },
	{ "cuFuncLoad", NULL },
	{ "cuStreamCreate", NULL },
	{ "cuMemAlloc_v2", "cuMemAlloc" },
	{ "cuMemsetD8Async", NULL },
	{ "cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync" },
	{ "cuLaunchKernel", NULL },
	{ "cuStreamSynchronize", NULL },
	{ "cuStreamDestroy_v2", "cuStreamDestroy" },
	{ "cuDeviceGetUuid", NULL },
	{ "cuDeviceGetPCIBusId", NULL },
};

static float buffer[RANKS * COUNT];
static atomic_bool made;
static void *second;

static void *make_second(void *unused)
{
	(void)unused;
	null_cuda_context(1);
	null_nccl_device = 1;
	CHECK(ncclCommInitRank(&second, RANKS, (struct null_unique_id){ { 2 } }, 0) == 0);
	made = true;
	return NULL;
}

static bool box_says(struct box_reader *reader, const char *text)
{
	CHECK(box_reader_refresh(reader) == 0);
	return strstr(reader->header.gpu_progress_state, text) || strstr(reader->header.scan_state, text);
}

static void play(const char *directory, const char *name, const char *said)
{
	struct box_reader reader;
	pthread_t thread;
	char text[96];
	void *first;

	alarm(LIMIT_S);
	CHECK(ncclCommInitRank(&first, RANKS, (struct null_unique_id){ { 1 } }, 0) == 0);
	player_read(&reader, directory);
	CHECK(!box_says(&reader, "has not returned"));
	null_cuda_block(name);
	CHECK(pthread_create(&thread, NULL, make_second, NULL) == 0);
	while (!null_cuda_is_blocked()) {
		CHECK(!made);
		usleep(1000);
	}
	CHECK(ncclCommAbort(first) == 0);
	snprintf(text, sizeof(text), "%s has not returned", said);
	CHECK(!*said || box_says(&reader, text));
	CHECK(!made);
	null_cuda_block(NULL);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(!box_says(&reader, "has not returned") && !strcmp(reader.header.scan_state, "all"));
	CHECK(!strcmp(reader.header.gpu_progress_state, "watermark"));
	null_cuda_context(1);
	CHECK(ncclAllReduce(buffer, buffer, COUNT, NULL_NCCL_FLOAT, NULL_NCCL_SUM, second, NULL) == 0);
	struct rw_operation operation;
	CHECK(box_reader_refresh(&reader) == 0 && reader.header.head == 1);
	CHECK(player_wait_finished(&reader, 0, &operation));
	CHECK(operation.known & RW_KNOWN_DONE && operation.known & RW_KNOWN_SCAN_OUT);
	CHECK(ncclCommDestroy(second) == 0);
	_exit(0);
}

int main(int argc, char **argv)
{
	int failed = 0, status;

	setenv("RANKWATCH_SCAN", "all", 1);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		pid_t child = fork();

		if (child == 0) {
			const char *directory = player_directory();
			pid_t tester = fork(); /* the parent removes the directory */

			if (tester > 0)
				exit(waitpid(tester, &status, 0) != tester || status);
			null_player_use(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0);
			play(directory, calls[i].name, calls[i].said ? calls[i].said : calls[i].name);
		}
		CHECK(waitpid(child, &status, 0) == child);
		fprintf(stderr, "%s: %s\n", calls[i].name, status ? "failed" : "ok");
		failed |= status;
	}
	return failed != 0;
}
