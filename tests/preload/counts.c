/* SPDX-License-Identifier: MIT */
/*
 * Every call is one operation, whoever sees it: the interposer alone, or the interposer and NCCL's profiler interface.
 *   counts SCENARIO
 * The stand-in's release (SIM_NCCL_VERSION) and NCCL_PROFILER_PLUGIN come with the environment.
 */
#include "tests/preload/job.h"

#include <pthread.h>
#include <string.h>

static const uint8_t collectives[] = {
	RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_ALL_GATHER, RW_FUNCTION_REDUCE_SCATTER,
	RW_FUNCTION_REDUCE,     RW_FUNCTION_BROADCAST,  RW_FUNCTION_ALL_REDUCE,
};

static void call_collectives(struct job *job, ncclComm_t comm, CUstream stream)
{
	for (size_t i = 0; i < sizeof(collectives); i++)
		job_call(job, collectives[i], comm, stream, collectives[i] == RW_FUNCTION_BROADCAST ? 1 : 0);
}

static void call_p2p(struct job *job, ncclComm_t comm, CUstream stream)
{
	for (int peer = 0; peer < job->nranks; peer++) {
		if (peer == job->rank)
			continue;
		job_call(job, RW_FUNCTION_SEND, comm, stream, peer);
		job_call(job, RW_FUNCTION_RECV, comm, stream, peer);
	}
}

/* Of a named copy: clang takes no atomic member of what a function returns. */
static void check_communicator(uint32_t index, bool ended, uint64_t captured)
{
	struct rw_communicator communicator = job_communicator(index);

	CHECK((communicator.ended_ns != 0) == ended);
	CHECK(communicator.captured == captured);
}

/* What a task tells belongs to the call's operation: from NCCL's events where there are any. */
static void check_tasks(void)
{
	static struct rw_operation operations[JOB_LEDGER];
	size_t count = job_operations(operations, JOB_LEDGER);
	uint64_t sequences[RW_FUNCTION_COUNT] = { 0 };
	bool told = job_abi() > 0;

	for (size_t i = 0; i < count; i++) {
		const struct rw_operation *operation = &operations[i];

		CHECK(operation->sequence == sequences[operation->function]++);
		if (operation->flags & RW_FLAG_UNTRACKED)
			continue;
		CHECK(operation->known & RW_KNOWN_TASK);
		CHECK((operation->algorithm != RW_ALGORITHM_UNKNOWN) == told);
		CHECK(operation->nccl_sequence == (told ? operation->sequence : 0));
	}
}

/* Without the interposer's own launch there is no GPU progress before ABI v5. */
static void check_progress(size_t from, bool followed)
{
	static struct rw_operation operations[JOB_LEDGER];
	size_t count = job_operations(operations, JOB_LEDGER);
	uint32_t done = RW_KNOWN_LAUNCH | RW_KNOWN_DONE;

	for (size_t i = from; i < count; i++) {
		if (operations[i].flags & RW_FLAG_UNTRACKED)
			continue; /* a Broadcast of which no task is told */
		CHECK((operations[i].known & RW_KNOWN_DONE) == (followed ? RW_KNOWN_DONE : 0));
		CHECK(!followed || (operations[i].known & done) == done);
		CHECK(!followed || operations[i].gpu_source == RW_GPU_SOURCE_WATERMARK);
		CHECK(operations[i].known & RW_KNOWN_RETURN);
	}
}

static void single(struct job *job)
{
	for (int i = 0; i < 20; i++)
		call_collectives(job, job->comm, job->stream);
	NCCL(ncclBcast(job->recv, JOB_COUNT, ncclFloat, 0, job->comm, job->stream));
	job_note(job, &(struct entry){ .function = RW_FUNCTION_BROADCAST,
				       .dtype = RW_DTYPE_FLOAT32,
				       .stream = (uintptr_t)job->stream,
				       .send = (uintptr_t)job->recv,
				       .recv = (uintptr_t)job->recv });
	NCCL(ncclAllReduce(job->send, job->recv, 0, ncclFloat, ncclSum, job->comm, job->stream));
	CU(cuStreamSynchronize(job->stream));
	job_check(job);
	check_progress(0, true);
	check_tasks();
}

