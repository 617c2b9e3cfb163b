/* SPDX-License-Identifier: MIT */
/* What NCCL's releases do that one would not expect, one test each. Criterion forks per test. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/abi/player.h"

static struct player player;
static struct box_reader reader;

static void begin(int abi)
{
	const char *directory = player_directory();

	player_init(&player, player_load(), abi, 0x5eed, 1, 4);
	cr_assert(player.mask);
	player_read(&reader, directory);
}

static struct rw_operation operation(uint64_t number)
{
	struct rw_operation found;

	cr_assert(player_operation(&reader, number, &found), "operation %lu is not in the box", (unsigned long)number);
	return found;
}

static uint32_t owner_of(uint64_t number)
{
	struct rw_operation op = operation(number);

	return op.owner;
}

static uint32_t flags_of(uint64_t number)
{
	struct rw_operation op = operation(number);

	return op.flags;
}

static uint32_t known_of(uint64_t number)
{
	struct rw_operation op = operation(number);

	return op.known;
}

static uint64_t head(void)
{
	cr_assert_eq(box_reader_refresh(&reader), 0);
	return reader.header.head;
}

static void *eager_call(void *group, const char *function)
{
	void *call = player_call(&player, group, function, 1, "ncclFloat32", false);

	player_stop(&player, call);
	return call;
}

/* Since 2.29: CollApi, then CeColl with buffers and stream; its sequence counts synchronisations. */
Test(quirk, copy_engine_collectives_are_recorded_from_version_6_on)
{
	begin(6);
	cr_expect(player.mask & PROFILER_CE_COLL);
	for (uint64_t i = 0; i < 3; i++) {
		void *group = player_api_group(&player);
		void *copy = player_copy(&player, eager_call(group, "AllGather"), "AllGather", 7 * i, (void *)0x4000);
		cr_assert(copy);
		player_stop(&player, copy);
		player_stop(&player, group);
	}
	for (uint64_t i = 0; i < 3; i++) {
		struct rw_operation op = operation(i);

		cr_expect_eq(op.known & (RW_KNOWN_TASK | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN),
			     RW_KNOWN_TASK | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN);
		cr_expect_eq(op.sequence, i, "ours does not jump");
		cr_expect_eq(op.nccl_sequence, 7 * i);
		cr_expect_eq(op.launch_stream, 0x4000);
		cr_expect_eq(op.send_address, 0x10000);
		cr_expect_eq(op.channels, 0);
		cr_expect_eq(op.owner, 0);
		cr_expect_not(op.flags & RW_FLAG_HOST_CALLBACK);
	}
}

Test(quirk, version_5_does_not_ask_for_copy_engine_events)
{
	begin(5);
	cr_expect_not(player.mask & PROFILER_CE_COLL);
}

Test(quirk, a_copy_leaves_no_launch_behind_for_the_next_task_of_its_thread)
{
	begin(7);
	player_stop(&player, player_copy(&player, eager_call(NULL, "AllGather"), "AllGather", 0, (void *)0x4000));
	player_task(&player, eager_call(NULL, "AllReduce"), "AllReduce", 1);
	cr_expect(flags_of(1) & RW_FLAG_HOST_CALLBACK);
}

/* 2.31: the algorithm is the tail of the kernel's name, the protocol "". */
Test(quirk, symmetric_kernels_have_an_algorithm_and_a_protocol_that_are_no_names)
{
	begin(7);
	void *group = player_api_group(&player);
	void *call = eager_call(group, "AllReduce");
	player_stop(&player, player_launch(&player, (void *)0x2000));
	void *plan = player_plan(&player);
	player_stop(&player, player_task_run_by(&player, call, "AllReduce", 1, "AGxLL_R", ""));
	player_stop(&player, plan);
	player_stop(&player, group);
	struct rw_operation op = operation(0);

	cr_expect(op.known & RW_KNOWN_TASK);
	cr_expect_eq(op.algorithm, RW_ALGORITHM_UNKNOWN);
	cr_expect_eq(op.protocol, RW_PROTOCOL_UNKNOWN);
	cr_expect_eq(op.owner, 0);
}

/* Symmetric before 2.31, Broadcast since 2.29.2, ncclGroupSimulateEnd, errors: the call is all there is. */
Test(quirk, calls_without_a_task_do_not_shift_the_numbers_of_those_with_one)
{
	struct rw_operation op;

	begin(6);
	void *group = player_api_group(&player);
	eager_call(group, "Broadcast");
	player_stop(&player, group);
	player_collective(&player, "Broadcast", 1, "ncclFloat32");
	cr_assert(player_wait_finished(&reader, 0, &op));
	cr_expect(op.flags & RW_FLAG_UNTRACKED);
	cr_expect_eq(operation(1).sequence, 1, "our own count");
	cr_expect_eq(operation(1).nccl_sequence, 0, "NCCL's stands still");
}

