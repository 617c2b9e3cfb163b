/* SPDX-License-Identifier: MIT */
/* Steps as the program numbers them: their numbers, the places in them, and when they are not believed. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "analysis/steps/steps.h"

enum { CALLS = 12 };

struct program {
	struct steps steps;
	uint64_t ticket;
	struct steps_place last;
};

static void mark(struct program *program, uint64_t number)
{
	steps_mark(&program->steps, number, ++program->ticket, false);
}

static void tag(struct program *program, uint64_t number)
{
	steps_mark(&program->steps, number, ++program->ticket, true);
}

static void call(struct program *program, uint32_t what)
{
	steps_add(&program->steps, what << 3, ++program->ticket, &program->last);
}

/* A step whose operations all differ. */
static void work(struct program *program)
{
	for (uint32_t i = 0; i < CALLS; i++)
		call(program, 100 + i);
}

static void step(struct program *program, uint64_t number)
{
	mark(program, number);
	work(program);
}

/* The number of the step that is now. */
static int64_t told(const struct program *program)
{
	return steps_told(&program->steps, program->steps.step);
}

Test(step_marks, give_steps_their_numbers_and_places)
{
	struct program program = { 0 };

	for (uint64_t number = 1000; number < 1004; number++) {
		mark(&program, number);
		for (uint32_t i = 0; i < CALLS; i++) {
			call(&program, 100 + i);
			if (number < 1001)
				continue;
			cr_expect_eq(told(&program), (int64_t)number);
			cr_expect_eq(steps_marked_number(&program.steps, program.ticket), (int64_t)number);
			/* Two alike must have come. */
			cr_expect_eq(program.last.place, number < 1002 ? STEPS_NO_PLACE : i, "%lu: %u", number, program.last.place);
		}
	}
	cr_expect_eq(program.steps.trust, STEPS_CERTAIN);
	cr_expect_eq(steps_marked_number(&program.steps, 1), -1, "the mark itself is before its step");
	cr_expect_eq(steps_marked_number(&program.steps, 2), 1000);
	cr_expect_not(program.steps.marks.irregular);
	cr_expect_eq(steps_told(&program.steps, program.steps.step + 10), 1013, "what is foreseen");
	steps_free(&program.steps);
}

Test(step_marks, what_comes_once_has_no_place_and_does_not_shift_the_others)
{
	struct program program = { 0 };

	for (uint64_t number = 0; number < 4; number++)
		step(&program, number);
	mark(&program, 4);
	call(&program, 7); /* a checkpoint */
	cr_expect_eq(program.last.place, STEPS_NO_PLACE);
	for (uint32_t i = 0; i < CALLS; i++) {
		call(&program, 100 + i);
		cr_expect_eq(program.last.place, i);
	}
	call(&program, 100); /* an evaluation, behind the step's end */
	cr_expect_eq(program.last.place, STEPS_NO_PLACE);
	cr_expect_eq(told(&program), 4);
	/* One that leaves out its second half. */
	mark(&program, 5);
	for (uint32_t i = 0; i < CALLS / 2; i++)
		call(&program, 100 + i);
	step(&program, 6);
	cr_expect_eq(program.last.place, CALLS - 1);
	cr_expect_eq(told(&program), 6);
	steps_free(&program.steps);
}

Test(step_marks, follow_a_program_that_changes)
{
	struct program program = { 0 };

	for (uint64_t number = 0; number < 20; number++)
		step(&program, number);
	uint32_t version = program.steps.version;
	for (uint64_t number = 20; number < 40; number++) {
		mark(&program, number);
		for (uint32_t i = 0; i < 5; i++)
			call(&program, 500 + i);
	}
	cr_expect_eq(program.steps.version, version + 1);
	cr_expect_eq(program.last.place, 4);
	cr_expect_eq(told(&program), 39);
	steps_free(&program.steps);
}

Test(step_marks, may_leave_numbers_out)
{
	struct program program = { 0 };

	for (uint64_t number = 0; number < 100; number += 10)
		step(&program, number);
	cr_expect_eq(told(&program), 90);
	cr_expect_eq(program.steps.step - program.steps.marks.first_step, 9, "steps are counted, not their numbers");
	cr_expect_eq(steps_told(&program.steps, program.steps.step + 2), 110);
	cr_expect(program.steps.marks.irregular);
	step(&program, 95);
	step(&program, 96);
	cr_expect_eq(told(&program), 96);
	cr_expect_eq(steps_told(&program.steps, program.steps.step - 2), 90, "those before are remembered");
	steps_free(&program.steps);
}

Test(step_marks, may_go_back)
{
	struct program program = { 0 };
	uint64_t ticket = 0;

	for (uint64_t number = 50; number < 60; number++)
		step(&program, number);
	ticket = program.ticket;
	for (uint64_t number = 55; number < 65; number++) /* a checkpoint was loaded */
		step(&program, number);
	cr_expect(program.steps.marked);
	cr_expect_eq(told(&program), 64);
	cr_expect_eq(steps_marked_number(&program.steps, ticket), 59);
	cr_expect_eq(steps_marked_number(&program.steps, ticket + 2), 55);
	cr_expect_eq(steps_told(&program.steps, program.steps.step - 10), 59);
	steps_free(&program.steps);
}

