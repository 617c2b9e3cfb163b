/* SPDX-License-Identifier: MIT */
#include "analysis/host/python_looks.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/explain/cause.h"

static struct python_looks_place keep_place(struct intern *intern, const struct analysis_python_place *place)
{
	return (struct python_looks_place){ .function = intern_add(intern, place->function, sizeof(place->function)),
					    .file = intern_add(intern, place->file, sizeof(place->file)),
					    .line = place->line };
}

int python_looks_add(struct python_looks **looks, struct intern *intern, const struct analysis_python *seen)
{
	if (!*looks)
		*looks = calloc(1, sizeof(**looks));
	if (!*looks)
		return -ENOMEM;
	struct python_looks_one *one = &(*looks)->looks[(*looks)->count++ % PYTHON_LOOKS];

	*one = (struct python_looks_one){ .at_ns = seen->at_ns,
					  .tid = seen->tid,
					  .holder = seen->holder,
					  .waits = seen->waits,
					  .collecting = seen->collecting };
	for (uint32_t i = 0; i < seen->thread_count && i < ANALYSIS_PYTHON_THREADS; i++)
		one->threads[one->thread_count++] =
		    (struct python_looks_thread){ .tid = seen->threads[i].tid,
						  .inner = keep_place(intern, &seen->threads[i].inner),
						  .own = keep_place(intern, &seen->threads[i].own) };
	return 0;
}

static const struct python_looks_thread *thread_of(const struct python_looks_one *one, uint32_t tid)
{
	for (uint32_t i = 0; tid && i < one->thread_count; i++)
		if (one->threads[i].tid == tid)
			return &one->threads[i];
	return NULL;
}

/* The program's own function; of a thread that runs nothing of the program, the library's. */
static struct python_looks_place place_of(const struct python_looks_one *one, uint32_t tid)
{
	const struct python_looks_thread *thread = thread_of(one, tid);

	if (!thread)
		return (struct python_looks_place){ 0 };
	return thread->own.function ? thread->own : thread->inner;
}

static bool is_same(const struct python_looks_place *one, const struct python_looks_place *other)
{
	return one->function && one->function == other->function && one->file == other->file;
}

static bool is_within(const struct python_looks_one *one, const struct cause_window *windows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (one->at_ns >= windows[i].from_ns && one->at_ns <= windows[i].to_ns)
			return true;
	return false;
}

static bool is_told(uint32_t times, uint32_t looks)
{
	return times >= PYTHON_LOOKS_LEAST && (double)times >= PYTHON_LOOKS_SHARE * (double)looks;
}

/* The looks of these windows at this thread, the latest first. */
static uint32_t choose(const struct python_looks *looks, uint32_t tid, const struct cause_window *windows,
		       uint32_t count, const struct python_looks_one *chosen[PYTHON_LOOKS])
{
	uint32_t kept = looks->count < PYTHON_LOOKS ? (uint32_t)looks->count : PYTHON_LOOKS, found = 0;

	for (uint32_t age = 0; age < kept; age++) {
		const struct python_looks_one *one = &looks->looks[(looks->count - 1 - age) % PYTHON_LOOKS];

		if (one->tid == tid && is_within(one, windows, count))
			chosen[found++] = one;
	}
	return found;
}

/* Where the thread was most often, and of several such places the latest. */
static void find_place(const struct python_looks_one *const *chosen, uint32_t tid, struct python_looks_answer *answer)
{
	uint32_t inner = 0;

	for (uint32_t i = 0; i < answer->looks; i++) {
		struct python_looks_place place = place_of(chosen[i], tid);
		uint32_t times = 0;

		for (uint32_t k = 0; k < answer->looks; k++) {
			struct python_looks_place other = place_of(chosen[k], tid);
			times += is_same(&place, &other);
		}
		if (times <= answer->seen)
			continue;
		answer->seen = times;
		answer->place = place;
		answer->inner = thread_of(chosen[i], tid)->inner;
	}
	for (uint32_t i = 0; i < answer->looks; i++) {
		struct python_looks_place place = place_of(chosen[i], tid);
		inner += is_same(&answer->place, &place) && is_same(&answer->inner, &thread_of(chosen[i], tid)->inner);
	}
	if (is_same(&answer->inner, &answer->place) || !is_told(inner, answer->seen))
		answer->inner = (struct python_looks_place){ 0 };
	if (is_told(answer->seen, answer->looks))
		return;
	answer->seen = 0;
	answer->place = answer->inner = (struct python_looks_place){ 0 };
}

/* Several threads, by turns: where they were when they held it, if that was mostly one function. */
static void find_holders_place(const struct python_looks_one *const *chosen, struct python_looks_answer *answer)
{
	answer->held = answer->holder = 0;
	answer->holder_place = (struct python_looks_place){ 0 };
	for (uint32_t i = 0; i < answer->looks; i++) {
		struct python_looks_place place = place_of(chosen[i], chosen[i]->holder);
		uint32_t times = 0;

		for (uint32_t k = 0; k < answer->looks; k++) {
			struct python_looks_place other = place_of(chosen[k], chosen[k]->holder);
			times += chosen[k]->waits && is_same(&place, &other);
		}
		if (!chosen[i]->waits || times <= answer->held)
			continue;
		answer->held = times;
		answer->holder_place = place;
	}
	if (is_told(answer->held, answer->waits))
		return;
	answer->held = 0;
	answer->holder_place = (struct python_looks_place){ 0 };
}

static void find_holder(const struct python_looks_one *const *chosen, struct python_looks_answer *answer)
{
	for (uint32_t i = 0; i < answer->looks; i++) {
		uint32_t times = 0;

		for (uint32_t k = 0; k < answer->looks; k++)
			times += chosen[k]->waits && chosen[k]->holder == chosen[i]->holder;
		if (!chosen[i]->waits || !chosen[i]->holder || times <= answer->held)
			continue;
		answer->held = times;
		answer->holder = chosen[i]->holder;
		answer->holder_place = place_of(chosen[i], chosen[i]->holder);
	}
	if (!is_told(answer->held, answer->waits))
		find_holders_place(chosen, answer);
}

void python_looks_ask(const struct python_looks *looks, uint32_t tid, const struct cause_window *windows,
		      uint32_t count, struct python_looks_answer *answer)
{
	const struct python_looks_one *chosen[PYTHON_LOOKS];

	*answer = (struct python_looks_answer){ 0 };
	if (!looks || !tid)
		return;
	answer->looks = choose(looks, tid, windows, count, chosen);
	for (uint32_t i = 0; i < answer->looks; i++) {
		answer->waits += chosen[i]->waits;
		answer->collecting += chosen[i]->collecting;
	}
	find_place(chosen, tid, answer);
	if (!is_told(answer->waits, answer->looks))
		answer->waits = 0;
	else
		find_holder(chosen, answer);
	if (!is_told(answer->collecting, answer->looks))
		answer->collecting = 0;
}
