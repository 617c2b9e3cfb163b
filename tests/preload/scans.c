/* SPDX-License-Identifier: MIT */
/*
 * Every buffer's scan says what is in the buffer: against a reference of the same bytes, taken by the program itself
 * before the call and after the work.
 *   scans SCENARIO
 * With the interposer (preloaded by linking) inputs are seen before the operation, in place or not. RANKWATCH_PRELOAD=0
 * leaves NCCL's profiler interface (v5 and later): inputs that the operation overwrites are not seen then.
 */
#include "tests/preload/job.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/preload/scan_calls.h"
#include "tests/preload/scan_reference.h"

static const struct scan_caller anywhere;
static struct rw_box_header header; /* as last read */

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static struct scan_caller caller_of(const struct job *job)
{
	return (struct scan_caller){ job->comm, job->rank, job->nranks, job->stream };
}

static const uint8_t functions[] = { RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_REDUCE, RW_FUNCTION_REDUCE_SCATTER,
				     RW_FUNCTION_ALL_GATHER, RW_FUNCTION_BROADCAST };

/* NCCL has fp8 since 2.24. */
static uint8_t types(void)
{
	return scan_version() >= 22400 ? RW_DTYPE_FLOAT8_E5M2 : RW_DTYPE_BFLOAT16;
}

/* Every function and type, in place and out of place. */
static void single(struct job *job)
{
	struct scan_caller caller = caller_of(job);

	for (size_t f = 0; f < sizeof(functions); f++)
		for (uint8_t dtype = RW_DTYPE_INT8; dtype <= types(); dtype++)
			for (int in_place = 0; in_place < 2; in_place++) {
				scan_call(&caller, functions[f], dtype, in_place);
				CU(cuStreamSynchronize(job->stream));
				scan_settle();
			}
	scan_check();
}

static void transfer(const struct scan_caller *caller)
{
	float *send = scan_room(caller, SCAN_COUNT * sizeof(float)),
	      *recv = scan_room(caller, SCAN_COUNT * sizeof(float));
	int peer = caller->rank ^ 1;

	scan_fill(send, SCAN_COUNT, RW_DTYPE_FLOAT32);
	scan_expect(&(struct expected){
	    .function = RW_FUNCTION_SEND, .dtype = RW_DTYPE_FLOAT32, .in = send, .in_elements = SCAN_COUNT });
	NCCL(ncclSend(send, SCAN_COUNT, ncclFloat, peer, caller->comm, caller->stream));
	scan_expect(&(struct expected){
	    .function = RW_FUNCTION_RECV, .dtype = RW_DTYPE_FLOAT32, .out = recv, .out_elements = SCAN_COUNT });
	NCCL(ncclRecv(recv, SCAN_COUNT, ncclFloat, peer, caller->comm, caller->stream));
}

/* More calls than a launch has segments, on two streams, and p2p. */
static void group(struct job *job)
{
	struct scan_caller caller = caller_of(job), other = caller;

	other.stream = job->other_stream;
	for (int round = 0; round < 3; round++) {
		NCCL(ncclGroupStart());
		for (int i = 0; i < 120; i++)
			scan_call(i % 2 ? &caller : &other, functions[i % 5], RW_DTYPE_BFLOAT16, i % 3 == 0);
		transfer(&caller);
		NCCL(ncclGroupEnd());
		CU(cuStreamSynchronize(job->stream));
		CU(cuStreamSynchronize(job->other_stream));
		scan_settle();
	}
	scan_check();
}

