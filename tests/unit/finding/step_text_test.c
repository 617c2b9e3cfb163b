/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "finding/step_text.h"

static void expect(const char *wanted, uint64_t steps, double first_ms, double last_ms)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	step_text_print(stream, steps, first_ms, last_ms);
	fclose(stream);
	cr_expect_str_eq(text, wanted);
	free(text);
}

Test(step_text, one_duration_stands_for_steps_that_are_alike)
{
	expect(", 40 steps of 2.05 s", 40, 2000, 2050);
	expect(", 3 steps of 2.05 s", 3, -1, 2050);
	expect(", 1 step", 1, -1, -1);
}

Test(step_text, a_job_that_became_slower_or_faster_has_two)
{
	expect(", 17 steps, of 0.72 s at first and 1.90 s at last", 17, 720, 1900);
	expect(", 17 steps, of 1.90 s at first and 0.72 s at last", 17, 1900, 720);
}

Test(step_text, how_long_steps_took_may_be_known_where_their_number_is_not)
{
	expect(", steps of 0.72 s", 0, 700, 720);
	expect(", steps of 0.72 s at first and 1.90 s at last", 0, 720, 1900);
	expect("", 0, -1, -1);
}
