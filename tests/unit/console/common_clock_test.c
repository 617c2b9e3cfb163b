/* SPDX-License-Identifier: MIT */
/* Boxes of several machines, whose clocks are hours apart and drift: what they saw end together brings them to one
 * clock. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/replay/common_clock.h"
#include "crafted_box.h"

enum { BOXES = 6, OPERATIONS = 400, EVERY_S = 2 };
#define S         1e9
#define MS        1e6
#define WITHIN_MS 1.0

/* One machine's clock, of the time of the first one. */
struct machine {
	char boot;
	double ahead_s, drift;
};

struct cluster {
	struct box_writer writers[BOXES];
	struct box_entry entries[BOXES];
	struct machine machines[BOXES];
	size_t groups[BOXES], count;
	const char *directory;
	unsigned short seed[3];
};

static struct cluster cluster;

static uint64_t shown(const struct machine *machine, double at_ns)
{
	return (uint64_t)(at_ns + machine->ahead_s * S + at_ns * machine->drift);
}

static void add_box(struct machine machine, uint64_t communicator)
{
	size_t i = cluster.count++;
	struct box_writer *writer = &cluster.writers[i];

	if (!i)
		cluster.directory = crafted_directory();
	crafted_box(writer, cluster.directory, "job", (int32_t)i, communicator);
	writer->header->boot_id[0] = machine.boot;
	cluster.machines[i] = machine;
}

/* The operation ends everywhere at this moment; each plugin sees it up to 4 ms later. */
static void end_in(size_t box, uint64_t sequence, double at_ns, uint8_t function, uint32_t flags)
{
	struct box_writer *writer = &cluster.writers[box];
	uint64_t ticket;
	struct rw_operation *slot = box_claim(writer, RW_OWNER_HOST, &ticket);

	cr_assert(slot);
	slot->function = function;
	slot->count = 1024;
	slot->sequence = sequence;
	slot->flags = flags;
	slot->api_ns = shown(&cluster.machines[box], at_ns - 100 * MS);
	slot->done_seen_ns = shown(&cluster.machines[box], at_ns + erand48(cluster.seed) * 4 * MS);
	box_known(slot, RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_DONE);
	box_publish(slot, ticket);
}

/* Operation k ends k * EVERY_S after an hour of uptime. */
static double when(uint64_t k)
{
	return 3600 * S + (double)k * EVERY_S * S;
}

static void find(void)
{
	for (size_t i = 0; i < cluster.count; i++) {
		char why[160] = "";

		cr_assert_eq(
		    box_reader_open(&cluster.entries[i].reader, AT_FDCWD, cluster.writers[i].path, (uid_t)-1, why), 0,
		    "%s", why);
	}
	cr_assert_eq(common_clock_find(cluster.entries, cluster.count, cluster.groups), 0);
}

/* Is a time of this box brought to the first one's clock? */
static void expect_right(size_t box, double at_ns)
{
	uint64_t here = shown(&cluster.machines[box], at_ns);
	double off_ms = ((double)box_clock_time(&cluster.entries[box].reader.clock, here) -
			 (double)shown(&cluster.machines[0], at_ns)) /
			MS;

	cr_expect(off_ms < WITHIN_MS && off_ms > -WITHIN_MS, "box %zu is %.3f ms off at %.0f s", box, off_ms,
		  at_ns / S);
}

static void play(size_t first, size_t last, uint64_t operations, uint8_t function, uint32_t flags)
{
	for (uint64_t k = 0; k < operations; k++)
		for (size_t box = first; box <= last; box++)
			end_in(box, k, when(k), function, flags);
}

Test(common_clock, is_that_of_the_first_machine_whatever_the_others_show)
{
	add_box((struct machine){ 'A', 0, 0 }, 7);
	add_box((struct machine){ 'B', 36000, 40e-6 }, 7);
	add_box((struct machine){ 'B', 36000, 40e-6 }, 7);
	add_box((struct machine){ 'C', -3000, -25e-6 }, 7);
	play(0, 3, OPERATIONS, RW_FUNCTION_ALL_REDUCE, 0);
	find();
	for (size_t box = 0; box < cluster.count; box++) {
		cr_expect_eq(cluster.groups[box], 0);
		expect_right(box, when(0));
		expect_right(box, when(OPERATIONS / 2));
		expect_right(box, when(OPERATIONS));
	}
	cr_expect_eq(cluster.entries[0].reader.clock.ahead_ns, 0, "the first keeps its clock");
}

Test(common_clock, reaches_over_machines_that_share_operations_with_the_first_only_through_others)
{
	add_box((struct machine){ 'A', 0, 0 }, 7);
	add_box((struct machine){ 'C', 500, 0 }, 9);
	add_box((struct machine){ 'B', 100, 0 }, 7);
	add_box((struct machine){ 'B', 100, 0 }, 9);
	for (uint64_t k = 0; k < 50; k++)
		for (size_t box = 0; box < cluster.count; box++)
			end_in(box, k, when(k) + (box % 2 ? 777 * MS : 0), RW_FUNCTION_REDUCE_SCATTER, 0);
	find();
	for (size_t box = 0; box < cluster.count; box++) {
		cr_expect_eq(cluster.groups[box], 0);
		expect_right(box, when(20));
	}
}

