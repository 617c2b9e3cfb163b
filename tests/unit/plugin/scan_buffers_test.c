/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <rankwatch/operation.h>
#include <string.h>

#include "plugin/scan/scan_buffers.h"

enum { SEND = 0x1000000, RECV = 0x2000000, COUNT = 1000, RANKS = 4 };

static struct scan_buffers buffers_of(uint8_t function, int32_t rank)
{
	struct scan_call call = {
		.function = function,
		.dtype = RW_DTYPE_FLOAT32,
		.root = 2,
		.rank = rank,
		.nranks = RANKS,
		.count = COUNT,
		.send = SEND,
		.recv = RECV,
	};
	struct scan_buffers buffers;

	cr_assert(scan_buffers(&call, &buffers));
	return buffers;
}

/* Elements that NCCL reads and writes, by nccl.h. */
Test(scan_buffers, nothing_but_what_nccl_touches_is_read)
{
	static const struct {
		uint8_t function;
		uint64_t in, out, in_at_root, out_at_root;
	} rules[] = {
		{ RW_FUNCTION_ALL_REDUCE, COUNT, COUNT, COUNT, COUNT },
		{ RW_FUNCTION_REDUCE, COUNT, 0, COUNT, COUNT },
		{ RW_FUNCTION_REDUCE_SCATTER, COUNT * RANKS, COUNT, COUNT * RANKS, COUNT },
		{ RW_FUNCTION_ALL_GATHER, COUNT, COUNT * RANKS, COUNT, COUNT * RANKS },
		{ RW_FUNCTION_ALL_TO_ALL, COUNT * RANKS, COUNT * RANKS, COUNT * RANKS, COUNT * RANKS },
		{ RW_FUNCTION_BROADCAST, 0, COUNT, COUNT, COUNT },
		{ RW_FUNCTION_GATHER, COUNT, 0, COUNT, COUNT * RANKS },
		{ RW_FUNCTION_SCATTER, 0, COUNT, COUNT * RANKS, COUNT },
		{ RW_FUNCTION_SEND, COUNT, 0, COUNT, 0 },
		{ RW_FUNCTION_RECV, 0, COUNT, 0, COUNT },
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		struct scan_buffers other = buffers_of(rules[i].function, 1), root = buffers_of(rules[i].function, 2);

		cr_expect_eq(other.in.elements, rules[i].in, "function %u", rules[i].function);
		cr_expect_eq(other.out.elements, rules[i].out, "function %u", rules[i].function);
		cr_expect_eq(root.in.elements, rules[i].in_at_root, "function %u", rules[i].function);
		cr_expect_eq(root.out.elements, rules[i].out_at_root, "function %u", rules[i].function);
		cr_expect_eq(root.in.bytes, root.in.elements * 4);
		cr_expect(other.survives && !other.same);
	}
}

Test(scan_buffers, what_is_not_known_is_not_read)
{
	struct scan_call good = {
		.function = RW_FUNCTION_ALL_GATHER,
		.dtype = RW_DTYPE_BFLOAT16,
		.nranks = RANKS,
		.count = COUNT,
		.send = SEND,
		.recv = RECV,
	};
	struct scan_buffers buffers;
	struct scan_call call = good;

	cr_expect(scan_buffers(&call, &buffers));
	call.dtype = RW_DTYPE_UNKNOWN;
	cr_expect_not(scan_buffers(&call, &buffers));
	call = good;
	call.nranks = 0;
	cr_expect_not(scan_buffers(&call, &buffers));
	call = good;
	call.function = RW_FUNCTION_SEND_RECV;
	cr_expect_not(scan_buffers(&call, &buffers));
	call = good;
	call.count = UINT64_MAX / 4;
	cr_expect_not(scan_buffers(&call, &buffers), "times the ranks it would be small again");
	call = good;
	call.send = 0;
	cr_expect(scan_buffers(&call, &buffers));
	cr_expect_eq(buffers.in.elements, 0);
	cr_expect_eq(buffers.out.elements, COUNT * RANKS);
}

static struct scan_buffers placed(uint8_t function, uint64_t send, uint64_t recv)
{
	struct scan_call call = {
		.function = function,
		.dtype = RW_DTYPE_FLOAT32,
		.root = 1,
		.rank = 1,
		.nranks = RANKS,
		.count = COUNT,
		.send = send,
		.recv = recv,
	};
	struct scan_buffers buffers;

	cr_assert(scan_buffers(&call, &buffers));
	return buffers;
}

