/* SPDX-License-Identifier: MIT */
/*
 * Scans inside CUDA graphs: every replay says what was in the buffers of every captured call, before it and after it,
 * against a reference of the same bytes; and whatever the driver does, the job's graph is the same.
 *   replays SCENARIO
 */
#include "tests/preload/job.h"

#include <string.h>
#include <time.h>

#include "tests/preload/scan_reference.h"

enum { COUNT = 1003, REPLAYS = 4, CALLS_MAX = 128 };

/* A captured call, and what its replays must have found. */
struct captured {
	uint8_t function, dtype;
	char *in, *out;
	uint64_t in_elements, out_elements; /* 0: none on this rank */
	uint64_t number;                    /* of its function */
	struct rw_scan scan_in[REPLAYS], scan_out[REPLAYS];
};

static struct captured captured[CALLS_MAX];
static size_t calls;
static uint64_t numbers[RW_FUNCTION_COUNT];
static struct rw_operation operations[JOB_LEDGER];
static struct rw_box_header header;
static uint64_t seed = 88172645463325252u;

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Device memory, which the stand-in lets the program touch. Under capture nothing can be allocated. */
static void *room(size_t bytes)
{
	enum { ALL = 16 << 20, ALIGNED = 64 };
	static CUdeviceptr next, end;
	CUdeviceptr pointer = next;

	if (!next) {
		CU(cuMemAlloc(&pointer, ALL));
		end = pointer + ALL;
	}
	next = pointer + (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
	CHECK(next <= end);
	return (void *)(uintptr_t)pointer;
}

static uint64_t ranks_of(const struct job *job, uint8_t function, bool in)
{
	uint8_t wide = in ? RW_FUNCTION_REDUCE_SCATTER : RW_FUNCTION_ALL_GATHER;

	return function == wide ? (uint64_t)job->nranks : 1;
}

static struct captured *note(uint8_t function, uint8_t dtype, void *in, uint64_t in_elements, void *out,
			     uint64_t out_elements)
{
	struct captured *call = &captured[calls++];

	CHECK(calls <= CALLS_MAX);
	*call = (struct captured){ .function = function, .dtype = dtype, .in = in, .out = out,
				   .in_elements = in_elements, .out_elements = out_elements };
	call->number = numbers[function]++;
	return call;
}

static void call(struct job *job, uint8_t function, uint8_t dtype, bool in_place, CUstream stream)
{
	size_t size = scan_reference_size(dtype), own = (size_t)job->rank * COUNT * size;
	uint64_t in_count = COUNT * ranks_of(job, function, true), out_count = COUNT * ranks_of(job, function, false);
	char *send = room((size_t)job->nranks * COUNT * size), *recv = send;
	ncclDataType_t type = (ncclDataType_t)(dtype - 1);
	bool at_root = job->rank == 1;

	if (!in_place)
		recv = room((size_t)job->nranks * COUNT * size);
	else if (function == RW_FUNCTION_ALL_GATHER)
		send += own;
	else if (function == RW_FUNCTION_REDUCE_SCATTER)
		recv += own;
	note(function, dtype, send, function == RW_FUNCTION_BROADCAST && !at_root ? 0 : in_count, recv,
	     function == RW_FUNCTION_REDUCE && !at_root ? 0 : out_count);
	if (function == RW_FUNCTION_ALL_REDUCE)
		NCCL(ncclAllReduce(send, recv, COUNT, type, ncclMax, job->comm, stream));
	else if (function == RW_FUNCTION_REDUCE)
		NCCL(ncclReduce(send, at_root ? recv : NULL, COUNT, type, ncclMax, 1, job->comm, stream));
	else if (function == RW_FUNCTION_REDUCE_SCATTER)
		NCCL(ncclReduceScatter(send, recv, COUNT, type, ncclMax, job->comm, stream));
	else if (function == RW_FUNCTION_ALL_GATHER)
		NCCL(ncclAllGather(send, recv, COUNT, type, job->comm, stream));
	else
		NCCL(ncclBroadcast(send, recv, COUNT, type, 1, job->comm, stream));
}

static void transfer(struct job *job, CUstream stream)
{
	float *send = room(COUNT * sizeof(float)), *recv = room(COUNT * sizeof(float));

	NCCL(ncclGroupStart());
	note(RW_FUNCTION_SEND, RW_DTYPE_FLOAT32, send, COUNT, NULL, 0);
	NCCL(ncclSend(send, COUNT, ncclFloat, job->rank ^ 1, job->comm, stream));
	note(RW_FUNCTION_RECV, RW_DTYPE_FLOAT32, NULL, 0, recv, COUNT);
	NCCL(ncclRecv(recv, COUNT, ncclFloat, job->rank ^ 1, job->comm, stream));
	NCCL(ncclGroupEnd());
}

static void begin_capture(struct job *job)
{
	room(1);
	CU(cuStreamBeginCapture(job->stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
}

static CUgraphExec end_capture(struct job *job, size_t *nodes)
{
	CUgraphExec executable;
	CUgraph graph;

	CU(cuStreamEndCapture(job->stream, &graph));
	if (nodes)
		CU(cuGraphGetNodes(graph, NULL, nodes));
	CU(cuGraphInstantiate(&executable, graph, 0));
	CU(cuGraphDestroy(graph));
	return executable;
}

/* Any bits, every NaN and infinity among them. */
static void fill(void *bytes, uint64_t elements, uint8_t dtype)
{
	for (uint64_t i = 0; i < elements * scan_reference_size(dtype); i++)
		((uint8_t *)bytes)[i] = (uint8_t)(random64() >> 32);
	if (elements && random64() % 2)
		scan_reference_spoil(bytes, random64() % elements, dtype);
}

static void replay(struct job *job, CUgraphExec executable, int number)
{
	for (size_t i = 0; i < calls; i++) {
		fill(captured[i].in, captured[i].in_elements, captured[i].dtype);
		captured[i].scan_in[number] =
		    scan_reference(captured[i].in, captured[i].in_elements, captured[i].dtype);
	}
	job_meet(job);
	CU(cuGraphLaunch(executable, job->stream));
	CU(cuStreamSynchronize(job->stream));
	for (size_t i = 0; i < calls; i++)
		captured[i].scan_out[number] =
		    scan_reference(captured[i].out, captured[i].out_elements, captured[i].dtype);
}

static size_t captured_operations(size_t wanted)
{
	size_t all = 0, count = 0;

	for (int tries = 0; tries < 5000; tries++, nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL)) {
		job_header(&header);
		if (header.head < wanted)
			continue;
		all = job_operations(operations, JOB_LEDGER);
		count = 0;
		for (size_t i = 0; i < all; i++)
			count += (operations[i].flags & RW_FLAG_CAPTURED) != 0;
		if (count >= wanted)
			break;
	}
	return count;
}

static void check_side(const struct captured *call, const char *side, bool known, const struct rw_scan *is, bool wanted,
		       const struct rw_scan *should)
{
	if (known == wanted && (!known || scan_reference_equal(is, should)))
		return;
	fprintf(stderr, "function %u type %u call %lu, %s: known %d/%d nan %u/%u inf %u/%u first %ld/%ld digest %lx/%lx\n",
		call->function, call->dtype, call->number, side, known, wanted, is->nan, should->nan, is->inf,
		should->inf, (long)is->first_bad, (long)should->first_bad, is->digest, should->digest);
	exit(1);
}

static const struct rw_operation *find(const struct captured *call, uint64_t number)
{
	for (size_t i = 0; i < header.head; i++)
		if (operations[i].flags & RW_FLAG_CAPTURED && operations[i].function == call->function &&
		    operations[i].sequence == rw_captured_sequence(call->number, number))
			return &operations[i];
	fprintf(stderr, "function %u call %lu: no replay %lu\n", call->function, call->number, number);
	exit(1);
}

static void check(void)
{
	CHECK(captured_operations(calls * REPLAYS) == calls * REPLAYS);
	job_header(&header);
	for (size_t i = 0; i < calls; i++)
		for (int number = 0; number < REPLAYS; number++) {
			const struct captured *call = &captured[i];
			const struct rw_operation *operation = find(call, (uint64_t)number);

			bool reduces = call->function == RW_FUNCTION_ALL_REDUCE || call->function == RW_FUNCTION_REDUCE ||
				       call->function == RW_FUNCTION_REDUCE_SCATTER;

			CHECK(operation->dtype == call->dtype && operation->count == COUNT);
			CHECK(rw_operator(operation->flags) == (reduces ? RW_OPERATOR_MAX : RW_OPERATOR_UNKNOWN));
			CHECK(operation->known & RW_KNOWN_API && operation->api_tid == 0 && operation->group == 0);
			CHECK(!(operation->known & (RW_KNOWN_LAUNCH | RW_KNOWN_STARTED | RW_KNOWN_DONE)));
			check_side(call, "input", operation->known & RW_KNOWN_SCAN_IN, &operation->scan_in,
				   call->in_elements, &call->scan_in[number]);
			check_side(call, "output", operation->known & RW_KNOWN_SCAN_OUT, &operation->scan_out,
				   call->out_elements, &call->scan_out[number]);
		}
	CHECK(header.scan_unscannable[RW_UNSCANNABLE_CAPTURE] == 0);
}

static void replay_all(struct job *job, CUgraphExec executable)
{
	for (int number = 0; number < REPLAYS; number++)
		replay(job, executable, number);
	CU(cuGraphExecDestroy(executable));
	check();
}

static const uint8_t functions[] = { RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_REDUCE, RW_FUNCTION_REDUCE_SCATTER,
				     RW_FUNCTION_ALL_GATHER, RW_FUNCTION_BROADCAST };
static const uint8_t types[] = { RW_DTYPE_FLOAT32, RW_DTYPE_BFLOAT16, RW_DTYPE_INT32 };

/* Every function, in place and out of place. */
static void single(struct job *job)
{
	begin_capture(job);
	for (size_t f = 0; f < sizeof(functions); f++)
		for (int i = 0; i < 6; i++)
			call(job, functions[f], types[i / 2], i % 2, job->stream);
	transfer(job, job->stream);
	replay_all(job, end_capture(job, NULL));
}

/* More calls than a launch has segments, on two streams of one capture. */
static void group(struct job *job)
{
	CUevent forked, joined;

	CU(cuEventCreate(&forked, CU_EVENT_DISABLE_TIMING));
	CU(cuEventCreate(&joined, CU_EVENT_DISABLE_TIMING));
	begin_capture(job);
	CU(cuEventRecord(forked, job->stream));
	CU(cuStreamWaitEvent(job->other_stream, forked, 0));
	NCCL(ncclGroupStart());
	for (int i = 0; i < 110; i++)
		call(job, functions[i % 5], RW_DTYPE_BFLOAT16, i % 3 == 0, i % 8 ? job->stream : job->other_stream);
	NCCL(ncclGroupEnd());
	CU(cuEventRecord(joined, job->other_stream));
	CU(cuStreamWaitEvent(job->stream, joined, 0));
	replay_all(job, end_capture(job, NULL));
}

/* Operations of the job's own before, between and after replays keep their slots and their numbers. */
static void mixed(struct job *job)
{
	float *eager = room(COUNT * sizeof(float));
	uint64_t sequence = 0;
	CUgraphExec executable;

	memset(eager, 0, COUNT * sizeof(float));
	begin_capture(job);
	call(job, RW_FUNCTION_ALL_REDUCE, RW_DTYPE_FLOAT32, true, job->stream);
	executable = end_capture(job, NULL);
	for (int number = 0; number < REPLAYS; number++) {
		NCCL(ncclAllReduce(eager, eager, COUNT, ncclFloat, ncclMax, job->comm, job->other_stream));
		replay(job, executable, number);
		NCCL(ncclAllReduce(eager, eager, COUNT, ncclFloat, ncclMax, job->comm, job->stream));
	}
	CU(cuStreamSynchronize(job->stream));
	CU(cuStreamSynchronize(job->other_stream));
	CU(cuGraphExecDestroy(executable));
	check();
	for (size_t i = 0; i < header.head; i++) {
		if (operations[i].flags & RW_FLAG_CAPTURED)
			continue;
		CHECK(operations[i].sequence == sequence++);
		CHECK((operations[i].known & (RW_KNOWN_SCAN_IN | RW_KNOWN_SCAN_OUT)) ==
		      (RW_KNOWN_SCAN_IN | RW_KNOWN_SCAN_OUT));
	}
	CHECK(sequence == 2 * REPLAYS);
}

/* How many nodes the graph of a call has beyond those that NCCL makes of it alone. */
static size_t added_nodes(struct job *job)
{
	int *buffer = room(COUNT * sizeof(int));
	size_t nodes, bare;
	CUgraphExec first, second;

	begin_capture(job);
	NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclInt, ncclMax, job->comm, job->stream));
	first = end_capture(job, &nodes);
	begin_capture(job);
	NCCL(pncclAllReduce(buffer, buffer, COUNT, ncclInt, ncclMax, job->comm, job->stream));
	second = end_capture(job, &bare);
	CHECK(nodes >= bare);
	CU(cuGraphExecDestroy(first));
	CU(cuGraphExecDestroy(second));
	return nodes - bare;
}

