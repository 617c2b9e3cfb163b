/* SPDX-License-Identifier: MIT */
/* The steps that a program counts itself, as they are in its black box. Criterion forks per test: a fresh plugin
 * each. */
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rankwatch/rankwatch.h>

#include "tests/abi/player.h"

enum { MARKS_MAX = 256 };

static struct player player;
static struct box_reader reader;
static void *library;
static void (*step_begins)(uint64_t step);

static struct marks {
	size_t count, operations;
	struct rw_operation list[MARKS_MAX];
} marks;

static void load(void)
{
	library = player_load();
	step_begins = (void (*)(uint64_t))dlsym(library, "rankwatch_step");
	cr_assert(step_begins, "the library has no rankwatch_step");
}

static void begin(int abi)
{
	const char *directory = player_directory();

	if (!library)
		load();
	player_init(&player, library, abi, 0x5eed, 1, 4);
	cr_assert(player.mask, "the plugin did not start recording");
	player_read(&reader, directory);
}

static void read_marks(void)
{
	struct rw_operation slot;

	cr_assert_eq(box_reader_refresh(&reader), 0);
	marks = (struct marks){ 0 };
	for (uint64_t i = 0; i < reader.header.head; i++) {
		cr_assert(player_operation(&reader, i, &slot));
		if (!rw_is_step_mark(slot.known)) {
			marks.operations++;
			continue;
		}
		cr_assert_lt(marks.count, MARKS_MAX);
		cr_expect_eq(slot.known, RW_KNOWN_STEP);
		cr_expect_eq(slot.owner, 0, "nobody writes to it any more");
		cr_expect_gt(slot.api_ns, 0);
		marks.list[marks.count++] = slot;
	}
}

static void expect(size_t at, uint64_t number, enum rw_step_source source)
{
	cr_assert_lt(at, marks.count, "there are %zu marks", marks.count);
	cr_expect_eq(marks.list[at].count, number, "mark %zu is %lu", at, (unsigned long)marks.list[at].count);
	cr_expect_eq(marks.list[at].group, (uint32_t)source);
}

struct mark {
	uint64_t number;
	enum rw_step_source source;
};

/* These are all marks in the box. */
static void expect_marks(const struct mark *wanted, size_t count)
{
	read_marks();
	cr_assert_eq(marks.count, count, "there are %zu marks", marks.count);
	for (size_t i = 0; i < count; i++)
		expect(i, wanted[i].number, wanted[i].source);
}

#define EXPECT_MARKS(...) \
	expect_marks((const struct mark[]){ __VA_ARGS__ }, sizeof((const struct mark[]){ __VA_ARGS__ }) / sizeof(struct mark))

static void operations(int count)
{
	for (int i = 0; i < count; i++)
		player_collective(&player, "AllReduce", 16, "ncclFloat32");
}

/* So many operations with each of these tags, one after the other. */
static void operations_with(const uint64_t *tags, size_t count, int each)
{
	for (size_t i = 0; i < count; i++) {
		player.tag = tags[i];
		operations(each);
	}
}

#define OPERATIONS_WITH(each, ...) \
	operations_with((const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t), each)

static void in_child(void (*body)(void))
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		body();
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect_eq(status, 0);
}

Test(step, a_call_puts_a_mark_before_the_operations_of_its_step)
{
	begin(5);
	operations(2);
	step_begins(1000);
	operations(3);
	step_begins(1001);
	step_begins(1001); /* once more says nothing new */
	operations(1);
	step_begins(7); /* back */
	EXPECT_MARKS({ 1000, RW_STEP_CALL }, { 1001, RW_STEP_CALL }, { 7, RW_STEP_CALL });
	cr_expect_eq(marks.list[0].ticket, 3);
	cr_expect_eq(marks.list[1].ticket, 7);
	cr_expect_eq(marks.list[2].ticket, 9);
	cr_expect_eq(reader.header.dropped, 0);
}

Test(step, a_call_before_the_first_communicator_is_not_lost)
{
	load();
	step_begins(0);
	begin(5);
	operations(1);
	EXPECT_MARKS({ 0, RW_STEP_CALL });
	cr_expect_eq(marks.list[0].ticket, 1);
}

/* It is of no communicator: what becomes of the first one is not its business. */
Test(step, a_mark_is_not_waited_for_and_does_not_end_with_a_communicator)
{
	begin(5);
	step_begins(1);
	operations(2);
	player_await_drain(&reader);
	player_finalize(&player);
	player_await_drain(&reader);
	EXPECT_MARKS({ 1, RW_STEP_CALL });
	cr_expect_eq(marks.list[0].flags, 0);
	cr_expect_eq(reader.header.untracked[RW_UNTRACKED_FINALIZE], 0);
}

Test(step, a_number_beyond_what_json_holds_is_ignored)
{
	begin(5);
	step_begins(RANKWATCH_STEP_MAX);
	step_begins(RANKWATCH_STEP_MAX + 1);
	step_begins(UINT64_MAX);
	EXPECT_MARKS({ RANKWATCH_STEP_MAX, RW_STEP_CALL });
}

static void begin_step_2(void)
{
	step_begins(2);
}

