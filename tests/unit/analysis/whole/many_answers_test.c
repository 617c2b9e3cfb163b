/* SPDX-License-Identifier: MIT */
/* As answers_test.c, of jobs that take longer: too many operations for a sanitizer, and for a first look at a change.
 */
#include <criterion/criterion.h>

#include "tests/unit/analysis/jobs/drawn_jobs.h"
#include "tests/unit/analysis/jobs/even_jobs.h"
#include "tests/unit/analysis/whole/kept_answers.h"
#include "tests/sanitized.h"

static bool play_even(unsigned int number)
{
	struct even_job job = even_faulty_job((int)number, 4 * number);
	struct even_result result;

	job.ranks = 4;
	job.seconds = 60;
	job.slow_rank = (int)number % 4;
	job.tensor_parallel = job.tensor_parallel ? 2 : 0;
	job.stages = job.stages ? 2 : 0;
	even_play(&job, &result);
	return (int)number + 1 < even_faulty_count;
}

/* More than a million operations: the code is that of the other jobs, and a sanitizer would take half a minute. */
Test(many_answers, about_jobs_of_many_operations)
{
	if (SANITIZED)
		cr_skip_test("too many operations for a sanitizer");
	kept_compare("even", play_even);
}

static bool play_drawn(unsigned int number)
{
	drawn_play(number);
	return number < 40;
}

Test(many_answers, about_drawn_jobs)
{
	if (SANITIZED)
		cr_skip_test("too many operations for a sanitizer");
	kept_compare("drawn", play_drawn);
}
