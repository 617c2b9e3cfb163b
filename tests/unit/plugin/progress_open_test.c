/* SPDX-License-Identifier: MIT */
/* How GPU progress is opened, call by call, against a driver and a clock that are played: the box names the call that
 * has not returned while it lasts, captures are left as they were, and a write is measured. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "plugin/gpu/progress.h"
#include "plugin/guest/clock.h"

enum { PAGE_ADDRESS = 0x200000, RESERVED_WORD = offsetof(struct rw_gpu_progress, reserved) };

/* The driver as it shall be in one test, and what it was asked. */
static struct {
	int open_error, register_error, pointer_errors, stream_error, mode_error, write_error_at, context_error;
	int device_error, uuid_error, pci_error, attribute_error;
	bool no_writes, only_v1, is_lost;
	uint64_t write_ns; /* what each write takes */
	int mode;	   /* of captures, of this thread */
	int other_error;   /* met by another thread while a stream is made */
	char calls[4096];  /* each with the state of the box while it lasted */
	uint64_t written[128];
	int writes, registers;
	unsigned int flags;
	size_t size;
	void *address;
} played;
static uint64_t now_ns;
static struct rw_gpu_progress page[4];
static char state[sizeof(((struct rw_box_header *)0)->gpu_progress_state)];
static struct progress progress;
static struct progress_counters counters;

uint64_t clock_ns(void)
{
	return now_ns += 10;
}

void clock_open(void) {}

static void note(const char *name)
{
	size_t used = strlen(played.calls);

	snprintf(played.calls + used, sizeof(played.calls) - used, "%s[%s] ", name, state);
}

static int context_current(driver_context *context)
{
	note("current");
	*context = (driver_context)0x10;
	return played.context_error;
}

static int context_device(int *device)
{
	note("device");
	*device = 3;
	return played.device_error;
}

static int device_attribute(int *value, int attribute, int device)
{
	note(attribute == DRIVER_CAN_USE_64_BIT_STREAM_MEM_OPS ? "can" : "can_v1");
	*value = device == 3 && !played.no_writes && played.only_v1 == (attribute != DRIVER_CAN_USE_64_BIT_STREAM_MEM_OPS);
	return played.attribute_error;
}

static int device_uuid(void *uuid, int device)
{
	note("uuid");
	memset(uuid, 0xa0 + device, 16);
	return played.uuid_error;
}

static int device_pci(char *text, int size, int device)
{
	note("pci");
	snprintf(text, (size_t)size, "0000:%d:00.0", device);
	return played.pci_error;
}

static int host_register(void *address, size_t size, unsigned int flags)
{
	note("register");
	played.registers++;
	played.address = address;
	played.size = size;
	played.flags = flags;
	cr_expect(eq(int, played.mode, played.mode_error ? 0 : DRIVER_CAPTURE_MODE_RELAXED));
	return played.register_error;
}

static int host_device_pointer(uint64_t *pointer, void *address, unsigned int flags)
{
	note("pointer");
	cr_expect(eq(ptr, address, page));
	cr_expect(eq(uint, flags, 0));
	*pointer = PAGE_ADDRESS;
	return played.pointer_errors-- > 0 ? 201 : 0;
}

static int capture_mode(int *mode)
{
	int before = played.mode;

	note("mode");
	if (played.mode_error)
		return played.mode_error;
	played.mode = *mode;
	*mode = before;
	return 0;
}

static int stream_create(driver_stream *stream, unsigned int flags)
{
	note("create");
	cr_expect(eq(uint, flags, DRIVER_STREAM_NON_BLOCKING));
	cr_expect(eq(int, played.mode, played.mode_error ? 0 : DRIVER_CAPTURE_MODE_RELAXED));
	*stream = (driver_stream)0x77;
	if (played.other_error)
		progress_give_up(&progress, "cuStreamWriteValue64", played.other_error);
	return played.stream_error;
}

static int stream_destroy(driver_stream stream)
{
	note("destroy");
	cr_expect(eq(ptr, stream, (driver_stream)0x77));
	return 0;
}