static void note(struct job *job, uint8_t function, int root)
{
	job_note(job, &(struct entry){ .function = function,
				       .dtype = RW_DTYPE_FLOAT32,
				       .root_or_peer = root,
				       .stream = (uintptr_t)job->stream,
				       .send = (uintptr_t)job->send,
				       .recv = (uintptr_t)job->recv });
}

static size_t operation_count(void)
{
	static struct rw_operation operations[JOB_LEDGER];

	return job_operations(operations, JOB_LEDGER);
}

/* NCCL makes Sends and Receives of these. */
static void check_composites(struct job *job, const ncclCollConfig_t *config)
{
	const float *send = job->send;
	float *recv = job->recv;
	size_t before = operation_count();

	NCCL(ncclAlltoAll(send, recv, JOB_COUNT, ncclFloat, job->comm, job->stream));
	NCCL(ncclGather(send, recv, JOB_COUNT, ncclFloat, 1, job->comm, job->stream));
	NCCL(ncclScatter(send, recv, JOB_COUNT, ncclFloat, 1, job->comm, job->stream));
	CU(cuStreamSynchronize(job->stream));
	size_t plain = operation_count() - before;
	NCCL(ncclAlltoAllConfig(send, recv, JOB_COUNT, ncclFloat, job->comm, job->stream, config));
	NCCL(ncclGatherConfig(send, recv, JOB_COUNT, ncclFloat, 1, job->comm, job->stream, config));
	NCCL(ncclScatterConfig(send, recv, JOB_COUNT, ncclFloat, 1, job->comm, job->stream, config));
	CU(cuStreamSynchronize(job->stream));
	CHECK(plain && operation_count() == before + 2 * plain);
}

/* Each number that a program attaches to its calls begins a step in front of the first call that carries it. */
static void check_tags(struct job *job, ncclCollConfig_t *config)
{
	enum { TAGS = 3 };
	static struct rw_operation operations[JOB_LEDGER];
	uint64_t expected = 1;

	for (int i = 0; i < 2 * TAGS; i++) {
		config->userProfilerTag = 1 + (unsigned)i / 2;
		NCCL(ncclAllReduceConfig(job->send, job->recv, JOB_COUNT, ncclFloat, ncclSum, job->comm, job->stream,
					 config));
	}
	CU(cuStreamSynchronize(job->stream));
	size_t count = job_operations(operations, JOB_LEDGER);
	for (size_t i = 0; i < count; i++)
		if (operations[i].known & RW_KNOWN_STEP)
			CHECK(operations[i].count == expected++);
	CHECK(expected == 1 + TAGS);
}

/* Collectives with a configuration of their own are what they are without. */
static void configured(struct job *job)
{
	ncclCollConfig_t config = NCCL_COLLCONFIG_INITIALIZER;
	const float *send = job->send;
	float *recv = job->recv;

	for (int i = 0; i < 5; i++) {
		note(job, RW_FUNCTION_ALL_REDUCE, 0);
		NCCL(ncclAllReduceConfig(send, recv, JOB_COUNT, ncclFloat, ncclSum, job->comm, job->stream, &config));
		note(job, RW_FUNCTION_REDUCE, 1);
		NCCL(ncclReduceConfig(send, recv, JOB_COUNT, ncclFloat, ncclMin, 1, job->comm, job->stream, &config));
		note(job, RW_FUNCTION_REDUCE_SCATTER, 0);
		NCCL(ncclReduceScatterConfig(send, recv, JOB_COUNT, ncclFloat, ncclSum, job->comm, job->stream, NULL));
		note(job, RW_FUNCTION_ALL_GATHER, 0);
		NCCL(ncclAllGatherConfig(send, recv, JOB_COUNT, ncclFloat, job->comm, job->stream, &config));
		note(job, RW_FUNCTION_BROADCAST, 1);
		NCCL(ncclBroadcastConfig(send, recv, JOB_COUNT, ncclFloat, 1, job->comm, job->stream, &config));
	}
	CU(cuStreamSynchronize(job->stream));
	job_check(job);
	check_composites(job, &config);
	check_tags(job, &config);
}

