/* SPDX-License-Identifier: MIT */
/* The communicator table: who gets an entry when, what it says, and who has it next. Criterion forks per test. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdlib.h>

#include "tests/abi/player.h"

static struct box_reader reader;

static struct rw_communicator entry(uint32_t index)
{
	struct rw_communicator found;

	cr_assert_eq(box_reader_refresh(&reader), 0);
	cr_assert_eq(box_reader_communicators(&reader, index, 1, &found), 1);
	return found;
}

static struct rw_operation operation(uint64_t number)
{
	struct rw_operation found;

	cr_assert(player_operation(&reader, number, &found), "operation %lu is not in the box", (unsigned long)number);
	return found;
}

static uint32_t flags_of(uint64_t number)
{
	struct rw_operation op = operation(number);

	return op.flags;
}

static uint64_t born_of(uint32_t index)
{
	struct rw_communicator found = entry(index);

	return found.created_ns;
}

static uint64_t ended_of(uint32_t index)
{
	struct rw_communicator found = entry(index);

	return found.ended_ns;
}

static uint64_t calls_of(uint32_t index)
{
	struct rw_communicator found = entry(index);

	return found.api_count;
}

static struct criterion_test_params nameless_versions(void)
{
	static int versions[] = { 1, 2, 3 };

	return cr_make_param_array(int, versions, 3);
}

ParameterizedTestParameters(table, before_version_4_a_communicator_shows_at_its_first_task)
{
	return nameless_versions();
}

ParameterizedTest(int *abi, table, before_version_4_a_communicator_shows_at_its_first_task)
{
	const char *directory = player_directory();
	struct player player;

	player_init(&player, player_load(), *abi, 0x5eed, 3, 0);
	cr_assert_eq(player.mask, PROFILER_GROUP | PROFILER_COLL | PROFILER_P2P);
	player_read(&reader, directory);
	cr_expect_eq(born_of(0), 0);
	player_collective(&player, "AllGather", 4096, "ncclInt8");
	player_collective(&player, "ReduceScatter", 7, "ncclBfloat16");
	player_p2p(&player, "Send", 5, 2);
	player_p2p(&player, "Recv", 5, 2);

	struct rw_communicator shown = entry(0);
	cr_expect(shown.created_ns);
	cr_expect_eq(shown.id, 0x5eed);
	cr_expect_str_eq(shown.name, "world");
	cr_expect_eq(shown.rank, 3);
	cr_expect_eq(shown.nranks, 0, "NCCL did not say");
	cr_expect_eq(shown.nnodes, 0);
	cr_expect_eq(shown.api_count, 4);
	cr_expect_eq(reader.header.profiler_abi, (uint32_t)*abi);

	struct rw_operation gather = operation(0), scatter = operation(1), send = operation(2), recv = operation(3);
	cr_expect_eq(gather.function, RW_FUNCTION_ALL_GATHER);
	cr_expect_eq(gather.dtype, RW_DTYPE_UNKNOWN, "it poses as bytes");
	cr_expect_eq(gather.owner, 0);
	cr_expect_geq(gather.api_ns, shown.created_ns);
	cr_expect_eq(scatter.function, RW_FUNCTION_REDUCE_SCATTER);
	cr_expect_eq(scatter.dtype, RW_DTYPE_BFLOAT16);
	cr_expect_eq(scatter.count, 7);
	cr_expect_eq(scatter.nccl_sequence, 1);
	cr_expect_eq(scatter.channels, 4);
	cr_expect_eq(scatter.algorithm, RW_ALGORITHM_TREE);
	cr_expect_eq(scatter.protocol, RW_PROTOCOL_LL);
	cr_expect_eq(scatter.send_address, 0x10000);
	cr_expect_eq(scatter.recv_address, 0x20000);
	cr_expect_eq(send.function, RW_FUNCTION_SEND);
	cr_expect_eq(send.dtype, RW_DTYPE_FLOAT32);
	cr_expect_eq(send.root_or_peer, 2);
	cr_expect_eq(send.send_address, 0x30000);
	cr_expect_eq(recv.function, RW_FUNCTION_RECV);
	cr_expect_eq(recv.recv_address, 0x30000);
	cr_expect_eq(recv.sequence, 0);
}

Test(table, every_function_and_type_number_of_version_1_has_its_name)
{
	static const struct {
		const char *name;
		uint8_t function;
	} functions[] = {
		{ "Broadcast", RW_FUNCTION_BROADCAST },  { "Reduce", RW_FUNCTION_REDUCE },
		{ "AllGather", RW_FUNCTION_ALL_GATHER }, { "ReduceScatter", RW_FUNCTION_REDUCE_SCATTER },
		{ "AllReduce", RW_FUNCTION_ALL_REDUCE }, { "SendRecv", RW_FUNCTION_SEND_RECV },
		{ "nonsense", RW_FUNCTION_UNKNOWN },
	};
	static const char *const dtypes[] = {
		"ncclInt8",   "ncclUint8",   "ncclInt32",   "ncclUint32",  "ncclInt64",
		"ncclUint64", "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16"
	};
	const char *directory = player_directory();
	struct player player;
	uint64_t number = 0;

	player_init(&player, player_load(), 1, 1, 0, 0);
	player_read(&reader, directory);
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		player_collective(&player, functions[i].name, 1, "ncclInt8");
		cr_expect_eq(operation(number++).function, functions[i].function, "%s", functions[i].name);
	}
	for (uint8_t i = 0; i < sizeof(dtypes) / sizeof(*dtypes); i++) {
		player_collective(&player, "AllReduce", 1, dtypes[i]);
		cr_expect_eq(operation(number++).dtype, i + 1, "%s", dtypes[i]);
	}
	player_collective(&player, "AllReduce", 1, "nonsense");
	cr_expect_eq(operation(number).dtype, RW_DTYPE_UNKNOWN);
}

Test(table, contexts_of_several_devices_with_one_hash_stay_apart)
{
	const char *directory = player_directory();
	void *library = player_load();
	struct player first, second;

	player_init(&first, library, 3, 0x5eed, 0, 0);
	player_init(&second, library, 3, 0x5eed, 1, 0);
	player_read(&reader, directory);
	player_collective(&second, "AllReduce", 1, "ncclFloat32");
	player_collective(&first, "AllReduce", 1, "ncclFloat32");
	cr_expect_eq(entry(0).rank, 0);
	cr_expect_eq(entry(1).rank, 1);
	cr_expect_eq(operation(0).comm, 1);
	cr_expect_eq(operation(1).comm, 0);
}

/* Newer NCCL runs such a table through its adapter and has no identity for it. */
Test(table, a_task_without_identity_is_not_recorded)
{
	const char *directory = player_directory();
	struct player player;

	player_init(&player, player_load(), 2, 0, 0, 0);
	player_read(&reader, directory);
	cr_expect_null(player_collective(&player, "AllReduce", 1, "ncclFloat32"));
	cr_assert_eq(box_reader_refresh(&reader), 0);
	cr_expect_eq(reader.header.head, 0);
	cr_expect_eq(born_of(0), 0);
}

