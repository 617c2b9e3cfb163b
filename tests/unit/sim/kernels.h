/* SPDX-License-Identifier: MIT */
/* Two kernels for tests of the driver: one waits for a semaphore, one notes a number. */
#ifndef TEST_SIM_KERNELS_H
#define TEST_SIM_KERNELS_H

#include <semaphore.h>
#include <stdatomic.h>

#include <criterion/criterion.h>
#include <cuda.h>

#include <cpu_module.h>

#define EXPECT_CU(call) cr_assert_eq((call), CUDA_SUCCESS)

static CUcontext context;
static CUfunction hold, note;

/* What the kernels noted, in the order in which they ran. */
static atomic_int noted_count;
static int noted[8192];

static void run_hold(void **params, const struct cpu_launch *launch)
{
	(void)launch;
	sem_wait(*(sem_t **)params[0]);
}

static void run_note(void **params, const struct cpu_launch *launch)
{
	(void)launch;
	noted[atomic_fetch_add(&noted_count, 1)] = *(int *)params[0];
}

static const struct cpu_module_kernel kernels[] = {
	{ "hold", run_hold, 1, { sizeof(sem_t *) } },
	{ "note", run_note, 1, { sizeof(int) } },
};
static const struct cpu_module_image image = { { 'r', 'w', 'c', 'p', 'u', 'm', 'o', 'd' }, 2, kernels };

/* Device 0, whose context becomes current, and both kernels. */
static void open_kernels(void)
{
	CUmodule module;

	EXPECT_CU(cuInit(0));
	EXPECT_CU(cuDevicePrimaryCtxRetain(&context, 0));
	EXPECT_CU(cuCtxSetCurrent(context));
	EXPECT_CU(cuModuleLoadData(&module, &image));
	EXPECT_CU(cuModuleGetFunction(&hold, module, "hold"));
	EXPECT_CU(cuModuleGetFunction(&note, module, "note"));
}

#endif