static void group(struct job *job)
{
	for (int i = 0; i < 5; i++) {
		NCCL(ncclGroupStart());
		call_collectives(job, job->comm, job->stream);
		NCCL(ncclGroupStart());
		call_p2p(job, job->comm, job->stream);
		NCCL(ncclGroupEnd());
		call_collectives(job, job->comm, job->stream);
		NCCL(ncclGroupEnd());
	}
	CU(cuStreamSynchronize(job->stream));
	job_check(job);
	check_progress(0, true);
}

/* Groups with nothing to launch, which are closed past the wrappers: these believe that they are open still. */
static void unclosed(struct job *job)
{
	for (int i = 0; i < 5; i++) {
		NCCL(ncclGroupStart());
		NCCL(pncclGroupEnd());
		call_collectives(job, job->comm, job->stream);
		NCCL(ncclGroupStart());
		NCCL(pncclGroupEnd());
		NCCL(ncclGroupStart());
		call_collectives(job, job->comm, job->stream);
		call_p2p(job, job->comm, job->stream);
		NCCL(ncclGroupEnd());
	}
	CU(cuStreamSynchronize(job->stream));
	job_check(job);
}

typedef ncclResult_t group_call(void);

/* How a group can begin and end. */
static const struct {
	group_call *open, *close;
} ways[] = {
	{ ncclGroupStart, ncclGroupEnd },
	{ pncclGroupStart, pncclGroupEnd },
	{ pncclGroupStart, ncclGroupEnd },
	{ ncclGroupStart, pncclGroupEnd },
};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static void check_tracked(void)
{
	static struct rw_operation operations[JOB_LEDGER];
	size_t count = job_operations(operations, JOB_LEDGER);

	for (size_t i = 0; i < count; i++) {
		uint32_t reason = (operations[i].flags & RW_FLAG_UNTRACKED_MASK) >> RW_FLAG_UNTRACKED_SHIFT;

		CHECK(reason == RW_UNTRACKED_NONE || reason == RW_UNTRACKED_BROADCAST);
		CHECK(reason || operations[i].known & RW_KNOWN_LAUNCH);
	}
}

/* Groups of which the wrappers see all, only the calls, or one end, beside calls that are in none. */
static void half_seen(struct job *job)
{
	for (int i = 0; i < 3 * WAYS; i++) {
		NCCL(ways[i % WAYS].open());
		call_collectives(job, job->comm, job->stream);
		if (i >= WAYS)
			call_p2p(job, job->comm, job->stream);
		NCCL(ways[i % WAYS].close());
		job_call(job, collectives[i % sizeof(collectives)], job->comm, job->stream, 0);
	}
	CU(cuStreamSynchronize(job->stream));
	job_check(job);
	check_tracked();
}

/* NCCL alone knows where several streams of a group meet. */
static void streams(struct job *job)
{
	NCCL(ncclGroupStart());
	call_p2p(job, job->comm, job->stream);
	call_collectives(job, job->comm, job->other_stream);
	NCCL(ncclGroupEnd());
	CU(cuStreamSynchronize(job->stream));
	CU(cuStreamSynchronize(job->other_stream));
	job_check(job);
	check_progress(0, job_abi() >= 5);
}