Test(common_clock, is_not_made_of_what_does_not_end_for_all_at_once)
{
	static const struct {
		uint8_t function;
		uint32_t flags;
	} of[] = {
		{ RW_FUNCTION_BROADCAST, 0 },
		{ RW_FUNCTION_SEND, 0 },
		{ RW_FUNCTION_ALL_GATHER, RW_FLAG_ABORTED },
		{ RW_FUNCTION_ALL_GATHER, RW_FLAG_CAPTURED },
		{ RW_FUNCTION_ALL_GATHER, RW_FLAG_UNANNOUNCED },
	};

	add_box((struct machine){ 'A', 0, 0 }, 7);
	add_box((struct machine){ 'B', 100, 0 }, 7);
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		play(0, 1, 20, of[i].function, of[i].flags);
	/* Four are too few, and of others the numbers agree but not the times: another program's, or a restart's. */
	play(0, 1, 4, RW_FUNCTION_ALL_REDUCE, 0);
	find();
	cr_expect_eq(cluster.groups[0], 0);
	cr_expect_eq(cluster.groups[1], 1, "a clock of its own");
	cr_expect_eq(cluster.entries[1].reader.clock.ahead_ns, 0);
}

/* Of few ends that were seen late by very different times a clock may be off by as much as a rank is late. */
Test(common_clock, is_not_found_where_few_ends_were_seen_at_very_different_times)
{
	add_box((struct machine){ 'A', 0, 0 }, 7);
	add_box((struct machine){ 'B', 100, 0 }, 7);
	add_box((struct machine){ 'C', 200, 0 }, 7);
	for (uint64_t k = 0; k < 60; k++) {
		end_in(0, k, when(k), RW_FUNCTION_ALL_REDUCE, 0);
		if (k < 6)
			end_in(1, k, when(k) + (double)(k % 2) * 14 * MS, RW_FUNCTION_ALL_REDUCE, 0);
		end_in(2, k, when(k) + erand48(cluster.seed) * 18 * MS, RW_FUNCTION_ALL_REDUCE, 0);
	}
	find();
	cr_expect_eq(cluster.groups[1], 1, "six");
	cr_expect_eq(cluster.groups[2], 0, "sixty");
}

/* A box that lies spoils at most the clock of its own machine. */
Test(common_clock, does_not_follow_times_that_cannot_be)
{
	add_box((struct machine){ 'A', 0, 0 }, 7);
	add_box((struct machine){ 'B', 100, 0 }, 7);
	add_box((struct machine){ 'B', 100, 0 }, 7);
	add_box((struct machine){ 'C', 300, 0 }, 7);
	play(0, 3, 20, RW_FUNCTION_ALL_REDUCE, 0);
	for (uint64_t claim = 0; claim < 20; claim++) {
		cluster.writers[2].ring[claim].done_seen_ns = claim % 2 ? UINT64_MAX - claim : 5;
		cluster.writers[3].ring[claim].done_seen_ns += (uint64_t)(erand48(cluster.seed) * 50 * S);
	}
	find();
	cr_expect_eq(cluster.groups[1], 0);
	expect_right(1, when(10));
	cr_expect_eq(cluster.groups[3], 1, "what C says of when operations ended cannot be true");
}

Test(common_clock, is_not_found_where_the_same_numbers_end_at_other_times)
{
	add_box((struct machine){ 'A', 0, 0 }, 7);
	add_box((struct machine){ 'B', 100, 0 }, 7);
	for (uint64_t k = 0; k < OPERATIONS; k++) {
		end_in(0, k, when(k), RW_FUNCTION_ALL_REDUCE, 0);
		end_in(1, k, when(k) + erand48(cluster.seed) * S, RW_FUNCTION_ALL_REDUCE, 0);
	}
	find();
	cr_expect_eq(cluster.groups[1], 1);
}

Test(common_clock, every_time_that_a_reader_gives_is_on_it)
{
	struct rw_communicator communicator;
	struct rw_operation slot;
	enum box_slot state;

	add_box((struct machine){ 'A', 0, 0 }, 7);
	add_box((struct machine){ 'B', 1000, 0 }, 7);
	cluster.writers[1].header->drain_ns = shown(&cluster.machines[1], when(9));
	cluster.writers[1].communicators[0].created_ns = shown(&cluster.machines[1], when(0) - S);
	play(0, 1, 10, RW_FUNCTION_ALL_TO_ALL, 0);
	find();
	struct box_reader *reader = &cluster.entries[1].reader;
	cr_expect_eq(cluster.groups[1], 0);
	for (int again = 0; again < 2; again++) {
		cr_expect_float_eq((double)reader->header.drain_ns, when(9), 3 * MS);
		cr_assert_eq(box_reader_refresh(reader), 0);
	}
	cr_assert_eq(box_reader_communicators(reader, 0, 1, &communicator), 1);
	cr_expect_float_eq((double)communicator.created_ns, when(0) - S, 3 * MS);
	cr_expect_eq(communicator.ended_ns, 0, "not yet stays not yet");
	cr_assert_eq(box_reader_operations(reader, 9, 1, &slot, &state), 1);
	cr_expect_float_eq((double)slot.api_ns, when(9) - 100 * MS, 3 * MS);
	cr_expect_float_eq((double)slot.done_seen_ns, when(9), 6 * MS);
	cr_expect_eq(slot.launch_begin_ns, 0);
}
