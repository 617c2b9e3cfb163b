/* SPDX-License-Identifier: MIT */
/*
 * Every buffer's scan says what is in the buffer: against a reference of the same bytes, taken by the program itself
 * before the call and after the work.
 *   scans SCENARIO
 * With the interposer (preloaded by linking) inputs are seen before the operation, in place or not. RANKWATCH_PRELOAD=0
 * leaves NCCL's profiler interface (v5 and later): inputs that the operation overwrites are not seen then.
 */
#include "tests/preload/job.h"

#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/preload/scan_reference.h"

enum { COUNT = 1003, CALLS_MAX = JOB_LEDGER };

/* One call and what its two scans must be. */
struct expected {
	uint8_t function, dtype;
	const void *in, *out;
	uint64_t in_elements, out_elements; /* 0: none on this rank */
	bool lost;                          /* the input, when only what is left of it can be seen */
	struct rw_scan scan_in, scan_out;
};

static struct expected expectations[CALLS_MAX];
static size_t calls;
static struct rw_box_header header; /* as last read */
static uint64_t seed = 88172645463325252u;

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static uint64_t random64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static bool is_interposed(void)
{
	const char *off = getenv("RANKWATCH_PRELOAD");

	return !off || strcmp(off, "0") != 0;
}

static int version(void)
{
	int version;

	NCCL(ncclGetVersion(&version));
	return version;
}

/* Device memory, which the stand-in lets the program touch. */
static void *room(size_t bytes)
{
	CUdeviceptr pointer;

	CU(cuMemAlloc(&pointer, bytes + 8));
	return (void *)(uintptr_t)pointer;
}

/* Any bits, every NaN and infinity among them. */
static void fill(void *bytes, uint64_t elements, uint8_t dtype)
{
	uint64_t size = elements * scan_reference_size(dtype);

	for (uint64_t i = 0; i < size; i++)
		((uint8_t *)bytes)[i] = (uint8_t)(random64() >> 32);
	if (random64() % 2)
		scan_reference_spoil(bytes, random64() % elements, dtype);
}

/* Before the call. */
static struct expected *expect(uint8_t function, uint8_t dtype, const void *in, uint64_t in_elements, const void *out,
			       uint64_t out_elements)
{
	struct expected *expected = &expectations[calls++];

	CHECK(calls <= CALLS_MAX);
	*expected = (struct expected){ .function = function,
				       .dtype = dtype,
				       .in = in,
				       .out = out,
				       .in_elements = in_elements,
				       .out_elements = out_elements };
	expected->scan_in = scan_reference(in, in_elements, dtype);
	return expected;
}

/* After the work. */
static void settle(size_t from)
{
	for (size_t i = from; i < calls; i++)
		expectations[i].scan_out =
		    scan_reference(expectations[i].out, expectations[i].out_elements, expectations[i].dtype);
}

static void check_side(size_t number, const char *side, bool known, const struct rw_scan *is, bool wanted,
		       const struct rw_scan *should)
{
	if (known == wanted && (!known || scan_reference_equal(is, should)))
		return;
	fprintf(stderr,
		"call %zu, function %u type %u, %s: known %d/%d nan %u/%u inf %u/%u first %ld/%ld absmax %g/%g "
		"saturated %u/%u digest %lx/%lx\n",
		number, expectations[number].function, expectations[number].dtype, side, known, wanted, is->nan,
		should->nan, is->inf, should->inf, (long)is->first_bad, (long)should->first_bad, (double)is->absmax,
		(double)should->absmax, is->saturated, should->saturated, is->digest, should->digest);
	exit(1);
}