/* Communicators made in a group, split ones, one by a list of ids: equal ids on all ranks, all different. */
static void inits(struct job *job)
{
	ncclUniqueId ids[] = { job_id(job, 0), job_id(job, 1), job_id(job, 2) };
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	enum { COMMS = 5 };
	ncclComm_t comms[COMMS];
	int version;

	NCCL(ncclGetVersion(&version));
	NCCL(ncclGroupStart());
	NCCL(ncclCommInitRankConfig(&comms[0], job->nranks, ids[0], job->rank, &config));
	NCCL(ncclGroupEnd());
	NCCL(ncclCommInitRank(&comms[1], job->nranks, ids[1], job->nranks - 1 - job->rank));
	if (version >= 22304)
		NCCL(ncclCommInitRankScalable(&comms[2], job->nranks, job->rank, 1, &ids[2], &config));
	else
		NCCL(ncclCommInitRank(&comms[2], job->nranks, ids[2], job->rank));
	NCCL(ncclCommSplit(comms[0], 0, job->rank, &comms[3], NULL));
	NCCL(ncclCommSplit(comms[0], job->rank % 2, job->rank, &comms[4], &config));
	for (int i = 0; i < COMMS; i++)
		job_call(job, RW_FUNCTION_ALL_REDUCE, comms[i], job->stream, 0);
	CU(cuStreamSynchronize(job->stream));
	job_check(job);
	for (uint32_t i = 0; i < COMMS; i++)
		job->shared[job->rank * 8 + i] = job_communicator(i).id;
	job_meet(job);
	for (int rank = 0; rank < job->nranks; rank++)
		for (int i = 0; i < COMMS; i++)
			CHECK((job->shared[rank * 8 + i] == job->shared[job->rank * 8 + i]) ==
			      (i < COMMS - 1 || rank % 2 == job->rank % 2));
	for (uint32_t i = 0; i < COMMS; i++) {
		int nranks = i == COMMS - 1 ? job->nranks / 2 : job->nranks;
		struct rw_communicator recorded = job_communicator(i);

		CHECK(recorded.nranks == nranks);
		CHECK(recorded.rank == (i == 1           ? job->nranks - 1 - job->rank
					: i == COMMS - 1 ? job->rank / 2
							 : job->rank));
		for (uint32_t j = 0; j < i; j++)
			CHECK(recorded.id && recorded.id != job_communicator(j).id);
	}
	for (int i = COMMS - 1; i >= 0; i--)
		NCCL(ncclCommDestroy(comms[i]));
	for (uint32_t i = 0; i < COMMS; i++)
		check_communicator(i, true, 0);
}

enum { DEVICES = 4 };

static void make_all(ncclComm_t *comms, CUstream *streams)
{
	CU(cuCtxSetCurrent(NULL)); /* nothing is current: the device is NCCL's affair */
	NCCL(ncclCommInitAll(comms, DEVICES, NULL));
	for (int i = 0; i < DEVICES; i++) {
		CUcontext context;

		CU(cuDevicePrimaryCtxRetain(&context, i));
		CU(cuCtxPushCurrent(context));
		CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
		CU(cuCtxPopCurrent(&context));
	}
}

/* One thread, one process, all devices. */
static void devices(struct job *job)
{
	ncclComm_t comms[DEVICES];
	CUstream streams[DEVICES];

	make_all(comms, streams);
	for (int round = 0; round < 10; round++) {
		NCCL(ncclGroupStart());
		for (int i = 0; i < DEVICES; i++) {
			job_use_buffers(job, i);
			job_call(job, RW_FUNCTION_ALL_REDUCE, comms[i], streams[i], 0);
			job_call(job, RW_FUNCTION_ALL_GATHER, comms[i], streams[i], 0);
		}
		NCCL(ncclGroupEnd());
	}
	for (int i = 0; i < DEVICES; i++)
		CU(cuStreamSynchronize(streams[i]));
	job_check(job);
	check_progress(0, true);
	for (uint32_t i = 0; i < DEVICES; i++)
		CHECK(job_device(i) == job_communicator(i).rank);
	for (int i = 0; i < DEVICES; i++)
		NCCL(ncclCommDestroy(comms[i]));
}

struct driver {
	struct job job;
	ncclComm_t comm;
	CUstream stream;
};

