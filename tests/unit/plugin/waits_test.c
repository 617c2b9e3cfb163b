/* SPDX-License-Identifier: MIT */
/* What a channel waits for, by its oldest step, in made-up time. */
#include <criterion/criterion.h>

#include <string.h>

#include "plugin/network/waits.h"

enum { GPU_WAIT = 8, SEND_WAIT, RECV_WAIT, FLUSH_WAIT, RECV_GPU_WAIT, PEER_WAIT = 20, FIFO_WAIT = 1 };
enum { BYTES = 1 << 17, IN_FLIGHT = 16 };

static struct rw_box_header header;
static struct rw_wait entries[RW_BOX_WAITS];
static struct box_writer box = { .header = &header, .waits = entries };

static void open_waits(void)
{
	waits_open(&box);
}

TestSuite(waits, .init = open_waits);

static uint64_t start(uint32_t comm, int32_t peer, uint8_t channel, bool sends)
{
	return waits_start(
	    comm, &(struct waits_operation){ .peer = peer, .step_bytes = BYTES, .channel = channel, .sends = sends });
}

static const struct rw_wait *entry_of(uint64_t key)
{
	int at = 0;

	while (at < RW_BOX_WAITS && entries[at].key != key)
		at++;
	cr_assert_lt(at, RW_BOX_WAITS, "no entry has the key %#lx", (unsigned long)key);
	return &entries[at];
}

static const struct rw_wait *sending(void)
{
	return entry_of(RW_WAIT_USED | RW_WAIT_SENDS | UINT64_C(2) << 48 | UINT64_C(7) << 32 | 5);
}

static uint64_t start_sending(void)
{
	return start(7, 5, 2, true);
}

static const struct rw_wait *receiving(void)
{
	return entry_of(RW_WAIT_USED | UINT64_C(2) << 48 | UINT64_C(7) << 32 | 5);
}

static uint64_t start_receiving(void)
{
	return start(7, 5, 2, false);
}

static void expect_waits(const struct rw_wait *entry, uint64_t gpu_ns, uint64_t peer_ns, uint64_t network_ns)
{
	cr_expect_eq(entry->gpu_ns, gpu_ns, "GPU: %lu", (unsigned long)entry->gpu_ns);
	cr_expect_eq(entry->peer_ns, peer_ns, "peer: %lu", (unsigned long)entry->peer_ns);
	cr_expect_eq(entry->network_ns, network_ns, "network: %lu", (unsigned long)entry->network_ns);
}

Test(waits, an_entry_is_that_of_a_communicator_channel_peer_and_direction)
{
	cr_expect(start(7, 5, 2, true) && start(7, 5, 2, false) && start(8, 5, 2, true) && start(7, 6, 2, true) &&
		  start(7, 5, 3, true) && start(1023, INT32_MAX, 255, true) && start(0, 0, 0, false));
	cr_expect_eq(entry_of(RW_WAIT_USED | RW_WAIT_SENDS | UINT64_C(2) << 48 | UINT64_C(7) << 32 | 5)->first_ns, 0);
	entry_of(RW_WAIT_USED | UINT64_C(2) << 48 | UINT64_C(7) << 32 | 5);
	entry_of(RW_WAIT_USED | RW_WAIT_SENDS | UINT64_C(2) << 48 | UINT64_C(8) << 32 | 5);
	entry_of(RW_WAIT_USED | RW_WAIT_SENDS | UINT64_C(2) << 48 | UINT64_C(7) << 32 | 6);
	entry_of(RW_WAIT_USED | RW_WAIT_SENDS | UINT64_C(3) << 48 | UINT64_C(7) << 32 | 5);
	entry_of(RW_WAIT_USED | RW_WAIT_SENDS | UINT64_C(255) << 48 | UINT64_C(1023) << 32 | INT32_MAX);
	entry_of(RW_WAIT_USED);
	start(7, 5, 2, true);
	int used = 0;
	for (int i = 0; i < RW_BOX_WAITS; i++)
		used += entries[i].key != 0;
	cr_expect_eq(used, 7, "the same one again has the same entry");
	cr_expect_eq(start(7, -1, 2, true), 0, "a peer that is none has no entry");
}

