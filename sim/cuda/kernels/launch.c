/* SPDX-License-Identifier: MIT */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cuda/devices/context.h"
#include "sim/cuda/driver/calls.h"
#include "sim/cuda/kernels/module.h"
#include "sim/cuda/kernels/multiprocessors.h"
#include "sim/cuda/streams/callback.h"
#include "sim/cuda/streams/host_wait.h"
#include "sim/cuda/streams/stream.h"

/* A launch's arguments are copied at the call, as on a GPU: pointers first, then the values they point to. */
struct arguments {
	void *params[CPU_KERNEL_PARAMS_MAX];
	_Alignas(16) unsigned char values[];
};

struct launch {
	cpu_kernel *run;
	struct cpu_launch launch;
	struct arguments *arguments;
	CUdevice device;
	bool together;
};

_Static_assert(sizeof(struct launch) <= STREAM_PAYLOAD_BYTES, "a launch fits into a task");

/* CUDA_LAUNCH_BLOCKING: a launch returns when the kernel is done. */
static bool launch_blocking;

static void run_kernel(void *payload)
{
	struct launch *launch = payload;
	uint64_t blocks = (uint64_t)launch->launch.grid[0] * launch->launch.grid[1] * launch->launch.grid[2];
	unsigned int held = multiprocessors_take(launch->device, blocks, launch->together);

	launch->run(launch->arguments->params, &launch->launch);
	multiprocessors_give(launch->device, held);
}

static void drop_kernel(void *payload)
{
	free(((struct launch *)payload)->arguments);
}

static const struct task_kind kernel_task = { CU_GRAPH_NODE_TYPE_KERNEL, run_kernel, drop_kernel,
					      QUEUE_WHEN_IT_BEGINS };

static size_t aligned(size_t size)
{
	return (size + 15) & ~(size_t)15;
}

static struct arguments *arguments_copy(const struct cpu_module_kernel *kernel, void **params)
{
	size_t size = 0;

	for (uint32_t i = 0; i < kernel->params; i++)
		size += aligned(kernel->param_bytes[i]);
	struct arguments *arguments = malloc(sizeof(*arguments) + size);
	if (!arguments)
		return NULL;
	unsigned char *at = arguments->values;
	for (uint32_t i = 0; i < kernel->params; i++) {
		arguments->params[i] = memcpy(at, params[i], kernel->param_bytes[i]);
		at += aligned(kernel->param_bytes[i]);
	}
	return arguments;
}

static void read_launch_blocking(void)
{
	const char *value = getenv("CUDA_LAUNCH_BLOCKING");

	launch_blocking = value && *value && strcmp(value, "0") != 0;
}

static bool launches_block(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_launch_blocking);
	return launch_blocking;
}

CUresult sim_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params, void **extra)
{
	CUstream stream;

	if (!config || !function)
		return CUDA_ERROR_INVALID_VALUE;
	if (extra)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (function->resets != atomic_load(&function->context->resets))
		return CUDA_ERROR_INVALID_HANDLE; /* a GPU's driver need not be so kind */
	const struct cpu_module_kernel *kernel = &function->kernel;
	struct launch launch = {
		.run = kernel->run,
		.launch = { { config->gridDimX, config->gridDimY, config->gridDimZ },
			    { config->blockDimX, config->blockDimY, config->blockDimZ },
			    config->sharedMemBytes,
			    config->hStream },
		.together = kernel->together,
	};
	for (int i = 0; i < 3; i++) {
		if (!launch.launch.grid[i] || !launch.launch.block[i])
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (kernel->params && !params)
		return CUDA_ERROR_INVALID_VALUE;
	CUresult result = stream_resolve(config->hStream, &stream);
	if (result != CUDA_SUCCESS)
		return result;
	launch.device = stream->context->device;
	launch.arguments = arguments_copy(kernel, params);
	if (!launch.arguments)
		return CUDA_ERROR_OUT_OF_MEMORY;
	struct stream_point done;
	result = stream_submit(stream, &kernel_task, &launch, sizeof(launch), &done);
	if (result != CUDA_SUCCESS)
		free(launch.arguments);
	else if (launches_block())
		host_wait(&done);
	stream_point_drop(&done);
	return result;
}

CUresult sim_cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
			    unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
			    CUstream stream, void **params, void **extra)
{
	CUlaunchConfig config = {
		.gridDimX = grid_x,
		.gridDimY = grid_y,
		.gridDimZ = grid_z,
		.blockDimX = block_x,
		.blockDimY = block_y,
		.blockDimZ = block_z,
		.sharedMemBytes = shared_bytes,
		.hStream = stream,
	};

	return sim_cuLaunchKernelEx(&config, function, params, extra);
}

struct host_call {
	CUhostFn run;
	void *argument;
	struct callback_thread *thread;
};

static void run_host(void *payload)
{
	struct host_call *call = payload;

	callback_run(call->thread, call->run, call->argument);
}

static const struct task_kind host_task = { CU_GRAPH_NODE_TYPE_HOST, run_host, NULL, QUEUE_NOT };

CUresult sim_cuLaunchHostFunc(CUstream handle, CUhostFn run, void *argument)
{
	CUstream stream;
	CUresult result = run ? stream_resolve(handle, &stream) : CUDA_ERROR_INVALID_VALUE;

	if (result != CUDA_SUCCESS)
		return result;
	struct host_call call = { run, argument, stream->context->callbacks };
	return stream_submit(stream, &host_task, &call, sizeof(call), NULL);
}
