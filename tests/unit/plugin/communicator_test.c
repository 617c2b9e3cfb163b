/* SPDX-License-Identifier: MIT */
/* The table of communicators, without a driver and without the plugin's thread: who gets which place, and when. */
#include <criterion/criterion.h>

#include <string.h>

#include "plugin/recording/handle.h"
#include "plugin/recording/recording.h"

static struct recording recording;
static struct rw_box_header header;
static struct rw_communicator entries[RW_BOX_COMMS];
static struct rw_gpu_progress gpu[RW_BOX_COMMS];
static struct communicator_device device;

static void setup(void)
{
	recording.box.header = &header;
	recording.box.communicators = entries;
	recording.box.gpu = gpu;
	header.world_rank = 3;
	strcpy(header.rank_from, "RANK");
}

TestSuite(communicator, .init = setup);

static struct communicator *add(uint64_t id)
{
	return communicator_add(
	    &recording,
	    &(struct communicator_init){ .id = id, .name = "dp", .nnodes = 2, .nranks = 8, .rank = 5, .abi = 5 },
	    &device);
}

static struct communicator *add_unknown(void)
{
	return communicator_add(&recording, &(struct communicator_init){ .abi = 3 }, &device);
}

static uint32_t device_of(int32_t ordinal)
{
	device = (struct communicator_device){ .has_device = true, .device = { .ordinal = ordinal, .used = 1 } };
	return add(1)->entry->device;
}

Test(communicator, devices_are_entered_once_each_and_the_last_entry_collects_what_does_not_fit)
{
	cr_expect_eq(add(1)->entry->device, 0);
	cr_expect_eq(header.devices[0].used, 0, "the driver does not say");
	cr_expect_eq(device_of(30), 0);
	cr_expect_eq(header.devices[0].ordinal, 30);
	cr_expect_eq(header.world_rank, 3);
	cr_expect_str_eq(header.rank_from, "RANK");
	cr_expect_eq(device_of(30), 0);
	cr_expect_eq(header.world_rank, 3);
	cr_expect_eq(device_of(31), 1);
	cr_expect_eq(header.world_rank, -1, "several devices: the launcher's rank is not this communicator's");
	static const char nothing[sizeof(header.rank_from)];
	cr_expect_eq(memcmp(header.rank_from, nothing, sizeof(nothing)), 0);
	for (int i = 2; i < RW_BOX_DEVICES; i++)
		cr_expect_eq(device_of(30 + i), (uint32_t)i);
	cr_expect_eq(device_of(31), 1);
	cr_expect_eq(device_of(99), RW_BOX_DEVICES - 1);
	cr_expect_eq(device_of(30 + RW_BOX_DEVICES - 2), RW_BOX_DEVICES - 2);
}

Test(communicator, one_whose_device_the_driver_does_not_say_is_on_nobody_elses)
{
	cr_expect_eq(device_of(30), 0);
	device = (struct communicator_device){ .has_device = false };
	uint32_t unknown = add(2)->entry->device;
	cr_expect_eq(header.devices[unknown].used, 0);
	cr_expect_eq(device_of(31), 1);
}

Test(communicator, places_are_given_in_order_and_say_what_is_known)
{
	struct communicator_init init = { .id = 0x5eed, .name = "tp", .nnodes = 2, .nranks = 8, .rank = 5, .abi = 5 };

	device.counters.started = 0x1000;
	device.counters.done = 0x2000;
	for (uint32_t i = 0; i < 3; i++) {
		struct communicator *communicator = communicator_add(&recording, &init, &device);

		cr_assert_eq(communicator, &recording.communicators[i]);
		cr_expect_eq(communicator->index, i);
		cr_expect_eq(communicator->entry, &entries[i]);
		cr_expect_eq(communicator->number, i + 1);
		cr_expect_eq(communicator->generation, 1);
		cr_expect_eq(communicator->mark, 1u << 16 | (i + 1));
		cr_expect_eq(communicator->context, (uintptr_t)handle_context(i, 1));
		cr_expect_eq(communicator->counters.started, 0x1000 + i * sizeof(struct rw_gpu_progress));
		cr_expect_eq(communicator->counters.done, 0x2000 + i * sizeof(struct rw_gpu_progress));
		cr_expect_null(communicator->mask, "nothing was asked for yet");
		cr_expect_eq(communicator->abi, 5);
		cr_expect(communicator->known && !communicator->ended && !communicator->samples);
		cr_expect_eq(header.comms_used, i + 1);
		cr_expect_eq(recording.living, i + 1);
	}
	cr_expect_eq(entries[2].id, 0x5eed);
	cr_expect_str_eq(entries[2].name, "tp");
	cr_expect_eq(entries[2].rank, 5);
	cr_expect_eq(entries[2].nranks, 8);
	cr_expect_eq(entries[2].nnodes, 2);
	cr_expect_eq(entries[2].created_ns, recording.communicators[2].created_ns);
	cr_expect_gt(entries[2].created_ns, 0);
}

