/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/report/advice.h"
#include "analysis/explain/cause.h"
#include "analysis/host/python_looks.h"

enum { MAIN = 10, OTHER = 11, THIRD = 12 };

static const struct cause_window window = { 1000, 2000 };

struct scene {
	struct intern intern;
	struct process process;
};

static struct scene made(void)
{
	return (struct scene){ .process = { .pid = MAIN, .exit_status = -1 } };
}

static void destroy(struct scene *scene)
{
	free(scene->process.python);
	evidence_free(&scene->process.evidence);
	intern_free(&scene->intern);
}

static void put(struct analysis_python_place *place, const char *function, int32_t line)
{
	snprintf(place->function, sizeof(place->function), "%s", function);
	snprintf(place->file, sizeof(place->file), "%s", *function ? "/job/train.py" : "");
	place->line = line;
}

/* A look at `own` called from which `inner` stands; "": not known. */
static struct analysis_python look(uint64_t at_ns, const char *own, const char *inner)
{
	struct analysis_python seen = { .at_ns = at_ns, .tid = MAIN, .thread_count = 1 };

	seen.threads[0].tid = MAIN;
	put(&seen.threads[0].own, own, (int32_t)at_ns);
	put(&seen.threads[0].inner, inner, 7);
	return seen;
}

static void add(struct scene *scene, struct analysis_python seen)
{
	cr_assert_eq(python_looks_add(&scene->process.python, &scene->intern, &seen), 0);
}

static void add_held(struct scene *scene, uint64_t at_ns, uint32_t holder, const char *function)
{
	struct analysis_python seen = look(at_ns, "train", "train");

	seen.waits = true;
	seen.holder = holder;
	seen.thread_count = 2;
	seen.threads[1].tid = holder;
	put(&seen.threads[1].own, function, 3);
	add(scene, seen);
}

static struct python_looks_answer ask(const struct scene *scene)
{
	struct python_looks_answer answer;

	python_looks_ask(scene->process.python, MAIN, &window, 1, &answer);
	return answer;
}

#define FUNCTION(scene, place) intern_text(&(scene).intern, (place).function)

Test(python_looks, without_any_nothing_is_known)
{
	struct scene scene = made();
	struct python_looks_answer answer = ask(&scene);

	cr_expect_eq(answer.looks, 0);
	cr_expect_eq(answer.seen, 0);
	destroy(&scene);
}

Test(python_looks, the_function_of_most_looks_and_the_line_of_the_latest)
{
	struct scene scene = made();

	add(&scene, look(1100, "Trainer.save", "Event.wait"));
	add(&scene, look(1200, "Trainer.save", "Event.wait"));
	add(&scene, look(1300, "Trainer.log", "Trainer.log"));
	struct python_looks_answer answer = ask(&scene);

	cr_expect_eq(answer.looks, 3);
	cr_expect_eq(answer.seen, 2);
	cr_expect_str_eq(FUNCTION(scene, answer.place), "Trainer.save");
	cr_expect_eq(answer.place.line, 1200);
	cr_expect_str_eq(FUNCTION(scene, answer.inner), "Event.wait");
	destroy(&scene);
}

Test(python_looks, one_look_is_a_moment_and_says_nothing)
{
	struct scene scene = made();

	add(&scene, look(1100, "Trainer.save", "Event.wait"));
	cr_expect_eq(ask(&scene).looks, 1);
	cr_expect_eq(ask(&scene).seen, 0);
	cr_expect_eq(ask(&scene).place.function, 0);
	destroy(&scene);
}

Test(python_looks, a_thread_that_was_all_over_the_place_was_nowhere)
{
	struct scene scene = made();

	for (uint64_t i = 0; i < 5; i++)
		add(&scene, look(1100 + i, i < 2 ? "load" : i < 4 ? "step" : "log", "loads"));
	cr_expect_eq(ask(&scene).seen, 0, "in two of five");
	destroy(&scene);
}

Test(python_looks, a_look_that_was_torn_counts_as_one_that_saw_nothing)
{
	struct scene scene = made();

	add(&scene, look(1100, "step", "step"));
	add(&scene, look(1200, "step", "step"));
	for (uint64_t i = 0; i < 3; i++)
		add(&scene, look(1300 + i, "", ""));
	cr_expect_eq(ask(&scene).looks, 5);
	cr_expect_eq(ask(&scene).seen, 0);
	destroy(&scene);
}

Test(python_looks, only_those_of_the_windows_count)
{
	struct scene scene = made();

	add(&scene, look(900, "before", "before"));
	add(&scene, look(950, "before", "before"));
	add(&scene, look(1500, "late", "late"));
	add(&scene, look(2000, "late", "late"));
	add(&scene, look(2100, "after", "after"));
	add(&scene, look(2200, "after", "after"));
	struct python_looks_answer answer = ask(&scene);

	cr_expect_eq(answer.looks, 2);
	cr_expect_str_eq(FUNCTION(scene, answer.place), "late");
	cr_expect_eq(answer.inner.function, 0, "it is the same");
	destroy(&scene);
}

