/* SPDX-License-Identifier: MIT */
/* The stand-in driver: order of streams and events, memory, launches, entry points. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "kernels.h"
#include "ranks.h"

#define QUEUE_DEPTH     1024

TestSuite(driver, .init = open_kernels, .timeout = 60);

static CUstream new_stream(unsigned int flags)
{
	CUstream stream;

	EXPECT_CU(cuStreamCreate(&stream, flags));
	return stream;
}

/* The stream stands still until the semaphore is posted. */
static void launch_hold(CUstream stream, sem_t *until)
{
	void *params[] = { &until };

	sem_init(until, 0, 0);
	EXPECT_CU(cuLaunchKernel(hold, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

static void launch_note(CUstream stream, int value)
{
	void *params[] = { &value };

	EXPECT_CU(cuLaunchKernel(note, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

Test(driver, a_stream_runs_in_order_and_behind_the_caller)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	sem_t until;

	launch_hold(stream, &until);
	for (int i = 0; i < 100; i++)
		launch_note(stream, i);
	cr_expect_eq(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	cr_expect_eq(atomic_load(&noted_count), 0);
	sem_post(&until);
	EXPECT_CU(cuStreamSynchronize(stream));
	EXPECT_CU(cuStreamQuery(stream));
	for (int i = 0; i < 100; i++)
		cr_expect_eq(noted[i], i);
}

Test(driver, a_stream_waits_for_an_event_of_another)
{
	CUstream first = new_stream(CU_STREAM_NON_BLOCKING), second = new_stream(CU_STREAM_NON_BLOCKING);
	CUevent event;
	sem_t until;

	EXPECT_CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
	EXPECT_CU(cuStreamWaitEvent(second, event, 0)); /* never recorded: no wait */
	launch_hold(first, &until);
	launch_note(first, 1);
	EXPECT_CU(cuEventRecord(event, first));
	EXPECT_CU(cuStreamWaitEvent(second, event, 0));
	launch_note(second, 2);
	cr_expect_eq(cuEventQuery(event), CUDA_ERROR_NOT_READY);
	cr_expect_eq(cuStreamQuery(second), CUDA_ERROR_NOT_READY);
	sem_post(&until);
	EXPECT_CU(cuStreamSynchronize(second));
	cr_expect_eq(noted[0], 1);
	cr_expect_eq(noted[1], 2);
}

/* A wait means the record before it, also when the event is recorded again elsewhere and that is reached first. */
Test(driver, a_wait_keeps_the_record_it_was_made_for)
{
	CUstream slow = new_stream(1), fast = new_stream(1), waiting = new_stream(1);
	CUevent event;
	sem_t until;

	EXPECT_CU(cuEventCreate(&event, 0));
	launch_hold(slow, &until);
	EXPECT_CU(cuEventRecord(event, slow));
	EXPECT_CU(cuStreamWaitEvent(waiting, event, 0));
	EXPECT_CU(cuEventRecord(event, fast));
	EXPECT_CU(cuEventSynchronize(event));
	cr_expect_eq(cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
	EXPECT_CU(cuEventDestroy(event));
	sem_post(&until);
	EXPECT_CU(cuStreamSynchronize(waiting));
}

Test(driver, the_default_stream_waits_for_blocking_streams_and_they_for_it)
{
	CUstream blocking = new_stream(CU_STREAM_DEFAULT), other = new_stream(CU_STREAM_NON_BLOCKING);
	sem_t until;

	launch_hold(blocking, &until);
	launch_note(NULL, 1);
	launch_note(blocking, 2);
	launch_note(other, 3);
	EXPECT_CU(cuStreamSynchronize(other));
	cr_expect_eq(atomic_load(&noted_count), 1);
	sem_post(&until);
	EXPECT_CU(cuStreamSynchronize(blocking));
	cr_expect_eq(noted[0], 3);
	cr_expect_eq(noted[1], 1);
	cr_expect_eq(noted[2], 2);
}

Test(driver, elapsed_time_is_that_between_two_records)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUevent start, end;
	float milliseconds = -1;
	sem_t until;

	EXPECT_CU(cuEventCreate(&start, 0));
	EXPECT_CU(cuEventCreate(&end, 0));
	EXPECT_CU(cuEventRecord(start, stream));
	launch_hold(stream, &until);
	EXPECT_CU(cuEventRecord(end, stream));
	EXPECT_CU(cuEventSynchronize(start));
	cr_expect_eq(cuEventElapsedTime(&milliseconds, start, end), CUDA_ERROR_NOT_READY);
	usleep(20000);
	sem_post(&until);
	EXPECT_CU(cuEventSynchronize(end));
	EXPECT_CU(cuEventElapsedTime(&milliseconds, start, end));
	cr_expect_geq(milliseconds, 20.0f);
}

static void *fill_queue(void *argument)
{
	CUstream stream = argument;

	cuCtxSetCurrent(context);
	for (int i = 0; i < QUEUE_DEPTH + 10; i++)
		launch_note(stream, i);
	return NULL;
}

Test(driver, a_full_launch_queue_blocks_the_caller_until_there_is_room)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	struct timespec moment;
	pthread_t thread;
	sem_t until;

	launch_hold(stream, &until);
	pthread_create(&thread, NULL, fill_queue, stream);
	clock_gettime(CLOCK_REALTIME, &moment);
	moment.tv_sec++;
	cr_expect_neq(pthread_timedjoin_np(thread, NULL, &moment), 0);
	sem_post(&until);
	pthread_join(thread, NULL);
	EXPECT_CU(cuStreamSynchronize(stream));
	cr_expect_eq(atomic_load(&noted_count), QUEUE_DEPTH + 10);
}

Test(driver, a_destroyed_stream_still_runs_what_it_was_given)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUevent event;
	sem_t until;

	EXPECT_CU(cuEventCreate(&event, 0));
	launch_hold(stream, &until);
	launch_note(stream, 7);
	EXPECT_CU(cuEventRecord(event, stream));
	EXPECT_CU(cuStreamDestroy(stream));
	sem_post(&until);
	EXPECT_CU(cuEventSynchronize(event));
	cr_expect_eq(noted[0], 7);
	EXPECT_CU(cuEventDestroy(event));
}

static void *post_soon(void *semaphore)
{
	usleep(20000);
	sem_post(semaphore);
	return NULL;
}

/* cuMemFree and a reset of the device wait likewise: the stream's kernels use what they free. */
Test(driver, the_context_waits_for_what_a_destroyed_stream_was_given)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	pthread_t thread;
	sem_t until;

	launch_hold(stream, &until);
	launch_note(stream, 7);
	EXPECT_CU(cuStreamDestroy(stream));
	pthread_create(&thread, NULL, post_soon, &until);
	EXPECT_CU(cuCtxSynchronize());
	cr_expect_eq(atomic_load(&noted_count), 1);
	pthread_join(thread, NULL);
}

/* As on an H100: current as before, and of no use until it is retained again. Then it is empty. */
Test(driver, a_reset_destroys_the_context_until_the_next_retain)
{
	CUcontext current;
	CUdeviceptr memory;
	int unused = 0;
	void *params[] = { &unused };

	EXPECT_CU(cuMemAlloc(&memory, 64));
	EXPECT_CU(cuDevicePrimaryCtxReset(0));
	EXPECT_CU(cuCtxGetCurrent(&current));
	cr_expect_eq(current, context);
	cr_expect_eq(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	cr_expect_eq(cuMemAlloc(&memory, 64), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	EXPECT_CU(cuDevicePrimaryCtxRetain(&current, 0));
	cr_expect_eq(current, context);
	EXPECT_CU(cuCtxSynchronize());
	cr_expect_eq(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
	cr_expect_eq(cuLaunchKernel(note, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL), CUDA_ERROR_INVALID_HANDLE);
	EXPECT_CU(cuMemAlloc(&memory, 64));
	EXPECT_CU(cuMemFree(memory));
}

Test(driver, a_registered_shared_page_takes_stream_writes)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	int fd = memfd_create("page", 0);
	CUdeviceptr device;

	cr_assert_eq(ftruncate(fd, 4096), 0);
	uint64_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_neq(page, MAP_FAILED);
	cr_expect_eq(cuStreamWriteValue64(stream, (CUdeviceptr)(uintptr_t)page, 1, 0), CUDA_ERROR_INVALID_VALUE);
	EXPECT_CU(cuMemHostRegister(page, 4096, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE));
	cr_expect_eq(cuMemHostRegister(page, 4096, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	EXPECT_CU(cuMemHostGetDevicePointer(&device, page, 0));
	EXPECT_CU(cuStreamWriteValue64(stream, device, 0x1122334455667788, 0));
	EXPECT_CU(cuStreamWriteValue32(stream, device + 8, 9, 0));
	EXPECT_CU(cuStreamSynchronize(stream));
	uint64_t seen[2];
	cr_assert_eq(pread(fd, seen, sizeof(seen), 0), sizeof(seen));
	cr_expect_eq(seen[0], 0x1122334455667788);
	cr_expect_eq(seen[1], 9);
	EXPECT_CU(cuMemHostUnregister(page));
	cr_expect_eq(cuMemHostUnregister(page), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

Test(driver, a_stream_waits_for_a_value_of_another_stream_and_of_the_host)
{
	CUstream waiting = new_stream(1), writing = new_stream(1);
	CUstreamBatchMemOpParams batch[2] = { 0 };
	CUdeviceptr words;

	EXPECT_CU(cuMemAlloc(&words, 16));
	EXPECT_CU(cuStreamWaitValue64(waiting, words, 5, CU_STREAM_WAIT_VALUE_GEQ));
	EXPECT_CU(cuStreamWaitValue32(waiting, words + 8, 1, CU_STREAM_WAIT_VALUE_EQ));
	cr_expect_eq(cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
	batch[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
	batch[0].writeValue.address = words;
	batch[0].writeValue.value64 = 6;
	batch[1].operation = CU_STREAM_MEM_OP_BARRIER;
	EXPECT_CU(cuStreamBatchMemOp(writing, 2, batch, 0));
	EXPECT_CU(cuStreamSynchronize(writing));
	cr_expect_eq(cuStreamQuery(waiting), CUDA_ERROR_NOT_READY);
	__atomic_store_n((uint32_t *)(uintptr_t)(words + 8), 1, __ATOMIC_RELEASE);
	EXPECT_CU(cuStreamSynchronize(waiting));
}

Test(driver, waiting_takes_no_processor_time)
{
	CUstream held = new_stream(1), behind = new_stream(1), value = new_stream(1);
	CUdeviceptr word;
	CUevent event;
	sem_t until;

	EXPECT_CU(cuMemAlloc(&word, 8));
	EXPECT_CU(cuEventCreate(&event, 0));
	launch_hold(held, &until);
	EXPECT_CU(cuEventRecord(event, held));
	EXPECT_CU(cuStreamWaitEvent(behind, event, 0));
	EXPECT_CU(cuStreamWaitValue64(value, word, 1, 0));
	cr_expect(rests());
	sem_post(&until);
	EXPECT_CU(cuStreamWriteValue64(held, word, 1, 0));
	EXPECT_CU(cuCtxSynchronize());
}

Test(driver, a_copy_from_pageable_memory_takes_the_source_as_it_was_at_the_call)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	char source[64] = "before", back[64] = "";
	CUdeviceptr device;
	sem_t until;

	EXPECT_CU(cuMemAlloc(&device, sizeof(source)));
	launch_hold(stream, &until);
	EXPECT_CU(cuMemcpyHtoDAsync(device, source, sizeof(source), stream));
	strcpy(source, "after");
	sem_post(&until);
	EXPECT_CU(cuMemcpyDtoHAsync(back, device, sizeof(back), stream));
	cr_expect_str_eq(back, "before");
	cr_expect_eq(cuMemcpyHtoD(device, source, 2 * sizeof(source)), CUDA_ERROR_INVALID_VALUE);
}

Test(driver, memory_is_filled_and_its_attributes_are_known)
{
	unsigned int type = 0;
	uint32_t words[4];
	CUdeviceptr device, start = 0;
	size_t size = 0;
	int local;

	EXPECT_CU(cuMemAlloc(&device, 1000));
	EXPECT_CU(cuMemsetD32(device, 0xdeadbeef, 4));
	EXPECT_CU(cuMemsetD8(device + 4, 1, 4));
	EXPECT_CU(cuMemcpyDtoH(words, device, sizeof(words)));
	cr_expect_eq(words[0], 0xdeadbeef);
	cr_expect_eq(words[1], 0x01010101);
	EXPECT_CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, device + 10));
	cr_expect_eq(type, CU_MEMORYTYPE_DEVICE);
	EXPECT_CU(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, device + 10));
	cr_expect_eq(start, device);
	EXPECT_CU(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, device + 10));
	cr_expect_eq(size, 1000);
	cr_expect_eq(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&local),
		     CUDA_ERROR_INVALID_VALUE);
	EXPECT_CU(cuMemFree(device));
	cr_expect_eq(cuMemFree(device), CUDA_ERROR_INVALID_VALUE);
}

/* What a program exports beside its PTX. */
void add_to__cpu(void **params, const struct cpu_launch *launch);

void add_to__cpu(void **params, const struct cpu_launch *launch)
{
	int *sum = *(int **)params[0];

	*sum += *(int *)params[1] * (int)(launch->grid[0] * launch->block[0]);
}

static const char ptx[] = ".version 7.4\n.target sm_80\n.address_size 64\n"
			  ".visible .entry add_to(\n\t.param .u64 add_to_param_0,\n\t.param .u32 add_to_param_1\n)\n"
			  "{\n\tret;\n}\n";

Test(driver, an_entry_of_ptx_runs_its_cpu_twin)
{
	int amount = 3;
	CUmodule module;
	CUfunction function;
	CUdeviceptr sum;

	EXPECT_CU(cuModuleLoadData(&module, ptx));
	EXPECT_CU(cuModuleGetFunction(&function, module, "add_to"));
	cr_expect_eq(cuModuleGetFunction(&function, module, "add"), CUDA_ERROR_NOT_FOUND);
	EXPECT_CU(cuModuleGetFunction(&function, module, "add_to"));
	EXPECT_CU(cuMemAlloc(&sum, sizeof(int)));
	void *params[] = { &sum, &amount };
	EXPECT_CU(cuLaunchKernel(function, 2, 1, 1, 4, 1, 1, 0, NULL, params, NULL));
	amount = 1000; /* the launch has its own copy */
	EXPECT_CU(cuCtxSynchronize());
	cr_expect_eq(*(int *)(uintptr_t)sum, 3 * 8);
	EXPECT_CU(cuModuleUnload(module));
	cr_expect_eq(cuModuleLoadData(&module, "\177ELF"), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

/* As on an H100. NCCL's kernels are CPU functions here, and there from the start. */
Test(driver, ptx_is_loaded_once_the_context_is_idle_and_cpu_functions_at_once)
{
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUmodule module;
	pthread_t thread;
	sem_t until;

	launch_hold(stream, &until);
	EXPECT_CU(cuModuleLoadData(&module, &image));
	EXPECT_CU(cuModuleUnload(module));
	cr_expect_eq(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	pthread_create(&thread, NULL, post_soon, &until);
	EXPECT_CU(cuModuleLoadData(&module, ptx));
	EXPECT_CU(cuStreamQuery(stream));
	EXPECT_CU(cuModuleUnload(module));
	pthread_join(thread, NULL);
}

Test(driver, entry_points_are_found_by_name_and_version)
{
	CUdriverProcAddressQueryResult status;
	void *function = NULL;

	EXPECT_CU(cuGetProcAddress("cuStreamWriteValue64", &function, 13000, 0, &status));
	cr_expect_eq(function, (void *)cuStreamWriteValue64);
	cr_expect_eq(status, CU_GET_PROC_ADDRESS_SUCCESS);
	EXPECT_CU(cuGetProcAddress("cuStreamWriteValue64", &function, 9000, 0, &status));
	cr_expect_neq(function, (void *)cuStreamWriteValue64);
	EXPECT_CU(cuGetProcAddress("cuLaunchKernelEx", &function, 9000, 0, &status));
	cr_expect_eq(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
	cr_expect_null(function);
	cr_expect_eq(cuGetProcAddress("cuNothing", &function, 13000, 0, NULL), CUDA_ERROR_NOT_FOUND);
}

Test(driver, devices_have_the_same_names_on_every_run)
{
	char pci[16];
	CUuuid uuid, other;

	EXPECT_CU(cuDeviceGetPCIBusId(pci, sizeof(pci), 3));
	cr_expect_str_eq(pci, "0000:13:00.0");
	EXPECT_CU(cuDeviceGetUuid(&uuid, 3));
	EXPECT_CU(cuDeviceGetUuid(&other, 4));
	cr_expect_arr_eq(uuid.bytes, "simcuda", 7);
	cr_expect_eq(uuid.bytes[15], 3);
	cr_expect_arr_neq(uuid.bytes, other.bytes, 16);
	cr_expect_eq(cuDeviceGetPCIBusId(pci, sizeof(pci), 8), CUDA_ERROR_INVALID_DEVICE);
}

Test(driver, a_child_forked_after_initialisation_is_refused)
{
	int status;
	pid_t child = fork();

	cr_assert_geq(child, 0);
	if (child == 0)
		_Exit(cuInit(0) == CUDA_ERROR_NOT_INITIALIZED && cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED ? 0
														  : 1);
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect_eq(status, 0);
}