Test(step_marks, may_count_anew_in_each_epoch)
{
	struct program program = { 0 };

	for (int epoch = 0; epoch < 10; epoch++)
		for (uint64_t number = 0; number < 30; number++)
			step(&program, number);
	cr_expect(program.steps.marked);
	cr_expect_eq(told(&program), 29);
	cr_expect_eq(program.steps.step - program.steps.marks.first_step, 299);
	steps_free(&program.steps);
}

Test(step_marks, that_never_advance_are_no_steps)
{
	struct program program = { 0 };

	for (int i = 0; i < 400; i++)
		step(&program, 0);
	cr_expect_not(program.steps.marked);
	cr_expect_eq(steps_marked_number(&program.steps, program.ticket), -1);
	cr_expect_neq(program.last.place, STEPS_NO_PLACE, "what repeats is found as without marks");
	steps_free(&program.steps);
}

Test(step_marks, that_go_anywhere_are_no_steps)
{
	for (unsigned int seed = 1; seed <= 20; seed++) {
		struct program program = { 0 };

		for (int i = 0; i < 200; i++)
			step(&program, (uint64_t)rand_r(&seed) << 20 ^ (uint64_t)rand_r(&seed));
		cr_expect_not(program.steps.marked, "seed %u", seed);
		cr_expect_eq(told(&program), -1);
		steps_free(&program.steps);
	}
}

Test(step_marks, beyond_what_json_holds_are_ignored)
{
	struct program program = { 0 };

	step(&program, 1);
	step(&program, 2);
	step(&program, UINT64_MAX);
	step(&program, UINT64_C(1) << 53);
	cr_expect_eq(told(&program), 2);
	steps_free(&program.steps);
}

Test(step_marks, of_a_program_that_has_stopped_to_call_are_given_up)
{
	struct program program = { 0 };

	for (uint64_t number = 0; number < 10; number++)
		step(&program, number);
	cr_assert(program.steps.marked);
	uint32_t version = program.steps.version;
	for (int i = 0; i < 2 * STEP_MARKS_OPERATIONS / CALLS; i++)
		work(&program);
	cr_expect_not(program.steps.marked);
	cr_expect_gt(program.steps.version, version);
	cr_expect_eq(told(&program), -1, "nobody knows how many have gone by");
	cr_expect_neq(program.last.place, STEPS_NO_PLACE, "what repeats is found again");
	step(&program, 9000);
	cr_expect(program.steps.marked, "it calls again");
	cr_expect_eq(told(&program), 9000);
	steps_free(&program.steps);
}

Test(step_marks, by_tags_are_believed_after_many)
{
	struct program program = { 0 };

	for (uint64_t number = 7; number < 7 + STEP_MARKS_TAGS; number++) {
		tag(&program, number);
		work(&program);
		cr_expect_eq(told(&program), -1, "no step gets two numbers");
	}
	cr_expect_not(program.steps.marked);
	tag(&program, 7 + STEP_MARKS_TAGS);
	work(&program);
	cr_expect(program.steps.marked);
	cr_expect_eq(told(&program), 7 + STEP_MARKS_TAGS);
	tag(&program, 0); /* the plugin takes them back */
	work(&program);
	cr_expect_not(program.steps.marked);
	tag(&program, 100);
	tag(&program, 101);
	cr_expect_not(program.steps.marked);
	/* The program's own word counts all the same. */
	step(&program, 30);
	step(&program, 31);
	cr_expect(program.steps.marked);
	cr_expect_eq(told(&program), 31);
	tag(&program, 0);
	tag(&program, 102);
	cr_expect_eq(told(&program), 31, "no tag counts more than a call");
	steps_free(&program.steps);
}

/* The number that the tags had reached is not gone back to: once, that may still be done. */
Test(step_marks, that_take_over_from_tags_at_the_same_number_may_go_back_once)
{
	struct program program = { 0 };

	for (uint64_t number = 7; number < 12; number++) {
		tag(&program, number);
		work(&program);
	}
	for (uint64_t number = 11; number < 16; number++)
		step(&program, number);
	for (uint64_t number = 13; number < 18; number++) /* a checkpoint was loaded */
		step(&program, number);
	cr_expect(program.steps.marked);
	cr_expect_eq(told(&program), 17);
	steps_free(&program.steps);
}

Test(step_marks, find_the_step_of_an_operation_that_comes_late)
{
	struct program program = { 0 };

	for (uint64_t number = 0; number < 5; number++)
		step(&program, number);
	uint64_t late = ++program.ticket;
	mark(&program, 5);
	work(&program);
	struct steps_place place;
	steps_add(&program.steps, 100 << 3, late, &place);
	cr_expect_eq(place.place, STEPS_NO_PLACE);
	cr_expect_eq(steps_told(&program.steps, place.step), 4);
	cr_expect_eq(steps_marked_number(&program.steps, late), 4);
	steps_free(&program.steps);
}

Test(step_marks, are_kept_for_as_long_as_operations_are)
{
	struct program program = { 0 };

	for (uint64_t number = 0; number < 3 * STEP_MARKS_MAX; number++) {
		mark(&program, number);
		call(&program, 1);
	}
	cr_expect_eq(steps_marked_number(&program.steps, 2), -1);
	cr_expect_eq(steps_marked_number(&program.steps, program.ticket - 2 * (STEP_MARKS_MAX - 2)), 2 * STEP_MARKS_MAX + 1);
	cr_expect_eq(told(&program), 3 * STEP_MARKS_MAX - 1);
	cr_expect_eq(steps_told(&program.steps, program.steps.marks.first_step), 0, "numbers went on evenly");
	steps_free(&program.steps);
}
