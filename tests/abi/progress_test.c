/* SPDX-License-Identifier: MIT */
/* GPU progress end to end: the built plugin and the stand-in's driver, which runs streams as a GPU does. */
#include <criterion/criterion.h>
#include <cuda.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/abi/player.h"

static struct player player;
static struct box_reader reader;
static CUstream stream;
static CUdeviceptr gate;
static void *last_task;

static void begin(int abi)
{
	const char *directory = player_directory();
	CUdevice device;
	CUcontext context;

	cr_assert_eq(cuInit(0), CUDA_SUCCESS);
	cr_assert_eq(cuDeviceGet(&device, 0), CUDA_SUCCESS);
	cr_assert_eq(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
	cr_assert_eq(cuCtxSetCurrent(context), CUDA_SUCCESS);
	cr_assert_eq(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	cr_assert_eq(cuMemAlloc(&gate, 8), CUDA_SUCCESS);
	cr_assert_eq(cuMemsetD32(gate, 0, 2), CUDA_SUCCESS);
	player_init(&player, player_load(), abi, 0x5eed, 1, 4);
	cr_assert(player.mask);
	player_read(&reader, directory);
}

/* The stream stands here until somebody opens the gate. */
static void close_gate(void)
{
	cr_assert_eq(cuStreamWaitValue64(stream, gate, 1, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
}

static void open_gate(void)
{
	uint64_t one = 1;

	cr_assert_eq(cuMemcpyHtoD(gate, &one, sizeof(one)), CUDA_SUCCESS);
}

/* A collective whose "kernel" is the gate, when it is to be held. */
static void play(bool held)
{
	void *group = player_api_group(&player);
	void *call = player_call(&player, group, "AllReduce", 8, "ncclFloat32", false);
	player_stop(&player, call);
	void *launch = player_launch(&player, stream);
	if (held)
		close_gate();
	player_stop(&player, launch);
	void *plan = player_plan(&player);
	last_task = player_task(&player, call, "AllReduce", 8);
	player_stop(&player, last_task);
	player_stop(&player, plan);
	player_stop(&player, group);
}

static bool wait_for_known(uint64_t number, uint32_t bits, struct rw_operation *operation)
{
	for (int tries = 0; tries < 10000; tries++) {
		if (player_operation(&reader, number, operation) && (operation->known & bits) == bits)
			return true;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return false;
}

Test(progress, an_operation_is_running_until_the_gpu_says_otherwise)
{
	struct rw_operation op;

	begin(5);
	cr_expect_str_eq(reader.header.gpu_progress_state, "watermark");
	play(true);
	cr_assert(wait_for_known(0, RW_KNOWN_STARTED, &op));
	cr_expect_not(op.known & RW_KNOWN_DONE);
	cr_expect(op.owner & RW_OWNER_GPU);
	cr_expect_eq(op.gpu_source, RW_GPU_SOURCE_WATERMARK);
	cr_expect_geq(op.started_seen_ns, op.launch_begin_ns);
	open_gate();
	cr_assert(wait_for_known(0, RW_KNOWN_DONE, &op));
	cr_expect_geq(op.done_seen_ns, op.started_seen_ns);
	cr_assert(player_wait_finished(&reader, 0, &op));
}

Test(progress, times_of_the_kernel_leave_the_source_of_started_and_done_as_it_is)
{
	struct rw_operation op;

	setenv("RANKWATCH_KERNELCH", "1", 1);
	begin(5);
	play(true);
	cr_assert(wait_for_known(0, RW_KNOWN_STARTED, &op));
	for (uint8_t channel = 0; channel < 4; channel++)
		player_channel_stop(&player, player_channel(&player, last_task, channel, 1000), 2000);
	cr_assert(player_operation(&reader, 0, &op));
	cr_expect(op.known & RW_KNOWN_STAMP);
	cr_expect_not(op.known & RW_KNOWN_DONE);
	cr_expect(op.owner & RW_OWNER_GPU, "the drain still waits for the GPU's word");
	cr_expect_eq(op.gpu_source, RW_GPU_SOURCE_WATERMARK);
	open_gate();
	cr_assert(wait_for_known(0, RW_KNOWN_DONE, &op));
	cr_assert(player_wait_finished(&reader, 0, &op));
	cr_expect_eq(op.gpu_source, RW_GPU_SOURCE_WATERMARK);
	cr_expect_eq(op.gpu_start_raw, 1000);
	cr_expect_eq(op.gpu_end_raw, 2000);
}

Test(progress, what_waits_behind_a_running_operation_has_not_started)
{
	struct rw_operation first, second;

	begin(5);
	play(true);
	play(false);
	cr_assert(wait_for_known(0, RW_KNOWN_STARTED, &first));
	cr_assert(player_operation(&reader, 1, &second));
	cr_expect_not(second.known & RW_KNOWN_STARTED);
	cr_expect_eq(second.progress, first.progress + 1);
	open_gate();
	cr_assert(wait_for_known(1, RW_KNOWN_DONE, &second));
}

Test(progress, finalize_lets_go_of_what_the_gpu_never_finished)
{
	struct rw_operation op;

	begin(5);
	play(true);
	cr_assert(wait_for_known(0, RW_KNOWN_STARTED, &op));
	player_finalize(&player);
	cr_assert(player_wait_finished(&reader, 0, &op));
	cr_expect(op.flags & RW_FLAG_ABORTED);
	cr_expect_not(op.known & RW_KNOWN_DONE);
	open_gate();
}

Test(progress, the_device_is_in_the_header)
{
	begin(5);
	cr_expect_eq(reader.header.devices[0].used, 1);
	cr_expect_eq(reader.header.devices[0].ordinal, 0);
	cr_expect_neq(reader.header.devices[0].pci[0], '\0');
	cr_expect_gt(reader.header.cuda_driver_version, 0);
}

Test(progress, a_process_with_two_devices_does_not_claim_the_launchers_rank)
{
	struct player other;
	struct rw_communicator entry;
	CUcontext context;
	CUdevice device;

	setenv("RANK", "5", 1);
	begin(5);
	cr_expect_eq(reader.header.world_rank, 5);
	if (cuDeviceGet(&device, 1) != CUDA_SUCCESS)
		cr_skip_test("the driver has one device");
	cr_assert_eq(cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
	cr_assert_eq(cuCtxSetCurrent(context), CUDA_SUCCESS);
	player_init(&other, player_load(), 5, 0x5eed, 2, 4);
	cr_assert_eq(box_reader_refresh(&reader), 0);
	cr_expect_eq(reader.header.world_rank, -1);
	cr_expect_eq(reader.header.devices[1].ordinal, 1);
	cr_assert_eq(box_reader_communicators(&reader, 1, 1, &entry), 1);
	cr_expect_eq(entry.device, 1);
}

static void expect_none(const char *variable, const char *value, int abi, const char *state)
{
	struct rw_operation op;

	if (variable)
		setenv(variable, value, 1);
	begin(abi);
	if (abi == 4)
		player_collective(&player, "AllReduce", 1, "ncclFloat32");
	else
		play(false);
	cr_assert(player_wait_finished(&reader, 0, &op));
	cr_expect_eq(op.progress, 0);
	cr_expect_str_eq(reader.header.gpu_progress_state, state);
}

Test(progress, none_before_abi_version_5)
{
	expect_none(NULL, NULL, 4, "none: profiler ABI before v5 names no stream");
}

Test(progress, none_in_group_launch_mode)
{
	expect_none("NCCL_LAUNCH_MODE", "GROUP", 5, "none: NCCL_LAUNCH_MODE=GROUP");
}

Test(progress, none_when_switched_off)
{
	expect_none("RANKWATCH_GPU_TIME", "off", 5, "off: RANKWATCH_GPU_TIME=off");
}

/* 8 bytes again and again: a few have progress, by what all ranks know, and none of the others is waited for. */
Test(progress, a_long_row_of_small_operations_is_sampled)
{
	enum { CALLS = 400, FIRST = 8 };
	uint32_t followed = 0, out = 0;
	struct rw_operation op;

	setenv("RANKWATCH_SCAN", "off", 1);
	begin(5);
	for (int i = 0; i < CALLS; i++)
		play(false);
	for (uint64_t i = 0; i < CALLS; i++) {
		cr_assert(player_wait_finished(&reader, i, &op), "operation %lu", i);
		bool sampled_out = op.flags & RW_FLAG_PROGRESS_SAMPLED_OUT;
		cr_expect(i >= FIRST || (op.progress && !sampled_out), "the first of a row have it, operation %lu", i);
		cr_expect(op.progress || sampled_out, "operation %lu", i);
		followed += op.progress != 0;
		out += sampled_out;
	}
	cr_expect(out > CALLS * 3 / 4 && out < CALLS, "%u sampled out", out);
	cr_expect(followed < CALLS / 2, "%u have progress", followed);
	player_read(&reader, getenv("RANKWATCH_DIR"));
	cr_expect_eq(reader.header.progress_sampled_out, CALLS - followed);
}

/* What hangs is often what comes alone. */
Test(progress, behind_a_pause_a_small_operation_has_progress_that_is_not_compared)
{
	enum { ROW = 200, PAUSED = 20 };
	struct rw_operation op;
	int uncompared = 0;

	setenv("RANKWATCH_SCAN", "off", 1);
	begin(5);
	for (int i = 0; i < ROW; i++)
		play(false);
	for (uint64_t i = ROW; i < ROW + PAUSED; i++) {
		nanosleep(&(struct timespec){ .tv_nsec = 3000000 }, NULL);
		play(false);
		cr_assert(player_wait_finished(&reader, i, &op));
		cr_expect(op.progress && op.known & RW_KNOWN_DONE, "operation %lu", i);
		uncompared += !!(op.flags & RW_FLAG_PROGRESS_SAMPLED_OUT);
	}
	cr_expect_gt(uncompared, PAUSED / 2, "whose turn it is hangs on no clock");
}

Test(progress, who_asks_for_it_has_progress_of_all)
{
	enum { CALLS = 200 };
	struct rw_operation op;

	setenv("RANKWATCH_GPU_TIME", "watermark", 1);
	begin(5);
	for (int i = 0; i < CALLS; i++)
		play(false);
	for (uint64_t i = 0; i < CALLS; i++) {
		cr_assert(player_wait_finished(&reader, i, &op));
		cr_expect(op.progress && !(op.flags & RW_FLAG_PROGRESS_SAMPLED_OUT), "operation %lu", i);
	}
}

/* A hundred times what RANKWATCH_BUDGET allows in a second. Returns of how many operations the header then says that
 * one has progress. */
static uint32_t play_beyond_the_budget(const char *gpu_time)
{
	enum { CALLS = 1000 };
	struct rw_operation op;

	setenv("RANKWATCH_GPU_TIME", gpu_time, 1);
	setenv("RANKWATCH_BUDGET", "0.001", 1);
	setenv("RANKWATCH_SCAN", "off", 1);
	begin(5);
	for (int i = 0; i < CALLS; i++)
		play(false);
	cr_assert(player_wait_finished(&reader, CALLS - 1, &op));
	player_await_drain(&reader);
	return reader.header.progress_every;
}

Test(progress, what_costs_more_than_the_budget_is_turned_down_and_the_header_says_so)
{
	cr_expect_gt(play_beyond_the_budget("auto"), 1);
}

Test(progress, who_asks_for_progress_of_all_is_not_told_that_it_was_sampled)
{
	cr_expect_eq(play_beyond_the_budget("watermark"), 1);
	cr_expect_eq(reader.header.progress_sampled_out, 0);
}

static void play_send(void)
{
	void *group = player_api_group(&player);
	void *call = player_p2p_call(&player, group, "Send", 8);
	player_stop(&player, call);
	player_stop(&player, player_launch(&player, stream));
	void *plan = player_plan(&player);
	player_stop(&player, player_p2p_task(&player, call, "Send", 8, 2));
	player_stop(&player, plan);
	player_stop(&player, group);
}

/* What sender and receiver both know of it comes too late to sample by. */
Test(progress, of_sends_in_a_row_none_is_left_out)
{
	enum { CALLS = 200 };
	struct rw_operation op;

	setenv("RANKWATCH_SCAN", "off", 1);
	begin(5);
	for (int i = 0; i < CALLS; i++)
		play_send();
	for (uint64_t i = 0; i < CALLS; i++) {
		cr_assert(player_wait_finished(&reader, i, &op), "operation %lu", i);
		cr_expect(op.progress && !(op.flags & RW_FLAG_PROGRESS_SAMPLED_OUT), "operation %lu", i);
	}
}
