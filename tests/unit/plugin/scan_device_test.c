/* SPDX-License-Identifier: MIT */
/* What scanning makes in a context, over a driver that does what the test says and a clock that stands still but for
 * it. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/scan/scan_batch.h"
#include "sim/cuda/kernels/scan_twin.h"

enum { CALLS = 64, NAME = 40, OWN_ERROR = 77, LEAST = 4 /* of the launches, the second that is measured */ };

static uint64_t now_ns, launch_takes_ns;
static char entered[CALLS][NAME];
static int entered_count, launches, streams, copies, processors = 132;
static unsigned int largest_grid;
static bool relaxed;
static const char *failing; /* call; NULL: none */
static unsigned char *memory;
static size_t memory_size, copied;
static struct scan_device device;

uint64_t __wrap_clock_ns(void);
uint64_t __wrap_clock_ns(void)
{
	return now_ns;
}

static int answer(const char *name)
{
	return failing && strcmp(failing, name) == 0 ? OWN_ERROR : 0;
}

static int context_current(driver_context *context)
{
	*context = &device;
	return answer("context");
}

static int context_device(int *ordinal)
{
	*ordinal = 3;
	return answer("device");
}

static int device_attribute(int *value, int attribute, int ordinal)
{
	cr_assert(attribute == DRIVER_MULTIPROCESSORS && ordinal == 3);
	*value = processors;
	return answer("attribute");
}

static int capture_mode(int *mode)
{
	int before = relaxed ? DRIVER_CAPTURE_MODE_RELAXED : 0;

	relaxed = *mode == DRIVER_CAPTURE_MODE_RELAXED;
	*mode = before;
	return 0;
}

static int host_register(void *address, size_t size, unsigned int flags)
{
	(void)address, (void)size, (void)flags;
	return answer("register");
}

static int host_device_pointer(uint64_t *pointer, void *address, unsigned int flags)
{
	(void)flags;
	*pointer = (uintptr_t)address;
	return answer("pointer");
}

static int module_load(driver_module *module, const void *image)
{
	*module = (void *)image;
	return answer("module");
}

static int module_function(driver_function *function, driver_module module, const char *name)
{
	(void)name;
	*function = module;
	return answer("function");
}

static int memory_allocate(uint64_t *pointer, size_t size)
{
	free(memory);
	memory = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
	memory_size = size;
	*pointer = (uintptr_t)memory;
	return answer("allocate");
}

static int memory_set(uint64_t pointer, unsigned char value, size_t size, driver_stream stream)
{
	(void)stream;
	cr_assert(pointer >= (uintptr_t)memory && pointer + size <= (uintptr_t)memory + memory_size);
	memset((void *)(uintptr_t)pointer, value, size);
	return answer(copies ? "clear" : "set");
}

static int memory_copy(uint64_t pointer, const void *from, size_t size, driver_stream stream)
{
	(void)stream;
	cr_assert(pointer >= (uintptr_t)memory && pointer + size <= (uintptr_t)memory + memory_size);
	memcpy((void *)(uintptr_t)pointer, from, size);
	copied = size;
	copies++;
	return answer("copy");
}

static int stream_create(driver_stream *stream, unsigned int flags)
{
	cr_assert_eq(flags, DRIVER_STREAM_NON_BLOCKING);
	*stream = answer("create") ? NULL : &streams;
	streams += *stream != NULL;
	return answer("create");
}

static int stream_destroy(driver_stream stream)
{
	(void)stream;
	streams--;
	return 0;
}

static int stream_synchronize(driver_stream stream)
{
	(void)stream;
	return answer("synchronize");
}

static int launch(driver_function function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		  unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
		  driver_stream stream, void **arguments, void **extra)
{
	(void)function, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z, (void)shared_bytes;
	(void)stream, (void)extra;
	struct scan_launch *scan = arguments[0];

	launches++;
	largest_grid = grid_x > largest_grid ? grid_x : largest_grid;
	rankwatch_scan__cpu(arguments, &(struct cpu_launch){ .grid = { grid_x, 1, 1 } });
	for (uint32_t i = 0; i < scan->segment_count; i++) /* the twin stamps by the machine's clock */
		scan->slots[scan->segments[i].slot].gpu_start_ns = scan->slots[scan->segments[i].slot].gpu_end_ns = 0;
	now_ns += launch_takes_ns + (launches == LEAST ? 0 : 1000);
	return answer("launch");
}

static const struct driver driver = {
	.context_current = context_current,
	.context_device = context_device,
	.device_attribute = device_attribute,
	.host_register = host_register,
	.host_device_pointer = host_device_pointer,
	.capture_mode = capture_mode,
	.scan = {
		.module_load = module_load,
		.module_function = module_function,
		.memory_allocate = memory_allocate,
		.memory_set = memory_set,
		.memory_copy = memory_copy,
		.stream_create = stream_create,
		.stream_destroy = stream_destroy,
		.stream_synchronize = stream_synchronize,
		.launch = launch,
	},
};

static void note(void *argument, const char *call)
{
	(void)argument;
	cr_assert_lt(entered_count, CALLS);
	snprintf(entered[entered_count++], NAME, "%s", call);
}

static const char *open_device(int *error)
{
	static const struct scan_image images[] = { { "an image", "image", false }, { NULL, NULL, false } };

	return scan_device_open(&device, &driver, images, false, note, NULL, error);
}