Test(step, a_forked_child_marks_nothing)
{
	begin(5);
	step_begins(1);
	in_child(begin_step_2);
	EXPECT_MARKS({ 1, RW_STEP_CALL });
}

Test(step, a_tag_that_grows_marks_steps_in_version_7)
{
	begin(7);
	operations(2); /* without a tag */
	for (uint64_t tag = 41; tag < 81; tag++) {
		player.tag = tag;
		operations(2);
		player_p2p(&player, "Send", 16, 2);
	}
	player.tag = 0;
	operations(2);
	read_marks();
	cr_assert_eq(marks.count, 40);
	for (size_t i = 0; i < 40; i++) {
		expect(i, 41 + i, RW_STEP_TAG);
		cr_expect_eq(marks.list[i].ticket, 3 + 4 * i);
	}
}

Test(step, a_tag_of_a_p2p_call_counts_too)
{
	begin(7);
	player.tag = 5;
	player_p2p(&player, "Recv", 16, 2);
	EXPECT_MARKS({ 5, RW_STEP_TAG });
}

Test(step, what_is_behind_a_call_in_version_6_is_no_tag)
{
	begin(6);
	operations(4); /* the player fills with garbage what a version does not have */
	read_marks();
	cr_expect_eq(marks.count, 0);
	cr_expect_eq(marks.operations, 4);
}

Test(step, tags_that_go_back_are_taken_back_once_and_for_all)
{
	begin(7);
	for (int round = 0; round < 3; round++)
		OPERATIONS_WITH(3, 10, 11, 12, 13);
	EXPECT_MARKS({ 10, RW_STEP_TAG }, { 11, RW_STEP_TAG }, { 12, RW_STEP_TAG }, { 13, RW_STEP_TAG }, { 0, RW_STEP_TAG });
}

Test(step, a_tag_that_is_no_number_of_a_step_marks_nothing)
{
	begin(7);
	for (int i = 0; i < 10; i++)
		OPERATIONS_WITH(2, 0x9e3779b97f4a7c15, 0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53);
	read_marks();
	cr_expect_eq(marks.count, 0);
}

/* They number operations: at most so many marks are wasted on them. */
Test(step, a_tag_of_each_operation_s_own_is_taken_back)
{
	begin(7);
	for (player.tag = 1; player.tag <= 200; player.tag++)
		operations(1);
	read_marks();
	cr_assert_leq(marks.count, 17);
	expect(marks.count - 1, 0, RW_STEP_TAG);
	cr_expect_eq(marks.operations, 200);
}

/* 16 marks and 32 operations are just enough for 16 steps. What came before the first tag says nothing about tags. */
static void sixteen_tags(int without)
{
	begin(7);
	operations(100); /* without a tag */
	for (uint64_t tag = 1; tag <= 16; tag++) {
		player.tag = tag;
		operations(2 - (tag == 16 ? without : 0));
	}
	player.tag = 17;
	operations(2);
	read_marks();
}

Test(step, a_tag_that_two_operations_share_is_a_step)
{
	sixteen_tags(0);
	cr_assert_eq(marks.count, 17);
	expect(16, 17, RW_STEP_TAG);
}

Test(step, a_tag_that_fewer_than_two_operations_share_is_taken_back)
{
	sixteen_tags(1);
	cr_assert_eq(marks.count, 17);
	expect(15, 16, RW_STEP_TAG);
	expect(16, 0, RW_STEP_TAG);
}

Test(step, the_largest_step_may_be_a_tag_and_nothing_beyond_it)
{
	begin(7);
	OPERATIONS_WITH(3, RANKWATCH_STEP_MAX, RANKWATCH_STEP_MAX + 1);
	EXPECT_MARKS({ RANKWATCH_STEP_MAX, RW_STEP_TAG }, { 0, RW_STEP_TAG });
}

Test(step, a_first_tag_beyond_the_largest_step_marks_nothing_ever)
{
	begin(7);
	OPERATIONS_WITH(3, RANKWATCH_STEP_MAX + 1, 1);
	read_marks();
	cr_expect_eq(marks.count, 0);
}

/* A job that goes on from a checkpoint, or marks only some of its steps, jumps; a hash that happens to grow does so by
 * more. */
Test(step, a_tag_may_jump_by_a_million_and_not_by_more)
{
	enum { JUMP = 1 << 20 };

	begin(7);
	OPERATIONS_WITH(3, 5, 5 + JUMP, 5 + JUMP + JUMP + 1);
	EXPECT_MARKS({ 5, RW_STEP_TAG }, { 5 + JUMP, RW_STEP_TAG }, { 0, RW_STEP_TAG });
}

static void tag_2(void)
{
	OPERATIONS_WITH(2, 2);
}

Test(step, a_tag_in_a_forked_child_marks_nothing)
{
	begin(7);
	OPERATIONS_WITH(2, 1);
	in_child(tag_2);
	EXPECT_MARKS({ 1, RW_STEP_TAG });
}

Test(step, calls_count_and_tags_do_not)
{
	begin(7);
	OPERATIONS_WITH(2, 3);
	step_begins(100);
	OPERATIONS_WITH(2, 4);
	EXPECT_MARKS({ 3, RW_STEP_TAG }, { 100, RW_STEP_CALL });
}
