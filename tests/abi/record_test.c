/* SPDX-License-Identifier: MIT */
/* What the callbacks of every ABI version leave in the black box. Criterion forks per test: a fresh plugin each. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/abi/player.h"

enum { GROUP_COLL_P2P = PROFILER_GROUP | PROFILER_COLL | PROFILER_P2P };

static struct player player;
static int nccl_version = 22809;

/* The plugin asks the object that called it, which is this program. */
int ncclGetVersion(int *version);
int ncclGetVersion(int *version)
{
	*version = nccl_version;
	return 0;
}

static struct box_reader reader;

static void begin(int abi)
{
	const char *directory = player_directory();

	player_init(&player, player_load(), abi, 0x5eed, 1, 4);
	cr_assert(player.mask, "the plugin did not start recording");
	player_read(&reader, directory);
}

enum { GROUP_END_API_START = 24 };

static struct rw_operation operation(uint64_t number)
{
	struct rw_operation found;

	cr_assert(player_operation(&reader, number, &found), "operation %lu is not in the box", (unsigned long)number);
	return found;
}

static uint32_t known_of(uint64_t number)
{
	struct rw_operation op = operation(number);

	return op.known;
}

static uint32_t flags_of(uint64_t number)
{
	struct rw_operation op = operation(number);

	return op.flags;
}

static uint32_t owner_of(uint64_t number)
{
	struct rw_operation op = operation(number);

	return op.owner;
}

ParameterizedTestParameters(record, api_versions_5_to_7_record_a_collective_from_call_to_return)
{
	static int versions[] = { 5, 6, 7 };

	return cr_make_param_array(int, versions, 3);
}

ParameterizedTest(int *abi, record, api_versions_5_to_7_record_a_collective_from_call_to_return)
{
	begin(*abi);
	player_collective(&player, "AllGather", 1000, "ncclBfloat16");
	struct rw_operation op = operation(0);

	cr_expect_eq(op.known, RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_TASK | RW_KNOWN_RETURN);
	cr_expect_eq(op.owner, 0, "the slot is free again");
	cr_expect_eq(op.function, RW_FUNCTION_ALL_GATHER);
	cr_expect_eq(op.dtype, RW_DTYPE_BFLOAT16, "the call's type, not the task's ncclInt8");
	cr_expect_eq(op.count, 1000);
	cr_expect_eq(op.stream, 0x1000);
	cr_expect_eq(op.launch_stream, 0x2000);
	cr_expect_eq(op.algorithm, RW_ALGORITHM_RING);
	cr_expect_eq(op.protocol, RW_PROTOCOL_SIMPLE);
	cr_expect_eq(op.channels, 4);
	cr_expect_eq(op.send_address, 0x10000);
	cr_expect_eq(op.recv_address, 0x20000);
	cr_expect(op.api_ns && op.api_ns <= op.launch_begin_ns && op.launch_begin_ns <= op.launch_end_ns &&
		  op.launch_end_ns <= op.return_ns);
	cr_expect_eq(reader.header.profiler_abi, (uint32_t)*abi);
}

/* What the plugin says on stderr when it starts in that NCCL. */
static const char *start_line(int version)
{
	static char line[1024];
	int said[2], before = dup(STDERR_FILENO);

	cr_assert_eq(pipe(said), 0);
	nccl_version = version;
	const char *directory = player_directory();
	unsetenv("RANKWATCH_QUIET");
	dup2(said[1], STDERR_FILENO);
	player_init(&player, player_load(), 7, 0x5eed, 0, 4);
	dup2(before, STDERR_FILENO);
	player_read(&reader, directory);
	close(said[1]);
	ssize_t size = read(said[0], line, sizeof(line) - 1);
	cr_assert_gt(size, 0, "it says nothing");
	line[size] = '\0';
	return line;
}

Test(record, an_nccl_that_is_newer_than_what_is_known_is_called_so_in_the_start_line)
{
	const char *line = start_line(23203);

	cr_expect(strstr(line, "NCCL 2.32.3 is newer than 2.31, the newest that is known"), "%s", line);
}