Test(communicator, is_shown_when_its_identity_is_known_and_keeps_what_was_said_first)
{
	struct communicator *communicator = add_unknown();
	char name[100];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	cr_expect_eq(communicator->entry->created_ns, 0);
	cr_expect_not(communicator_fill_identity(communicator, &(struct communicator_identity){ .id = 0, .rank = 1 }));
	cr_expect_not(communicator_fill_identity(communicator, &(struct communicator_identity){ .id = 7, .rank = -1 }));
	cr_expect_eq(communicator->entry->created_ns, 0);
	cr_expect(communicator_fill_identity(communicator,
					     &(struct communicator_identity){ .id = 7, .name = name, .rank = 6 }));
	cr_expect_eq(communicator->entry->created_ns, communicator->created_ns);
	cr_expect_eq(communicator->entry->id, 7);
	cr_expect_eq(communicator->entry->rank, 6);
	cr_expect_eq(communicator->rank, 6);
	cr_expect_eq(strlen(communicator->entry->name), sizeof(communicator->entry->name) - 1);
	cr_expect(communicator_fill_identity(communicator, &(struct communicator_identity){ .id = 8, .rank = 0 }));
	cr_expect_eq(communicator->entry->id, 7);
	cr_expect_eq(communicator->rank, 6);
	communicator = add_unknown();
	cr_expect(communicator_fill_identity(communicator, &(struct communicator_identity){ .id = 9, .rank = 0 }));
	cr_expect_str_empty(communicator->entry->name);
}

Test(communicator, the_interposer_tells_size_and_rank_where_nccl_does_not)
{
	struct communicator *communicator = add_unknown();

	communicator_fill_place(communicator, 16, 9);
	cr_expect_eq(communicator->nranks, 16);
	cr_expect_eq(communicator->entry->nranks, 16);
	cr_expect_eq(communicator->rank, 9);
	communicator_fill_place(communicator, 32, 10);
	cr_expect_eq(communicator->nranks, 16);
	cr_expect_eq(communicator->entry->nranks, 16);
	communicator = add(1);
	communicator_fill_place(communicator, 16, 9);
	cr_expect_eq(communicator->rank, 5, "NCCL has said so");
	cr_expect_eq(communicator->nranks, 8);
}

Test(communicator, an_end_is_written_once)
{
	struct communicator *communicator = add(1);
	uintptr_t context = communicator->context;

	add(2);
	communicator_end(&recording, communicator);
	uint64_t ended_ns = communicator->entry->ended_ns;
	cr_expect_geq(ended_ns, communicator->created_ns);
	cr_expect(communicator->ended);
	cr_expect_neq(communicator->context, context);
	cr_expect_null(communicator->p2p);
	cr_expect_eq(recording.living, 1);
	communicator_end(&recording, communicator);
	cr_expect_eq(communicator->entry->ended_ns, ended_ns);
	cr_expect_eq(recording.living, 1);
}

static int write_counter(driver_stream stream, uint64_t address, uint64_t value, unsigned int flags)
{
	(void)stream, (void)address, (void)value, (void)flags;
	return 0;
}