static void *drive(void *argument)
{
	struct driver *driver = argument;
	CUcontext context;

	CU(cuDevicePrimaryCtxRetain(&context, driver->job.rank));
	CU(cuCtxSetCurrent(context));
	for (int i = 0; i < 20; i++) {
		NCCL(ncclGroupStart());
		job_call(&driver->job, RW_FUNCTION_REDUCE_SCATTER, driver->comm, driver->stream, 0);
		job_call(&driver->job, RW_FUNCTION_ALL_REDUCE, driver->comm, driver->stream, 0);
		NCCL(ncclGroupEnd());
		job_call(&driver->job, RW_FUNCTION_BROADCAST, driver->comm, driver->stream, 0);
	}
	CU(cuStreamSynchronize(driver->stream));
	return NULL;
}

/* One process, a thread for each device. */
static void threads(struct job *job)
{
	static struct rw_operation operations[JOB_LEDGER];
	static struct driver drivers[DEVICES];
	pthread_t handles[DEVICES];
	ncclComm_t comms[DEVICES];
	CUstream streams[DEVICES];
	size_t counts[RW_BOX_DEVICES][RW_FUNCTION_COUNT] = { 0 };

	make_all(comms, streams);
	for (int i = 0; i < DEVICES; i++) {
		drivers[i] = (struct driver){ *job, comms[i], streams[i] };
		drivers[i].job.rank = i;
		job_use_buffers(&drivers[i].job, i);
		CHECK(pthread_create(&handles[i], NULL, drive, &drivers[i]) == 0);
	}
	for (int i = 0; i < DEVICES; i++)
		pthread_join(handles[i], NULL);
	size_t count = job_operations(operations, JOB_LEDGER);
	CHECK(count == DEVICES * 60);
	for (size_t i = 0; i < count; i++) {
		CHECK(operations[i].comm < DEVICES);
		/* Each number once: in order for one communicator, whose thread is one. */
		CHECK(operations[i].sequence == counts[operations[i].comm][operations[i].function]++);
	}
	check_progress(0, true);
	for (int i = 0; i < DEVICES; i++)
		NCCL(ncclCommDestroy(comms[i]));
}

/* NCCL refuses: nothing was launched, nothing is in flight for ever, what follows is recorded. */
static void refused(struct job *job)
{
	static struct rw_operation operations[JOB_LEDGER];

	CHECK(ncclReduce(job->send, job->recv, JOB_COUNT, ncclFloat, ncclSum, 99, job->comm, job->stream) !=
	      ncclSuccess);
	NCCL(ncclGroupStart());
	CHECK(ncclBroadcast(job->send, job->recv, JOB_COUNT, ncclFloat, 99, job->comm, job->stream) != ncclSuccess);
	CHECK(ncclGroupEnd() != ncclSuccess);
	job_call(job, RW_FUNCTION_ALL_REDUCE, job->comm, job->stream, 0);
	CU(cuStreamSynchronize(job->stream));
	size_t count = job_operations(operations, JOB_LEDGER), good = 0;
	for (size_t i = 0; i < count; i++) {
		bool untracked = operations[i].flags & RW_FLAG_UNTRACKED;

		CHECK(untracked == (operations[i].function != RW_FUNCTION_ALL_REDUCE));
		good += !untracked;
	}
	CHECK(good == 1);
}

/* A group that NCCL only estimates is dropped: nothing was launched, and the next call stands for itself. */
static void simulated(struct job *job)
{
	static struct rw_operation operations[JOB_LEDGER];
	ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;

	NCCL(ncclGroupStart());
	NCCL(ncclBroadcast(job->send, job->recv, JOB_COUNT, ncclFloat, 0, job->comm, job->stream));
	NCCL(ncclGroupSimulateEnd(&info));
	job_call(job, RW_FUNCTION_ALL_REDUCE, job->comm, job->stream, 0);
	CU(cuStreamSynchronize(job->stream));
	size_t count = job_operations(operations, JOB_LEDGER), good = 0;
	for (size_t i = 0; i < count; i++) {
		bool untracked = operations[i].flags & RW_FLAG_UNTRACKED;

		CHECK(untracked == (operations[i].function != RW_FUNCTION_ALL_REDUCE));
		CHECK(untracked || operations[i].known & RW_KNOWN_LAUNCH);
		good += !untracked;
	}
	CHECK(good == 1);
}

