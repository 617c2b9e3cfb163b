/* SPDX-License-Identifier: MIT */
/*
 * Scans where communicators and their calls are out of the ordinary: each buffer is scanned once, and the result is
 * what the program itself finds in the buffer. scans_reach SCENARIO As scans.c, with RANKWATCH_PRELOAD=0 without the
 * interposer. Device memory of the stand-in is unmapped when it is freed: a scan of freed memory ends the process.
 */
#include "tests/preload/job.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "tests/preload/scan_calls.h"

enum { DEVICES = 4, ROUNDS = 6 };

static const uint8_t reductions[] = { RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_REDUCE_SCATTER, RW_FUNCTION_ALL_GATHER };
static const uint8_t functions[] = { RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_REDUCE, RW_FUNCTION_REDUCE_SCATTER,
				     RW_FUNCTION_ALL_GATHER, RW_FUNCTION_BROADCAST };
static const uint8_t copies[] = { RW_FUNCTION_ALL_GATHER, RW_FUNCTION_ALL_TO_ALL, RW_FUNCTION_GATHER,
				  RW_FUNCTION_SCATTER };
static const uint8_t types[] = { RW_DTYPE_FLOAT32, RW_DTYPE_BFLOAT16, RW_DTYPE_FLOAT16 };

static struct scan_caller caller_of(const struct job *job, ncclComm_t comm)
{
	struct scan_caller caller = { .comm = comm, .stream = job->stream };

	NCCL(ncclCommUserRank(comm, &caller.rank));
	NCCL(ncclCommCount(comm, &caller.nranks));
	return caller;
}

static void finish(const struct scan_caller *caller)
{
	CU(cuStreamSynchronize(caller->stream));
	scan_settle();
}

static ncclResult_t settle(ncclComm_t comm)
{
	const struct timespec turn = { .tv_nsec = 200000 };
	ncclResult_t state = ncclInProgress;

	while (state == ncclInProgress) {
		NCCL(ncclCommGetAsyncError(comm, &state));
		nanosleep(&turn, NULL);
	}
	return state;
}

static void enter(int device)
{
	CUcontext context;

	CU(cuDevicePrimaryCtxRetain(&context, device));
	CU(cuCtxSetCurrent(context));
}

/* As programs do it: a device is current, whichever it is. */
static void make_all(struct scan_caller *callers)
{
	ncclComm_t comms[DEVICES];

	enter(DEVICES - 1);
	NCCL(ncclCommInitAll(comms, DEVICES, NULL));
	for (int i = 0; i < DEVICES; i++) {
		callers[i] = (struct scan_caller){ .comm = comms[i], .rank = i, .nranks = DEVICES };
		enter(i);
		CU(cuStreamCreate(&callers[i].stream, CU_STREAM_NON_BLOCKING));
	}
}

static void end_all(const struct scan_caller *callers)
{
	for (int i = 0; i < DEVICES; i++)
		NCCL(ncclCommDestroy(callers[i].comm));
}

/* One thread drives all devices, in groups. What is current when the group ends is any device, the buffers' or not. */
static void devices(struct job *job)
{
	struct scan_caller callers[DEVICES];

	(void)job;
	make_all(callers);
	for (int round = 0; round < ROUNDS; round++) {
		NCCL(ncclGroupStart());
		for (size_t f = 0; f < sizeof(functions); f++)
			for (int i = 0; i < DEVICES; i++) {
				enter(i);
				scan_call(&callers[i], functions[f], types[round % 3], round % 2);
			}
		enter(round % DEVICES);
		NCCL(ncclGroupEnd());
		for (int i = 0; i < DEVICES; i++)
			CU(cuStreamSynchronize(callers[i].stream));
		scan_settle();
	}
	scan_check();
	end_all(callers);
}

static void *drive(void *argument)
{
	const struct scan_caller *caller = argument;

	enter(caller->rank);
	for (int round = 0; round < ROUNDS; round++) {
		NCCL(ncclGroupStart());
		for (size_t f = 0; f < sizeof(functions); f++)
			scan_call(caller, functions[f], types[round % 3], round % 2);
		NCCL(ncclGroupEnd());
		for (size_t f = 0; f < sizeof(functions); f++)
			scan_call(caller, functions[f], types[round % 3], round % 2);
	}
	CU(cuStreamSynchronize(caller->stream));
	return NULL;
}

static void drive_all(struct scan_caller *callers)
{
	pthread_t handles[DEVICES];

	for (int i = 0; i < DEVICES; i++)
		CHECK(pthread_create(&handles[i], NULL, drive, &callers[i]) == 0);
	for (int i = 0; i < DEVICES; i++)
		pthread_join(handles[i], NULL);
}

/* A thread for each device. */
static void threads(struct job *job)
{
	struct scan_caller callers[DEVICES];

	(void)job;
	make_all(callers);
	drive_all(callers);
	scan_settle();
	scan_check();
	end_all(callers);
}

