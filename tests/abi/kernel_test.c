/* SPDX-License-Identifier: MIT */
/* The GPU's own times from KernelCh events, and what NCCL does to their handles. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>

#include "tests/abi/player.h"

enum { CHANNELS = 4 /* that the player's collectives announce */, EARLY = 5, LATE = UINT16_MAX };

#define EPOCH UINT64_C(1767225600000000000) /* %globaltimer counts from about 1970 */

static struct player player;
static struct box_reader reader;

static void begin(int abi)
{
	const char *directory = player_directory();

	setenv("RANKWATCH_KERNELCH", "1", 1);
	player_init(&player, player_load(), abi, 0x5eed, 1, 4);
	cr_assert(player.mask & PROFILER_KERNEL_CH);
	player_read(&reader, directory);
}

static struct rw_operation operation(uint64_t number)
{
	struct rw_operation found;

	cr_assert(player_operation(&reader, number, &found), "operation %lu is not in the box", (unsigned long)number);
	return found;
}

static bool has_begun(uint64_t number)
{
	struct rw_operation op = operation(number);

	return op.known & RW_KNOWN_BEGAN;
}

static bool has_times(uint64_t number)
{
	struct rw_operation op = operation(number);

	return op.known & RW_KNOWN_STAMP;
}

static uint32_t owner_of(uint64_t number)
{
	struct rw_operation op = operation(number);

	return op.owner;
}

static void expect_times(uint64_t number, uint64_t start, uint64_t end)
{
	struct rw_operation op = operation(number);

	cr_expect(op.known & RW_KNOWN_STAMP);
	cr_expect_eq(op.gpu_start_raw, start);
	cr_expect_eq(op.gpu_end_raw, end);
	cr_expect_eq(op.owner, 0, "the slot is free again");
}

static void *collective(void)
{
	return player_collective(&player, "AllReduce", 8, "ncclFloat32");
}

/* Starts all channels; the first of them at EPOCH. */
static void start_all(void *task, void *handles[CHANNELS])
{
	for (uint8_t channel = 0; channel < CHANNELS; channel++) {
		handles[channel] = player_channel(&player, task, channel, EPOCH + 10 * ((channel + 2) % CHANNELS));
		cr_assert(handles[channel]);
	}
}

static void stop_all(void *const handles[CHANNELS], uint64_t timer)
{
	for (int channel = 0; channel < CHANNELS; channel++)
		player_channel_stop(&player, handles[channel], timer);
}

static struct criterion_test_params abi_versions(void)
{
	static int versions[] = { 4, 5, 7 };

	return cr_make_param_array(int, versions, 3);
}

ParameterizedTestParameters(kernel, times_are_the_first_start_and_the_last_stop_of_all_channels)
{
	return abi_versions();
}

ParameterizedTest(int *abi, kernel, times_are_the_first_start_and_the_last_stop_of_all_channels)
{
	static const uint64_t stops[CHANNELS] = { 500, 900, 700, 600 };
	void *handles[CHANNELS];

	begin(*abi);
	start_all(collective(), handles);
	for (int channel = 0; channel < CHANNELS; channel++) {
		cr_expect_not(has_times(0), "channel %d still runs", channel);
		player_channel_stop(&player, handles[channel], EPOCH + stops[channel]);
	}
	expect_times(0, EPOCH, EPOCH + 900);
	cr_expect_eq(operation(0).gpu_source, RW_GPU_SOURCE_KERNEL_CH, "no watermark in this process");
}

/* Of one that never ends, too, it is known whether its kernel has begun. */
Test(kernel, that_it_has_begun_is_known_while_it_runs)
{
	begin(5);
	void *first = collective(), *second = collective();
	cr_expect_not(has_begun(0), "no channel has started");
	void *handle = player_channel(&player, first, 2, EPOCH);
	cr_expect(has_begun(0));
	cr_expect_not(has_times(0));
	cr_expect_eq(owner_of(0), 0, "the slot is free again");
	cr_expect_not(has_begun(1));
	player_channel_stop(&player, handle, EPOCH + 1);
	uint64_t slots = reader.header.ring_slots;
	for (uint64_t i = 0; i < slots; i++)
		collective();
	cr_expect_null(player_channel(&player, second, 0, EPOCH));
	cr_expect_not(has_begun(slots + 1), "it is in the slot of another one");
}

