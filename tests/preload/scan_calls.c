/* SPDX-License-Identifier: MIT */
#include "tests/preload/scan_calls.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "tests/preload/scan_reference.h"

enum { ROOT = 1 };

static struct expected expectations[JOB_LEDGER];
static size_t calls, settled;
static bool numbers; /* as inputs, instead of any bits */
static uint64_t seed = 88172645463325252u;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all of the above */

bool scan_is_interposed(void)
{
	const char *off = getenv("RANKWATCH_PRELOAD");

	return !off || strcmp(off, "0") != 0;
}

int scan_version(void)
{
	int version;

	NCCL(ncclGetVersion(&version));
	return version;
}

static uint64_t random64(void)
{
	pthread_mutex_lock(&lock);
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	uint64_t value = seed;
	pthread_mutex_unlock(&lock);
	return value;
}

void *scan_room(const struct scan_caller *caller, size_t bytes)
{
	ncclWindow_t window;
	CUdeviceptr pointer;

	CU(cuMemAlloc(&pointer, bytes + 8));
	void *room = (void *)(uintptr_t)pointer;
	if (caller->windows)
		NCCL(ncclCommWindowRegister(caller->comm, room, bytes + 8, &window, NCCL_WIN_COLL_SYMMETRIC));
	return room;
}

void scan_use_numbers(void)
{
	numbers = true;
}

void scan_fill(void *bytes, uint64_t elements, uint8_t dtype)
{
	uint64_t size = elements * scan_reference_size(dtype), state = random64();

	if (numbers) {
		memset(bytes, 0, size);
		return;
	}
	for (uint64_t i = 0; i < size; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		((uint8_t *)bytes)[i] = (uint8_t)(state >> 56);
	}
	if (random64() % 2)
		scan_reference_spoil(bytes, random64() % elements, dtype);
}

struct expected *scan_expect(const struct expected *what)
{
	pthread_mutex_lock(&lock);
	CHECK(calls < JOB_LEDGER);
	struct expected *expected = &expectations[calls++];
	pthread_mutex_unlock(&lock);
	*expected = *what;
	expected->scan_in = scan_reference(what->in, what->in_elements, what->dtype);
	return expected;
}

void scan_settle(void)
{
	for (; settled < calls; settled++) {
		struct expected *expected = &expectations[settled];
		expected->scan_out = scan_reference(expected->out, expected->out_elements, expected->dtype);
	}
}

static bool is_wide(uint8_t function, bool in)
{
	return function == RW_FUNCTION_ALL_TO_ALL ||
	       (in ? function == RW_FUNCTION_REDUCE_SCATTER || function == RW_FUNCTION_SCATTER
		   : function == RW_FUNCTION_ALL_GATHER || function == RW_FUNCTION_GATHER);
}

static bool has(const struct scan_caller *caller, uint8_t function, bool in)
{
	bool at_root_only = in ? function == RW_FUNCTION_BROADCAST || function == RW_FUNCTION_SCATTER
			       : function == RW_FUNCTION_REDUCE || function == RW_FUNCTION_GATHER;

	return !at_root_only || caller->rank == ROOT;
}

static uint64_t elements_of(const struct scan_caller *caller, uint8_t function, bool in)
{
	return has(caller, function, in) * SCAN_COUNT * (is_wide(function, in) ? (uint64_t)caller->nranks : 1);
}

/* What the operation overwrites is lost where nobody looks before it. */
static bool overwrites(const struct expected *expected, bool in_place)
{
	uint8_t function = expected->function;

	return in_place && expected->in_elements && expected->out_elements && function != RW_FUNCTION_ALL_GATHER &&
	       function != RW_FUNCTION_BROADCAST && function != RW_FUNCTION_GATHER && function != RW_FUNCTION_SCATTER;
}

static ncclResult_t make(const struct scan_caller *caller, uint8_t function, ncclDataType_t type, const void *send,
			 void *recv)
{
	/* The only operator of symmetric kernels. */
	ncclRedOp_t op = caller->windows ? ncclSum : ncclMax;
	ncclComm_t comm = caller->comm;
	CUstream stream = caller->stream;

	switch (function) {
	case RW_FUNCTION_ALL_REDUCE:
		return ncclAllReduce(send, recv, SCAN_COUNT, type, op, comm, stream);
	case RW_FUNCTION_REDUCE:
		return ncclReduce(send, caller->rank == ROOT ? recv : NULL, SCAN_COUNT, type, op, ROOT, comm, stream);
	case RW_FUNCTION_REDUCE_SCATTER:
		return ncclReduceScatter(send, recv, SCAN_COUNT, type, op, comm, stream);
	case RW_FUNCTION_ALL_GATHER:
		return ncclAllGather(send, recv, SCAN_COUNT, type, comm, stream);
	case RW_FUNCTION_ALL_TO_ALL:
		return ncclAlltoAll(send, recv, SCAN_COUNT, type, comm, stream);
	case RW_FUNCTION_GATHER:
		return ncclGather(send, recv, SCAN_COUNT, type, ROOT, comm, stream);
	case RW_FUNCTION_SCATTER:
		return ncclScatter(send, recv, SCAN_COUNT, type, ROOT, comm, stream);
	default:
		return ncclBroadcast(send, recv, SCAN_COUNT, type, ROOT, comm, stream);
	}
}