Test(waits, a_sender_waits_for_its_gpu_then_its_peer_then_the_network)
{
	uint64_t operation = start_sending(), step = waits_start_step(operation, 0, 1000);

	cr_assert(step);
	waits_step_state(step, GPU_WAIT, 0, 1100);
	waits_step_state(step, PEER_WAIT, 0, 1300);
	waits_step_state(step, SEND_WAIT, BYTES, 1700);
	expect_waits(sending(), 200, 400, 0);
	waits_stop_step(step, 2500);
	expect_waits(sending(), 200, 400, 800);
	cr_expect_eq(sending()->first_ns, 1000);
	cr_expect_eq(sending()->last_ns, 2500);
	cr_expect_eq(sending()->bytes, BYTES);
	cr_expect_eq(sending()->steps, 1);
	cr_expect_eq(sending()->flush_us, 0);
	step = waits_start_step(operation, 1, 9000);
	expect_waits(sending(), 200, 400, 800);
	cr_expect_eq(sending()->first_ns, 1000);
	cr_expect_eq(sending()->last_ns, 9000, "between two steps nobody waits");
}

Test(waits, a_receiver_waits_for_the_network_then_the_flush_then_its_gpu)
{
	uint64_t step = waits_start_step(start_receiving(), 0, 1000);

	waits_step_state(step, RECV_WAIT, 0, 1100);
	waits_step_state(step, FLUSH_WAIT, BYTES, 1300);
	waits_step_state(step, RECV_GPU_WAIT, 0, 9299);
	waits_stop_step(step, 9399);
	expect_waits(receiving(), 100, 0, 200);
	cr_expect_eq(receiving()->flush_us, 7, "7.999 us, in whole ones");
	cr_expect_eq(receiving()->bytes, BYTES);
	cr_expect_eq(receiving()->steps, 1);
}

Test(waits, a_state_of_the_other_direction_is_nothing_to_wait_for)
{
	static const int of_receives[] = { RECV_WAIT, FLUSH_WAIT, RECV_GPU_WAIT, -1, 0, 21, 1000 };
	uint64_t step = waits_start_step(start_sending(), 0, 1000), now = 1000;

	waits_step_state(step, GPU_WAIT, 0, now);
	for (size_t i = 0; i < sizeof(of_receives) / sizeof(*of_receives); i++)
		waits_step_state(step, of_receives[i], 0, now += 100);
	expect_waits(sending(), 700, 0, 0);
	step = waits_start_step(start_receiving(), 0, now = 1000);
	waits_step_state(step, RECV_WAIT, 0, now);
	waits_step_state(step, SEND_WAIT, 0, now += 100);
	waits_step_state(step, PEER_WAIT, 0, now += 100);
	waits_step_state(step, GPU_WAIT, 0, now += 100);
	expect_waits(receiving(), 0, 0, 300);
}

Test(waits, bytes_count_once_when_they_are_on_their_way_and_only_what_a_step_can_hold)
{
	uint64_t operation = start_sending(), step = waits_start_step(operation, 0, 1000);

	waits_step_state(step, GPU_WAIT, 11, 1000);
	cr_expect_eq(sending()->bytes, 0, "still with the GPU");
	waits_step_state(step, SEND_WAIT, BYTES, 1000);
	waits_step_state(step, SEND_WAIT, BYTES, 1000);
	cr_expect_eq(sending()->bytes, BYTES);
	step = waits_start_step(operation, 1, 1000);
	waits_step_state(step, SEND_WAIT, BYTES + 1, 1000);
	cr_expect_eq(sending()->bytes, BYTES, "garbage");
	step = waits_start_step(operation, 2, 1000);
	waits_step_state(step, SEND_WAIT, 5, 1000);
	cr_expect_eq(sending()->bytes, BYTES + 5);
}

Test(waits, time_is_charged_to_what_the_oldest_step_waits_for)
{
	uint64_t operation = start_sending();
	uint64_t first = waits_start_step(operation, 0, 1000), second = waits_start_step(operation, 1, 1000),
		 third = waits_start_step(operation, 2, 1000);

	waits_step_state(first, SEND_WAIT, 0, 1000);
	waits_step_state(second, GPU_WAIT, 0, 1100);
	waits_step_state(third, PEER_WAIT, 0, 1200);
	expect_waits(sending(), 0, 0, 200);
	waits_stop_step(second, 1300); /* not in order */
	expect_waits(sending(), 0, 0, 300);
	waits_stop_step(first, 1400);
	expect_waits(sending(), 0, 0, 400);
	waits_step_state(third, SEND_WAIT, 0, 1900);
	expect_waits(sending(), 0, 500, 400);
	waits_stop_step(first, 2000);
	waits_stop_step(second, 2100);
	cr_expect_eq(sending()->steps, 2, "one that has stopped does not stop again");
	expect_waits(sending(), 0, 500, 400);
	waits_step_state(second, GPU_WAIT, 0, 2200);
	waits_stop_step(third, 2300);
	expect_waits(sending(), 0, 500, 800);
}