static void check_operation(size_t number, const struct rw_operation *operation)
{
	const struct expected *expected = &expectations[number];
	uint32_t reason = (operation->flags & RW_FLAG_UNSCANNABLE_MASK) >> RW_FLAG_UNSCANNABLE_SHIFT;
	bool lost = expected->lost && !is_interposed();

	CHECK(operation->function == expected->function && operation->dtype == expected->dtype);
	if (operation->flags & RW_FLAG_UNTRACKED && !is_interposed())
		return; /* a Broadcast of which no task is told */
	if (reason && !lost)
		fprintf(stderr, "call %zu: unscannable, reason %u\n", number, reason);
	check_side(number, "input", operation->known & RW_KNOWN_SCAN_IN, &operation->scan_in,
		   expected->in_elements && !lost, &expected->scan_in);
	check_side(number, "output", operation->known & RW_KNOWN_SCAN_OUT, &operation->scan_out, expected->out_elements,
		   &expected->scan_out);
	CHECK(reason == (lost ? RW_UNSCANNABLE_OVERWRITTEN : RW_UNSCANNABLE_NONE));
}

static void check(void)
{
	static struct rw_operation operations[JOB_LEDGER];
	size_t count = job_operations(operations, JOB_LEDGER);

	if (count != calls)
		fprintf(stderr, "%zu calls, %zu operations\n", calls, count);
	CHECK(count == calls);
	for (size_t i = 0; i < count; i++)
		check_operation(i, &operations[i]);
}

static uint64_t ranks_of(const struct job *job, uint8_t function, bool in)
{
	uint8_t wide = in ? RW_FUNCTION_REDUCE_SCATTER : RW_FUNCTION_ALL_GATHER;

	return function == wide ? (uint64_t)job->nranks : 1;
}

static void call(struct job *job, uint8_t function, uint8_t dtype, bool in_place, CUstream stream)
{
	size_t size = scan_reference_size(dtype), own = (size_t)job->rank * COUNT * size;
	uint64_t in_count = COUNT * ranks_of(job, function, true), out_count = COUNT * ranks_of(job, function, false);
	char *send = room((size_t)job->nranks * COUNT * size), *recv = send;
	ncclDataType_t type = (ncclDataType_t)(dtype - 1);
	int root = 1;
	bool at_root = job->rank == root;
	struct expected *expected;

	if (!in_place)
		recv = room((size_t)job->nranks * COUNT * size);
	else if (function == RW_FUNCTION_ALL_GATHER)
		send += own;
	else if (function == RW_FUNCTION_REDUCE_SCATTER)
		recv += own;
	fill(send, in_count, dtype);
	expected = expect(function, dtype, send, function == RW_FUNCTION_BROADCAST && !at_root ? 0 : in_count, recv,
			  function == RW_FUNCTION_REDUCE && !at_root ? 0 : out_count);
	expected->lost = in_place && expected->in_elements && expected->out_elements &&
			 function != RW_FUNCTION_ALL_GATHER && function != RW_FUNCTION_BROADCAST;
	if (function == RW_FUNCTION_ALL_REDUCE)
		NCCL(ncclAllReduce(send, recv, COUNT, type, ncclMax, job->comm, stream));
	else if (function == RW_FUNCTION_REDUCE)
		NCCL(ncclReduce(send, at_root ? recv : NULL, COUNT, type, ncclMax, root, job->comm, stream));
	else if (function == RW_FUNCTION_REDUCE_SCATTER)
		NCCL(ncclReduceScatter(send, recv, COUNT, type, ncclMax, job->comm, stream));
	else if (function == RW_FUNCTION_ALL_GATHER)
		NCCL(ncclAllGather(send, recv, COUNT, type, job->comm, stream));
	else
		NCCL(ncclBroadcast(send, recv, COUNT, type, root, job->comm, stream));
}

static const uint8_t functions[] = { RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_REDUCE, RW_FUNCTION_REDUCE_SCATTER,
				     RW_FUNCTION_ALL_GATHER, RW_FUNCTION_BROADCAST };

/* NCCL has fp8 since 2.24. */
static uint8_t types(void)
{
	return version() >= 22400 ? RW_DTYPE_FLOAT8_E5M2 : RW_DTYPE_BFLOAT16;
}

