/* SPDX-License-Identifier: MIT */
/*
 * A driver, or a query of NCCL, that does not return while one communicator is initialized or used: an abort of another
 * communicator on another thread returns all the same, and so does the first call on another one. Of the calls of an
 * init the box says which one it is. When the driver goes on, everything is as if nothing had happened.
 * Each turn of whoever waits takes ten times as long as wanted, as on a crowded machine: all waits end by the clock.
 *   blocked_driver ABI     of NCCL's callbacks; 0: none, the wrappers make the communicators and the operations
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/abi/player.h"
#include "tests/null/null_cuda.h"
#include "tests/null/null_nccl.h"
#include "tests/null/null_player.h"

enum { RANKS = 2, COUNT = 16, CROWD = 10, MOST_TURNS = 600 /* of 10 ms, in 5 s */ };

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                        \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

enum moment {
	AT_FIRST,     /* init of the process, where another one follows */
	AT_INIT,      /* of the second communicator */
	AT_CALL,      /* its first collective */
	AT_FIRST_USE, /* the same where communicators do not block: only then it is found out what is recorded of it */
};

struct trial {
	enum moment moment;
	const char *name; /* as exported */
	const char *text; /* as the box has it, where that differs; "": the box does not name it */
	bool visits;      /* the thread is in the context of another device than the communicator's */
	int abi;          /* the only one in which it is called; ANY */
};

enum { ANY = -1 };

static const struct trial trials[] = {
	{ AT_FIRST, "cuDriverGetVersion", NULL, false, ANY },
	{ AT_FIRST, "cuCtxGetCurrent", NULL, false, ANY },
	{ AT_FIRST, "cuCtxGetDevice", "", false, ANY },
	{ AT_FIRST, "cuDeviceGetAttribute", NULL, false, ANY },
	{ AT_FIRST, "cuMemHostRegister_v2", "cuMemHostRegister", false, ANY },
	{ AT_FIRST, "cuMemHostGetDevicePointer_v2", "cuMemHostGetDevicePointer", false, ANY },
	{ AT_FIRST, "cuThreadExchangeStreamCaptureMode", NULL, false, ANY },
	{ AT_FIRST, "cuStreamWriteValue64_v2", "cuStreamWriteValue64", false, ANY },
	{ AT_FIRST, "cuModuleLoadData", NULL, false, ANY },
	{ AT_FIRST, "cuFuncLoad", NULL, false, ANY },
	{ AT_FIRST, "cuMemAlloc_v2", "cuMemAlloc", false, ANY },
	{ AT_FIRST, "cuLaunchKernel", NULL, false, ANY },
	{ AT_FIRST, "cuStreamSynchronize", NULL, false, ANY },
	{ AT_INIT, "cuCtxGetCurrent", NULL, false, ANY },
	{ AT_INIT, "cuCtxGetDevice", "", false, ANY },
	{ AT_INIT, "cuDevicePrimaryCtxRetain", "", true, 0 },
	{ AT_INIT, "cuCtxPushCurrent_v2", "", true, 0 },
	{ AT_INIT, "cuCtxPopCurrent_v2", "", true, 0 },
	{ AT_INIT, "cuDevicePrimaryCtxRelease_v2", "", true, 0 },
	{ AT_INIT, "cuDeviceGetAttribute", NULL, false, ANY },
	{ AT_INIT, "cuMemHostRegister_v2", "cuMemHostRegister", false, ANY },
	{ AT_INIT, "cuMemHostGetDevicePointer_v2", "cuMemHostGetDevicePointer", false, ANY },
	{ AT_INIT, "cuThreadExchangeStreamCaptureMode", NULL, false, ANY },
	{ AT_INIT, "cuModuleLoadData", NULL, false, ANY },
	{ AT_INIT, "cuModuleGetFunction", NULL, false, ANY },
	{ AT_INIT, "cuFuncLoad", NULL, false, ANY },
	{ AT_INIT, "cuStreamCreate", NULL, false, ANY },
	{ AT_INIT, "cuMemAlloc_v2", "cuMemAlloc", false, ANY },
	{ AT_INIT, "cuMemsetD8Async", NULL, false, ANY },
	{ AT_INIT, "cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync", false, ANY },
	{ AT_INIT, "cuLaunchKernel", NULL, false, ANY },
	{ AT_INIT, "cuStreamSynchronize", NULL, false, ANY },
	{ AT_INIT, "cuStreamDestroy_v2", "cuStreamDestroy", false, ANY },
	{ AT_INIT, "cuDeviceGetUuid", NULL, false, ANY },
	{ AT_INIT, "cuDeviceGetPCIBusId", NULL, false, ANY },
	{ AT_CALL, "cuStreamIsCapturing", "", false, 0 },
	{ AT_CALL, "cuCtxGetCurrent", "", false, ANY },
	{ AT_CALL, "cuCtxPushCurrent_v2", "", true, ANY },
	{ AT_CALL, "cuCtxPopCurrent_v2", "", true, ANY },
	{ AT_CALL, "cuPointerGetAttributes", "", false, ANY },
	{ AT_CALL, "cuLaunchKernel", "", false, ANY },
	{ AT_CALL, "cuStreamWriteValue64_v2", "", false, ANY },
	{ AT_FIRST_USE, "cuModuleLoadData", NULL, false, 0 },
	{ AT_FIRST_USE, "ncclCommCuDevice", "", false, ANY },
};