/* Launches between barriers of threads: nothing of ours is there, and the job works. */
static void group_launches(struct job *job)
{
	static struct rw_operation operations[JOB_LEDGER];
	static struct rw_box_header header;

	struct scan_caller callers[DEVICES];

	(void)job;
	setenv("NCCL_LAUNCH_MODE", "GROUP", 1);
	make_all(callers);
	drive_all(callers);
	end_all(callers);
	size_t count = job_operations(operations, JOB_LEDGER);
	CHECK(count > 0);
	for (size_t i = 0; i < count; i++) {
		CHECK(!(operations[i].known & (RW_KNOWN_SCAN_IN | RW_KNOWN_SCAN_OUT | RW_KNOWN_STARTED)));
		CHECK(!(operations[i].flags & RW_FLAG_UNSCANNABLE));
	}
	job_header(&header);
	CHECK(strcmp(header.scan_state, "none: NCCL_LAUNCH_MODE=GROUP") == 0);
	CHECK(strcmp(header.gpu_progress_state, "none: NCCL_LAUNCH_MODE=GROUP") == 0);
	CHECK(header.scan_launches == 0);
}

/* 2.27 tells neither of a symmetric kernel's call nor of its launch, which could lie behind the end of a group that the
 * interposer does not see. */
static void call_one(const struct scan_caller *caller, uint8_t function, uint8_t type, bool in_place)
{
	struct expected *expected = scan_call(caller, function, type, in_place);

	if (caller->windows && scan_version() < 22800)
		expected->out_lost = RW_UNSCANNABLE_CALLBACK;
}

static void call_each(const struct scan_caller *caller, const uint8_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (int in_place = 0; in_place < 2; in_place++) {
			/* NCCL has none in place for it. */
			call_one(caller, list[i], types[i % 3], in_place && list[i] != RW_FUNCTION_ALL_TO_ALL);
			finish(caller);
		}
	NCCL(ncclGroupStart());
	for (size_t i = 0; i < count; i++)
		call_one(caller, list[i], types[i % 3], false);
	NCCL(ncclGroupEnd());
	finish(caller);
}

/* Symmetric kernels. */
static void windows(struct job *job)
{
	struct scan_caller caller = caller_of(job, job->comm);

	caller.windows = true;
	call_each(&caller, reductions, sizeof(reductions));
	caller.windows = false; /* an ordinary one behind them */
	call_each(&caller, functions, sizeof(functions));
	scan_check();
}

static ncclComm_t make(struct job *job, int number, int blocking, int policy)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclUniqueId id = job_id(job, number);
	ncclComm_t comm;

	config.blocking = blocking;
	config.CTAPolicy = policy;
	NCCL(ncclGroupStart());
	ncclResult_t result = ncclCommInitRankConfig(&comm, job->nranks, id, job->rank, &config);
	CHECK(result == ncclSuccess || result == ncclInProgress);
	result = ncclGroupEnd();
	CHECK(result == ncclSuccess || result == ncclInProgress);
	NCCL(settle(comm));
	return comm;
}

static void check_launched(void)
{
	static struct rw_operation operations[JOB_LEDGER];
	size_t count = job_operations(operations, JOB_LEDGER);
	uint32_t launched = RW_KNOWN_TASK | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN;

	for (size_t i = 0; i < count; i++) {
		CHECK((operations[i].known & launched) == launched && !(operations[i].flags & RW_FLAG_UNTRACKED));
		CHECK(operations[i].launch_end_ns >= operations[i].launch_begin_ns);
	}
}

/* The copy engine. 2.28 tells no profiler of it: there, only the interposer sees it. */
static void copy_engine(struct job *job)
{
	ncclComm_t comm = make(job, 1, 1, NCCL_CTA_POLICY_ZERO);
	struct scan_caller caller = caller_of(job, comm);
	bool unseen = scan_version() < 22900 && !scan_is_interposed();
	static struct rw_operation operations[JOB_LEDGER];

	caller.windows = true;
	call_each(&caller, copies, sizeof(copies));
	if (unseen) {
		CHECK(job_operations(operations, JOB_LEDGER) == 0);
		struct rw_communicator communicator = job_communicator(0);
		CHECK(communicator.api_count == 0);
	} else {
		scan_check();
		check_launched();
	}
	NCCL(ncclCommDestroy(comm));
}

/* Launches are on NCCL's own threads. Before ABI v5 nobody says when, so there is no place for a scan of the output. */
static void nonblocking(struct job *job)
{
	ncclComm_t comm = make(job, 1, 0, NCCL_CONFIG_UNDEF_INT);
	struct scan_caller caller = caller_of(job, comm);
	bool told = scan_version() >= 22800, untold = scan_version() >= 22902; /* of Broadcast */
	bool is_alone = !scan_is_interposed(); /* the plugin, which knows no buffer of a Broadcast */

	for (int round = 0; round < ROUNDS; round++) {
		for (size_t f = 0; f < sizeof(functions); f++) {
			struct expected *expected = scan_call(&caller, functions[f], types[round % 3], round % 2);

			bool seen = told && !(functions[f] == RW_FUNCTION_BROADCAST && untold);

			if (!seen && is_alone)
				expected->out_elements = 0;
			expected->out_lost = seen || !expected->out_elements ? 0 : RW_UNSCANNABLE_CALLBACK;
			NCCL(settle(comm));
		}
		finish(&caller);
	}
	/* Without the interposer only a later one tells that no task will come of a Broadcast. */
	struct expected *last = scan_call(&caller, RW_FUNCTION_ALL_REDUCE, RW_DTYPE_FLOAT32, false);
	last->out_lost = told ? 0 : RW_UNSCANNABLE_CALLBACK;
	NCCL(settle(comm));
	finish(&caller);
	scan_check();
	ncclCommFinalize(comm);
	NCCL(settle(comm));
	NCCL(ncclCommDestroy(comm));
}

