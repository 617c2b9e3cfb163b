/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "console/flight_recorder/common_lines.h"

enum { OPERATIONS = 32, COMM = 0x77 };

/* One box: a communicator of four ranks, of which this is `rank`. */
struct box {
	struct rw_communicator communicator;
	struct rw_gpu_progress progress;
	struct rw_operation list[OPERATIONS];
	struct box_operations operations;
};

static void box_init(struct box *box, int32_t rank)
{
	memset(box, 0, sizeof(*box));
	box->communicator = (struct rw_communicator){ .id = COMM, .rank = rank, .nranks = 4, .created_ns = 1 };
	box->operations = (struct box_operations){
		.list = box->list, .communicators = &box->communicator, .progress = &box->progress, .communicator_count = 1
	};
}

static struct rw_operation *add(struct box *box, uint8_t function, uint64_t sequence, bool ended)
{
	struct rw_operation *operation = &box->list[box->operations.count++];

	*operation = (struct rw_operation){ .ticket = box->operations.count,
					    .known = RW_KNOWN_IDENT | RW_KNOWN_RETURN,
					    .owner = ended ? 0 : RW_OWNER_GPU,
					    .function = function,
					    .sequence = sequence };
	return operation;
}

static void add_all(struct box *box, uint64_t first, uint64_t last)
{
	for (uint64_t sequence = first; sequence <= last; sequence++)
		add(box, RW_FUNCTION_ALL_REDUCE, sequence, true);
}

static bool keeps(const struct common_lines *lines, const struct box *box, const struct rw_operation *operation,
		  size_t ranks)
{
	struct common_line line;

	cr_assert(common_line_of(operation, &box->communicator, &line));
	return common_lines_keep(lines, &line, operation->sequence, ranks);
}

static void note(struct common_lines *lines, const struct box *box, bool forgot)
{
	cr_assert_eq(common_lines_add(lines, &box->operations, forgot), 0);
}

Test(lines, what_one_rank_has_forgotten_is_not_compared_on_any)
{
	struct common_lines lines = { 0 };
	struct box whole, late;

	box_init(&whole, 0);
	add_all(&whole, 1, 10);
	box_init(&late, 1);
	add_all(&late, 6, 12);
	note(&lines, &whole, false);
	note(&lines, &late, true);
	common_lines_order(&lines);
	cr_expect_not(keeps(&lines, &whole, &whole.list[4], 2)); /* number 5 */
	cr_expect(keeps(&lines, &whole, &whole.list[5], 2));
	cr_expect(keeps(&lines, &late, &late.list[6], 2));
	common_lines_free(&lines);
}

Test(lines, what_lies_behind_a_gap_is_forgotten)
{
	struct common_lines lines = { 0 };
	struct box box;

	box_init(&box, 0);
	add(&box, RW_FUNCTION_ALL_REDUCE, 3, false); /* in flight, and so still there */
	add_all(&box, 8, 10);
	note(&lines, &box, true);
	common_lines_order(&lines);
	cr_expect_not(keeps(&lines, &box, &box.list[0], 1));
	cr_expect(keeps(&lines, &box, &box.list[1], 1));
	common_lines_free(&lines);
}

Test(lines, a_rank_without_any_may_have_forgotten_them_unless_somebody_still_waits)
{
	struct common_lines lines = { 0 };
	struct box box, other;

	box_init(&box, 0);
	add_all(&box, 1, 3);
	add(&box, RW_FUNCTION_ALL_REDUCE, 4, false);
	box_init(&other, 1);
	add(&other, RW_FUNCTION_BROADCAST, 1, true);
	note(&lines, &box, false);
	note(&lines, &other, true);
	common_lines_order(&lines);
	cr_expect_not(keeps(&lines, &box, &box.list[2], 2));
	cr_expect(keeps(&lines, &box, &box.list[3], 2), "the one that is in flight is what it is all about");
	common_lines_free(&lines);
}

Test(lines, a_rank_without_any_has_not_come_when_nobody_has_forgotten_anything)
{
	struct common_lines lines = { 0 };
	struct box box, other;

	box_init(&box, 0);
	add_all(&box, 1, 3);
	box_init(&other, 1);
	note(&lines, &box, false);
	note(&lines, &other, false);
	common_lines_order(&lines);
	cr_expect(keeps(&lines, &box, &box.list[0], 2));
	common_lines_free(&lines);
}

Test(lines, both_sides_of_a_transfer_are_one_line_and_the_way_back_another)
{
	struct box sender, receiver;
	struct common_line sent, received, back;
	struct rw_operation *operation;

	box_init(&sender, 1);
	operation = add(&sender, RW_FUNCTION_SEND, 5, true);
	operation->known |= RW_KNOWN_TASK;
	operation->root_or_peer = 3;
	cr_assert(common_line_of(operation, &sender.communicator, &sent));
	box_init(&receiver, 3);
	operation = add(&receiver, RW_FUNCTION_RECV, 5, true);
	operation->known |= RW_KNOWN_TASK;
	operation->root_or_peer = 1;
	cr_assert(common_line_of(operation, &receiver.communicator, &received));
	operation->function = RW_FUNCTION_SEND;
	cr_assert(common_line_of(operation, &receiver.communicator, &back));
	cr_expect(sent.from == 1 && sent.to == 3 && received.from == 1 && received.to == 3);
	cr_expect_eq(sent.function, received.function);
	cr_expect(back.from == 3 && back.to == 1);
}

Test(lines, what_nobody_can_pair_has_no_line)
{
	struct box box;
	struct common_line line;
	struct rw_operation *operation;

	box_init(&box, 1);
	operation = add(&box, RW_FUNCTION_SEND, 5, true);
	cr_expect_not(common_line_of(operation, &box.communicator, &line), "the peer is not known");
	operation->known |= RW_KNOWN_TASK;
	operation->root_or_peer = 4;
	cr_expect_not(common_line_of(operation, &box.communicator, &line), "there is no such peer");
	operation->root_or_peer = -1;
	cr_expect_not(common_line_of(operation, &box.communicator, &line));
	operation->root_or_peer = 1;
	cr_expect_not(common_line_of(operation, &box.communicator, &line), "itself, as an all-to-all does");
	operation->function = RW_FUNCTION_RECV;
	cr_expect_not(common_line_of(operation, &box.communicator, &line));
	operation->root_or_peer = 0;
	cr_expect(common_line_of(operation, &box.communicator, &line));
	operation = add(&box, RW_FUNCTION_ALL_REDUCE, 5, true);
	cr_expect(common_line_of(operation, &box.communicator, &line));
	operation->flags = RW_FLAG_CAPTURED;
	cr_expect_not(common_line_of(operation, &box.communicator, &line));
}