/* Every function and type, in place and out of place. */
static void single(struct job *job)
{
	for (size_t f = 0; f < sizeof(functions); f++)
		for (uint8_t dtype = RW_DTYPE_INT8; dtype <= types(); dtype++)
			for (int in_place = 0; in_place < 2; in_place++) {
				size_t from = calls;

				call(job, functions[f], dtype, in_place, job->stream);
				CU(cuStreamSynchronize(job->stream));
				settle(from);
			}
	check();
}

/* More calls than a launch has segments, on two streams, and p2p. */
static void group(struct job *job)
{
	int peer = job->rank ^ 1;

	for (int round = 0; round < 3; round++) {
		size_t from = calls;

		NCCL(ncclGroupStart());
		for (int i = 0; i < 120; i++)
			call(job, functions[i % 5], RW_DTYPE_BFLOAT16, i % 3 == 0,
			     i % 2 ? job->stream : job->other_stream);
		float *send = room(COUNT * sizeof(float)), *recv = room(COUNT * sizeof(float));
		fill(send, COUNT, RW_DTYPE_FLOAT32);
		expect(RW_FUNCTION_SEND, RW_DTYPE_FLOAT32, send, COUNT, NULL, 0);
		NCCL(ncclSend(send, COUNT, ncclFloat, peer, job->comm, job->stream));
		expect(RW_FUNCTION_RECV, RW_DTYPE_FLOAT32, NULL, 0, recv, COUNT);
		NCCL(ncclRecv(recv, COUNT, ncclFloat, peer, job->comm, job->stream));
		NCCL(ncclGroupEnd());
		CU(cuStreamSynchronize(job->stream));
		CU(cuStreamSynchronize(job->other_stream));
		settle(from);
	}
	check();
}

/* Whatever the driver does to scanning, the job's results are the same and no operation waits for ever. */
static void faulty(struct job *job)
{
	static struct rw_operation operations[JOB_LEDGER];
	const char *state = getenv("EXPECTED_STATE");
	int *buffer = room(COUNT * sizeof(int));
	size_t count;

	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < COUNT; i++)
			buffer[i] = (job->rank + 1) * (i + round);
		NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclInt, ncclSum, job->comm, job->stream));
		CU(cuStreamSynchronize(job->stream));
		for (int i = 0; i < COUNT; i++)
			CHECK(buffer[i] == 3 * (i + round));
	}
	count = job_operations(operations, JOB_LEDGER);
	CHECK(count == 100);
	job_header(&header);
	if (strncmp(header.scan_state, state, strlen(state)) == 0)
		return;
	fprintf(stderr, "scan state: %s\n", header.scan_state);
	exit(1);
}

/* Operations that last, because a rank is late: once that is known, inputs are scanned beside them. How soon depends on
 * how fast this machine scans, but there is no round in which it must not be. */
static void beside(struct job *job)
{
	enum { BIG = 2 << 20, ROUNDS = 60, LATE_MS = 100 };
	static struct rw_operation operations[JOB_LEDGER];
	float *send = room(BIG * sizeof(float)), *recv = room(BIG * sizeof(float));

	for (int round = 0; round < ROUNDS && !job->shared[0]; round++) {
		size_t from = calls;

		fill(send, BIG, RW_DTYPE_FLOAT32);
		expect(RW_FUNCTION_ALL_REDUCE, RW_DTYPE_FLOAT32, send, BIG, recv, BIG);
		job_meet(job);
		if (job->rank)
			pause_ms(LATE_MS);
		NCCL(ncclAllReduce(send, recv, BIG, ncclFloat, ncclMax, job->comm, job->stream));
		CU(cuStreamSynchronize(job->stream));
		settle(from);
		job_operations(operations, JOB_LEDGER); /* the plugin has seen the end of it */
		job_header(&header);
		if (!job->rank)
			job->shared[0] = header.scan_beside;
		job_meet(job);
	}
	check();
	CHECK(job->shared[0] > 0);
}