Test(communicator, a_full_table_takes_one_more_when_the_first_that_ended_is_over)
{
	for (uint32_t i = 0; i < RW_BOX_COMMS; i++)
		cr_assert_not_null(add(i + 1));
	cr_expect_null(add(5000));
	cr_expect_eq(header.comms_refused, 1);
	static const uint32_t ended[] = { 500, 7, 900 };
	for (size_t i = 0; i < 3; i++) {
		communicator_end(&recording, &recording.communicators[ended[i]]);
		entries[ended[i]].ended_ns = 1000 + i;
	}
	header.drain_ns = 1000;
	cr_expect_null(add(5000), "the plugin's thread has not looked since");
	header.drain_ns = 2000;
	recording.communicators[500].counters.write = write_counter;
	entries[500].launched = 9;
	gpu[500].gpu_done = 8;
	recording.communicators[500].sequence[RW_FUNCTION_ALL_REDUCE] = 77;
	struct communicator *taken = add(5001);
	cr_assert_eq(taken, &recording.communicators[7], "the first one's last plan has not passed");
	gpu[500].gpu_done = 9;
	entries[500].captured = entries[500].api_count = 3;
	strcpy(entries[500].name, "a name of the owner before");
	uint32_t mark = recording.communicators[500].mark;
	taken = add(5002);
	cr_assert_eq(taken, &recording.communicators[500]);
	cr_expect_eq(taken->generation, 2);
	cr_expect_neq(taken->mark, mark);
	cr_expect_eq(taken->context, (uintptr_t)handle_context(500, 2));
	cr_expect_eq(taken->sequence[RW_FUNCTION_ALL_REDUCE], 0);
	cr_expect_eq(entries[500].id, 5002);
	cr_expect_str_eq(entries[500].name, "dp");
	cr_expect_eq(entries[500].ended_ns, 0);
	cr_expect_eq(entries[500].captured, 0);
	cr_expect_eq(entries[500].api_count, 0);
	cr_expect_eq(entries[500].launched, 9, "progress numbers go on");
	cr_expect_eq(header.comms_used, RW_BOX_COMMS);
	cr_expect_eq(header.comms_refused, 2);
	cr_expect_eq(recording.living, RW_BOX_COMMS - 1);
	cr_assert_eq(add_unknown(), &recording.communicators[900]);
	cr_expect_eq(entries[900].created_ns, 0, "whose identity is not known is not shown");
	cr_expect_null(add(5003));
}

Test(communicator, captured_calls_are_counted_by_function_and_of_each_peer)
{
	struct communicator *communicator = add(1);

	for (uint64_t i = 0; i < 3; i++)
		cr_expect_eq(communicator_count_captured(communicator, RW_FUNCTION_ALL_REDUCE, -1), i);
	cr_expect_eq(communicator_count_captured(communicator, RW_FUNCTION_ALL_GATHER, -1), 0);
	cr_expect_eq(communicator_count_captured(communicator, RW_FUNCTION_SEND, 7), 0);
	cr_expect_eq(communicator_count_captured(communicator, RW_FUNCTION_SEND, 7), 1);
	cr_expect_eq(communicator_count_captured(communicator, RW_FUNCTION_RECV, 7), 0);
	cr_expect_eq(communicator_count_captured(communicator, RW_FUNCTION_SEND, 6), 0);
	cr_expect_eq(communicator_count_captured(communicator, RW_FUNCTION_SEND, 8), UINT64_MAX, "there are 8 ranks");
	cr_expect_eq(communicator_count_captured(communicator, RW_FUNCTION_SEND, -1), UINT64_MAX);
	communicator = add_unknown();
	cr_expect_eq(communicator_count_captured(communicator, RW_FUNCTION_SEND, 4095), 0, "4096 where nobody says how many");
	cr_expect_eq(communicator_count_captured(communicator, RW_FUNCTION_SEND, 4096), UINT64_MAX);
}

Test(communicator, settled_counts_from_the_question_and_in_progress_from_the_answer)
{
	struct communicator *communicator = add(1);

	communicator_answered(communicator, false, 17);
	cr_expect_eq(communicator->settled_ns, 17);
	cr_expect_eq(communicator->in_progress_ns, 0);
	communicator_answered(communicator, true, 18);
	cr_expect_eq(communicator->settled_ns, 17);
	cr_expect_gt(communicator->in_progress_ns, 18);
}