Test(python_looks, only_the_latest_are_kept)
{
	struct scene scene = made();

	for (uint64_t i = 0; i < 100; i++)
		add(&scene, look(1001 + i, i < 84 ? "first" : "last", ""));
	struct python_looks_answer answer = ask(&scene);

	cr_expect_eq(answer.looks, PYTHON_LOOKS);
	cr_expect_eq(answer.seen, PYTHON_LOOKS);
	cr_expect_str_eq(FUNCTION(scene, answer.place), "last");
	destroy(&scene);
}

Test(python_looks, a_library_alone_is_told_as_such)
{
	struct scene scene = made();

	add(&scene, look(1100, "", "Thread._bootstrap"));
	add(&scene, look(1200, "", "Thread._bootstrap"));
	cr_expect_str_eq(FUNCTION(scene, ask(&scene).place), "Thread._bootstrap");
	cr_expect_eq(ask(&scene).inner.function, 0);
	destroy(&scene);
}

Test(python_looks, who_holds_the_lock)
{
	struct scene scene = made();

	add_held(&scene, 1100, OTHER, "prefetch");
	add_held(&scene, 1200, OTHER, "prefetch");
	add_held(&scene, 1300, THIRD, "log");
	struct python_looks_answer answer = ask(&scene);

	cr_expect_eq(answer.waits, 3);
	cr_expect_eq(answer.held, 2);
	cr_expect_eq(answer.holder, OTHER);
	cr_expect_str_eq(FUNCTION(scene, answer.holder_place), "prefetch");
	destroy(&scene);
}

Test(python_looks, several_that_hold_it_in_turn_have_a_function_in_common)
{
	struct scene scene = made();

	for (uint32_t i = 0; i < 6; i++)
		add_held(&scene, 1100 + i, OTHER + i % 3, i == 5 ? "log" : "compute");
	struct python_looks_answer answer = ask(&scene);

	cr_expect_eq(answer.holder, 0);
	cr_expect_eq(answer.held, 5);
	cr_expect_str_eq(FUNCTION(scene, answer.holder_place), "compute");
	for (uint32_t i = 0; i < 6; i++)
		add_held(&scene, 1200 + i, OTHER + i, i % 2 ? "one" : i % 3 ? "two" : "three");
	answer = ask(&scene);
	cr_expect_eq(answer.waits, 12);
	cr_expect_eq(answer.held, 0, "no function is that of half of them");
	cr_expect_eq(answer.holder_place.function, 0);
	destroy(&scene);
}

Test(python_looks, a_thread_that_seldom_waits_for_the_lock_is_not_said_to)
{
	struct scene scene = made();

	add_held(&scene, 1100, OTHER, "prefetch");
	add_held(&scene, 1200, OTHER, "prefetch");
	for (uint64_t i = 0; i < 3; i++)
		add(&scene, look(1300 + i, "train", "train"));
	cr_expect_eq(ask(&scene).waits, 0);
	cr_expect_eq(ask(&scene).holder, 0);
	cr_expect_eq(ask(&scene).seen, 5);
	destroy(&scene);
}

Test(python_looks, garbage_collection_is_told_where_most_looks_saw_it)
{
	struct scene scene = made();

	for (uint64_t i = 0; i < 4; i++) {
		struct analysis_python seen = look(1100 + i, "train", "train");

		seen.collecting = i < 2;
		add(&scene, seen);
	}
	cr_expect_eq(ask(&scene).collecting, 2);
	add(&scene, look(1200, "train", "train"));
	cr_expect_eq(ask(&scene).collecting, 0, "two of five");
	destroy(&scene);
}

/* The cause of a late rank has it, whatever else is known of its threads, and the advice is to the thread that has the
 * lock. */
Test(python_looks, a_cause_has_them)
{
	struct scene scene = made();
	struct cause cause;
	char advice[160];

	add_held(&scene, 1100, OTHER, "prefetch");
	add_held(&scene, 1200, OTHER, "prefetch");
	cause_find(&scene.intern, &scene.process, MAIN, &window, 1, &cause);
	cr_expect_eq(cause.python.seen, 2);
	cr_expect_eq(cause.python.holder, OTHER);
	cause.class_ = RW_CAUSE_LOCK;
	advice_find(advice, sizeof(advice), &cause, &scene.process);
	cr_expect_str_eq(advice,
			 "let that thread release Python's lock (GIL) while it works, or move its work into a process");
	cause_find(&scene.intern, &scene.process, OTHER, &window, 1, &cause);
	cr_expect_eq(cause.python.looks, 0, "nobody asked about that thread");
	destroy(&scene);
}