static bool ends_by_signal;

/* One element of one rank is not a number: everybody's output has it. */
static void spoiled(struct job *job)
{
	float *buffer = room(COUNT * sizeof(float));

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < COUNT; i++)
			buffer[i] = 1;
		if (round == 2 && job->rank == 1)
			scan_reference_spoil(buffer, 17, RW_DTYPE_FLOAT32);
		NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat, ncclSum, job->comm, job->stream));
		CU(cuStreamSynchronize(job->stream));
	}
	pause_ms(ends_by_signal ? 10000 : 100); /* the result comes to another thread */
}

static bool log_has(const char *path, const char *text)
{
	static char log[8192];
	FILE *file = fopen(path, "re");
	size_t size = file ? fread(log, 1, sizeof(log) - 1, file) : 0;

	if (file)
		fclose(file);
	log[size] = '\0';
	if (strstr(log, text))
		return true;
	fprintf(stderr, "\"%s\" is not in:\n%s", text, log);
	return false;
}

/* RANKWATCH_ON_NAN: who is told, and what becomes of the process. */
static int run_policy(const char *policy, bool aborts)
{
	char log[] = "/dev/shm/scans-test-XXXXXX";
	bool interposed = is_interposed();
	int fd = mkstemp(log);

	CHECK(fd >= 0);
	close(fd);
	setenv("RANKWATCH_ON_NAN", policy, 1);
	setenv("RANKWATCH_LOG", log, 1);
	ends_by_signal = aborts;
	if (aborts)
		job_expect_signal(SIGABRT);
	int failed = job_run(2, true, spoiled);
	failed |= !log_has(log, "rank 0: 1 NaN in the output of AllReduce 2 of communicator");
	failed |= !log_has(log, interposed ? "rank 1: 1 NaN in the input of AllReduce 2 of communicator"
					   : "rank 1: 1 NaN in the output of AllReduce 2 of communicator");
	failed |= !log_has(log, "first at 17 of 1003 elements");
	failed |= aborts && !log_has(log, "RANKWATCH_ON_NAN=abort: the process ends here");
	unlink(log);
	return failed;
}

/* Launches that take 5 ms each, for a while: fewer are made, and then more again. */
static void dear(struct job *job)
{
	float *buffer = room(COUNT * sizeof(float));
	uint32_t most = 1, every = 1;

	for (int tries = 0; tries < 60000 && (most < 8 || every > most / 2); tries++) {
		NCCL(ncclAllReduce(buffer, buffer, COUNT, ncclFloat, ncclMax, job->comm, job->stream));
		CU(cuStreamSynchronize(job->stream));
		pause_ms(1);
		if (tries % 32)
			continue;
		/* Both go on until both are there. */
		job_header(&header);
		job->shared[job->rank] = header.scan_every;
		job_meet(job);
		every = (uint32_t)(job->shared[0] > job->shared[1] ? job->shared[0] : job->shared[1]);
		most = every > most ? every : most;
		job_meet(job);
	}
	CHECK(most >= 8 && every <= most / 2);
	job_header(&header);
	CHECK(header.scan_sampled_out > 0 && header.budget_ppm == 2500);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		job_main *main;
		bool communicator;
	} scenarios[] = {
		{ "single", single, true }, { "group", group, true }, { "beside", beside, true },
		{ "faulty", faulty, true }, { "dear", dear, true },
	};

	if (argc == 2 && (strcmp(argv[1], "warn") == 0 || strcmp(argv[1], "abort") == 0))
		return run_policy(argv[1], strcmp(argv[1], "abort") == 0);
	for (size_t i = 0; argc == 2 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (strcmp(argv[1], scenarios[i].name) == 0)
			return job_run(2, scenarios[i].communicator, scenarios[i].main);
	fprintf(stderr, "usage: scans SCENARIO\n");
	return 2;
}