Test(scan_buffers, in_place_is_lost_where_the_operation_writes_other_values_there)
{
	enum { PART = COUNT * 4 };

	cr_expect_not(placed(RW_FUNCTION_ALL_REDUCE, SEND, SEND).survives);
	cr_expect_not(placed(RW_FUNCTION_REDUCE, SEND, SEND).survives);
	cr_expect_not(placed(RW_FUNCTION_REDUCE_SCATTER, SEND, SEND + PART).survives);
	cr_expect_not(placed(RW_FUNCTION_ALL_TO_ALL, SEND, SEND).survives);
	cr_expect(placed(RW_FUNCTION_ALL_GATHER, SEND + PART, SEND).survives);
	cr_expect(placed(RW_FUNCTION_GATHER, SEND + PART, SEND).survives);
	cr_expect(placed(RW_FUNCTION_SCATTER, SEND, SEND + PART).survives);
	cr_expect(placed(RW_FUNCTION_BROADCAST, SEND, SEND).same, "one scan for both");
	cr_expect_not(placed(RW_FUNCTION_ALL_GATHER, SEND, SEND).survives, "not its own part");
	cr_expect_not(placed(RW_FUNCTION_ALL_REDUCE, SEND, SEND + PART - 4).survives, "one element in common");
	cr_expect(placed(RW_FUNCTION_ALL_REDUCE, SEND, SEND + PART).survives);
}

static struct scan_buffer bytes_as(uint64_t address, uint64_t count, uint8_t as)
{
	struct scan_call call = {
		.function = RW_FUNCTION_SEND,
		.dtype = RW_DTYPE_UINT8,
		.uint8_as = as,
		.count = count,
		.send = address,
	};
	struct scan_buffers buffers;

	cr_assert(scan_buffers(&call, &buffers));
	return buffers.in;
}

Test(scan_buffers, bytes_are_only_numbers_where_somebody_said_so)
{
	struct scan_buffer buffer = bytes_as(SEND, 100, RW_DTYPE_UNKNOWN);

	cr_expect_eq(buffer.flags, SCAN_DIGEST_ONLY);
	buffer = bytes_as(SEND, 100, RW_DTYPE_FLOAT8_E4M3);
	cr_expect_eq(buffer.flags, 0);
	cr_expect_eq(buffer.dtype, RW_DTYPE_FLOAT8_E4M3);
	cr_expect_eq(buffer.elements, 100);
	buffer = bytes_as(SEND, 100, RW_DTYPE_BFLOAT16);
	cr_expect_eq(buffer.elements, 50);
	cr_expect_eq(bytes_as(SEND, 101, RW_DTYPE_BFLOAT16).flags, SCAN_DIGEST_ONLY, "half a number is left");
	cr_expect_eq(bytes_as(SEND + 1, 100, RW_DTYPE_BFLOAT16).flags, SCAN_DIGEST_ONLY, "not aligned");
}

Test(scan_buffers, numbers_that_are_not_aligned_are_bytes)
{
	struct scan_buffers buffers = placed(RW_FUNCTION_ALL_REDUCE, SEND + 2, RECV);

	cr_expect_eq(buffers.in.flags, SCAN_DIGEST_ONLY);
	cr_expect_eq(buffers.in.dtype, RW_DTYPE_UINT8);
	cr_expect_eq(buffers.in.elements, COUNT * 4);
	cr_expect_eq(buffers.out.flags, 0);
}

Test(scan_buffers, integers_have_a_digest_and_floating_numbers_have_all)
{
	for (uint8_t dtype = RW_DTYPE_INT8; dtype <= RW_DTYPE_FLOAT8_E5M2; dtype++) {
		struct scan_call call = { .function = RW_FUNCTION_SEND, .dtype = dtype, .count = 8, .send = SEND };
		struct scan_buffers buffers;

		cr_assert(scan_buffers(&call, &buffers));
		cr_expect_eq(buffers.in.flags, dtype < RW_DTYPE_FLOAT16 ? SCAN_DIGEST_ONLY : 0, "type %u", dtype);
		cr_expect_eq(buffers.in.dtype, dtype);
	}
	cr_expect_eq(bytes_as(SEND, 100, RW_DTYPE_INT8).flags, SCAN_DIGEST_ONLY, "said to be integers");
	cr_expect_eq(bytes_as(SEND, 104, RW_DTYPE_UINT64).flags, SCAN_DIGEST_ONLY);
}

Test(scan_buffers, what_touches_does_not_overlap)
{
	enum { PART = COUNT * 4 };

	cr_expect(placed(RW_FUNCTION_ALL_REDUCE, SEND, SEND + PART).survives);
	cr_expect(placed(RW_FUNCTION_ALL_REDUCE, SEND + PART, SEND).survives);
	cr_expect_not(placed(RW_FUNCTION_ALL_REDUCE, SEND + PART - 4, SEND).survives);
	cr_expect_not(placed(RW_FUNCTION_ALL_REDUCE, SEND, SEND + PART - 4).survives);
	cr_expect_not(placed(RW_FUNCTION_ALL_REDUCE, SEND, SEND + PART).same);
	cr_expect_not(placed(RW_FUNCTION_ALL_GATHER, SEND + PART, SEND).same, "the output is larger");
}