/* RANKWATCH_SCAN=off, or nobody asked for scans in graphs: a node stays in the user's graph for ever. */
static void off(struct job *job)
{
	CHECK(added_nodes(job) == 0);
}

/* RANKWATCH_GRAPHS=1: input and output. */
static void asked(struct job *job)
{
	CHECK(added_nodes(job) == 2);
}

/* Whatever the driver does to the nodes, replays do what the job wants. */
static void faulty(struct job *job)
{
	const char *state = getenv("EXPECTED_STATE");
	int *buffer = room(COUNT * sizeof(int));
	CUgraphExec executable;

	begin_capture(job);
	for (int i = 0; i < 3; i++)
		NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclInt, ncclSum, job->comm, job->stream));
	executable = end_capture(job, NULL);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < COUNT; i++)
			buffer[i] = (job->rank + 1) * (i + round);
		job_meet(job);
		CU(cuGraphLaunch(executable, job->stream));
		CU(cuStreamSynchronize(job->stream));
		for (int i = 0; i < COUNT; i++)
			CHECK(buffer[i] == 3 * 2 * 2 * (i + round));
	}
	CU(cuGraphExecDestroy(executable));
	job_header(&header);
	if (strncmp(header.scan_state, state, strlen(state)) == 0)
		return;
	fprintf(stderr, "scan state: %s\n", header.scan_state);
	exit(1);
}