/* The ABI's "Unknown" is ncclUint8: the one type without a name. */
Test(quirk, the_unknown_type_is_bytes)
{
	begin(5);
	player_collective(&player, "AllReduce", 1, "Unknown");
	cr_expect_eq(operation(0).dtype, RW_DTYPE_UINT8);
}

/* NCCL does not clear collApiEventHandle: the previous call's handle comes again as parent. */
Test(quirk, a_call_gets_one_task_and_the_second_is_refused)
{
	begin(5);
	void *group = player_api_group(&player);
	void *call = eager_call(group, "AllReduce");
	cr_expect(player_task(&player, call, "AllReduce", 1));
	cr_expect_null(player_task(&player, call, "AllReduce", 1), "while the slot still waits for the return");
	player_stop(&player, group);
	cr_expect_null(player_task(&player, call, "AllReduce", 1), "and after");
	cr_expect_eq(operation(0).nccl_sequence, 0);
	cr_expect_eq(head(), 1);
}

Test(quirk, replays_of_a_captured_call_make_no_operation_and_no_harm)
{
	struct player second;

	begin(7);
	player_init(&second, player_load(), 7, 0xbee, 1, 4); /* index 1: the number in its captured handles */
	void *group = player_api_group(&second);
	player_call(&second, group, "Reduce", 1, "ncclFloat32", false); /* ticket 1, and its task is still to come */
	void *call = player_call(&second, group, "AllReduce", 1, "ncclFloat32", true);
	player_stop(&second, call);
	for (int i = 0; i < 1000; i++) {
		void *plan = player_plan(&second);
		cr_expect_null(player_task(&second, call, "AllReduce", 1));
		player_stop(&second, plan);
	}
	cr_expect_eq(head(), 1);
	cr_expect_not(known_of(0) & RW_KNOWN_TASK);
	player_stop(&second, group);
}

struct launch {
	void *call;
	pthread_t thread;
};

static void *launch_elsewhere(void *argument)
{
	const struct launch *launch = argument;

	player_stop(&player, player_launch(&player, (void *)0x2000));
	void *plan = player_plan(&player);
	player_stop(&player, player_task(&player, launch->call, "AllReduce", 1));
	player_stop(&player, plan);
	return NULL;
}

/* config.blocking = 0: a helper thread launches, and the user's group may be over before. */
Test(quirk, a_communicator_that_does_not_block_launches_after_the_return_on_another_thread)
{
	struct launch launch;

	begin(5);
	void *group = player_api_group(&player);
	launch.call = eager_call(group, "AllReduce");
	player_stop(&player, group);
	cr_expect(owner_of(0) & RW_OWNER_HOST);
	cr_assert_eq(pthread_create(&launch.thread, NULL, launch_elsewhere, &launch), 0);
	pthread_join(launch.thread, NULL);
	struct rw_operation op = operation(0);

	cr_expect_eq(op.known & (RW_KNOWN_LAUNCH | RW_KNOWN_TASK | RW_KNOWN_RETURN),
		     RW_KNOWN_LAUNCH | RW_KNOWN_TASK | RW_KNOWN_RETURN);
	cr_expect_leq(op.return_ns, op.launch_begin_ns);
	cr_expect_neq(op.launch_tid, op.api_tid);
	cr_expect_eq(op.owner, 0);
}

static void *finalize_elsewhere(void *argument)
{
	player_finalize(argument);
	return NULL;
}

/* All ranks of a process are freed by whoever destroys the last. */
Test(quirk, finalize_comes_on_a_foreign_thread)
{
	struct rw_communicator entry;
	pthread_t thread;

	begin(5);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	cr_assert_eq(pthread_create(&thread, NULL, finalize_elsewhere, &player), 0);
	pthread_join(thread, NULL);
	cr_assert_eq(box_reader_communicators(&reader, 0, 1, &entry), 1);
	cr_expect(entry.ended_ns);
}

/* One int for all communicators, and RAS or another plugin may have written it, too. */
Test(quirk, the_mask_of_all_communicators_only_gains_bits)
{
	void *library = player_load();
	struct player next = { 0 };
	int mask = PROFILER_PROXY_CTRL | PROFILER_NET_PLUGIN;

	begin(5);
	const struct profiler_v5 *table = dlsym(library, "ncclProfiler_v5");
	table->init(&next.context, 1, &mask, NULL, 1, 4, 0, NULL);
	cr_expect_eq(mask & (PROFILER_PROXY_CTRL | PROFILER_NET_PLUGIN), PROFILER_PROXY_CTRL | PROFILER_NET_PLUGIN);
	cr_expect_eq(mask & player.mask, player.mask);
	int before = mask;
	table->init(&next.context, 2, &mask, NULL, 1, 1, 0, NULL); /* one rank: we want nothing */
	cr_expect_eq(mask, before, "another of our communicators needs these");
	table->finalize(next.context);
	cr_expect_eq(mask, before);
}