static void wait_ready(ncclComm_t comm)
{
	ncclResult_t state = ncclInProgress;

	while (state == ncclInProgress)
		NCCL(ncclCommGetAsyncError(comm, &state));
	NCCL(state);
}

/* Launches are on NCCL's own threads: one operation each all the same. */
static void nonblocking(struct job *job)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclUniqueId id = job_id(job, 0);
	ncclResult_t result;

	config.blocking = 0;
	result = ncclCommInitRankConfig(&job->comm, job->nranks, id, job->rank, &config);
	CHECK(result == ncclSuccess || result == ncclInProgress);
	wait_ready(job->comm);
	for (int i = 0; i < 10; i++) {
		for (size_t j = 0; j < sizeof(collectives); j++) {
			job_call(job, collectives[j], job->comm, job->stream, 0);
			wait_ready(job->comm);
		}
		NCCL(ncclGroupStart());
		call_p2p(job, job->comm, job->stream);
		result = ncclGroupEnd();
		CHECK(result == ncclSuccess || result == ncclInProgress);
		wait_ready(job->comm);
	}
	CU(cuStreamSynchronize(job->stream));
	job_check(job);
	ncclCommFinalize(job->comm);
	wait_ready(job->comm);
}

/* Captured calls are counted and make no operation. */
static void capture(struct job *job)
{
	CUgraphExec executable;
	CUgraph graph;

	job_call(job, RW_FUNCTION_ALL_REDUCE, job->comm, job->stream, 0);
	CU(cuStreamSynchronize(job->stream));
	CU(cuStreamBeginCapture(job->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	NCCL(ncclAllReduce(job->send, job->recv, JOB_COUNT, ncclFloat, ncclSum, job->comm, job->stream));
	NCCL(ncclGroupStart());
	NCCL(ncclAllGather(job->send, job->recv, JOB_COUNT, ncclFloat, job->comm, job->stream));
	NCCL(ncclGroupEnd());
	CU(cuStreamEndCapture(job->stream, &graph));
	CU(cuGraphInstantiate(&executable, graph, 0));
	for (int i = 0; i < 3; i++) {
		CU(cuGraphLaunch(executable, job->stream));
		job_call(job, RW_FUNCTION_ALL_REDUCE, job->comm, job->stream, 0);
	}
	CU(cuStreamSynchronize(job->stream));
	CU(cuGraphExecDestroy(executable));
	CU(cuGraphDestroy(graph)); /* NCCL's communicators outlive their graphs */
	job_call(job, RW_FUNCTION_ALL_GATHER, job->comm, job->stream, 0);
	CU(cuStreamSynchronize(job->stream));
	job_check(job);
	check_communicator(0, false, 2);
}

/* Where a proxy has work NCCL reports the tasks of each replay, and of calls behind replays that have not run, on a
 * thread of the driver. */
static void over_hosts(struct job *job)
{
	ncclUniqueId id = job_id(job, 0);

	setenv("NCCL_HOSTID", job->rank ? "other" : "one", 1);
	NCCL(ncclCommInitRank(&job->comm, job->nranks, id, job->rank));
	capture(job);
}

static const struct {
	const char *name;
	job_main *main;
	int nranks;
	bool communicator;
} scenarios[] = {
	{ "single", single, 4, true },    { "group", group, 4, true },
	{ "streams", streams, 2, true },  { "inits", inits, 4, false },
	{ "devices", devices, 1, false }, { "threads", threads, 1, false },
	{ "refused", refused, 2, true },  { "nonblocking", nonblocking, 2, false },
	{ "simulated", simulated, 2, true },
	{ "unclosed", unclosed, 2, true },
	{ "half-seen", half_seen, 2, true },
	{ "configured", configured, 2, true },
	{ "capture", capture, 2, true },
	{ "over-hosts", over_hosts, 3, false },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (strcmp(scenarios[i].name, argv[1]) == 0)
			return job_run(scenarios[i].nranks, scenarios[i].communicator, scenarios[i].main);
	fprintf(stderr, "counts SCENARIO\n");
	return 2;
}