ParameterizedTestParameters(kernel, handles_of_an_operation_that_was_overwritten_do_nothing)
{
	return abi_versions();
}

/* NCCL hands a stopped handle in again when it meets the next stop before the next start. */
ParameterizedTest(int *abi, kernel, handles_of_an_operation_that_was_overwritten_do_nothing)
{
	void *stale[CHANNELS], *handles[CHANNELS];

	begin(*abi);
	void *stale_task = collective();
	start_all(stale_task, stale);
	uint64_t slots = reader.header.ring_slots;
	void *task = NULL;
	for (uint64_t i = 0; i < slots; i++)
		task = collective();
	start_all(task, handles); /* operation `slots`, in the slot of operation 0 */
	stop_all(stale, EPOCH + LATE);
	cr_expect_not(has_times(slots));
	cr_expect_null(player_channel(&player, stale_task, CHANNELS, EPOCH - EARLY));
	stop_all(handles, EPOCH + 100);
	stop_all(stale, EPOCH + LATE);
	expect_times(slots, EPOCH, EPOCH + 100);
}

ParameterizedTestParameters(kernel, a_late_stop_does_not_reach_the_next_operation_of_the_slot)
{
	return abi_versions();
}

ParameterizedTest(int *abi, kernel, a_late_stop_does_not_reach_the_next_operation_of_the_slot)
{
	void *handles[CHANNELS];

	begin(*abi);
	start_all(collective(), handles);
	uint64_t slots = reader.header.ring_slots;
	for (uint64_t i = 0; i < slots; i++)
		collective();
	stop_all(handles, EPOCH + 100);
	struct rw_operation op = operation(slots);
	cr_expect_not(op.known & RW_KNOWN_STAMP);
	cr_expect_eq(op.gpu_start_raw, 0);
	cr_expect_eq(op.gpu_source, RW_GPU_SOURCE_NONE);
}

Test(kernel, a_late_stop_does_not_reach_an_operation_that_had_no_kernel)
{
	void *handles[CHANNELS];
	struct rw_operation op;

	begin(5);
	start_all(collective(), handles);
	uint64_t slots = reader.header.ring_slots;
	for (uint64_t i = 1; i < slots; i++)
		collective();
	player_call(&player, NULL, "AllReduce", 8, "ncclFloat32", false);
	player_finalize(&player);
	cr_assert(player_wait_finished(&reader, slots, &op), "given up: its slot is free");
	stop_all(handles, EPOCH + 100);
	cr_expect_not(has_times(slots));
	cr_expect_eq(owner_of(slots), 0);
}

Test(kernel, a_stop_that_comes_twice_is_not_another_channel)
{
	void *handles[CHANNELS];

	begin(5);
	start_all(collective(), handles);
	player_channel_stop(&player, handles[1], EPOCH + 100);
	for (int i = 0; i < CHANNELS; i++)
		player_channel_stop(&player, handles[1], EPOCH + LATE);
	cr_expect_not(has_times(0));
	stop_all(handles, EPOCH + 200);
	expect_times(0, EPOCH, EPOCH + 200);
	stop_all(handles, EPOCH + LATE);
	expect_times(0, EPOCH, EPOCH + 200);
}

Test(kernel, a_channel_starts_once)
{
	begin(5);
	void *task = collective();
	cr_expect(player_channel(&player, task, 0, EPOCH));
	cr_expect_null(player_channel(&player, task, 0, EPOCH - EARLY));
}

Test(kernel, only_the_stop_state_is_read)
{
	uint64_t garbage = 7;
	void *handles[CHANNELS];

	begin(5);
	start_all(collective(), handles);
	for (int i = 0; i < CHANNELS; i++) {
		player_state(&player, handles[i], 23, &garbage);
		player_state(&player, handles[i], 24, &garbage);
		player_state(&player, handles[i], PROFILER_KERNEL_CH_STOP, NULL);
		player_stop(&player, handles[i]);
	}
	cr_expect_not(has_times(0));
	stop_all(handles, EPOCH + 100);
	expect_times(0, EPOCH, EPOCH + 100);
}