static int stream_write(driver_stream stream, uint64_t address, uint64_t value, unsigned int flags)
{
	if (!played.writes)
		note("write");
	cr_expect(eq(ptr, stream, (driver_stream)0x77));
	cr_expect(eq(u64, address, PAGE_ADDRESS + RESERVED_WORD));
	cr_expect(eq(uint, flags, 0));
	played.written[played.writes++ % 128] = value;
	now_ns += played.write_ns;
	if (played.write_error_at && played.writes >= played.write_error_at)
		return 700;
	if (!played.is_lost)
		page[0].reserved[0] = value;
	return 0;
}

static int stream_write_v1(driver_stream stream, uint64_t address, uint64_t value, unsigned int flags)
{
	return stream_write(stream, address, value, flags);
}

int driver_open(struct driver *driver)
{
	*driver = (struct driver){ 0 };
	if (played.open_error)
		return played.open_error;
	*driver = (struct driver){
		.context_current = context_current, .context_device = context_device, .device_attribute = device_attribute,
		.device_uuid = device_uuid, .device_pci = device_pci, .host_register = host_register,
		.host_device_pointer = host_device_pointer, .capture_mode = capture_mode, .stream_write = stream_write,
		.stream_write_v1 = stream_write_v1,
		.scan = { .stream_create = stream_create, .stream_destroy = stream_destroy },
	};
	return 0;
}

static void open_page(const char *why_not)
{
	size_t before = strlen(played.calls);

	progress_open(&progress, page, sizeof(page), why_not, state);
	cr_expect(eq(sz, strlen(played.calls), before), "the driver is loaded, not called");
	progress_start(&progress);
}

Test(progress_open, each_call_is_named_while_it_lasts)
{
	played.write_ns = 500;
	open_page(NULL);
	cr_expect(eq(str, played.calls,
		     "mode[cuThreadExchangeStreamCaptureMode has not returned] register[cuMemHostRegister has not returned] "
		     "mode[cuMemHostRegister has not returned] device[cuCtxGetDevice has not returned] "
		     "can[cuDeviceGetAttribute has not returned] current[cuCtxGetCurrent has not returned] "
		     "pointer[cuMemHostGetDevicePointer has not returned] mode[cuThreadExchangeStreamCaptureMode has not returned] "
		     "create[cuStreamCreate has not returned] write[cuStreamWriteValue64 has not returned] "
		     "destroy[cuStreamDestroy has not returned] mode[cuStreamDestroy has not returned] "));
	cr_expect(eq(str, state, "watermark"));
	cr_expect(progress.on);
	cr_expect(progress.has_driver);
	cr_expect(eq(int, played.mode, 0), "as it was");
}

Test(progress_open, the_whole_page_is_registered_for_all_contexts_once)
{
	open_page(NULL);
	cr_expect(eq(ptr, played.address, page));
	cr_expect(eq(sz, played.size, sizeof(page)));
	cr_expect(eq(uint, played.flags, DRIVER_HOST_REGISTER_PORTABLE | DRIVER_HOST_REGISTER_DEVICE_MAP));
	cr_expect(eq(int, played.registers, 1));
	cr_expect(eq(sz, progress.size, sizeof(page)));
}

Test(progress_open, a_write_is_the_mean_of_sixteen_in_the_best_of_four_rounds)
{
	played.write_ns = 500;
	open_page(NULL);
	/* 16 writes, and one more look at the clock of 10 ns behind them. */
	cr_expect(eq(u32, progress.write_ns, (16 * 500 + 10) / 16));
	cr_expect(eq(int, played.writes, 4 * 16 + 1));
	for (int i = 0; i < 64; i++)
		cr_expect(eq(u64, played.written[i], (uint64_t)i + 1), "each round has numbers of its own");
	cr_expect(eq(u64, played.written[64], 0), "as if nothing had been");
	cr_expect(eq(u64, progress.writes, 0), "they are not the program's");
	cr_expect(eq(u64, page[0].gpu_started, 0));
}

Test(progress_open, what_cannot_be_measured_is_taken_to_be_a_microsecond)
{
	struct {
		int stream_error, write_error_at;
		bool is_lost;
	} cases[] = { { .stream_error = 2 }, { .write_error_at = 1 }, { .is_lost = true } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&played, 0, sizeof(played));
		memset(page, 0, sizeof(page));
		played.stream_error = cases[i].stream_error;
		played.write_error_at = cases[i].write_error_at;
		played.is_lost = cases[i].is_lost;
		open_page(NULL);
		cr_expect(eq(u32, progress.write_ns, 1000), "case %zu", i);
		cr_expect(eq(str, state, "watermark"), "case %zu", i);
		cr_expect(eq(int, played.mode, 0), "case %zu", i);
	}
}

