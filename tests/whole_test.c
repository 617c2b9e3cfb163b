/* SPDX-License-Identifier: MIT */
/*
 * The end of a test of Criterion is part of it. Such a test is a process of its own, of which Criterion believes
 * nothing more once the test's function has returned: what its fini or its suite's asserts, a crash there and memory
 * that is lost, which LeakSanitizer looks for when a process exits, would all count for nothing. So the linker puts
 * this between Criterion and the functions (--wrap, tests/meson.build), and the ends are played, and leaks looked for,
 * as if they were its last lines.
 */
#include <criterion/criterion.h>
#ifdef LATE_LIBGIT2
extern const char late_libgit2[];

/* So every test program has that library, before Criterion asks for the other one. */
__attribute__((used)) static const char *const needed = late_libgit2;
#endif
#ifdef FIND_LEAKS
#include <sanitizer/allocator_interface.h>
#include <sanitizer/lsan_interface.h>

int __lsan_is_turned_off(void);

static int looked;
static size_t allocated_before; /* bytes */

/* The sanitizer asks this when a process exits. To look once is enough, and Criterion's own process is not ours. */
int __lsan_is_turned_off(void)
{
	return looked || !criterion_current_test;
}

static void note_allocated(void)
{
	allocated_before = __sanitizer_get_current_allocated_bytes();
}

/* The search takes a third of the time of a small test. Most tests give back to the byte what they took, and need
 * none. */
static void find_leaks(void)
{
	int leaks = __sanitizer_get_current_allocated_bytes() != allocated_before && __lsan_do_recoverable_leak_check();

	looked = 1;
	if (leaks)
		cr_assert_fail("it leaks memory: LeakSanitizer has said where that came from");
}
#else
static void note_allocated(void)
{
}

static void find_leaks(void)
{
}
#endif

void __real_criterion_internal_test_setup(void);
void __wrap_criterion_internal_test_setup(void);
void __real_criterion_internal_test_main(void (*function)(void));
void __wrap_criterion_internal_test_main(void (*function)(void));

static void (*begin)(void); /* the first; NULL: it has none */
static void (*test)(void *parameter);

/* Criterion finds none that it would play again. */
static void play_end(struct criterion_test_extra_data *data)
{
	void (*end)(void) = data ? data->fini : NULL;

	if (!end)
		return;
	data->fini = NULL;
	end();
}

/* parameter: of a test that has some; others do not look at it. */
static void play_whole(void *parameter)
{
	test(parameter);
	play_end(criterion_current_test->data);
	play_end(criterion_current_suite->data);
	find_leaks();
}

static void play_begin(void)
{
	note_allocated();
	begin();
}

static void find_begin(struct criterion_test_extra_data *data)
{
	if (begin || !data || !data->init)
		return;
	begin = data->init;
	data->init = play_begin;
}

/* Criterion plays the suite's first. */
void __wrap_criterion_internal_test_setup(void)
{
	find_begin(criterion_current_suite->data);
	find_begin(criterion_current_test->data);
	__real_criterion_internal_test_setup();
}

/* When the function ends early, by an assertion that fails, Criterion plays the ends. */
void __wrap_criterion_internal_test_main(void (*function)(void))
{
	if (!begin)
		note_allocated();
	test = (void (*)(void *))function;
	__real_criterion_internal_test_main((void (*)(void))play_whole);
}