/* Whoever looks at the job's threads, in top(1) or a debugger, sees whose this one is. */
Test(record, the_plugins_thread_is_called_by_its_name)
{
	DIR *tasks = opendir("/proc/self/task");
	int named = 0;

	begin(5);
	while (!reader.header.drain_ns) { /* until it runs; a test that waits too long fails */
		usleep(1000);
		cr_assert_eq(box_reader_refresh(&reader), 0);
	}
	cr_assert(tasks);
	for (const struct dirent *task; (task = readdir(tasks));) {
		char path[sizeof("/proc/self/task//comm") + sizeof(task->d_name)], name[32] = "";
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
		FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (!file)
			continue;
		named += fgets(name, sizeof(name), file) && !strcmp(name, "rankwatch\n");
		fclose(file);
	}
	closedir(tasks);
	cr_expect_eq(named, 1);
}

Test(record, version_4_records_what_it_has_and_does_not_guess_the_type)
{
	begin(4);
	cr_expect_eq(player.mask, GROUP_COLL_P2P);
	player_collective(&player, "AllGather", 4096, "ncclInt8");
	player_collective(&player, "AllReduce", 7, "ncclFloat32");
	struct rw_operation gather = operation(0), reduce = operation(1);

	cr_expect_eq(gather.known, RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_TASK);
	cr_expect_eq(gather.dtype, RW_DTYPE_UNKNOWN);
	cr_expect_eq(gather.owner, 0);
	cr_expect_eq(reduce.dtype, RW_DTYPE_FLOAT32);
	cr_expect_eq(reduce.algorithm, RW_ALGORITHM_TREE);
	cr_expect_eq(reduce.nccl_sequence, 1);
	cr_expect(reduce.api_ns && reduce.api_ns <= reduce.launch_end_ns);
	cr_expect_eq(reader.header.profiler_abi, 4);
}

Test(record, each_function_of_a_communicator_counts_for_itself)
{
	begin(5);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	player_collective(&player, "AllGather", 1, "ncclFloat32");
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	cr_expect_eq(operation(0).sequence, 0);
	cr_expect_eq(operation(1).sequence, 0);
	cr_expect_eq(operation(2).sequence, 1);
}

static void expect_p2p_counts(int abi)
{
	begin(abi);
	player_p2p(&player, "Send", 1, 0);
	player_p2p(&player, "Send", 1, 2);
	player_p2p(&player, "Recv", 1, 0);
	player_p2p(&player, "Send", 1, 0);
	cr_expect_eq(operation(0).sequence, 0);
	cr_expect_eq(operation(1).sequence, 0);
	cr_expect_eq(operation(2).sequence, 0);
	cr_expect_eq(operation(3).sequence, 1);
	cr_expect_eq(operation(3).root_or_peer, 0);
	cr_expect_eq(operation(1).root_or_peer, 2);
	cr_expect_eq(operation(2).recv_address, 0x30000);
	cr_expect_eq(operation(2).send_address, 0);
	cr_expect_eq(owner_of(3), 0);
}

Test(record, p2p_counts_by_direction_and_peer)
{
	expect_p2p_counts(5);
}

Test(record, p2p_counts_by_direction_and_peer_in_version_4)
{
	expect_p2p_counts(4);
}

Test(record, a_peer_outside_of_the_communicator_is_not_believed)
{
	begin(5);
	player_p2p(&player, "Send", 1, 4);
	player_p2p(&player, "Send", 1, -7);
	cr_expect(flags_of(0) & RW_FLAG_PEER_UNKNOWN);
	cr_expect(flags_of(1) & RW_FLAG_PEER_UNKNOWN);
	cr_expect_eq(operation(1).root_or_peer, -1);
}

Test(record, all_calls_of_a_group_share_its_number_plan_and_return)
{
	begin(5);
	void *group = player_api_group(&player);
	void *calls[3];
	void *tasks[3];
	for (int i = 0; i < 3; i++) {
		calls[i] = player_call(&player, group, "ReduceScatter", 10, "ncclFloat32", false);
		player_stop(&player, calls[i]);
	}
	player_stop(&player, player_launch(&player, (void *)0x2000));
	void *plan = player_plan(&player);
	for (int i = 0; i < 3; i++)
		tasks[i] = player_task(&player, calls[2 - i], "ReduceScatter", 10); /* NCCL sorts them */
	for (int i = 0; i < 3; i++)
		player_stop(&player, tasks[i]);
	player_stop(&player, plan);
	player_stop(&player, group);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");

	for (uint64_t i = 0; i < 3; i++) {
		struct rw_operation op = operation(i);

		cr_expect_eq(op.group, operation(0).group);
		cr_expect_eq(op.plan, operation(0).plan);
		cr_expect_eq(op.return_ns, operation(0).return_ns);
		cr_expect_eq(op.sequence, i);
		cr_expect_eq(op.nccl_sequence, 2 - i);
	}
	cr_expect_neq(operation(3).group, operation(0).group);
	cr_expect_neq(operation(3).plan, operation(0).plan);
}