/* Else a rank that started beside many others would follow few operations for good. */
Test(progress_open, a_slow_write_counts_as_what_one_takes_at_most)
{
	played.write_ns = 2490;
	open_page(NULL);
	cr_expect(eq(u32, progress.write_ns, 2490));
	played.write_ns = 9990;
	open_page(NULL);
	cr_expect(eq(u32, progress.write_ns, 2500));
}

Test(progress_open, a_write_that_never_comes_is_waited_for_a_millisecond_each_round)
{
	played.is_lost = true;
	open_page(NULL);
	cr_expect(now_ns >= 4 * 1000000 && now_ns < 4 * 1010000, "%lu ns", (unsigned long)now_ns);
}

Test(progress_open, without_a_capture_mode_nothing_is_restored)
{
	played.mode_error = 3;
	open_page(NULL);
	cr_expect(progress.on);
	cr_expect(eq(int, played.mode, 0));
	cr_expect(eq(ptr, strstr(played.calls, "] mode[cuMemHostRegister"), NULL));
	cr_expect(eq(ptr, strstr(played.calls, "] mode[cuStreamDestroy"), NULL));
}

Test(progress_open, a_page_that_is_registered_already_will_do)
{
	played.register_error = DRIVER_HOST_ALREADY_REGISTERED;
	open_page(NULL);
	cr_expect(progress.on);
	cr_expect(eq(str, state, "watermark"));
}

Test(progress_open, without_the_page_it_is_off)
{
	played.register_error = 2;
	open_page(NULL);
	cr_expect(not(progress.on));
	cr_expect(progress.has_driver);
	cr_expect(eq(str, state, "off: cuMemHostRegister failed with CUDA error 2"));
	cr_expect(eq(int, played.mode, 0));
	cr_expect(eq(int, played.writes, 0));
}

