/* SPDX-License-Identifier: MIT */
/* When GPU progress is written and when not, against a driver of a few lines. */
#include <criterion/criterion.h>
#include <string.h>

#include "plugin/gpu/progress.h"

static driver_context current = (driver_context)0x10;
static int capturing, capture_error, write_error, writes, device_features[2];
static uint64_t written_address, written_value;

static int context_current(driver_context *context)
{
	*context = current;
	return 0;
}

static int context_device(int *device)
{
	*device = 0;
	return 0;
}

static int device_attribute(int *value, int attribute, int device)
{
	(void)device;
	*value = device_features[attribute == DRIVER_CAN_USE_64_BIT_STREAM_MEM_OPS_V1];
	return 0;
}

static int host_device_pointer(uint64_t *pointer, void *address, unsigned int flags)
{
	(void)address, (void)flags;
	*pointer = 0x100000;
	return 0;
}

static int stream_capturing(driver_stream stream, int *status)
{
	(void)stream;
	*status = capturing;
	return capture_error;
}

static int stream_write(driver_stream stream, uint64_t address, uint64_t value, unsigned int flags)
{
	(void)stream, (void)flags;
	writes++;
	written_address = address;
	written_value = value;
	return write_error;
}

static char state[64];
static struct progress progress = {
	.driver = { .context_current = context_current,
		    .context_device = context_device,
		    .device_attribute = device_attribute,
		    .host_device_pointer = host_device_pointer,
		    .stream_capturing = stream_capturing,
		    .stream_write = stream_write,
		    .stream_write_v1 = stream_write },
	.has_driver = true,
	.on = true,
	.state = state,
};
static struct progress_counters counters;

static void begin(void)
{
	device_features[0] = 1;
	cr_assert(progress_communicator(&progress, &counters));
	progress_take_place(&counters, 2);
}

Test(progress, the_number_goes_before_and_after_the_kernel_to_the_communicators_words)
{
	begin();
	cr_expect(progress_begin(&progress, &counters, 1, 7, true));
	cr_expect_eq(written_address, 0x100000 + 2 * 64);
	cr_expect_eq(written_value, 7);
	progress_end(&progress, &counters, 1, 7);
	cr_expect_eq(written_address, 0x100000 + 2 * 64 + 8);
	cr_expect_eq(written_value, 7);
	cr_expect_eq(progress.writes, 2, "what they cost is told by their number");
}

Test(progress, nothing_is_written_under_capture)
{
	begin();
	capturing = 1;
	cr_expect_not(progress_begin(&progress, &counters, 1, 1, true));
	cr_expect_eq(writes, 0);
}

Test(progress, a_capture_elsewhere_in_the_context_is_no_error)
{
	begin();
	capture_error = DRIVER_CAPTURE_IMPLICIT;
	cr_expect_not(progress_begin(&progress, &counters, 1, 1, true));
	capture_error = 0;
	cr_expect(progress_begin(&progress, &counters, 1, 1, true));
}

Test(progress, a_query_for_captures_that_fails_turns_it_off)
{
	begin();
	capture_error = 999;
	cr_expect_not(progress_begin(&progress, &counters, 1, 1, true));
	cr_expect_str_eq(state, "off: cuStreamIsCapturing failed with CUDA error 999");
	cr_expect_eq(writes, 0);
}

Test(progress, a_stream_that_is_known_not_to_be_captured_is_not_asked)
{
	begin();
	capturing = 1;
	cr_expect(progress_begin(&progress, &counters, 1, 1, false));
}

Test(progress, the_first_error_turns_it_off_for_good_and_is_said_once)
{
	begin();
	write_error = 700;
	cr_expect_not(progress_begin(&progress, &counters, 1, 1, true));
	cr_expect_str_eq(state, "off: cuStreamWriteValue64 failed with CUDA error 700");
	write_error = 0;
	state[0] = '\0';
	cr_expect_not(progress_begin(&progress, &counters, 1, 2, true));
	cr_expect_eq(writes, 1);
	cr_expect_str_eq(state, "");
	cr_expect_not(progress_communicator(&progress, &counters));
}

Test(progress, a_device_that_cannot_write_64_bits_is_left_alone)
{
	cr_expect_not(progress_communicator(&progress, &counters));
	cr_expect_not(progress_begin(&progress, &counters, 1, 1, true));
	cr_expect_eq(writes, 0);
	cr_expect_str_eq(state, "none: device without 64-bit stream memory operations");
}

Test(progress, an_older_driver_is_asked_for_its_older_operations)
{
	device_features[1] = 1;
	cr_expect(progress_communicator(&progress, &counters));
	cr_expect(progress_begin(&progress, &counters, 1, 1, true));
}