Test(table, a_peer_beyond_what_fits_a_communicator_of_unknown_size_is_not_believed)
{
	const char *directory = player_directory();
	struct player player;

	player_init(&player, player_load(), 1, 7, 0, 0);
	player_read(&reader, directory);
	player_p2p(&player, "Send", 1, 4095);
	player_p2p(&player, "Send", 1, 4096);
	player_p2p(&player, "Send", 1, -1);
	cr_expect_eq(operation(0).root_or_peer, 4095);
	cr_expect(flags_of(1) & RW_FLAG_PEER_UNKNOWN);
	cr_expect(flags_of(2) & RW_FLAG_PEER_UNKNOWN);
}

/* Fills the table with ended communicators; number `open` is left open. */
static void fill_table(void *library, struct player *left_open, int open)
{
	for (int i = 0; i < RW_BOX_COMMS; i++) {
		struct player player;

		player_init(&player, library, 5, 100 + (uint64_t)i, 1, 4);
		player_collective(&player, "AllReduce", 1, "ncclFloat32");
		if (i == open)
			*left_open = player;
		else
			player_finalize(&player);
	}
}

Test(table, the_entry_of_the_communicator_that_ended_first_goes_to_a_new_one)
{
	const char *directory = player_directory();
	void *library = player_load();
	struct player oldest, next;

	fill_table(library, &oldest, 0);
	player_read(&reader, directory);
	uint64_t created_ns = born_of(1);
	player_await_drain(&reader);
	player_init(&next, library, 5, 0xbee, 2, 8);
	struct rw_communicator taken = entry(1);
	cr_expect_eq(taken.id, 0xbee, "0 is still open, 1 ended first");
	cr_expect_eq(taken.rank, 2);
	cr_expect_eq(taken.nranks, 8);
	cr_expect_gt(taken.created_ns, created_ns);
	cr_expect_eq(taken.ended_ns, 0);
	cr_expect_eq(taken.api_count, 0);
	cr_expect_eq(entry(0).id, 100);
	cr_expect_eq(reader.header.comms_used, RW_BOX_COMMS);
	cr_expect_eq(reader.header.comms_refused, 0);

	struct rw_operation before = operation(1);
	cr_expect_not(box_is_of(&before, &taken), "the earlier owner's");
	player_collective(&next, "AllReduce", 1, "ncclFloat32");
	struct rw_operation after = operation(RW_BOX_COMMS);
	cr_expect_eq(after.comm, 1);
	cr_expect_eq(after.sequence, 0);
	cr_expect(box_is_of(&after, &taken));
}