Test(waits, a_step_that_is_polled_again_goes_on)
{
	uint64_t operation = start_sending(), step = waits_start_step(operation, 3, 1000);

	waits_step_state(step, GPU_WAIT, 0, 1000);
	cr_expect_eq(waits_start_step(operation, 3, 1500), step);
	waits_stop_step(step, 1600);
	expect_waits(sending(), 600, 0, 0);
	cr_expect_eq(waits_start_step(operation, 3, 1700), 0, "it is over");
	cr_expect_eq(waits_start_step(operation, 2, 1700), 0, "as are those before it");
	cr_expect_neq(waits_start_step(operation, 4, 1700), 0);
}

Test(waits, a_step_that_is_left_out_is_not_waited_for)
{
	uint64_t operation = start_sending(), first = waits_start_step(operation, 0, 1000), last;

	cr_expect_eq(waits_start_step(operation, IN_FLIGHT + 1, 1000), 0, "too far ahead");
	last = waits_start_step(operation, IN_FLIGHT, 1000);
	cr_assert(last, "15 are left out between them");
	waits_step_state(last, SEND_WAIT, 0, 1000);
	waits_step_state(first, GPU_WAIT, 0, 1000);
	waits_stop_step(first, 1200);
	waits_stop_step(last, 1300);
	cr_expect_eq(sending()->steps, 1, "the first is 16 steps behind: nobody waits for it any more");
	expect_waits(sending(), 0, 0, 300);
}

Test(waits, as_many_steps_as_a_channel_has_are_in_flight_and_the_oldest_counts)
{
	uint64_t operation = start_sending(), steps[IN_FLIGHT];

	for (int i = 0; i < IN_FLIGHT; i++)
		cr_assert(steps[i] = waits_start_step(operation, i, 1000));
	for (int i = 0; i < IN_FLIGHT; i++)
		waits_step_state(steps[i], i ? SEND_WAIT : GPU_WAIT, 0, 1000);
	waits_stop_step(steps[0], 1400);
	expect_waits(sending(), 400, 0, 0);
	for (int i = 1; i < IN_FLIGHT; i++)
		waits_stop_step(steps[i], 1400 + 10 * (uint64_t)i);
	expect_waits(sending(), 400, 0, 150);
	cr_expect_eq(sending()->steps, IN_FLIGHT);
}

Test(waits, steps_outside_of_a_handle_are_left_out)
{
	uint64_t operation = start_sending();

	cr_expect_eq(waits_start_step(operation, -1, 1000), 0);
	cr_expect_eq(waits_start_step(operation, 1 << 20, 1000), 0);
	cr_expect_neq(waits_start_step(operation, 0, 1000), 0);
	operation = start(7, 6, 2, true);
	cr_expect_eq(waits_start_step(operation, (1 << 20) - 1, 1000) & ((1 << 20) - 1), (1 << 20) - 1, "the last one is one");
}

Test(waits, the_next_operation_of_a_channel_ends_what_the_one_before_left)
{
	uint64_t before = start_sending(), after = start_sending();
	uint64_t step = waits_start_step(before, 0, 1000);

	cr_expect_neq(before, after);
	waits_step_state(step, GPU_WAIT, 0, 1000);
	uint64_t next = waits_start_step(after, 5, 1200);
	cr_expect_neq(next, 0, "whatever its first step is");
	expect_waits(sending(), 200, 0, 0);
	waits_step_state(step, SEND_WAIT, BYTES, 1300);
	waits_stop_step(step, 1400);
	cr_expect_eq(sending()->steps, 0, "it is not in flight any more");
	cr_expect_eq(sending()->bytes, 0);
	cr_expect_eq(waits_start_step(before, 1, 1500), 0);
	waits_stop(before, 1600);
	waits_step_state(next, SEND_WAIT, 3, 1700);
	waits_stop_step(next, 1900);
	expect_waits(sending(), 200, 0, 200);
	cr_expect_eq(sending()->steps, 1);
	cr_expect_eq(sending()->bytes, 3);
}

Test(waits, an_operation_that_stops_waits_for_nothing_more)
{
	uint64_t operation = start_sending(), step = waits_start_step(operation, 0, 1000);

	waits_step_state(step, GPU_WAIT, 0, 1000);
	waits_stop(operation, 1300);
	expect_waits(sending(), 300, 0, 0);
	cr_expect_eq(sending()->last_ns, 1300);
	waits_stop_step(step, 1400);
	expect_waits(sending(), 300, 0, 0);
	cr_expect_eq(sending()->steps, 0);
	cr_expect_eq(sending()->last_ns, 1300);
}