static void expect_zeros(const unsigned char *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		cr_assert_eq(at[i], 0, "byte %zu of %zu", i, size);
}

Test(scan_device, what_the_trials_used_is_zero_again)
{
	int error;

	cr_assert_null(open_device(&error));
	cr_expect_eq(error, 0);
	cr_expect(atomic_load(&device.usable) && !streams && !relaxed);
	cr_expect_geq(copied, SCAN_TRIAL_LONG_TILES * SCAN_TILE_BYTES, "the long trial lay in memory of the device");
	cr_expect_eq(launches, 2 + 3, "two trials, three measured");
	expect_zeros(memory, memory_size);
	/* Of the first batch, which the trials had, the results stay. */
	expect_zeros((const unsigned char *)(device.results + SCAN_SEGMENTS), SCAN_TRIAL_LONG_BYTES);
	for (uint32_t word = 0; word < SCAN_BATCH_WORDS; word++)
		cr_expect_eq(atomic_load(&device.free[word]), UINT64_MAX);
}

Test(scan_device, a_launch_costs_what_the_least_of_three_took)
{
	int error;

	launch_takes_ns = 12345;
	cr_assert_null(open_device(&error));
	cr_expect_eq(device.launch_ns, 12345);
}

/* As on a machine that is busy with other things: what they took is not charged to every launch. */
Test(scan_device, what_no_launch_takes_is_not_believed)
{
	int error;

	launch_takes_ns = 500000;
	cr_assert_null(open_device(&error));
	cr_expect_eq(device.launch_ns, 8000);
}

/* Blocks of 64 KiB tiles as the scanner launches them: of a buffer that is larger than any grid. */
static unsigned int grid_of_a_large_scan(int of_processors)
{
	struct scan_batch batch = { .device = &device, .bytes = UINT64_C(1) << 30 };
	int error;

	free(device.batches);
	device = (struct scan_device){ 0 };
	largest_grid = 0;
	entered_count = copies = 0;
	processors = of_processors;
	cr_assert_null(open_device(&error));
	cr_expect_leq(largest_grid, device.blocks, "the trials, too");
	return scan_batch_blocks(&batch);
}

/* Two blocks fit one processor, so 8 blocks are a quarter of 16 processors. */
Test(scan_device, a_scan_leaves_three_quarters_of_a_small_device_to_the_job)
{
	cr_expect_eq(grid_of_a_large_scan(16), 8);
	cr_expect_eq(grid_of_a_large_scan(1), 1);
	cr_expect_eq(grid_of_a_large_scan(0), 1);
	cr_expect_eq(grid_of_a_large_scan(60), 30);
	cr_expect_eq(grid_of_a_large_scan(132), SCAN_BLOCKS);
}

Test(scan_device, each_call_is_named_before_it_is_made)
{
	static const char *const calls[] = {
		"cuThreadExchangeStreamCaptureMode", "cuCtxGetCurrent", "cuCtxGetDevice", "cuDeviceGetAttribute",
		"cuModuleLoadData", "cuModuleGetFunction", "cuFuncLoad", "mmap", "cuMemHostRegister",
		"cuMemHostGetDevicePointer", "cuStreamCreate", "cuMemAlloc", "cuMemsetD8Async", "aligned_alloc",
		"aligned_alloc", "cuLaunchKernel", "cuStreamSynchronize", "cuMemcpyHtoDAsync", "cuLaunchKernel",
		"cuStreamSynchronize", "cuMemsetD8Async", "cuStreamSynchronize", "cuLaunchKernel",
		"cuStreamDestroy", "cuThreadExchangeStreamCaptureMode",
	};
	int error;

	cr_assert_null(open_device(&error));
	cr_assert_eq((size_t)entered_count, sizeof(calls) / sizeof(calls[0]));
	for (int i = 0; i < entered_count; i++)
		cr_expect_str_eq(entered[i], calls[i], "%d: %s", i, entered[i]);
}

Test(scan_device, whatever_fails_is_named_and_leaves_neither_a_stream_nor_another_capture_mode)
{
	static const struct {
		const char *call, *named;
	} failures[] = {
		{ "device", "cuCtxGetDevice" },       { "attribute", "cuCtxGetDevice" },
		{ "context", "cuCtxGetCurrent" },     { "module", "cuModuleLoadData" },   { "function", "cuModuleLoadData" },
		{ "register", "cuMemHostRegister" },  { "pointer", "cuMemHostRegister" }, { "create", "cuStreamCreate" },
		{ "allocate", "cuMemAlloc" },         { "set", "cuMemAlloc" },            { "launch", "cuLaunchKernel" },
		{ "synchronize", "cuLaunchKernel" },  { "copy", "cuMemcpyHtoDAsync" },    { "clear", "cuMemsetD8Async" },
	};

	for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
		int error = 0;

		free(device.batches);
		device = (struct scan_device){ 0 };
		failing = failures[i].call;
		copies = entered_count = 0;
		const char *named = open_device(&error);
		cr_assert_not_null(named, "%s", failures[i].call);
		cr_expect_str_eq(named, failures[i].named, "%s: %s", failures[i].call, named);
		cr_expect_eq(error, OWN_ERROR, "%s: %d", failures[i].call, error);
		cr_expect(!atomic_load(&device.usable) && !streams && !relaxed, "%s", failures[i].call);
	}
}