enum { TRIALS = sizeof(trials) / sizeof(trials[0]) };

static float buffer[COUNT];
static atomic_bool done;
static void *second;

static _Thread_local unsigned int turns;

/* The plugin's own, too. */
int nanosleep(const struct timespec *wanted, struct timespec *left)
{
	uint64_t ns = CROWD * ((uint64_t)wanted->tv_sec * 1000000000u + (uint64_t)wanted->tv_nsec);
	struct timespec longer = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	turns++;
	return clock_nanosleep(CLOCK_MONOTONIC, 0, &longer, left) ? -1 : 0;
}

static void use(void *comm)
{
	CHECK(ncclAllReduce(buffer, buffer, COUNT, NULL_NCCL_FLOAT, NULL_NCCL_SUM, comm, NULL) == 0);
}

static void make_second(void)
{
	null_nccl_device = 1;
	CHECK(ncclCommInitRank(&second, RANKS, (struct null_unique_id){ { 2 } }, 0) == 0);
	null_nccl_device = 0;
}

static void *second_thread(void *argument)
{
	const struct trial *trial = argument;

	null_cuda_context(!trial->visits);
	if (trial->moment <= AT_INIT)
		make_second();
	else
		use(second);
	done = true;
	return NULL;
}

static bool box_has(struct box_reader *reader, const char *text)
{
	CHECK(box_reader_refresh(reader) == 0);
	return strstr(reader->header.gpu_progress_state, text) || strstr(reader->header.scan_state, text);
}

static void begin_blocked(pthread_t *thread, const struct trial *trial)
{
	null_cuda_block(trial->name);
	null_nccl_block(trial->name);
	CHECK(pthread_create(thread, NULL, second_thread, (void *)trial) == 0);
	while (!null_cuda_is_blocked() && !null_nccl_is_blocked()) {
		CHECK(!done);
		usleep(1000);
	}
}

static void end_blocked(pthread_t thread)
{
	CHECK(!done);
	null_cuda_block(NULL);
	null_nccl_block(NULL);
	CHECK(pthread_join(thread, NULL) == 0);
}

static void check_operation(struct box_reader *reader, uint64_t number, uint32_t known)
{
	struct rw_operation operation;

	CHECK(player_wait_finished(reader, number, &operation));
	CHECK((operation.known & known) == known);
}

/* The process's operation `number` is its last, and the second communicator's only one. */
static void check_second(struct box_reader *reader, uint64_t number)
{
	CHECK(!box_has(reader, "has not returned") && !strcmp(reader->header.scan_state, "all"));
	CHECK(!strcmp(reader->header.gpu_progress_state, "watermark"));
	CHECK(reader->header.head == number + 1);
	check_operation(reader, number, RW_KNOWN_RETURN | RW_KNOWN_DONE | RW_KNOWN_SCAN_OUT);
}

static void check_named(const struct trial *trial, struct box_reader *reader)
{
	char text[96];

	snprintf(text, sizeof(text), "%s has not returned", trial->text ? trial->text : trial->name);
	CHECK((trial->text && !*trial->text) || box_has(reader, text));
}

static void play_blocking(const struct trial *trial, struct box_reader *reader, void *first)
{
	pthread_t thread;

	null_cuda_context(1);
	if (trial->moment == AT_CALL)
		make_second();
	begin_blocked(&thread, trial);
	CHECK(ncclCommAbort(first) == 0);
	check_named(trial, reader);
	end_blocked(thread);
	if (trial->moment == AT_INIT)
		use(second);
	check_second(reader, 0);
}

