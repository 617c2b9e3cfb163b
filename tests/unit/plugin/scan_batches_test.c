/* SPDX-License-Identifier: MIT */
/* The scanner on the path of a collective, over a driver that does what the test says and a clock that stands still but
 * for it. */
#include <criterion/criterion.h>
#include <string.h>

#include "plugin/scan/scanner.h"

enum { SLOTS = 4, TICKET = 3, ROUNDS = 200, FAST_NS = 3000, HELD_UP_NS = 1000000, IN = 0x10000, OUT = 0x20000 };

static uint64_t now_ns, launch_takes_ns;
static int launches, queries, foreign;
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
	return 0;
}

static int context_push(driver_context context)
{
	cr_expect_eq(context, &device);
	return 0;
}

static int context_pop(driver_context *context)
{
	*context = NULL;
	return 0;
}

static int pointer_attributes(unsigned int count, const int *attributes, void **values, uint64_t address)
{
	cr_assert_eq(count, 2);
	cr_assert_eq(attributes[0], DRIVER_POINTER_MEMORY_TYPE);
	queries++;
	*(unsigned int *)values[0] = address == not_device ? 1 : DRIVER_MEMORY_DEVICE;
	return 0;
}

static int launch(driver_function function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
		  unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, driver_stream stream,
		  void **arguments, void **extra)
{
	(void)function, (void)grid_x, (void)grid_y, (void)grid_z, (void)block_x, (void)block_y, (void)block_z;
	(void)shared_bytes, (void)extra;
	cr_expect_eq((uintptr_t)stream, 7);
	launched = *(const struct scan_launch *)arguments[0];
	launches++;
	now_ns += launch_takes_ns;
	return 0;
}

static const struct driver driver = {
	.context_current = context_current,
	.context_push = context_push,
	.context_pop = context_pop,
	.scan = { .launch = launch, .pointer_attributes = pointer_attributes },
};

static void open_scanner(void)
{
	device = (struct scan_device){ .context = &device, .batches = batches };
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