/* Whatever the driver does to scanning, the job's results are the same and no operation waits for ever. */
static void faulty(struct job *job)
{
	static struct rw_operation operations[JOB_LEDGER];
	const char *state = getenv("EXPECTED_STATE");
	int *buffer = scan_room(&anywhere, SCAN_COUNT * sizeof(int));
	size_t count;

	for (int round = 0; round < 100; round++) {
		for (int i = 0; i < SCAN_COUNT; i++)
			buffer[i] = (job->rank + 1) * (i + round);
		NCCL(ncclAllReduce(buffer, buffer, SCAN_COUNT, ncclInt, ncclSum, job->comm, job->stream));
		CU(cuStreamSynchronize(job->stream));
		for (int i = 0; i < SCAN_COUNT; i++)
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

enum { BIG = 2 << 20, LATE_ROUNDS = 2, LATE_MS = 300, OPPOSITE_ROUNDS = 3, PAIRS = 2, QUEUED = 3, ENDS_WITHIN_S = 20 };

/* A communicator with a stream and buffers of its own. */
struct pair {
	struct scan_caller caller;
	float *send, *recv;
};

static void reduce_big(const struct pair *pair)
{
	scan_expect(&(struct expected){ .function = RW_FUNCTION_ALL_REDUCE,
					.dtype = RW_DTYPE_FLOAT32,
					.in = pair->send,
					.in_elements = BIG,
					.out = pair->recv,
					.out_elements = BIG });
	NCCL(ncclAllReduce(pair->send, pair->recv, BIG, ncclFloat, ncclMax, pair->caller.comm, pair->caller.stream));
}

/* A rank whose streams wait for ever could not even leave by exit(). */
static void expect_end(const struct pair *pair)
{
	const time_t since = time(NULL);

	while (cuStreamQuery(pair->caller.stream) != CUDA_SUCCESS && time(NULL) - since < ENDS_WITHIN_S)
		pause_ms(1);
	if (cuStreamQuery(pair->caller.stream) == CUDA_SUCCESS)
		return;
	fprintf(stderr, "rank %d: a stream stands still\n", pair->caller.rank);
	_exit(1);
}

static void settle_pairs(struct job *job, const struct pair *pairs)
{
	static struct rw_operation operations[JOB_LEDGER];

	for (int i = 0; i < PAIRS; i++)
		expect_end(&pairs[i]);
	scan_settle();
	job_operations(operations, JOB_LEDGER); /* the plugin has seen the end of it */
	job_meet(job);
}

/* Two communicators, each on a stream of its own, in opposite order on two ranks: a correct program as long as nothing
 * orders one stream behind the other. First operations that last on both, because a third rank is late: if the plugin
 * learns of their time, it knows that there is time to scan meanwhile. */
static void opposite(struct job *job)
{
	struct pair pairs[PAIRS] = { { .caller = caller_of(job) }, { .caller = caller_of(job) } };

	pairs[1].caller.stream = job->other_stream;
	NCCL(ncclCommInitRank(&pairs[1].caller.comm, job->nranks, job_id(job, 1), job->rank));
	for (int i = 0; i < PAIRS; i++) {
		pairs[i].send = scan_room(&anywhere, BIG * sizeof(float));
		pairs[i].recv = scan_room(&anywhere, BIG * sizeof(float));
		scan_fill(pairs[i].send, BIG, RW_DTYPE_FLOAT32);
	}
	for (int round = 0; round < LATE_ROUNDS * PAIRS; round++) {
		job_meet(job);
		if (job->rank == 2)
			pause_ms(LATE_MS);
		reduce_big(&pairs[round % PAIRS]);
		settle_pairs(job, pairs);
	}
	for (int round = 0; round < OPPOSITE_ROUNDS; round++) {
		for (int call = 0; call < PAIRS * QUEUED; call++)
			reduce_big(&pairs[call / QUEUED ^ (job->rank == 1)]);
		settle_pairs(job, pairs);
	}
	scan_check();
	NCCL(ncclCommDestroy(pairs[1].caller.comm));
}

static const char *log_of(const char *path)
{
	static char log[8192];
	FILE *file = fopen(path, "re");
	size_t size = file ? fread(log, 1, sizeof(log) - 1, file) : 0;

	if (file)
		fclose(file);
	log[size] = '\0';
	return log;
}

/* The result comes to another thread, which logs it. */
static void await_line_of(int rank)
{
	char line[32];

	snprintf(line, sizeof(line), "rank %d: 1 NaN in", rank);
	for (int i = 0; i < ENDS_WITHIN_S * 100 && !strstr(log_of(getenv("RANKWATCH_LOG")), line); i++)
		pause_ms(10);
}

static int clean_rounds;
static bool ends_by_signal;

/* One element of one rank is not a number: everybody's output has it. */
static void spoiled(struct job *job)
{
	float *buffer = scan_room(&anywhere, SCAN_COUNT * sizeof(float));

	for (int round = 0; round <= clean_rounds; round++) {
		for (int i = 0; i < SCAN_COUNT; i++)
			buffer[i] = 1;
		if (round == clean_rounds && job->rank == 1)
			scan_reference_spoil(buffer, 17, RW_DTYPE_FLOAT32);
		NCCL(ncclAllReduce(buffer, buffer, SCAN_COUNT, ncclFloat, ncclSum, job->comm, job->stream));
		CU(cuStreamSynchronize(job->stream));
	}
	if (ends_by_signal && job->rank == 1)
		pause_ms(10000);
	await_line_of(job->rank);
}

static bool log_has(const char *path, const char *text)
{
	const char *log = log_of(path);

	if (strstr(log, text))
		return true;
	fprintf(stderr, "\"%s\" is not in:\n%s", text, log);
	return false;
}

static void open_log(char *name)
{
	int fd = mkstemp(name);

	CHECK(fd >= 0);
	close(fd);
	setenv("RANKWATCH_LOG", name, 1);
}

/* Cores are on, whatever they are where the test runs. */
static void allow_cores(void)
{
	struct rlimit limit;

	CHECK(getrlimit(RLIMIT_CORE, &limit) == 0);
	limit.rlim_cur = limit.rlim_max;
	CHECK(setrlimit(RLIMIT_CORE, &limit) == 0);
}

/* RANKWATCH_ON_NAN: who is told, and what becomes of the process. */
static int run_policy(const char *policy, int rounds, bool aborts)
{
	char log[] = "/dev/shm/scans-test-XXXXXX", line[80];
	bool interposed = scan_is_interposed();

	open_log(log);
	setenv("RANKWATCH_ON_NAN", policy, 1);
	setenv("RANKWATCH_SCAN", "all", 1);
	clean_rounds = rounds;
	ends_by_signal = aborts;
	if (aborts)
		job_expect_signal(1, SIGABRT);
	allow_cores();
	int failed = job_run(2, true, spoiled);
	snprintf(line, sizeof(line), "rank 0: 1 NaN in the output of AllReduce %d of communicator", rounds);
	failed |= !log_has(log, line);
	snprintf(line, sizeof(line), "rank 1: 1 NaN in the %s of AllReduce %d of communicator",
		 interposed ? "input" : "output", rounds);
	failed |= !log_has(log, line);
	failed |= !log_has(log, "first at 17 of 1003 elements");
	failed |= aborts && !log_has(log, "RANKWATCH_ON_NAN=abort: the process ends here");
	failed |= !aborts && strstr(log_of(log), "the process ends here");
	unlink(log);
	return failed;
}

static void unscanned(struct job *job)
{
	faulty(job);
	CHECK(header.scan_every == 0 && header.scan_launches == 0 && header.scan_buffers == 0);
}

/* The kernel gives wrong answers: each rank says so, and scans nothing. */
static int run_wrong(void)
{
	char log[] = "/dev/shm/scans-test-XXXXXX";

	open_log(log);
	int failed = job_run(2, true, unscanned);
	failed |= !log_has(log, getenv("EXPECTED_LINE"));
	unlink(log);
	return failed;
}

static void reduce(struct job *job, float *buffer, size_t count, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		NCCL(ncclAllReduce(buffer, buffer, count, ncclFloat, ncclMax, job->comm, job->stream));
		CU(cuStreamSynchronize(job->stream));
	}
}

/*
 * The plugin's clock, once the test plays it: it stands still, but for what each reading takes by itself and what the
 * test adds. So what scans cost does not depend on who else wants the processors.
 */
static _Atomic uint64_t clock_now_ns; /* 0: as the kernel's */
static _Atomic uint64_t clock_reading_ns;

/* The plugin takes this for the kernel's own function. */
int __vdso_clock_gettime(clockid_t clock, struct timespec *now);

int __vdso_clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock_now_ns == 0)
		return clock_gettime(clock, now);
	uint64_t ns = clock_now_ns += clock_reading_ns;
	*now = (struct timespec){ (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	return 0;
}

void *dlopen(const char *name, int flags)
{
	void *(*real)(const char *, int);

	*(void **)&real = dlsym(RTLD_NEXT, "dlopen");
	return real(name && !strcmp(name, "linux-vdso.so.1") ? NULL : name, flags);
}

static void play_clock(void)
{
	struct timespec now;

	CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
	clock_now_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* How many operations there are to one that is scanned, on the rank with the fewest: as their threads decided last. */
static uint64_t fewest(struct job *job)
{
	uint64_t since = clock_now_ns;

	do {
		pause_ms(1);
		job_header(&header);
	} while (header.drain_ns < since);
	job->shared[job->rank] = header.scan_every;
	job_meet(job);
	uint64_t every = job->shared[0] > job->shared[1] ? job->shared[0] : job->shared[1];
	job_meet(job);
	return every;
}

/* Has this rank spent nearly all of the sum that there is for the first operations? */
static bool has_spent_first(void)
{
	return (header.scan_host_ns + header.scan_gpu_ns) * 10 >= RW_SCAN_FIRST_MS * UINT64_C(9000000);
}

static bool have_all_spent_first(struct job *job)
{
	job->shared[job->rank] = has_spent_first();
	job_meet(job);
	bool all = job->shared[0] && job->shared[1];
	job_meet(job);
	return all;
}

/* Launches that take 10 ms each, for a while: fewer are made, and then more again. The first operations are scanned
 * whatever they cost, until that sum is spent. */
static void dear(struct job *job)
{
	enum { LARGE = 1 << 14 /* floats: small ones are few in any case */, ROUNDS = 32, CALM = 100 };
	const uint64_t dear_ns = 10000000;
	const uint64_t calm_ns = UINT64_C(1000000000000); /* in which a scan that others held up is nothing */
	float *buffer = scan_room(&anywhere, LARGE * sizeof(float));
	uint64_t most, every = 1;
	int calm = 0;

	play_clock();
	clock_reading_ns = dear_ns;
	do {
		reduce(job, buffer, LARGE, ROUNDS);
		every = fewest(job);
	} while (!have_all_spent_first(job) || every < 8);
	clock_reading_ns = 0;
	for (most = every; every > most / 2 && calm < CALM; calm++) {
		reduce(job, buffer, LARGE, ROUNDS);
		clock_now_ns += calm_ns;
		every = fewest(job);
		most = every > most ? every : most;
	}
	CHECK(calm >= 5 && calm < CALM);
	CHECK(header.scan_sampled_out > 0 && header.budget_ppm == 2500);
}

/* Scans that cost far more than the budget has: each function's first operations are scanned all the same. */
static void first(struct job *job)
{
	enum { LARGE = 1 << 14 /* floats */, FIRST = 1024, ROUNDS = 64 };
	float *buffer = scan_room(&anywhere, LARGE * sizeof(float));

	reduce(job, buffer, LARGE, FIRST);
	job_header(&header);
	CHECK(header.scan_sampled_out == 0);
	do {
		reduce(job, buffer, LARGE, ROUNDS);
		job_header(&header);
		job->shared[job->rank] = header.scan_every;
		job_meet(job);
		job_meet(job);
	} while (job->shared[0] < 4 || job->shared[1] < 4);
	uint64_t left_out = header.scan_sampled_out;
	for (int i = 0; i < ROUNDS; i++) {
		NCCL(ncclBroadcast(buffer, buffer, LARGE, ncclFloat, 0, job->comm, job->stream));
		CU(cuStreamSynchronize(job->stream));
	}
	job_header(&header);
	/* The sum that there is for them is spent sooner on a machine that has no processor for them. */
	CHECK(has_spent_first() || (header.scan_every > 1 && header.scan_sampled_out == left_out));
	CHECK(header.scan_host_ns + header.scan_gpu_ns < UINT64_C(3000000000));
	fprintf(stderr, "rank %d: scans took %.3f s of the host and %.3f s of the GPU, now 1 in %u\n", job->rank,
		(double)header.scan_host_ns / 1e9, (double)header.scan_gpu_ns / 1e9, header.scan_every);
}

/*
 * Two communicators in opposite order on two ranks, each on one of 40 streams: some of these share a queue of the GPU.
 * This goes well by itself, because no operation has anything behind it that waits for it. With a scan there neither
 * rank would come to its second operation.
 */
static void crowded(struct job *job)
{
	static struct rw_operation operations[JOB_LEDGER];
	enum { STREAMS = 40, LARGE = 1 << 15 /* floats */ };
	CUstream streams[STREAMS];
	struct pair pairs[PAIRS] = { { .caller = caller_of(job) }, { .caller = caller_of(job) } };

	NCCL(ncclCommInitRank(&pairs[1].caller.comm, job->nranks, job_id(job, 1), job->rank));
	for (int i = 0; i < STREAMS; i++)
		CU(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < PAIRS; i++)
		pairs[i].send = scan_room(&anywhere, 2 * LARGE * sizeof(float));
	/* The first round, in which NCCL connects the ranks, is in one order. */
	for (int other = 0; other < STREAMS; other++) {
		pairs[0].caller.stream = streams[0];
		pairs[1].caller.stream = streams[other];
		for (int call = 0; call < PAIRS; call++) {
			const struct pair *pair = &pairs[call ^ (other && job->rank == 1)];

			NCCL(ncclAllReduce(pair->send, (float *)pair->send + LARGE, LARGE, ncclFloat, ncclMax, pair->caller.comm,
					   pair->caller.stream));
		}
		for (int i = 0; i < PAIRS; i++)
			expect_end(&pairs[i]);
		job_meet(job);
	}
	CHECK(job_operations(operations, JOB_LEDGER) == STREAMS * PAIRS); /* the plugin has seen the end of it */
	job_header(&header);
	CHECK(scan_is_interposed() ? header.scan_buffers == STREAMS * PAIRS : header.scan_launches == 0);
	NCCL(ncclCommDestroy(pairs[1].caller.comm));
}

/* What nobody has asked for: nothing is scanned behind its operation, whose stream may share a queue with others. */
static void unasked(struct job *job)
{
	static struct rw_operation operations[JOB_LEDGER];
	enum { LARGE = 1 << 15 /* floats */, ROUNDS = 4 };
	bool interposed = scan_is_interposed();
	float *buffer = scan_room(&anywhere, 2 * LARGE * sizeof(float));

	for (int i = 0; i < ROUNDS; i++) {
		NCCL(ncclAllReduce(buffer, buffer + LARGE, LARGE, ncclFloat, ncclMax, job->comm, job->stream));
		CU(cuStreamSynchronize(job->stream));
	}
	size_t count = job_operations(operations, JOB_LEDGER);
	CHECK(count == ROUNDS);
	for (size_t i = 0; i < count; i++) {
		CHECK(!(operations[i].known & RW_KNOWN_SCAN_OUT));
		CHECK(!(operations[i].known & RW_KNOWN_SCAN_IN) == !interposed);
		CHECK(!(operations[i].flags & RW_FLAG_UNSCANNABLE));
	}
	job_header(&header);
	CHECK(!strcmp(header.scan_state,
		      interposed ? "auto, inputs" : "none: no interposer, and auto scans before operations only"));
	CHECK(interposed ? header.scan_buffers == ROUNDS : header.scan_launches == 0);
}

/* The stand-in takes no machine code, as a driver that is older than the nvcc that made it. */
static void compiled(struct job *job)
{
	setenv("RANKWATCH_QUIET", "0", 1);
	setenv("RANKWATCH_SCAN", "all", 1);
	NCCL(ncclCommInitRank(&job->comm, job->nranks, job_id(job, 0), job->rank));
	job_header(&header);
	CHECK(!strcmp(header.scan_state,
		      getenv("RANKWATCH_SCAN_PTX") ? "off: cuModuleLoadData failed with CUDA error 209" : "all"));
}

static int run_compiled(const char *name, const char *value, const char *told)
{
	char log[] = "/dev/shm/scans-test-XXXXXX";
	int status;

	open_log(log);
	pid_t child = fork();
	if (child == 0) {
		setenv(name, value, 1);
		exit(job_run(2, false, compiled));
	}
	CHECK(waitpid(child, &status, 0) == child);
	bool failed = status || !log_has(log, told);
	unlink(log);
	return failed;
}

/* Whoever starts a job learns that each rank's driver compiles the kernel, and where it keeps it. */
static int run_ptx(void)
{
	static const char *const cases[][3] = {
		{ "CUDA_CACHE_PATH", "/local/cache",
		  "compiles the scan kernel from PTX for some 0.2 s, and the driver keeps it in /local/cache" },
		{ "HOME", "/home/u", "and the driver keeps it in /home/u/.nv/ComputeCache" },
		{ "CUDA_CACHE_DISABLE", "1",
		  "compiles the scan kernel from PTX for some 0.2 s (CUDA_CACHE_DISABLE=1)" },
		{ "RANKWATCH_SCAN_PTX", "0", "not looked for (scan: off: cuModuleLoadData failed with CUDA error 209)" },
	};
	int failed = 0;

	unsetenv("CUDA_CACHE_PATH");
	unsetenv("CUDA_CACHE_DISABLE");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		failed |= run_compiled(cases[i][0], cases[i][1], cases[i][2]);
	return failed;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		job_main *main;
		int ranks;
	} scenarios[] = {
		{ "single", single, 2 }, { "group", group, 2 }, { "opposite", opposite, 3 },
		{ "faulty", faulty, 2 }, { "dear", dear, 2 },     { "first", first, 2 },
		{ "unasked", unasked, 2 },   { "crowded", crowded, 2 },
	};

	if (argc == 2 && strcmp(argv[1], "warn") == 0)
		return run_policy("warn", 2, false);
	if (argc == 2 && strcmp(argv[1], "abort") == 0)
		return run_policy("abort", RW_SCAN_FIRST, scan_is_interposed());
	if (argc == 2 && strcmp(argv[1], "abort_first") == 0)
		return run_policy("abort", 2, false);
	if (argc == 2 && strcmp(argv[1], "wrong") == 0)
		return run_wrong();
	if (argc == 2 && strcmp(argv[1], "ptx") == 0)
		return run_ptx();
	for (size_t i = 0; argc == 2 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (strcmp(argv[1], scenarios[i].name) == 0)
			return job_run(scenarios[i].ranks, true, scenarios[i].main);
	fprintf(stderr, "usage: scans SCENARIO\n");
	return 2;
}
