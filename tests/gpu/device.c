/* SPDX-License-Identifier: MIT */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FILL_THREADS = 1024, FILL_BLOCKS_PER_PROCESSOR = 2 };

struct cpu_launch;
/* What the stand-in runs in place of the PTX; it finds them by their names. */
void gpu_test_stamp__cpu(void **parameters, const struct cpu_launch *launch);
void gpu_test_fill__cpu(void **parameters, const struct cpu_launch *launch);
void gpu_test_spin__cpu(void **parameters, const struct cpu_launch *launch);

static const char ptx[] = ".version 7.0\n"
			  ".target sm_80\n"
			  ".address_size 64\n"
			  ".visible .entry gpu_test_stamp(.param .u64 to)\n"
			  "{\n"
			  "	.reg .u64 %to, %now;\n"
			  "	ld.param.u64 %to, [to];\n"
			  "	mov.u64 %now, %globaltimer;\n"
			  "	st.volatile.global.u64 [%to], %now;\n"
			  "	membar.sys;\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry gpu_test_fill(.param .u64 nanoseconds, .param .u64 to)\n"
			  "{\n"
			  "	.reg .u64 %duration, %end, %now, %to;\n"
			  "	.reg .f32 %a, %b, %c;\n"
			  "	.reg .u32 %i;\n"
			  "	.reg .pred %more, %never;\n"
			  "	ld.param.u64 %duration, [nanoseconds];\n"
			  "	ld.param.u64 %to, [to];\n"
			  "	mov.u64 %end, %globaltimer;\n"
			  "	add.u64 %end, %end, %duration;\n"
			  "	mov.f32 %a, 0f3F800000;\n"
			  "	mov.f32 %b, 0f3F000000;\n"
			  "	mov.f32 %c, 0f3E800000;\n"
			  "again:\n"
			  "	mov.u32 %i, 64;\n"
			  "multiply:\n"
			  "	fma.rn.f32 %a, %a, %b, %c;\n"
			  "	fma.rn.f32 %c, %c, %b, %a;\n"
			  "	sub.u32 %i, %i, 1;\n"
			  "	setp.ne.u32 %more, %i, 0;\n"
			  "	@%more bra multiply;\n"
			  "	mov.u64 %now, %globaltimer;\n"
			  "	setp.lt.u64 %more, %now, %end;\n"
			  "	@%more bra again;\n"
			  "	setp.eq.f32 %never, %a, 0fC2280000;\n" /* so that the products are not left out */
			  "	@%never st.global.f32 [%to], %a;\n"
			  "	ret;\n"
			  "}\n"
			  ".visible .entry gpu_test_spin(.param .u64 flag, .param .u64 nanoseconds)\n"
			  "{\n"
			  "	.reg .u64 %flag, %value, %duration, %end, %now;\n"
			  "	.reg .pred %over;\n"
			  "	ld.param.u64 %flag, [flag];\n"
			  "	ld.param.u64 %duration, [nanoseconds];\n"
			  "	mov.u64 %end, %globaltimer;\n"
			  "	add.u64 %end, %end, %duration;\n"
			  "again:\n"
			  "	ld.volatile.global.u64 %value, [%flag];\n"
			  "	setp.ne.u64 %over, %value, 0;\n"
			  "	@%over bra done;\n"
			  "	mov.u64 %now, %globaltimer;\n"
			  "	setp.lt.u64 %over, %now, %end;\n"
			  "	@%over bra again;\n"
			  "done:\n"
			  "	ret;\n"
			  "}\n";

static void sleep_ns(uint64_t ns)
{
	nanosleep(&(struct timespec){ .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) }, NULL);
}

void gpu_test_stamp__cpu(void **parameters, const struct cpu_launch *launch)
{
	(void)launch;
	__atomic_store_n(*(uint64_t **)parameters[0], device_host_ns(), __ATOMIC_RELAXED);
}

void gpu_test_fill__cpu(void **parameters, const struct cpu_launch *launch)
{
	(void)launch;
	sleep_ns(*(const uint64_t *)parameters[0]);
}

