/* SPDX-License-Identifier: MIT */
/* The scanner on the path of a collective, over a driver that does what the test says and a clock that stands still but
 * for it. */
#include <criterion/criterion.h>
#include <string.h>

#include "plugin/scan/scanner.h"

enum { SLOTS = 4, TICKET = 3, ROUNDS = 200, FAST_NS = 3000, HELD_UP_NS = 1000000, IN = 0x10000, OUT = 0x20000 };

static uint64_t now_ns, launch_takes_ns;
static int launches, queries, foreign;
static int capture_queries, capture_error, capture_status, launch_error, current_error, push_error, pushes, pushed;
static uint64_t not_device; /* address of memory that is not the device's */
static struct scan_launch launched;
static struct rw_box_header header;
static struct rw_operation ring[SLOTS];
static struct box_writer box;
static struct scan_batch batches[SCAN_BATCHES];
static struct scan_device device;
static struct scanner scanner;

uint64_t __wrap_clock_ns(void);
uint64_t __wrap_clock_ns(void)
{
	return now_ns;
}

static int context_current(driver_context *context)
{
	*context = foreign ? NULL : &device;
	return current_error;
}

static int context_push(driver_context context)
{
	cr_expect_eq(context, &device);
	pushes++;
	pushed += !push_error;
	return push_error;
}

static int context_pop(driver_context *context)
{
	*context = NULL;
	pushed--;
	return 0;
}

static int stream_capturing(driver_stream queried, int *status)
{
	cr_expect_eq((uintptr_t)queried, 7);
	capture_queries++;
	*status = capture_status;
	return capture_error;
}

static int pointer_attributes(unsigned int count, const int *attributes, void **values, uint64_t address)
{
	cr_assert_eq(count, 2);
	cr_assert_eq(attributes[0], DRIVER_POINTER_MEMORY_TYPE);
	queries++;
	*(unsigned int *)values[0] = address == not_device ? 1 : DRIVER_MEMORY_DEVICE;
	return 0;
}