Test(kernel, a_parent_that_is_no_task_of_the_communicator_is_refused)
{
	struct player other;

	begin(5);
	player_init(&other, player_load(), 5, 0xbee, 0, 2);
	void *task = collective();
	cr_expect_null(player_channel(&player, NULL, 0, EPOCH));
	cr_expect_null(player_channel(&player, (void *)0x7f0012345678, 0, EPOCH));
	cr_expect_null(player_channel(&player, (char *)task + 1, 0, EPOCH), "no such operation yet");
	cr_expect_null(player_channel(&other, task, 0, EPOCH));
	player_finalize(&player);
	cr_expect_null(player_channel(&player, task, 0, EPOCH), "the communicator has ended");
}

Test(kernel, a_stop_after_the_communicator_ended_still_belongs_to_its_operation)
{
	void *handles[CHANNELS];

	begin(5);
	start_all(collective(), handles);
	player_finalize(&player);
	stop_all(handles, EPOCH + 100);
	expect_times(0, EPOCH, EPOCH + 100);
}

Test(kernel, sixty_four_channels_are_kept_and_no_more)
{
	void *handles[64];

	begin(5);
	void *task = collective();
	for (uint8_t channel = 0; channel < 64; channel++)
		handles[channel] = player_channel(&player, task, channel, EPOCH + channel);
	cr_expect_null(player_channel(&player, task, 64, EPOCH - EARLY));
	cr_expect_null(player_channel(&player, task, 255, EPOCH - EARLY));
	for (int channel = 0; channel < 64; channel++) {
		cr_expect_not(has_times(0), "channels that were not announced still run");
		player_channel_stop(&player, handles[channel], EPOCH + 100 + (uint64_t)channel);
	}
	expect_times(0, EPOCH, EPOCH + 163);
}

Test(kernel, fewer_channels_than_announced_give_no_times)
{
	void *handles[CHANNELS];

	begin(5);
	void *task = collective();
	for (uint8_t channel = 0; channel < CHANNELS - 1; channel++)
		handles[channel] = player_channel(&player, task, channel, EPOCH);
	for (int channel = 0; channel < CHANNELS - 1; channel++)
		player_channel_stop(&player, handles[channel], EPOCH + 100);
	cr_expect_not(has_times(0));
	cr_expect_eq(owner_of(0), 0, "nobody waits for the fourth");
}

Test(kernel, an_end_before_the_start_is_not_believed)
{
	void *handles[CHANNELS];

	begin(5);
	start_all(collective(), handles);
	stop_all(handles, EPOCH - 1000);
	cr_expect_not(has_times(0));
}

Test(kernel, p2p_has_times_when_all_announced_channels_ran)
{
	begin(5);
	void *task = player_p2p(&player, "Send", 1, 0);
	void *first = player_channel(&player, task, 0, EPOCH);
	player_channel_stop(&player, first, EPOCH + 100);
	cr_expect_not(has_times(0));
	player_channel_stop(&player, player_channel(&player, task, 1, EPOCH + 1), EPOCH + 50);
	expect_times(0, EPOCH, EPOCH + 100);
}

Test(kernel, p2p_of_version_4_announces_no_channels_and_has_no_times)
{
	begin(4);
	cr_expect_null(player_channel(&player, player_p2p(&player, "Send", 1, 0), 0, EPOCH));
}

Test(kernel, without_the_variable_kernel_events_do_nothing)
{
	const char *directory = player_directory();

	player_init(&player, player_load(), 5, 0x5eed, 1, 4);
	cr_expect_not(player.mask & PROFILER_KERNEL_CH);
	player_read(&reader, directory);
	cr_expect_null(player_channel(&player, collective(), 0, EPOCH));
	cr_expect_not(has_times(0));
}

/* NCCL has one mask for all communicators of a process. */
static void init_another(void)
{
	void *context;

	cr_assert_eq(player.v5->init(&context, 0x5eed + 1, &player.mask, "another", 1, 4, 1, NULL), PROFILER_SUCCESS);
	cr_expect(player.mask & PROFILER_COLL, "operations are recorded all the same");
}