Test(table, the_context_of_an_earlier_owner_does_not_reach_the_new_one)
{
	const char *directory = player_directory();
	void *library = player_load();
	struct player stale, next;

	fill_table(library, &stale, 0);
	player_finalize(&stale);
	player_read(&reader, directory);
	player_await_drain(&reader);
	for (int i = 0; i < RW_BOX_COMMS; i++)
		player_init(&next, library, 5, 0xbee, 2, 8);
	cr_expect_eq(entry(0).id, 0xbee);
	cr_assert_eq(box_reader_refresh(&reader), 0);
	uint64_t head = reader.header.head;
	player_collective(&stale, "AllReduce", 1, "ncclFloat32");
	player_finalize(&stale);
	cr_expect_eq(calls_of(0), 0);
	cr_expect_eq(ended_of(0), 0);
	cr_expect_eq(reader.header.head, head);
}

static uint64_t last_look(void)
{
	cr_assert_eq(box_reader_refresh(&reader), 0);
	return reader.header.drain_ns;
}

/* All entries are taken, one ends: a new communicator can have it once the drain has looked, and not before. */
Test(table, an_entry_is_not_given_out_before_its_operations_are_seen_to_be_over)
{
	const char *directory = player_directory();
	void *library = player_load();
	static struct player living[RW_BOX_COMMS];
	struct player next;
	bool looked = true;

	for (int i = 0; i < RW_BOX_COMMS; i++)
		player_init(&living[i], library, 5, 100 + (uint64_t)i, 1, 4);
	player_read(&reader, directory);
	for (int i = 0; i < RW_BOX_COMMS && looked; i++) {
		uint64_t before = last_look(), refused = reader.header.comms_refused;

		player_finalize(&living[i]);
		player_init(&next, library, 5, 0xbee, 2, 8);
		looked = last_look() != before; /* just then: try with the next one */
		if (!looked) {
			cr_expect_eq(reader.header.comms_refused, refused + 1);
		} else { /* the place became free before or after the try: it is taken before the next one ends */
			player_await_drain(&reader);
			player_init(&next, library, 5, 0xbee, 2, 8);
		}
	}
	cr_expect_not(looked, "the drain looked between every end and the next beginning");
	player_await_drain(&reader);
	player_init(&next, library, 5, 0xfee, 2, 8);
	player_collective(&next, "AllReduce", 1, "ncclFloat32");
	cr_assert_eq(box_reader_refresh(&reader), 0);
	cr_expect_eq(reader.header.head, 1);
}

Test(table, ten_thousand_communicators_one_after_the_other_are_all_recorded)
{
	const char *directory = player_directory();
	void *library = player_load();
	struct player player;

	for (int i = 0; i < 10000; i++) {
		player_init(&player, library, 5, 1 + (uint64_t)i, 0, 2);
		if (i == 0)
			player_read(&reader, directory);
		player_collective(&player, "AllReduce", 1, "ncclFloat32");
		player_finalize(&player);
		if (i % 1000 == 999)
			player_await_drain(&reader);
	}
	cr_assert_eq(box_reader_refresh(&reader), 0);
	cr_expect_eq(reader.header.comms_used, RW_BOX_COMMS);
	cr_expect_eq(reader.header.comms_refused, 0);
	cr_expect_eq(reader.header.head, 10000);
}

/* Each number leads to a place of the table: of one that has ended, of one that nobody has had yet, of none. */
Test(table, a_context_that_is_nobodys_records_nothing)
{
	const char *directory = player_directory();
	struct player player;

	player_init(&player, player_load(), 5, 0x5eed, 0, 4);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	player_read(&reader, directory);
	uintptr_t context = (uintptr_t)player.context;
	const uintptr_t others[] = {
		0, 1, 2, 1023, 1024, UINTPTR_MAX, context + 1, context + 1024, context ^ (uintptr_t)1 << 56
	};
	player_finalize(&player);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]) + 1; i++) {
		void *wrong = (void *)(i ? others[i - 1] : context), *handle;

		cr_expect(player_raw(&player, wrong, PROFILER_COLL_API, NULL, &handle));
		cr_expect_null(handle, "context %p", wrong);
		cr_expect(player_raw(&player, wrong, PROFILER_KERNEL_LAUNCH, NULL, &handle));
		cr_expect_null(handle, "context %p", wrong);
	}
	cr_assert_eq(box_reader_refresh(&reader), 0);
	cr_expect_eq(reader.header.head, 1);
}