void gpu_test_spin__cpu(void **parameters, const struct cpu_launch *launch)
{
	const uint64_t *flag = *(const uint64_t **)parameters[0];
	const uint64_t end_ns = device_host_ns() + *(const uint64_t *)parameters[1];

	(void)launch;
	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE) && device_host_ns() < end_ns)
		sleep_ns(100000);
}

void device_need(CUresult result, const char *what)
{
	const char *text = NULL;

	if (result == CUDA_SUCCESS)
		return;
	cuGetErrorString(result, &text);
	fprintf(stderr, "%s: %s (CUDA error %d)\n", what, text ? text : "unknown error", (int)result);
	exit(1);
}

void device_open(struct device *device, int number)
{
	CUdevice chosen;
	int count = 0;

	DEVICE_CHECK(cuInit(0));
	DEVICE_CHECK(cuDeviceGetCount(&count));
	DEVICE_CHECK(count ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
	DEVICE_CHECK(cuDeviceGet(&chosen, number % count));
	DEVICE_CHECK(cuDeviceGetAttribute(&device->processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, chosen));
	DEVICE_CHECK(cuDevicePrimaryCtxRetain(&device->context, chosen));
	DEVICE_CHECK(cuCtxSetCurrent(device->context));
	DEVICE_CHECK(cuModuleLoadData(&device->module, ptx));
	DEVICE_CHECK(cuModuleGetFunction(&device->stamp, device->module, "gpu_test_stamp"));
	DEVICE_CHECK(cuModuleGetFunction(&device->fill, device->module, "gpu_test_fill"));
	DEVICE_CHECK(cuModuleGetFunction(&device->spin, device->module, "gpu_test_spin"));
}

void device_stamp(const struct device *device, CUstream stream, CUdeviceptr to)
{
	void *parameters[] = { &to };

	DEVICE_CHECK(cuLaunchKernel(device->stamp, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

void device_fill(const struct device *device, CUstream stream, unsigned int waves, unsigned int block_us)
{
	unsigned int blocks = (unsigned int)device->processors * FILL_BLOCKS_PER_PROCESSOR * waves;
	uint64_t ns = block_us * 1000ULL;
	CUdeviceptr nowhere = 0;
	void *parameters[] = { &ns, &nowhere };

	DEVICE_CHECK(cuLaunchKernel(device->fill, blocks, 1, 1, FILL_THREADS, 1, 1, 0, stream, parameters, NULL));
}

void device_spin(const struct device *device, CUstream stream, CUdeviceptr flag)
{
	uint64_t ns = DEVICE_SPIN_S * 1000000000ULL;
	void *parameters[] = { &flag, &ns };

	DEVICE_CHECK(cuLaunchKernel(device->spin, DEVICE_SPIN_BLOCKS, 1, 1, DEVICE_SPIN_THREADS, 1, 1, 0, stream,
				    parameters, NULL));
}

CUstream device_stream(void)
{
	CUstream stream = NULL;

	DEVICE_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

CUdeviceptr device_memory(size_t size)
{
	CUdeviceptr memory = 0;

	DEVICE_CHECK(cuMemAlloc(&memory, size));
	DEVICE_CHECK(cuMemsetD8(memory, 0, size));
	DEVICE_CHECK(cuCtxSynchronize()); /* our streams do not wait for the legacy stream */
	return memory;
}

volatile uint64_t *device_words(size_t count, CUdeviceptr *address)
{
	void *words = NULL;

	DEVICE_CHECK(cuMemHostAlloc(&words, count * 8, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
	memset(words, 0, count * 8);
	DEVICE_CHECK(cuMemHostGetDevicePointer(address, words, 0));
	return words;
}

void device_pause_us(uint64_t us)
{
	sleep_ns(us * 1000);
}

uint64_t device_host_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

double device_median(double *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare);
	return (values[(count - 1) / 2] + values[count / 2]) / 2;
}