ParameterizedTestParameters(kernel, events_are_not_asked_for_where_nccl_would_crash_for_lack_of_shared_memory)
{
	static int abis[] = { 4, 5, 6 };

	return cr_make_param_array(int, abis, sizeof(abis) / sizeof(*abis));
}

/* The player's four ranks are on one host: each needs 36 MiB for each communicator. */
ParameterizedTest(int *abi, kernel, events_are_not_asked_for_where_nccl_would_crash_for_lack_of_shared_memory)
{
	player_shared_memory(4 * 36 - 1, 4 * 36 - 1);
	player_directory();
	setenv("RANKWATCH_KERNELCH", "1", 1);
	player_init(&player, player_load(), *abi, 0x5eed, 1, 4);
	cr_expect_not(player.mask & PROFILER_KERNEL_CH);
	cr_expect(player.mask & PROFILER_COLL, "operations are recorded all the same");
}

static int mask_of(int abi, const char *allgatherv)
{
	player_shared_memory(10000, 10000);
	player_directory();
	setenv("RANKWATCH_KERNELCH", "1", 1);
	if (allgatherv)
		setenv("NCCL_ALLGATHERV_ENABLE", allgatherv, 1);
	player_init(&player, player_load(), abi, 0x5eed, 1, 4);
	cr_assert(player.mask & PROFILER_COLL, "operations are recorded all the same");
	return player.mask;
}

/* 2.29.2 to 2.30.7, whose host does not count Broadcasts of several roots. */
Test(kernel, events_are_not_asked_for_where_nccl_could_hang_with_them)
{
	cr_expect_not(mask_of(6, NULL) & PROFILER_KERNEL_CH);
}

Test(kernel, events_are_not_asked_for_where_a_setting_lets_nccl_hang_with_them)
{
	cr_expect_not(mask_of(6, "1") & PROFILER_KERNEL_CH);
}

Test(kernel, events_are_asked_for_where_nccl_counts_broadcasts_as_told)
{
	cr_expect(mask_of(6, "0") & PROFILER_KERNEL_CH);
}

Test(kernel, events_are_not_asked_for_where_the_setting_is_empty)
{
	cr_expect_not(mask_of(6, "") & PROFILER_KERNEL_CH);
}

Test(kernel, events_are_asked_for_where_broadcasts_only_have_wrong_times)
{
	cr_expect(mask_of(7, NULL) & PROFILER_KERNEL_CH);
}

Test(kernel, events_are_asked_for_where_there_is_just_enough_shared_memory)
{
	player_shared_memory(4 * 36, 4 * 36);
	begin(5);
}

Test(kernel, events_are_asked_for_without_shared_memory_of_a_release_that_has_a_thread_for_them)
{
	player_shared_memory(0, 0);
	begin(7);
}

/* Whether the first communicator's queues have been made, nobody knows. */
Test(kernel, events_are_taken_back_where_another_communicator_has_no_room)
{
	player_shared_memory(2 * 4 * 36 - 1, 2 * 4 * 36 - 1);
	begin(5);
	init_another();
	cr_expect_not(player.mask & PROFILER_KERNEL_CH);
	player_shared_memory(10000, 10000);
	init_another();
	cr_expect_not(player.mask & PROFILER_KERNEL_CH, "for good");
}

Test(kernel, events_are_taken_back_where_shared_memory_is_used_up_meanwhile)
{
	player_shared_memory(10000, 4 * 36 - 1);
	begin(5);
	init_another();
	cr_expect_not(player.mask & PROFILER_KERNEL_CH);
}

Test(kernel, events_stay_where_another_communicator_has_room)
{
	player_shared_memory(2 * 4 * 36, 4 * 36);
	begin(5);
	init_another();
	cr_expect(player.mask & PROFILER_KERNEL_CH);
}

Test(kernel, a_communicator_that_has_ended_needs_no_room)
{
	player_shared_memory(4 * 36, 4 * 36);
	begin(5);
	player_finalize(&player);
	init_another();
	cr_expect(player.mask & PROFILER_KERNEL_CH);
}