/* 2.30.3 gives back the library twice when an init fails, under the feet of other communicators. */
Test(quirk, init_succeeds_whatever_happens)
{
	struct player next = { 0 };
	int mask = 0;

	player_directory();
	setenv("RANKWATCH_DIR", "/proc/nowhere", 1);
	setenv("RANKWATCH", "off", 1);
	setenv("RANKWATCH_LOG", "/dev/null", 1);
	for (int abi = 1; abi <= 7; abi++) {
		player_init(&next, player_load(), abi, 1, 0, 2);
		cr_expect_eq(next.result, 0);
		cr_expect(next.context, "and finalize will come");
		player_finalize(&next);
	}
	const struct profiler_v5 *table = dlsym(player_load(), "ncclProfiler_v5");
	cr_expect_eq(table->init(&next.context, 1, &mask, NULL, -1, -1, -1, NULL), 0);
	cr_expect_eq(mask, 0);
}

/* Communicators that failed before init count, too: NCCL closes the library while others live, and loads it again. */
Test(quirk, a_library_closed_too_early_goes_on_where_it_was)
{
	void *library = player_load();
	struct player next;

	begin(5);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	for (int i = 0; i < 3; i++)
		dlclose(library); /* as often as it was opened */
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	player_init(&next, player_load(), 5, 0xbee, 0, 2);
	player_collective(&next, "AllReduce", 1, "ncclFloat32");
	cr_expect_eq(operation(1).sequence, 1);
	cr_expect_eq(operation(2).comm, 1, "the same box");
}

/* NCCL meets the counter of the last operation before the next start: stop, then start. */
Test(quirk, a_kernels_stop_comes_before_its_start)
{
	void *handles[4];

	setenv("RANKWATCH_KERNELCH", "1", 1);
	begin(5);
	void *first = player_collective(&player, "AllReduce", 1, "ncclFloat32");
	for (uint8_t channel = 0; channel < 4; channel++)
		handles[channel] = player_channel(&player, first, channel, 100);
	for (int channel = 0; channel < 4; channel++)
		player_channel_stop(&player, handles[channel], 200);
	void *second = player_collective(&player, "AllReduce", 1, "ncclFloat32");
	for (uint8_t channel = 0; channel < 4; channel++) {
		player_channel_stop(&player, handles[channel], 400); /* the second's stop, the first's handle */
		handles[channel] = player_channel(&player, second, channel, 300);
	}
	cr_expect_eq(operation(0).gpu_end_raw, 200);
	cr_expect_not(known_of(1) & RW_KNOWN_STAMP, "no end rather than a wrong one");
	for (int channel = 0; channel < 4; channel++)
		player_channel_stop(&player, handles[channel], 400);
	cr_expect_eq(operation(1).gpu_start_raw, 300);
	cr_expect_eq(operation(1).gpu_end_raw, 400);
}

/* PXN: this process's proxy thread works for another one; only ProxyOp says so. RAS can ask for it in our name. */
Test(quirk, proxy_events_of_any_process_leave_nothing)
{
	begin(7);
	void *task = player_collective(&player, "AllReduce", 1, "ncclFloat32");
	uint64_t before = head();
	for (int i = 0; i < 100; i++) {
		void *foreign = (void *)(0x5700000000000000 | 77u); /* a task handle of another rankwatch */
		cr_expect_null(player_proxy_op(&player, foreign, getpid() + 1));
		cr_expect_null(player_proxy_op(&player, task, getpid())); /* never stopped: no NET transport */
		cr_expect_null(player_proxy_step(&player, foreign, 0));
		cr_expect_null(
		    player_proxy_step(&player, task, i % 2)); /* a receive that polls starts again and again */
		player_state(&player, foreign, 20, &(uint64_t){ 7 });
	}
	cr_expect_eq(head(), before);
	cr_expect_eq(owner_of(0), 0);
}

/* AlltoAll, Gather and Scatter of NCCL's API are announced as sends and receives. */
Test(quirk, an_alltoall_is_its_sends_and_receives)
{
	void *calls[8];

	begin(5);
	void *group = player_api_group(&player);
	for (int i = 0; i < 8; i++) {
		calls[i] = player_p2p_call(&player, group, i % 2 ? "Recv" : "Send", 4);
		player_stop(&player, calls[i]);
	}
	player_stop(&player, player_launch(&player, (void *)0x2000));
	void *plan = player_plan(&player);
	for (int i = 0; i < 8; i++)
		player_stop(&player, player_p2p_task(&player, calls[i], i % 2 ? "Recv" : "Send", 4, i / 2));
	player_stop(&player, plan);
	player_stop(&player, group);
	for (uint64_t i = 0; i < 8; i++) {
		struct rw_operation op = operation(i);

		cr_expect_eq(op.root_or_peer, (int32_t)i / 2);
		cr_expect_eq(op.group, operation(0).group);
		cr_expect_eq(op.owner, 0);
	}
}