static int launch(driver_function function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
		  unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
		  driver_stream stream, void **arguments, void **extra)
{
	(void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
	(void)shared_bytes, (void)extra;
	cr_expect_eq((uintptr_t)stream, 7);
	launched = *(const struct scan_launch *)arguments[0];
	launches++;
	now_ns += launch_takes_ns;
	return launch_error;
}

static const struct driver driver = {
	.context_current = context_current,
	.context_push = context_push,
	.context_pop = context_pop,
	.stream_capturing = stream_capturing,
	.scan = { .launch = launch, .pointer_attributes = pointer_attributes },
};

static void open_scanner(void)
{
	device = (struct scan_device){ .context = &device, .blocks = SCAN_BLOCKS, .batches = batches };
	memset(batches, 0, sizeof(batches));
	for (uint32_t i = 0; i < SCAN_BATCHES; i++) {
		batches[i].device = &device;
		batches[i].number = i;
		batches[i].word = i / 64;
		batches[i].bit = UINT64_C(1) << i % 64;
	}
	for (uint32_t word = 0; word < SCAN_BATCH_WORDS; word++)
		device.free[word] = UINT64_MAX;
	box = (struct box_writer){ .header = &header, .ring = ring, .ring_mask = SLOTS - 1 };
	scanner = (struct scanner){ .driver = &driver, .box = &box, .on = true };
	launch_takes_ns = FAST_NS;
}

static struct rw_operation *pending_slot(void)
{
	struct rw_operation *slot = &ring[TICKET - 1];

	slot->flags = 0;
	slot->ticket = TICKET;
	slot->owner = box_owner(TICKET, RW_OWNER_HOST);
	return slot;
}

static const struct scan_buffers buffers = { .in = { IN, 100, 400, RW_DTYPE_FLOAT32, 0 },
					     .out = { OUT, 200, 800, RW_DTYPE_FLOAT32, 0 }, .survives = true };
static const uint64_t stream = 7;

static bool add_pair(uint32_t *memory)
{
	*memory = SCAN_MEMORY_NOT_QUERIED;
	return scanner_add_pair(&scanner, &device, pending_slot(), TICKET, &stream, &buffers, true, memory);
}

/* As the plugin's thread, which has found all results. */
static void take_results(void)
{
	for (uint32_t i = 0; i < SCAN_BATCHES; i++)
		if (device.launched[batches[i].word] & batches[i].bit)
			scan_batch_give(&batches[i]);
}

static void launch_one(void)
{
	uint32_t memory;

	cr_assert(add_pair(&memory));
	scanner_behind_plan(&scanner);
	cr_expect_not(scanner_has_batches());
	take_results();
}

static bool all_are_free(void)
{
	uint64_t free_all = UINT64_MAX, launched_any = 0;

	for (uint32_t word = 0; word < SCAN_BATCH_WORDS; word++) {
		free_all &= device.free[word];
		launched_any |= device.launched[word];
	}
	return free_all == UINT64_MAX && !launched_any;
}

Test(scan_batches, what_timed_launches_took_stands_for_all, .init = open_scanner)
{
	for (int i = 0; i < ROUNDS * 31; i++)
		launch_one();
	cr_expect_eq(launches, ROUNDS * 31);
	cr_expect_eq(header.scan_launches, ROUNDS * 31);
	cr_expect_eq(header.scan_host_ns, UINT64_C(1) * ROUNDS * 31 * FAST_NS);
}

/* Not one in so many, and not as many times as long. */
Test(scan_batches, a_driver_that_holds_up_each_launch_is_charged_all_of_it, .init = open_scanner)
{
	launch_takes_ns = HELD_UP_NS;
	for (int i = 0; i < ROUNDS; i++)
		launch_one();
	cr_expect_eq(header.scan_host_ns, UINT64_C(1) * ROUNDS * HELD_UP_NS);
	launch_takes_ns = FAST_NS;
	for (int i = 0; i < 31; i++)
		launch_one();
	cr_expect_eq(header.scan_host_ns, UINT64_C(1) * ROUNDS * HELD_UP_NS + 31 * FAST_NS, "the next one was timed, too");
}

/* Inside of an interposed call a plan ends while the call's own scan waits for the call's return. */
Test(scan_batches, a_plan_that_launches_nothing_stands_for_no_launch, .init = open_scanner)
{
	launch_takes_ns = HELD_UP_NS;
	for (int i = 0; i < ROUNDS; i++) {
		struct scan_request request = { .device = &device, .stream = stream, .slot = pending_slot(), .ticket = TICKET,
						.place = SCAN_BEHIND_CALL, .capture_is_known = true, .count = 1,
						.parts = { { buffers.out, RW_OWNER_SCAN_OUT } } };

		scanner_add(&scanner, &request);
		scanner_behind_plan(&scanner);
		cr_assert(scanner_has_batches());
		scanner_behind_call(&scanner, false);
		cr_assert_not(scanner_has_batches());
		take_results();
	}
	cr_expect_eq(launches, ROUNDS);
	cr_expect_eq(header.scan_host_ns, UINT64_C(1) * ROUNDS * HELD_UP_NS);
}

/* The two ways into a batch differ in nothing that the kernel or the reader of its results sees. */
Test(scan_batches, a_pair_is_launched_as_any_request_is, .init = open_scanner)
{
	struct scan_request request = { .device = &device, .stream = stream, .slot = pending_slot(), .ticket = TICKET,
					.place = SCAN_BEHIND_PLAN, .capture_is_known = true, .count = 2,
					.parts = { { buffers.in, RW_OWNER_SCAN_IN }, { buffers.out, RW_OWNER_SCAN_OUT } } };
	uint32_t memory;

	scanner_add(&scanner, &request);
	struct scan_batch any = *scanner_batches;
	uint32_t owner = ring[TICKET - 1].owner;
	scanner_behind_plan(&scanner);
	take_results();
	cr_assert(add_pair(&memory));
	struct scan_batch pair = *scanner_batches;

	pair.sequence = any.sequence;
	for (uint32_t i = 0; i < 2; i++)
		pair.launch.segments[i].sequence = any.sequence;
	cr_expect_arr_eq(&pair, &any, sizeof(any));
	cr_expect_eq(ring[TICKET - 1].owner, owner);
	cr_expect_eq(queries, 4);
	scanner_behind_plan(&scanner);
	cr_expect_eq(launched.segment_count, 2);
	cr_expect_eq(launched.segments[0].address, IN);
	cr_expect_eq(launched.segments[1].elements, buffers.out.elements);
}

Test(scan_batches, of_an_input_that_is_overwritten_nothing_is_launched, .init = open_scanner)
{
	uint32_t memory = SCAN_MEMORY_NOT_QUERIED;

	cr_assert(scanner_add_pair(&scanner, &device, pending_slot(), TICKET, &stream, &buffers, false, &memory));
	cr_expect_eq(memory, SCAN_MEMORY_QUERIED | SCAN_MEMORY_OUT);
	cr_expect_eq(queries, 1);
	scanner_behind_plan(&scanner);
	cr_expect_eq(launched.segment_count, 1);
	cr_expect_eq(launched.segments[0].address, OUT);
	cr_expect_eq(ring[TICKET - 1].owner, box_owner(TICKET, RW_OWNER_HOST | RW_OWNER_SCAN_OUT));
}

Test(scan_batches, a_pair_that_cannot_be_leaves_nothing_behind, .init = open_scanner)
{
	uint32_t memory;

	not_device = OUT;
	cr_expect_not(add_pair(&memory));
	cr_expect_eq(memory, SCAN_MEMORY_QUERIED | SCAN_MEMORY_IN);
	not_device = IN;
	cr_expect_not(add_pair(&memory));
	cr_expect_eq(memory, SCAN_MEMORY_QUERIED | SCAN_MEMORY_OUT);
	not_device = 0;
	pending_slot()->owner = box_owner(TICKET, RW_OWNER_HOST | RW_OWNER_SCAN_IN);
	memory = SCAN_MEMORY_NOT_QUERIED;
	cr_expect_not(scanner_add_pair(&scanner, &device, &ring[TICKET - 1], TICKET, &stream, &buffers, true, &memory),
		      "another scan writes there");
	ring[TICKET - 1].owner = 0;
	cr_expect_not(scanner_add_pair(&scanner, &device, &ring[TICKET - 1], TICKET, &stream, &buffers, true, &memory),
		      "nobody holds the slot");
	cr_expect_eq(ring[TICKET - 1].owner, 0);
	cr_expect_not(scanner_has_batches());
	cr_expect(all_are_free());
	for (uint32_t word = 0; word < SCAN_BATCH_WORDS; word++)
		device.free[word] = 0;
	queries = 0;
	cr_expect_not(add_pair(&memory));
	cr_expect(!queries && memory == SCAN_MEMORY_NOT_QUERIED, "all are in flight");
}

Test(scan_batches, a_slot_that_finds_no_batch_is_not_held, .init = open_scanner)
{
	struct scan_request request = { .device = &device, .stream = stream, .slot = pending_slot(), .ticket = TICKET,
					.place = SCAN_BEHIND_PLAN, .capture_is_known = true, .count = 2,
					.parts = { { buffers.in, RW_OWNER_SCAN_IN }, { buffers.out, RW_OWNER_SCAN_OUT } } };

	for (uint32_t word = 0; word < SCAN_BATCH_WORDS; word++)
		device.free[word] = 0;
	scanner_add(&scanner, &request);
	cr_expect_eq(ring[TICKET - 1].owner, box_owner(TICKET, RW_OWNER_HOST));
	cr_expect_eq(header.scan_unscannable[RW_UNSCANNABLE_BEHIND], 2);
	cr_expect_not(scanner_has_batches());
}

/* A slot that another operation has by now makes no launch without segments. */
Test(scan_batches, a_slot_that_is_gone_opens_no_batch, .init = open_scanner)
{
	struct scan_request request = { .device = &device, .stream = stream, .slot = pending_slot(), .ticket = TICKET,
					.place = SCAN_BEHIND_PLAN, .capture_is_known = true, .count = 1,
					.parts = { { buffers.out, RW_OWNER_SCAN_OUT } } };

	ring[TICKET - 1].owner = box_owner(TICKET + SLOTS, RW_OWNER_HOST);
	scanner_add(&scanner, &request);
	cr_expect_not(scanner_has_batches());
	cr_expect(all_are_free());
	cr_expect_eq(header.scan_unscannable[RW_UNSCANNABLE_BEHIND], 1);
}

Test(scan_batches, what_is_not_device_memory_is_refused_and_the_rest_is_scanned, .init = open_scanner)
{
	struct scan_request request = { .device = &device, .stream = stream, .slot = pending_slot(), .ticket = TICKET,
					.place = SCAN_BEHIND_PLAN, .capture_is_known = true, .count = 2,
					.parts = { { buffers.in, RW_OWNER_SCAN_IN }, { buffers.out, RW_OWNER_SCAN_OUT } } };

	not_device = IN;
	scanner_add(&scanner, &request);
	cr_expect_eq(header.scan_unscannable[RW_UNSCANNABLE_MEMORY], 1);
	foreign = true;
	scanner_behind_plan(&scanner);
	cr_assert_eq(launches, 1, "in the context of the batch");
	cr_expect_eq(launched.segment_count, 1);
	cr_expect_eq(launched.segments[0].address, OUT);
	cr_expect_eq(ring[TICKET - 1].owner, box_owner(TICKET, RW_OWNER_HOST | RW_OWNER_SCAN_OUT));
}

/* A slot of its own, for the output of this operation. */
static void add(enum scan_place place, uint64_t ticket, bool capture_is_known)
{
	struct rw_operation *slot = &ring[ticket - 1];
	struct scan_request request = { .device = &device, .stream = stream, .slot = slot, .ticket = ticket, .place = place,
					.capture_is_known = capture_is_known, .is_device_memory = true, .count = 1,
					.parts = { { buffers.out, RW_OWNER_SCAN_OUT } } };

	slot->flags = 0;
	slot->ticket = ticket;
	slot->owner = box_owner(ticket, RW_OWNER_HOST);
	scanner_add(&scanner, &request);
	cr_assert_eq(slot->owner, box_owner(ticket, RW_OWNER_HOST | RW_OWNER_SCAN_OUT));
}

static bool awaits_scan(uint64_t ticket)
{
	return ring[ticket - 1].owner & RW_OWNER_SCAN_OUT;
}

static uint64_t refused(void)
{
	uint64_t count = 0;

	for (int reason = 0; reason < RW_UNSCANNABLE_COUNT; reason++)
		count += header.scan_unscannable[reason];
	return count;
}

Test(scan_batches, each_batch_is_launched_at_its_own_place, .init = open_scanner)
{
	add(SCAN_BEFORE_CALL, 1, true);
	add(SCAN_BEHIND_CALL, 2, true);
	add(SCAN_BEHIND_PLAN, 3, true);
	scanner_before_call(&scanner);
	cr_expect_eq(launches, 1);
	cr_expect_eq(device.launched[0], 1, "the batch that was opened first");
	scanner_before_call(&scanner);
	cr_expect_eq(launches, 1, "once");
	scanner_behind_plan(&scanner); /* within the call */
	cr_expect_eq(launches, 2);
	cr_expect_eq(device.launched[0], 5);
	scanner_behind_call(&scanner, false);
	cr_expect_eq(launches, 3);
	cr_expect_eq(device.launched[0], 7);
	cr_expect_not(scanner_has_batches());
	cr_expect_eq(refused(), 0);
}

/* The plan's batch is the newest one, and comes first in the thread's list. */
Test(scan_batches, a_call_that_failed_drops_its_scans_and_not_those_of_a_plan, .init = open_scanner)
{
	add(SCAN_BEFORE_CALL, 1, true);
	add(SCAN_BEHIND_CALL, 2, true);
	add(SCAN_BEHIND_CALL, 4, true); /* into the same batch */
	add(SCAN_BEHIND_PLAN, 3, true);
	scanner_behind_call(&scanner, true);
	cr_expect_eq(launches, 0);
	cr_expect_not(awaits_scan(1));
	cr_expect_not(awaits_scan(2) || awaits_scan(4));
	cr_assert(awaits_scan(3));
	scanner_behind_plan(&scanner);
	cr_expect_eq(launches, 1);
	cr_expect(awaits_scan(3), "its results come");
	cr_expect_not(scanner_has_batches());
	cr_expect_eq(refused(), 0, "nothing is wrong with what has no result");
}

/* NCCL has run: the input is overwritten. */
Test(scan_batches, an_input_that_was_not_scanned_before_the_call_is_not_scanned_behind_it, .init = open_scanner)
{
	add(SCAN_BEFORE_CALL, 1, true);
	scanner_behind_call(&scanner, false);
	cr_expect_eq(launches, 0);
	cr_expect_not(awaits_scan(1));
	cr_expect_not(scanner_has_batches());
	cr_expect(all_are_free());
}

Test(scan_batches, operations_of_one_stream_and_place_share_a_launch_until_it_is_full, .init = open_scanner)
{
	for (int i = 0; i < SCAN_SEGMENTS; i++)
		add(SCAN_BEHIND_CALL, 1, true);
	add(SCAN_BEHIND_CALL, 2, true);
	scanner_behind_call(&scanner, false);
	cr_expect_eq(launches, 2);
	cr_expect_eq(launched.segment_count, SCAN_SEGMENTS, "the one that was opened first is launched last");
	cr_expect_eq(header.scan_launches, 2);
	cr_expect_eq(header.scan_bytes, (SCAN_SEGMENTS + 1) * buffers.out.bytes);
}

static const struct {
	int error, status;
	bool launched, is_on;
	enum rw_unscannable reason;
} captures[] = {
	{ 0, DRIVER_NOT_CAPTURING, true, true, RW_UNSCANNABLE_NONE },
	{ 0, DRIVER_CAPTURING, false, true, RW_UNSCANNABLE_CAPTURE },
	{ 0, 2, false, true, RW_UNSCANNABLE_CAPTURE },
	{ DRIVER_CAPTURE_FIRST, 0, false, true, RW_UNSCANNABLE_CAPTURE },
	{ DRIVER_CAPTURE_LAST, 0, false, true, RW_UNSCANNABLE_CAPTURE },
	{ DRIVER_CAPTURE_FIRST - 1, 0, false, false, RW_UNSCANNABLE_ERROR },
	{ DRIVER_CAPTURE_LAST + 1, 0, false, false, RW_UNSCANNABLE_ERROR },
};

static void expect_outcome(size_t i, uint64_t refused_before, const char *call)
{
	cr_expect_eq(scanner_is_on(&scanner), captures[i].is_on, "%zu", i);
	cr_expect_eq(awaits_scan(1), captures[i].launched, "%zu", i);
	cr_expect_eq(header.scan_launches, captures[i].launched, "%zu: only what was launched counts", i);
	cr_expect_eq(refused() - refused_before, !captures[i].launched, "%zu", i);
	if (!captures[i].launched)
		cr_expect_eq(ring[0].flags,
			     RW_FLAG_UNSCANNABLE | (uint32_t)captures[i].reason << RW_FLAG_UNSCANNABLE_SHIFT, "%zu", i);
	if (!captures[i].is_on)
		cr_expect(strstr(header.scan_state, call), "%s", header.scan_state);
	cr_expect_not(scanner_has_batches());
}

Test(scan_batches, nothing_is_launched_into_a_stream_that_may_be_captured)
{
	for (size_t i = 0; i < sizeof(captures) / sizeof(*captures); i++) {
		uint64_t before = refused();

		open_scanner();
		header.scan_launches = 0;
		capture_error = captures[i].error;
		capture_status = captures[i].status;
		add(SCAN_BEHIND_CALL, 1, false);
		scanner_behind_call(&scanner, false);
		cr_expect_eq(capture_queries, (int)i + 1);
		cr_expect_eq(launches, 1, "%zu: that of the first round", i);
		expect_outcome(i, before, "cuStreamIsCapturing");
	}
	capture_queries = 0;
	open_scanner();
	add(SCAN_BEHIND_CALL, 1, true);
	add(SCAN_BEHIND_PLAN, 2, false);
	scanner_behind_call(&scanner, false);
	scanner_behind_plan(&scanner);
	cr_expect_eq(capture_queries, 0, "NCCL has reported that they are not captured");
	cr_expect_eq(launches, 3);
}

/* A capture that begins while we launch is no error of the driver's; any other error is, and is the last one. */
Test(scan_batches, a_launch_that_fails_leaves_its_operation_without_a_scan)
{
	for (size_t i = 3; i < sizeof(captures) / sizeof(*captures); i++) {
		uint64_t before = refused();

		open_scanner();
		launch_error = captures[i].error;
		add(SCAN_BEHIND_PLAN, 1, true);
		scanner_behind_plan(&scanner);
		cr_expect_eq(launches, (int)i - 2);
		cr_expect(all_are_free());
		expect_outcome(i, before, "cuLaunchKernel");
	}
}

Test(scan_batches, once_scanning_is_off_nothing_is_launched, .init = open_scanner)
{
	add(SCAN_BEHIND_PLAN, 1, true);
	add(SCAN_BEHIND_CALL, 2, false);
	scanner_give_up(&scanner, "cuLaunchKernel", 700);
	scanner_behind_call(&scanner, false);
	scanner_behind_plan(&scanner);
	cr_expect_eq(launches, 0);
	cr_expect_eq(header.scan_unscannable[RW_UNSCANNABLE_ERROR], 2);
	cr_expect_not(awaits_scan(1) || awaits_scan(2));
}

Test(scan_batches, the_context_of_the_thread_is_as_it_was, .init = open_scanner)
{
	add(SCAN_BEHIND_PLAN, 1, true);
	scanner_behind_plan(&scanner);
	cr_expect(launches == 1 && pushes == 0, "it is the right one already");
	foreign = true;
	add(SCAN_BEHIND_PLAN, 1, true);
	scanner_behind_plan(&scanner);
	cr_expect(launches == 2 && pushes == 1);
	cr_expect_eq(pushed, 0, "what was pushed was popped");
	foreign = false;
	current_error = 201; /* the driver does not say which one it is */
	add(SCAN_BEHIND_PLAN, 1, true);
	scanner_behind_plan(&scanner);
	cr_expect(launches == 3 && pushes == 2 && pushed == 0);
	push_error = 201;
	add(SCAN_BEHIND_PLAN, 2, true);
	scanner_behind_plan(&scanner);
	cr_expect_eq(launches, 3);
	cr_expect_eq(pushed, 0);
	cr_expect_eq(header.scan_unscannable[RW_UNSCANNABLE_CONTEXT], 1);
	cr_expect_not(awaits_scan(2));
	cr_expect(scanner_is_on(&scanner));
}

/* Up to 50 microseconds one launch stands for 31, the next nanosecond for itself. */
Test(scan_batches, a_launch_of_fifty_microseconds_is_not_yet_slow, .init = open_scanner)
{
	launch_takes_ns = 50000;
	launch_one();
	cr_expect_eq(header.scan_host_ns, 31 * 50000);
	for (int i = 0; i < 30; i++)
		launch_one();
	launch_takes_ns = 50001;
	launch_one();
	cr_expect_eq(header.scan_host_ns, 31 * 50000 + 50001);
}

static void add_queried(enum scan_place place, uint32_t count, uint64_t in, uint64_t out)
{
	struct scan_request request = { .device = &device, .stream = stream, .slot = pending_slot(), .ticket = TICKET,
					.place = place, .capture_is_known = true, .count = count,
					.parts = { { buffers.in, RW_OWNER_SCAN_IN }, { buffers.out, RW_OWNER_SCAN_OUT } } };

	request.parts[0].buffer.address = in;
	request.parts[1].buffer.address = out;
	scanner_add(&scanner, &request);
}

/* The driver is queried once for an address, also where the two sides of a call in place are added one after the
 * other. */
Test(scan_batches, of_a_call_in_place_the_memory_is_queried_once, .init = open_scanner)
{
	add_queried(SCAN_BEFORE_CALL, 1, IN, 0);
	cr_expect_eq(queries, 1);
	add_queried(SCAN_BEHIND_CALL, 1, IN, 0);
	cr_expect_eq(queries, 1, "its other side begins at the same place");
	add_queried(SCAN_BEHIND_PLAN, 2, OUT, OUT);
	cr_expect_eq(queries, 2);
	add_queried(SCAN_BEHIND_PLAN, 2, IN + 8, OUT + 8);
	cr_expect_eq(queries, 4, "these are other addresses");
}

Test(scan_batches, of_two_sides_that_are_not_device_memory_neither_is_scanned, .init = open_scanner)
{
	not_device = IN;
	add_queried(SCAN_BEHIND_PLAN, 2, IN, IN);
	cr_expect_eq(header.scan_unscannable[RW_UNSCANNABLE_MEMORY], 2);
	cr_expect_not(scanner_has_batches());
	cr_expect(all_are_free());
	cr_expect_not(awaits_scan(TICKET));
}

/* Else the slot would wait for a result that nobody makes. */
Test(scan_batches, a_slot_is_held_only_for_what_is_scanned, .init = open_scanner)
{
	not_device = OUT;
	add_queried(SCAN_BEHIND_PLAN, 2, IN, OUT);
	cr_expect_eq(ring[TICKET - 1].owner, box_owner(TICKET, RW_OWNER_HOST | RW_OWNER_SCAN_IN));
	scanner_behind_plan(&scanner);
	cr_expect_eq(launched.segment_count, 1);
	cr_expect_eq(launched.segments[0].address, IN);
}