Test(record, communicators_of_one_thread_keep_their_launches_apart)
{
	struct player other;

	begin(5);
	player_init(&other, player_load(), 5, 0xbee, 0, 2);
	void *group = player_api_group(&player);
	void *first = player_call(&player, group, "AllReduce", 1, "ncclFloat32", false);
	void *second = player_call(&other, group, "AllReduce", 2, "ncclFloat32", false);
	player_stop(&player, player_launch(&player, (void *)0x2000));
	void *plan = player_plan(&player);
	player_stop(&player, player_task(&player, first, "AllReduce", 1));
	player_stop(&player, plan);
	player_stop(&other, player_launch(&other, (void *)0x3000));
	plan = player_plan(&other);
	player_stop(&other, player_task(&other, second, "AllReduce", 2));
	player_stop(&other, plan);
	player_stop(&player, group);

	cr_expect_eq(operation(0).comm, 0);
	cr_expect_eq(operation(1).comm, 1);
	cr_expect_eq(operation(0).launch_stream, 0x2000);
	cr_expect_eq(operation(1).launch_stream, 0x3000);
	cr_expect(known_of(1) & RW_KNOWN_RETURN);
}

/* NCCL may end the launch of a plan when the next one of the thread has begun: that one goes on. */
ParameterizedTestParameters(record, the_end_of_an_earlier_launch_does_not_end_the_latest)
{
	static int versions[] = { 5, 6, 7 };

	return cr_make_param_array(int, versions, 3);
}

ParameterizedTest(int *abi, record, the_end_of_an_earlier_launch_does_not_end_the_latest)
{
	begin(*abi);
	void *group = player_api_group(&player);
	void *call = player_call(&player, group, "AllGather", 1000, "ncclBfloat16", false);
	player_stop(&player, call);
	player_state(&player, group, GROUP_END_API_START, NULL);
	void *earlier = player_launch(&player, (void *)0x2000);
	void *latest = player_launch(&player, (void *)0x2100);
	player_stop(&player, earlier);
	player_stop(&player, player_task(&player, call, "AllGather", 1000));
	struct rw_operation op = operation(0);
	cr_expect_eq(op.launch_stream, 0x2100);
	cr_expect_eq(op.launch_end_ns, 0, "its launch has not ended");
	player_stop(&player, latest);
	player_stop(&player, group);
	op = operation(0);
	cr_expect_geq(op.return_ns, op.launch_begin_ns);
	cr_expect_neq(op.return_ns, 0);
}

/* Plans are numbered by communicator: both launches are their first. */
Test(record, the_end_of_another_communicators_launch_does_not_end_the_latest)
{
	struct player other;

	begin(5);
	player_init(&other, player_load(), 5, 0xbee, 0, 2);
	void *group = player_api_group(&player);
	player_stop(&player, player_call(&player, group, "AllReduce", 1, "ncclFloat32", false));
	void *second = player_call(&other, group, "AllReduce", 2, "ncclFloat32", false);
	player_stop(&other, second);
	void *earlier = player_launch(&player, (void *)0x2000);
	void *latest = player_launch(&other, (void *)0x3000);
	player_stop(&player, earlier);
	player_stop(&other, player_task(&other, second, "AllReduce", 2));
	cr_expect_eq(operation(1).launch_stream, 0x3000);
	cr_expect_eq(operation(1).launch_end_ns, 0, "its launch has not ended");
	player_stop(&other, latest);
	player_stop(&player, group);
}