/* Calls on the other communicator are recorded while the driver stands still, without GPU progress and scans. */
static void play_first(const struct trial *trial, const char *directory)
{
	struct box_reader reader;
	pthread_t thread;
	void *other;

	begin_blocked(&thread, trial);
	turns = 0;
	CHECK(ncclCommInitRank(&other, RANKS, (struct null_unique_id){ { 1 } }, 0) == 0);
	CHECK(turns <= MOST_TURNS);
	player_read(&reader, directory);
	use(other);
	check_operation(&reader, 0, RW_KNOWN_API | RW_KNOWN_RETURN);
	check_named(trial, &reader);
	CHECK(ncclCommAbort(other) == 0);
	end_blocked(thread);
	use(second);
	check_second(&reader, 1);
}

/* The third communicator is on the first one's device. */
static void play_first_use(const struct trial *trial, struct box_reader *reader, void *first)
{
	pthread_t thread;
	void *third;

	CHECK(ncclCommInitRank(&third, RANKS, (struct null_unique_id){ { 3 } }, 0) == 0);
	make_second();
	begin_blocked(&thread, trial);
	use(third);
	CHECK(ncclCommAbort(first) == 0);
	CHECK(ncclCommAbort(third) == 0);
	end_blocked(thread);
	CHECK(box_reader_refresh(reader) == 0 && reader->header.head == 3);
	for (uint64_t i = 0; i < 3; i++)
		check_operation(reader, i, RW_KNOWN_API | RW_KNOWN_RETURN);
}

static void play_later(const struct trial *trial, const char *directory)
{
	struct box_reader reader;
	void *first;

	if (trial->moment == AT_FIRST_USE)
		setenv("NCCL_COMM_BLOCKING", "0", 1);
	CHECK(ncclCommInitRank(&first, RANKS, (struct null_unique_id){ { 1 } }, 0) == 0);
	if (trial->moment == AT_FIRST_USE)
		use(first); /* the box is made here, if no callback has done that */
	player_read(&reader, directory);
	CHECK(!box_has(&reader, "has not returned"));
	if (trial->moment == AT_FIRST_USE)
		play_first_use(trial, &reader, first);
	else
		play_blocking(trial, &reader, first);
}

static void play(const struct trial *trial, const char *directory)
{
	if (trial->moment == AT_FIRST)
		play_first(trial, directory);
	else
		play_later(trial, directory);
	CHECK(ncclCommDestroy(second) == 0);
	_exit(0);
}

static pid_t begin(const struct trial *trial, int abi)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		const char *directory = player_directory();
		pid_t tester = fork(); /* the parent removes the directory */

		if (tester > 0)
			exit(waitpid(tester, &status, 0) != tester || status);
		null_player_use(abi);
		play(trial, directory);
	}
	return child;
}

static int end(const struct trial *trial, pid_t child)
{
	static const char *const moments[] = { "at the first init", "at init", "at a call", "at the first use" };
	int status;

	CHECK(waitpid(child, &status, 0) == child);
	fprintf(stderr, "%s %s: %s\n", trial->name, moments[trial->moment], status ? "failed" : "ok");
	return status;
}

static bool is_played(const struct trial *trial, enum moment moment, int abi)
{
	return trial->moment == moment && (trial->abi == ANY || trial->abi == abi);
}

/* At the first init they are side by side: each of them waits, as promised, for seconds. */
static int run(enum moment moment, int abi)
{
	pid_t children[TRIALS];
	int failed = 0;

	for (size_t i = 0; i < TRIALS; i++) {
		if (!is_played(&trials[i], moment, abi))
			continue;
		children[i] = begin(&trials[i], abi);
		if (moment != AT_FIRST)
			failed |= end(&trials[i], children[i]);
	}
	for (size_t i = 0; i < TRIALS && moment == AT_FIRST; i++)
		if (is_played(&trials[i], moment, abi))
			failed |= end(&trials[i], children[i]);
	return failed;
}

int main(int argc, char **argv)
{
	int failed = 0, abi = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;

	setenv("RANKWATCH_SCAN", "all", 1);
	setenv("RANKWATCH_GRAPHS", "1", 1);
	for (enum moment moment = AT_FIRST; moment <= AT_FIRST_USE; moment++)
		failed |= run(moment, abi);
	return failed != 0;
}