Test(progress_open, what_stands_in_the_way_is_said)
{
	const struct {
		int error;
		const char *why_not, *state;
		bool has_driver;
	} cases[] = {
		{ 0, "off: RANKWATCH_GPU_PROGRESS=0", "off: RANKWATCH_GPU_PROGRESS=0", true },
		{ -ENOENT, NULL, "none: no libcuda.so.1", false },
		{ -ENOSYS, NULL, "none: CUDA driver too old", false },
		{ -ENOENT, "off: by hand", "off: by hand", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(&played, 0, sizeof(played));
		played.open_error = cases[i].error;
		open_page(cases[i].why_not);
		cr_expect(eq(str, state, (char *)cases[i].state));
		cr_expect(not(progress.on));
		cr_expect(eq(int, progress.has_driver, cases[i].has_driver));
		cr_expect(eq(str, played.calls, ""), "the driver is not asked");
		cr_expect(not(progress_communicator(&progress, &counters)));
	}
}

Test(progress_open, a_device_that_cannot_write_is_not_measured)
{
	played.no_writes = true;
	open_page(NULL);
	cr_expect(eq(str, state, "none: device without 64-bit stream memory operations"));
	cr_expect(eq(int, played.writes, 0));
	cr_expect(eq(ptr, strstr(played.calls, "create"), NULL));
	cr_expect(eq(u32, progress.write_ns, 0));
}

Test(progress_open, an_error_of_another_thread_is_still_there_afterwards)
{
	played.other_error = 719;
	open_page(NULL);
	cr_expect(not(progress.on));
	cr_expect(eq(str, state, "off: a call failed with CUDA error 719"));
}

Test(progress_open, a_communicator_gets_the_addresses_of_its_place)
{
	open_page(NULL);
	cr_assert(progress_communicator(&progress, &counters));
	cr_expect(eq(ptr, counters.context, (driver_context)0x10));
	cr_expect(eq(u64, counters.started, PAGE_ADDRESS));
	cr_expect(eq(u64, counters.done, PAGE_ADDRESS + 8));
	cr_expect(counters.write == stream_write);
	progress_take_place(&counters, 3);
	cr_expect(eq(u64, counters.started, PAGE_ADDRESS + 3 * sizeof(struct rw_gpu_progress)));
	cr_expect(eq(u64, counters.done, PAGE_ADDRESS + 3 * sizeof(struct rw_gpu_progress) + 8));
	cr_expect(eq(str, state, "watermark"));
}

Test(progress_open, an_older_device_gets_the_older_write)
{
	played.only_v1 = true;
	open_page(NULL);
	cr_assert(progress_communicator(&progress, &counters));
	cr_expect(counters.write == stream_write_v1);
	cr_expect(eq(str, state, "watermark"));
}

Test(progress_open, a_device_that_does_not_answer_gets_no_write)
{
	played.device_error = 1;
	open_page(NULL);
	cr_expect(eq(str, state, "none: device without 64-bit stream memory operations"));
	memset(&played, 0, sizeof(played));
	played.attribute_error = 1;
	open_page(NULL);
	cr_expect(eq(str, state, "none: device without 64-bit stream memory operations"));
}

Test(progress_open, a_page_that_a_reset_has_forgotten_is_registered_again)
{
	open_page(NULL);
	memset(&played, 0, sizeof(played));
	played.pointer_errors = 1;
	cr_assert(progress_communicator(&progress, &counters));
	cr_expect(eq(int, played.registers, 1));
	cr_expect(eq(str, played.calls,
		     "device[cuCtxGetDevice has not returned] can[cuDeviceGetAttribute has not returned] "
		     "current[cuCtxGetCurrent has not returned] "
		     "pointer[cuMemHostGetDevicePointer has not returned] mode[cuThreadExchangeStreamCaptureMode has "
		     "not returned] "
		     "register[cuMemHostRegister has not returned] mode[cuMemHostRegister has not returned] "
		     "pointer[cuMemHostGetDevicePointer has not returned] "));
	cr_expect(eq(u64, counters.started, PAGE_ADDRESS));
	cr_expect(eq(str, state, "watermark"));
}

Test(progress_open, no_address_turns_it_off)
{
	open_page(NULL);
	played.pointer_errors = 2;
	cr_expect(not(progress_communicator(&progress, &counters)));
	cr_expect(counters.write == NULL);
	cr_expect(eq(str, state, "off: cuMemHostGetDevicePointer failed with CUDA error 201"));
	cr_expect(not(progress.on));
}

Test(progress_open, a_page_that_cannot_be_registered_again_turns_it_off)
{
	open_page(NULL);
	played.pointer_errors = 1;
	played.register_error = 33;
	cr_expect(not(progress_communicator(&progress, &counters)));
	cr_expect(eq(str, state, "off: cuMemHostGetDevicePointer failed with CUDA error 33"));
}

Test(progress_open, a_context_that_is_not_told_turns_it_off)
{
	open_page(NULL);
	played.context_error = 4;
	cr_expect(not(progress_communicator(&progress, &counters)));
	cr_expect(eq(str, state, "off: cuMemHostGetDevicePointer failed with CUDA error 4"));
}

Test(progress_open, the_device_is_described)
{
	struct rw_device device;

	open_page(NULL);
	memset(&played, 0, sizeof(played));
	cr_assert(progress_device(&progress, &device));
	cr_expect(eq(int, device.ordinal, 3));
	cr_expect(eq(u32, device.used, 1));
	cr_expect(eq(str, device.pci, "0000:3:00.0"));
	cr_expect(eq(u8, device.uuid[0], 0xa3));
	cr_expect(eq(u8, device.uuid[15], 0xa3));
	cr_expect(eq(str, played.calls,
		     "device[cuCtxGetDevice has not returned] uuid[cuDeviceGetUuid has not returned] "
		     "pci[cuDeviceGetPCIBusId has not returned] "));
	cr_expect(eq(str, state, "watermark"));
}

Test(progress_open, a_device_that_the_driver_does_not_describe_is_not_used)
{
	struct rw_device device;

	open_page(NULL);
	int *errors[] = { &played.device_error, &played.uuid_error, &played.pci_error };

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		memset(&device, 0xff, sizeof(device));
		*errors[i] = 1;
		cr_expect(not(progress_device(&progress, &device)));
		cr_expect(eq(u32, device.used, 0));
		cr_expect(eq(u64, device.reserved[2], 0));
		cr_expect(eq(str, state, "watermark"));
		*errors[i] = 0;
	}
	played.open_error = -ENOENT;
	open_page(NULL);
	played.calls[0] = '\0';
	cr_expect(not(progress_device(&progress, &device)));
	cr_expect(eq(str, played.calls, ""));
}