Test(record, captured_calls_are_counted_and_make_no_slot)
{
	struct rw_communicator entry;

	begin(5);
	void *call = player_call(&player, NULL, "AllReduce", 1, "ncclFloat32", true);
	cr_expect(call, "the handle comes back at every replay");
	cr_expect_null(player_task(&player, call, "AllReduce", 1));
	cr_assert_eq(box_reader_refresh(&reader), 0);
	cr_expect_eq(reader.header.head, 0);
	cr_expect_eq(reader.header.untracked[RW_UNTRACKED_CAPTURED], 1);
	cr_assert_eq(box_reader_communicators(&reader, 0, 1, &entry), 1);
	cr_expect_eq(entry.captured, 1);
	cr_expect_eq(entry.api_count, 1);
}

Test(record, a_task_without_a_launch_on_its_thread_came_from_a_host_callback)
{
	begin(5);
	void *group = player_api_group(&player);
	void *call = player_call(&player, group, "AllReduce", 1, "ncclFloat32", false);
	player_stop(&player, group);
	player_stop(&player, player_task(&player, call, "AllReduce", 1));
	struct rw_operation op = operation(0);

	cr_expect(op.flags & RW_FLAG_HOST_CALLBACK);
	cr_expect_not(op.known & RW_KNOWN_LAUNCH);
	cr_expect(op.known & RW_KNOWN_TASK);
}

Test(record, a_call_that_never_becomes_a_task_is_untracked_once_a_later_one_was_launched)
{
	struct rw_operation op;

	begin(5);
	void *group = player_api_group(&player);
	player_stop(&player, player_call(&player, group, "AllReduce", 1, "ncclFloat32", false));
	player_stop(&player, group);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	cr_assert(player_wait_finished(&reader, 0, &op));
	cr_expect(op.flags & RW_FLAG_UNTRACKED);
	cr_expect_eq((op.flags & RW_FLAG_UNTRACKED_MASK) >> RW_FLAG_UNTRACKED_SHIFT, RW_UNTRACKED_NO_TASK);
	cr_expect_not(flags_of(1) & RW_FLAG_UNTRACKED);
}

/* A group whose call never becomes a task. */
static void call_in_vain(void)
{
	void *group = player_api_group(&player);

	player_stop(&player, player_call(&player, group, "AllReduce", 1, "ncclFloat32", false));
	player_state(&player, group, GROUP_END_API_START, NULL);
	player_stop(&player, group);
}

Test(record, a_call_that_never_becomes_a_task_is_untracked_a_second_after_its_return)
{
	struct rw_operation op;

	begin(5);
	/* On its own thread: the communicator blocks, and launches before it returns. */
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	call_in_vain();
	cr_expect(owner_of(1) & RW_OWNER_HOST, "its task could come from elsewhere");
	cr_assert(player_wait_finished(&reader, 1, &op));
	cr_expect(op.flags & RW_FLAG_UNTRACKED);
}

/* Waits until the plugin's thread has looked at what was a second and more ago. */
static void let_two_seconds_pass(uint64_t since_ns)
{
	while (reader.header.drain_ns < since_ns + 2000000000) {
		cr_assert_eq(box_reader_refresh(&reader), 0);
		usleep(10000);
	}
}

/* One that does not block may connect for as long as a peer is late. */
Test(record, a_call_that_has_returned_may_still_become_a_task_where_nobody_knows_better)
{
	struct rw_operation op;

	begin(5);
	void *group = player_api_group(&player);
	void *call = player_call(&player, group, "AllReduce", 1, "ncclFloat32", false);
	player_stop(&player, call);
	player_stop(&player, group);
	let_two_seconds_pass(operation(0).return_ns);
	cr_expect_not(flags_of(0) & RW_FLAG_UNTRACKED);
	cr_expect(owner_of(0) & RW_OWNER_HOST);
	player_stop(&player, player_launch(&player, (void *)0x2000));
	void *plan = player_plan(&player);
	player_stop(&player, player_task(&player, call, "AllReduce", 1));
	player_stop(&player, plan);
	cr_expect(known_of(0) & RW_KNOWN_TASK);
	cr_expect_not(flags_of(0) & RW_FLAG_UNTRACKED);
	cr_assert(player_wait_finished(&reader, 0, &op));
}