/* An operation that never runs is aborted; its memory goes at once, and the next communicator works. */
static void aborted(struct job *job)
{
	struct scan_caller caller = caller_of(job, job->comm);

	for (size_t f = 0; f < sizeof(functions); f++)
		scan_call(&caller, functions[f], RW_DTYPE_FLOAT32, false);
	finish(&caller);
	if (job->rank) {
		struct expected *expected = scan_call(&caller, RW_FUNCTION_ALL_REDUCE, RW_DTYPE_FLOAT32, false);

		NCCL(ncclCommAbort(job->comm));
		finish(&caller);
		CU(cuMemFree((CUdeviceptr)(uintptr_t)expected->in));
		CU(cuMemFree((CUdeviceptr)(uintptr_t)expected->out));
	} else {
		NCCL(ncclCommAbort(job->comm));
	}
	job->comm = make(job, 1, 1, NCCL_CONFIG_UNDEF_INT);
	caller.comm = job->comm;
	for (size_t f = 0; f < sizeof(functions); f++)
		scan_call(&caller, functions[f], RW_DTYPE_FLOAT32, true);
	finish(&caller);
	scan_check();
}

/* So is a revoked one; what is made of it works. */
static void revoked(struct job *job)
{
	struct scan_caller caller = caller_of(job, job->comm);
	ncclComm_t child;

	scan_call(&caller, RW_FUNCTION_ALL_GATHER, RW_DTYPE_FLOAT32, false);
	finish(&caller);
	if (job->rank)
		scan_call(&caller, RW_FUNCTION_ALL_REDUCE, RW_DTYPE_FLOAT32, false);
	NCCL(ncclCommRevoke(job->comm, NCCL_REVOKE_DEFAULT));
	finish(&caller);
	NCCL(ncclCommSplit(job->comm, 0, job->rank, &child, NULL));
	caller = caller_of(job, child);
	for (size_t f = 0; f < sizeof(functions); f++)
		scan_call(&caller, functions[f], RW_DTYPE_BFLOAT16, false);
	finish(&caller);
	scan_check();
	NCCL(ncclCommDestroy(child));
}

static void use_child(struct job *job, ncclComm_t child)
{
	struct scan_caller caller = caller_of(job, child);

	for (size_t f = 0; f < sizeof(functions); f++)
		scan_call(&caller, functions[f], RW_DTYPE_FLOAT16, f % 2);
	finish(&caller);
	NCCL(ncclCommDestroy(child));
}

/* Children, with and without shared resources, that outlive their parent. */
static void children(struct job *job)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	int excluded = job->nranks - 1;
	ncclComm_t split, shared, shrunk = NULL;

	NCCL(ncclCommSplit(job->comm, job->rank % 2, -job->rank, &split, NULL));
	config.splitShare = config.shrinkShare = 1;
	NCCL(ncclCommSplit(job->comm, 0, -job->rank, &shared, &config));
	if (scan_version() >= 22700 && job->rank != excluded)
		NCCL(ncclCommShrink(job->comm, &excluded, 1, &shrunk, &config, NCCL_SHRINK_DEFAULT));
	struct scan_caller caller = caller_of(job, job->comm);
	scan_call(&caller, RW_FUNCTION_REDUCE_SCATTER, RW_DTYPE_FLOAT32, false);
	finish(&caller);
	NCCL(ncclCommDestroy(job->comm));
	job->comm = NULL;
	use_child(job, shared);
	use_child(job, split);
	if (shrunk)
		use_child(job, shrunk);
	scan_check();
}

static const struct {
	const char *name;
	job_main *main;
	int nranks;
	bool communicator;
} scenarios[] = {
	{ "devices", devices, 1, false },
	{ "threads", threads, 1, false },
	{ "group-launches", group_launches, 1, false },
	{ "windows", windows, 2, true },
	{ "copy-engine", copy_engine, 2, false },
	{ "nonblocking", nonblocking, 2, false },
	{ "aborted", aborted, 2, true },
	{ "revoked", revoked, 2, true },
	{ "children", children, 4, true },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (strcmp(scenarios[i].name, argv[1]) == 0)
			return job_run(scenarios[i].nranks, scenarios[i].communicator, scenarios[i].main);
	fprintf(stderr, "usage: scans_reach SCENARIO\n");
	return 2;
}
