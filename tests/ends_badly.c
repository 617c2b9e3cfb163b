/* SPDX-License-Identifier: MIT */
/* Tests that must fail, each by what comes behind its function or is left by it (whole_test.c), and two that must not:
 * ends_badly.py. */
#include <criterion/criterion.h>
#include <stdlib.h>

static void *kept;

static void assert_wrongly(void)
{
	cr_assert_eq(1, 2);
}

static void crash(void)
{
	abort();
}

static void give_back(void)
{
	free(kept);
	kept = NULL;
}

TestSuite(ends_well, .fini = give_back);
TestSuite(ends_badly, .fini = assert_wrongly);

Test(ends_well, what_its_suite_gives_back_is_no_leak)
{
	kept = malloc(4711);
	cr_assert(kept);
}

Test(ends_well, nothing_is_done)
{
}

Test(ends_badly, an_assertion_in_the_end_of_its_suite_fails)
{
}

Test(ends_well, an_assertion_in_its_own_end_fails, .fini = assert_wrongly)
{
}

Test(ends_well, its_own_end_crashes, .fini = crash)
{
}

#ifdef FIND_LEAKS
/* The compiler must not see that nobody wants it. */
static void *volatile lost;

/* Of the last a copy may still lie somewhere on the stack. */
static void leak(void)
{
	for (int i = 0; i < 3; i++)
		lost = malloc(4711);
	lost = NULL;
}

Test(ends_well, memory_is_lost)
{
	leak();
}

Test(ends_well, memory_is_lost_in_the_end, .fini = leak)
{
}

Test(ends_well, memory_is_lost_in_the_begin, .init = leak)
{
}

static void take(void)
{
	kept = malloc(3 * 4711);
}

Test(ends_well, as_much_is_lost_as_the_begin_took_and_the_end_gives_back, .init = take)
{
	leak();
}
#endif