struct expected *scan_call(const struct scan_caller *caller, uint8_t function, uint8_t dtype, bool in_place)
{
	size_t size = scan_reference_size(dtype), own = (size_t)caller->rank * SCAN_COUNT * size;
	char *send = scan_room(caller, (size_t)caller->nranks * SCAN_COUNT * size), *recv = send;

	if (!in_place)
		recv = scan_room(caller, (size_t)caller->nranks * SCAN_COUNT * size);
	else if (is_wide(function, false) && !is_wide(function, true))
		send += own;
	else if (is_wide(function, true) && !is_wide(function, false))
		recv += own;
	memset(recv, 0xff, SCAN_COUNT * (is_wide(function, false) ? (uint64_t)caller->nranks : 1) * size); /* NaN */
	scan_fill(send, SCAN_COUNT * (is_wide(function, true) ? (uint64_t)caller->nranks : 1), dtype);
	struct expected expected = {
		.function = function,
		.dtype = dtype,
		.in = send,
		.out = recv,
		.in_elements = elements_of(caller, function, true),
		.out_elements = elements_of(caller, function, false),
	};
	if (overwrites(&expected, in_place) && !scan_is_interposed())
		expected.in_lost = RW_UNSCANNABLE_OVERWRITTEN;
	struct expected *kept = scan_expect(&expected);
	ncclResult_t result = make(caller, function, (ncclDataType_t)(dtype - 1), send, recv);
	CHECK(result == ncclSuccess || result == ncclInProgress);
	return kept;
}

static void check_side(const struct expected *expected, const char *side, bool known, const struct rw_scan *is,
		       bool wanted, const struct rw_scan *should)
{
	if (known == wanted && (!known || scan_reference_equal(is, should)))
		return;
	fprintf(stderr,
		"call %zu, function %u type %u, %s: known %d/%d nan %u/%u inf %u/%u first %ld/%ld absmax %g/%g "
		"saturated %u/%u digest %lx/%lx\n",
		(size_t)(expected - expectations), expected->function, expected->dtype, side, known, wanted, is->nan,
		should->nan, is->inf, should->inf, (long)is->first_bad, (long)should->first_bad, (double)is->absmax,
		(double)should->absmax, is->saturated, should->saturated, is->digest, should->digest);
	exit(1);
}

static bool fits(const struct expected *expected, const struct rw_operation *operation)
{
	return !expected->found && expected->function == operation->function &&
	       (!expected->in_elements || (uintptr_t)expected->in == operation->send_address) &&
	       (!expected->out_elements || (uintptr_t)expected->out == operation->recv_address);
}

static struct expected *find(const struct rw_operation *operation)
{
	for (size_t i = 0; i < calls; i++)
		if (fits(&expectations[i], operation))
			return &expectations[i];
	fprintf(stderr, "nobody has made this call: function %u, flags %#x\n", operation->function, operation->flags);
	exit(1);
}

/* A Broadcast in place at its root: one scan of it is both results, where both are taken at once. */
static bool is_one_buffer(const struct expected *expected)
{
	return expected->in == expected->out && expected->in_elements == expected->out_elements &&
	       !scan_is_interposed();
}

/* Returns how many buffers were scanned. */
static unsigned int check_operation(const struct rw_operation *operation)
{
	struct expected *expected = find(operation);
	uint32_t reason = (operation->flags & RW_FLAG_UNSCANNABLE_MASK) >> RW_FLAG_UNSCANNABLE_SHIFT;
	uint32_t should = expected->in_lost ? expected->in_lost : expected->out_lost;
	bool in = operation->known & RW_KNOWN_SCAN_IN, out = operation->known & RW_KNOWN_SCAN_OUT;

	expected->found = true;
	CHECK(operation->dtype == expected->dtype);
	if (reason != should)
		fprintf(stderr, "call %zu: unscannable, reason %u\n", (size_t)(expected - expectations), reason);
	check_side(expected, "input", in, &operation->scan_in, expected->in_elements && !expected->in_lost,
		   &expected->scan_in);
	check_side(expected, "output", out, &operation->scan_out, expected->out_elements && !expected->out_lost,
		   &expected->scan_out);
	CHECK(reason == should);
	return in + out - (in && out && is_one_buffer(expected));
}

/* The results come first, their number after them. */
static void check_once(unsigned int buffers)
{
	const struct timespec turn = { .tv_nsec = 1000000 };
	static struct rw_box_header header;

	for (int tries = 0; tries < 10000 && header.scan_buffers < buffers; tries++) {
		nanosleep(&turn, NULL);
		job_header(&header);
	}
	if (header.scan_buffers != buffers)
		fprintf(stderr, "%u buffers have results, %lu were scanned\n", buffers, header.scan_buffers);
	CHECK(header.scan_buffers == buffers);
}

/* One that nobody but the interposer would know the buffers of. */
static bool is_blind(const struct rw_operation *operation)
{
	return !(operation->known & (RW_KNOWN_CALL | RW_KNOWN_TASK)) && !scan_is_interposed();
}

void scan_check(void)
{
	static struct rw_operation operations[JOB_LEDGER];
	size_t count = job_operations(operations, JOB_LEDGER);
	unsigned int buffers = 0;

	if (count != calls)
		fprintf(stderr, "%zu calls, %zu operations\n", calls, count);
	CHECK(count == calls);
	for (size_t i = 0; i < count; i++)
		if (!is_blind(&operations[i]))
			buffers += check_operation(&operations[i]);
	check_once(buffers);
}