Test(waits, a_clock_that_stands_or_goes_back_charges_nothing)
{
	uint64_t step = waits_start_step(start_sending(), 0, 1000);

	waits_step_state(step, GPU_WAIT, 0, 1000);
	waits_step_state(step, GPU_WAIT, 0, 900);
	waits_step_state(step, GPU_WAIT, 0, 900);
	expect_waits(sending(), 0, 0, 0);
}

/* NCCL before 2.27 tells of the operation that it waits for its peer's buffers. */
Test(waits, an_operation_that_waits_for_its_peer_does_so_with_the_oldest_step_that_is_not_on_its_way)
{
	uint64_t operation = start_sending(), steps[3];

	for (int i = 0; i < 3; i++)
		steps[i] = waits_start_step(operation, i, 1000);
	waits_step_state(steps[0], SEND_WAIT, 0, 1000);
	waits_step_state(steps[1], GPU_WAIT, 0, 1000);
	waits_step_state(steps[2], GPU_WAIT, 0, 1000);
	waits_state(operation, FIFO_WAIT + 1, 1050);
	waits_state(operation, FIFO_WAIT, 1100);
	cr_expect_eq(sending()->last_ns, 1100);
	waits_stop_step(steps[0], 1300);
	expect_waits(sending(), 0, 0, 300);
	waits_stop_step(steps[1], 1700);
	expect_waits(sending(), 0, 400, 300);
	waits_stop_step(steps[2], 2200);
	expect_waits(sending(), 500, 400, 300);
	waits_state(start_sending(), FIFO_WAIT, 9000);
	cr_expect_eq(sending()->last_ns, 2200, "one that has no step yet");
}

Test(waits, a_handle_of_an_entry_that_was_given_back_is_stale)
{
	uint64_t operation = start_sending(), step = waits_start_step(operation, 0, 1000);

	waits_step_state(step, GPU_WAIT, 0, 1000);
	waits_step_state(step, SEND_WAIT, 9, 1100);
	for (uint32_t i = 0; i < RW_BOX_WAITS / 2; i++)
		start(7, 100 + (int32_t)i, 2, true);
	waits_renew();
	for (int i = 0; i < RW_BOX_WAITS; i++) {
		static const struct rw_wait empty;

		cr_assert_eq(memcmp(&entries[i], &empty, sizeof(empty)), 0, "%d", i);
	}
	uint64_t again = start_sending();
	cr_expect_neq(again, operation);
	waits_step_state(step, GPU_WAIT, 0, 2000);
	waits_stop_step(step, 2100);
	waits_stop(operation, 2200);
	waits_state(operation, FIFO_WAIT, 2300);
	cr_expect_eq(waits_start_step(operation, 1, 2400), 0);
	cr_expect_eq(sending()->steps, 0);
	cr_expect_eq(sending()->gpu_ns, 0);
	cr_expect_neq(waits_start_step(again, 0, 3000), 0);
}

Test(waits, half_of_the_entries_stay)
{
	for (uint32_t i = 0; i < RW_BOX_WAITS / 2; i++)
		cr_assert(start(7, (int32_t)i, 2, true));
	waits_renew();
	int used = 0;
	for (int i = 0; i < RW_BOX_WAITS; i++)
		used += entries[i].key != 0;
	cr_expect_eq(used, RW_BOX_WAITS / 2);
	cr_assert(start(7, RW_BOX_WAITS, 2, true));
	waits_renew();
	for (int i = 0; i < RW_BOX_WAITS; i++)
		cr_assert_eq(entries[i].key, 0);
}

Test(waits, what_finds_no_entry_is_left_out_and_counted)
{
	uint32_t refused = 0;

	for (int32_t i = 0; i < 2 * RW_BOX_WAITS; i++)
		refused += !start(7, i, 2, true);
	cr_expect_geq(refused, RW_BOX_WAITS);
	cr_expect_eq(header.waits_refused, refused);
	int used = 0;
	for (int i = 0; i < RW_BOX_WAITS; i++)
		used += entries[i].key != 0;
	cr_expect_eq(used + (int)refused, 2 * RW_BOX_WAITS);
	cr_expect_gt(used, RW_BOX_WAITS * 9 / 10, "a place is looked for among 32");
}