/* More nodes than the table has: the rest of the calls is as it would be without us, and counted. */
static void full(struct job *job)
{
	enum { GRAPHS = 10, PART = 250 };
	int *buffer = room(COUNT * sizeof(int));
	size_t nodes = 0, bare;
	CUgraphExec executable;

	for (int graph = 0; graph < GRAPHS; graph++) {
		begin_capture(job);
		for (int i = 0; i < PART; i++)
			NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclInt, ncclMax, job->comm, job->stream));
		executable = end_capture(job, &nodes);
		CU(cuGraphExecDestroy(executable));
	}
	begin_capture(job);
	for (int i = 0; i < PART; i++)
		NCCL(pncclAllReduce(buffer, buffer, COUNT, ncclInt, ncclMax, job->comm, job->stream));
	executable = end_capture(job, &bare);
	CHECK(nodes == bare);
	for (int i = 0; i < COUNT; i++)
		buffer[i] = job->rank + i;
	CU(cuGraphLaunch(executable, job->stream));
	CU(cuStreamSynchronize(job->stream));
	for (int i = 0; i < COUNT; i++)
		CHECK(buffer[i] == 1 + i);
	CU(cuGraphExecDestroy(executable));
	job_header(&header);
	CHECK(header.scan_unscannable[RW_UNSCANNABLE_CAPTURE] >= 2 * (GRAPHS * PART - 4096 / 2));
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		job_main *main;
	} scenarios[] = {
		{ "single", single }, { "group", group }, { "mixed", mixed },
		{ "off", off },       { "asked", asked }, { "faulty", faulty }, { "full", full },
	};

	for (size_t i = 0; argc == 2 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (strcmp(argv[1], scenarios[i].name) == 0)
			return job_run(2, true, scenarios[i].main);
	fprintf(stderr, "usage: replays SCENARIO\n");
	return 2;
}