/* NCCL takes no call on a communicator that is still at work. */
Test(record, a_call_that_never_becomes_a_task_is_untracked_once_there_is_a_later_one)
{
	struct rw_operation op;

	begin(5);
	call_in_vain();
	call_in_vain();
	cr_assert(player_wait_finished(&reader, 0, &op));
	cr_expect(op.flags & RW_FLAG_UNTRACKED);
	let_two_seconds_pass(operation(1).return_ns);
	cr_expect_not(flags_of(1) & RW_FLAG_UNTRACKED);
}

static bool becomes_entered(uint64_t number)
{
	uint64_t until_ns = reader.header.drain_ns + 2000000000;

	while (!(flags_of(number) & RW_FLAG_ENTERED) && reader.header.drain_ns < until_ns) {
		cr_assert_eq(box_reader_refresh(&reader), 0);
		usleep(10000);
	}
	return flags_of(number) & RW_FLAG_ENTERED;
}

Test(record, a_call_in_the_end_of_its_group_is_seen_to_be_inside_nccl)
{
	begin(5);
	void *group = player_api_group(&player);
	player_stop(&player, player_call(&player, group, "AllReduce", 1, "ncclFloat32", false));
	let_two_seconds_pass(operation(0).api_ns);
	cr_expect_not(flags_of(0) & RW_FLAG_ENTERED, "the program is still putting its group together");
	player_state(&player, group, GROUP_END_API_START, NULL);
	cr_expect(becomes_entered(0));
	player_stop(&player, group);
}

static uint32_t reason_of_lost_broadcast(int version)
{
	struct rw_operation op;

	nccl_version = version;
	begin(6);
	cr_expect_eq(reader.header.nccl_version, (uint32_t)version);
	void *group = player_api_group(&player);
	player_stop(&player, player_call(&player, group, "Broadcast", 1, "ncclFloat32", false));
	player_stop(&player, group);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	cr_assert(player_wait_finished(&reader, 0, &op));
	return (op.flags & RW_FLAG_UNTRACKED_MASK) >> RW_FLAG_UNTRACKED_SHIFT;
}

Test(record, a_broadcast_without_a_task_is_normal_since_2_29_2)
{
	cr_expect_eq(reason_of_lost_broadcast(22902), RW_UNTRACKED_BROADCAST);
}

Test(record, a_broadcast_without_a_task_was_not_normal_before)
{
	cr_expect_eq(reason_of_lost_broadcast(22809), RW_UNTRACKED_NO_TASK);
}

Test(record, finalize_gives_up_what_is_unfinished)
{
	struct rw_operation op;
	struct rw_communicator entry;

	begin(5);
	player_stop(&player, player_call(&player, NULL, "AllReduce", 1, "ncclFloat32", false));
	player_finalize(&player);
	cr_assert(player_wait_finished(&reader, 0, &op));
	cr_expect_eq((op.flags & RW_FLAG_UNTRACKED_MASK) >> RW_FLAG_UNTRACKED_SHIFT, RW_UNTRACKED_FINALIZE);
	cr_assert_eq(box_reader_communicators(&reader, 0, 1, &entry), 1);
	cr_expect(entry.ended_ns);
}

Test(record, the_header_says_who_and_the_table_says_which_communicator)
{
	struct rw_communicator entry;

	setenv("RANK", "5", 1);
	setenv("WORLD_SIZE", "8", 1);
	setenv("RANKWATCH_JOB", "night", 1);
	setenv("NCCL_API_TOKEN", "hush", 1);
	begin(5);
	cr_expect_eq(reader.header.world_rank, 5);
	cr_expect_eq(reader.header.world_size, 8);
	cr_expect_str_eq(reader.header.rank_from, "RANK");
	cr_expect_str_eq(reader.header.job, "night");
	cr_expect_null(memmem(reader.header.environment, RW_BOX_ENVIRONMENT, "hush", 4));
	cr_expect(memmem(reader.header.environment, RW_BOX_ENVIRONMENT, "WORLD_SIZE=8", 13));
	cr_assert_eq(box_reader_communicators(&reader, 0, 1, &entry), 1);
	cr_expect_eq(entry.id, 0x5eed);
	cr_expect_str_eq(entry.name, "world");
	cr_expect_eq(entry.rank, 1);
	cr_expect_eq(entry.nranks, 4);
	cr_expect(entry.created_ns);
}
