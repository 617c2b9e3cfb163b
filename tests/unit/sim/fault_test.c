/* SPDX-License-Identifier: MIT */
/* SIM_CUDA_FAULTS: calls of the stand-in driver that fail, block or come late, and contexts that stay broken. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "ranks.h"

#define EXPECT_CU(call) cr_assert_eq((call), CUDA_SUCCESS)
#define MILLISECOND     1000000u

TestSuite(fault, .timeout = 60);

static void open_driver(const char *faults)
{
	CUcontext context;

	setenv("SIM_CUDA_FAULTS", faults, 1);
	EXPECT_CU(cuInit(0));
	EXPECT_CU(cuDevicePrimaryCtxRetain(&context, 0));
	EXPECT_CU(cuCtxSetCurrent(context));
}

static CUresult alloc(void)
{
	CUdeviceptr memory;

	return cuMemAlloc(&memory, 64);
}

Test(fault, a_call_fails_with_the_error_after_some_calls_and_so_many_times)
{
	open_driver("cuMemAlloc_v2:fail=CUDA_ERROR_NOT_SUPPORTED,after=2,times=1;cuStreamCreate:fail=1");
	CUstream stream;

	EXPECT_CU(alloc());
	EXPECT_CU(alloc());
	cr_expect_eq(alloc(), CUDA_ERROR_NOT_SUPPORTED);
	EXPECT_CU(alloc());
	cr_expect_eq(cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_VALUE);
}

Test(fault, a_call_got_by_its_address_fails_too)
{
	open_driver("cuMemAlloc_v2:fail=2");
	CUresult (*found)(CUdeviceptr *, size_t);
	CUdeviceptr memory;

	EXPECT_CU(cuGetProcAddress("cuMemAlloc", (void **)&found, 12000, 0, NULL));
	cr_expect_eq(found(&memory, 64), CUDA_ERROR_OUT_OF_MEMORY);
}

Test(fault, a_late_call_does_its_work_later)
{
	open_driver("cuMemAlloc_v2:late=30ms");
	uint64_t before = now_ns();

	EXPECT_CU(alloc());
	cr_expect_geq(now_ns() - before, 30 * MILLISECOND);
}

Test(fault, a_fault_for_another_rank_does_nothing)
{
	setenv("RANK", "2", 1);
	open_driver("cuMemAlloc_v2:fail=2,rank=3;cuMemGetInfo_v2:fail=2,rank=2");
	size_t left, total;

	EXPECT_CU(alloc());
	cr_expect_eq(cuMemGetInfo(&left, &total), CUDA_ERROR_OUT_OF_MEMORY);
}

static atomic_bool calling, returned;

static void *blocked_main(void *context)
{
	size_t left, total;

	cuCtxSetCurrent(context);
	atomic_store(&calling, true);
	cuMemGetInfo(&left, &total);
	atomic_store(&returned, true);
	return NULL;
}

Test(fault, a_blocked_call_holds_up_nobody_else)
{
	open_driver("cuMemGetInfo_v2:block");
	CUcontext context;
	pthread_t thread;

	EXPECT_CU(cuCtxGetCurrent(&context));
	cr_assert_eq(pthread_create(&thread, NULL, blocked_main, context), 0);
	pthread_detach(thread);
	while (!atomic_load(&calling))
		sched_yield();
	for (int i = 0; i < 1000; i++)
		EXPECT_CU(alloc());
	cr_expect_not(atomic_load(&returned));
}

Test(fault, an_error_that_breaks_a_context_is_returned_by_every_later_call_of_it)
{
	open_driver("cuStreamCreate:fail=CUDA_ERROR_ILLEGAL_ADDRESS,times=1");
	CUstream stream;
	CUcontext other;
	int count;

	EXPECT_CU(alloc());
	cr_expect_eq(cuStreamCreate(&stream, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
	cr_expect_eq(alloc(), CUDA_ERROR_ILLEGAL_ADDRESS);
	cr_expect_eq(cuStreamCreate(&stream, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
	EXPECT_CU(cuDeviceGetCount(&count));
	EXPECT_CU(cuDevicePrimaryCtxRetain(&other, 1));
	EXPECT_CU(cuCtxSetCurrent(other));
	EXPECT_CU(alloc());
}

Test(fault, wrong_text_is_said_and_nothing_starts)
{
	static const char *const wrong[] = {
		"cuMemAlloc:fail=1",          "cuMemAlloc_v2",         "cuMemAlloc_v2:fail",
		"cuMemAlloc_v2:fail=NOPE",    "cuMemAlloc_v2:late=3",  "cuMemAlloc_v2:late=3h",
		"cuMemAlloc_v2:block=1",      "cuMemAlloc_v2:after=3", "cuMemAlloc_v2:times=0",
		"cuMemAlloc_v2:block,slow=1", "cuMemAlloc_v2:",        "cuMemAlloc_v2:fail=1000",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		pid_t child = fork();
		if (child == 0) {
			setenv("SIM_CUDA_FAULTS", wrong[i], 1);
			_exit(cuInit(0) == CUDA_ERROR_UNKNOWN ? 0 : 1);
		}
		int status;
		cr_assert_eq(waitpid(child, &status, 0), child);
		cr_expect_eq(status, 0, "%s is refused", wrong[i]);
	}
}