Test(scan_buffers, the_kernel_takes_so_many_elements_and_no_more)
{
	struct scan_call call = { .function = RW_FUNCTION_ALL_REDUCE, .dtype = RW_DTYPE_UINT8, .send = SEND };
	struct scan_buffers buffers;

	call.count = UINT64_C(1) << 37;
	cr_expect(scan_buffers(&call, &buffers), "a size that nobody knows counts as one rank");
	call.count++;
	cr_expect_not(scan_buffers(&call, &buffers));
	call.nranks = 4;
	call.count = UINT64_C(1) << 35;
	cr_expect(scan_buffers(&call, &buffers));
	call.count++;
	cr_expect_not(scan_buffers(&call, &buffers));
	call.count = 1;
	call.rank = -1;
	cr_expect_not(scan_buffers(&call, &buffers));
}

Test(scan_buffers, without_the_number_of_ranks_only_what_has_none_of_it_is_known)
{
	static const uint8_t every[] = { RW_FUNCTION_ALL_GATHER, RW_FUNCTION_ALL_TO_ALL, RW_FUNCTION_GATHER,
					 RW_FUNCTION_REDUCE_SCATTER, RW_FUNCTION_SCATTER };
	static const uint8_t own[] = { RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_BROADCAST, RW_FUNCTION_REDUCE, RW_FUNCTION_SEND,
				       RW_FUNCTION_RECV };
	struct scan_call call = { .dtype = RW_DTYPE_FLOAT32, .count = 8, .send = SEND, .recv = RECV };
	struct scan_buffers buffers;

	for (size_t i = 0; i < sizeof(every); i++) {
		call.function = every[i];
		cr_expect_not(scan_buffers(&call, &buffers), "%u", every[i]);
		call.function = own[i];
		cr_expect(scan_buffers(&call, &buffers), "%u", own[i]);
	}
}

static bool is_same(const struct scan_buffer *a, const struct scan_buffer *b)
{
	return a->address == b->address && a->elements == b->elements && a->bytes == b->bytes && a->dtype == b->dtype &&
	       a->flags == b->flags;
}

/* What is inlined decides as the rules do, and takes what most operations are. */
Test(scan_buffers, the_short_way_comes_to_what_the_rules_say)
{
	static const uint64_t addresses[] = {
		0, SEND, SEND + 1, SEND + 2, SEND + 4, SEND + COUNT * 4, SEND + COUNT * 16 - 4, RECV
	};
	static const uint64_t counts[] = {
		0, 1, COUNT, UINT64_C(1) << 33, UINT64_C(1) << 37, (UINT64_C(1) << 37) + 1, UINT64_MAX / 4
	};
	static const int32_t ranks[][2] = { { -1, 4 }, { 0, 0 }, { 0, 1 }, { 3, 4 }, { 4, 4 }, { 1, -1 }, { 7, 16384 } };
	enum { ADDRESSES = sizeof(addresses) / sizeof(addresses[0]), COUNTS = sizeof(counts) / sizeof(counts[0]),
	       PLACES = ADDRESSES * ADDRESSES };
	unsigned long plain = 0;

	for (int kind = 0; kind < RW_FUNCTION_COUNT * 256; kind++)
		for (int place = 0; place < PLACES; place++)
			for (int size = 0; size < COUNTS * 7; size++) {
				const struct scan_call call = { .function = (uint8_t)(kind / 256), .dtype = (uint8_t)(kind % 256),
								.root = 1, .rank = ranks[size % 7][0], .nranks = ranks[size % 7][1],
								.count = counts[size / 7], .send = addresses[place % ADDRESSES],
								.recv = addresses[place / ADDRESSES] };
				struct scan_buffers ours, rules;

				memset(&ours, 0, sizeof(ours));
				if (!scan_buffers_plain(&call, &ours))
					continue;
				plain++;
				cr_assert(scan_buffers(&call, &rules));
				cr_assert(rules.in.elements && rules.out.elements);
				cr_assert(is_same(&ours.in, &rules.in));
				cr_assert(is_same(&ours.out, &rules.out));
				cr_assert_eq(ours.survives, rules.survives);
				cr_assert_eq(ours.same, rules.same);
			}
	cr_expect_gt(plain, 1000);
}

Test(scan_buffers, the_short_way_is_that_of_most_operations)
{
	static const uint8_t functions[] = { RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_ALL_GATHER, RW_FUNCTION_REDUCE_SCATTER,
					     RW_FUNCTION_ALL_TO_ALL };
	struct scan_call call = {
		.dtype = RW_DTYPE_BFLOAT16, .rank = 1, .nranks = RANKS, .count = COUNT, .send = SEND, .recv = RECV
	};
	struct scan_buffers buffers;

	for (size_t i = 0; i < sizeof(functions); i++) {
		call.function = functions[i];
		cr_expect(scan_buffers_plain(&call, &buffers), "%u", functions[i]);
	}
}
