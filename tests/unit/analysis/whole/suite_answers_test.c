/* SPDX-License-Identifier: MIT */
/*
 * As answers_test.c, of jobs of the fault suite: every fault in every shape of job, for ranks of one host and of
 * several, seen while it runs and read afterwards, and with something else wrong with the machine. Above each job's
 * answers stands what was wrong with it. A change that is meant: `ninja -C build analysis-answers`.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/unit/analysis/jobs/drawn_jobs.h"
#include "tests/unit/analysis/whole/kept_answers.h"
#include "tests/unit/analysis/jobs/listening.h"
#include "suite/play.h"
#include "tests/sanitized.h"

enum { REPORTED = 40, SURROUNDED = 60, NOISY = 120, LONGEST_S = 100, LONGEST_SPREAD_S = 260, PID = 10000, BUS = 8 };

static double seconds_of(const struct suite_draw *draw)
{
	return draw->steps * suite_step_ms(draw) / 1000;
}

/* The first job behind this number that is so and not long. In some shapes of jobs there is no such fault: any fault
 * then. */
static struct suite_draw find(unsigned int from, enum suite_fault fault, enum suite_shape shape, int most_ranks)
{
	const double longest_s = fault == FAULT_SPREAD ? LONGEST_SPREAD_S : LONGEST_S;
	struct suite_draw draw;

	for (unsigned int seed = from; seed < from + 3000; seed++) {
		draw = fault == FAULT_HEALTHY ? suite_healthy(seed, most_ranks) : suite_faulty(seed, most_ranks);
		if (draw.fault == fault && draw.shape == shape && seconds_of(&draw) <= longest_s)
			return draw;
	}
	return draw;
}

static void not_heard(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	(void)finding;
}

static void play(const struct suite_draw *draw)
{
	struct suite_course course = { 0 };
	struct analysis_account account;
	char what[512];

	suite_describe(draw, what, sizeof(what));
	fprintf(kept.answers, "  %s\n", what);
	suite_play(draw, &course, not_heard, NULL, &account);
	free(course.noise);
	free(course.differences);
}

/* Those of a host and of transfers between hosts need several. */
static struct suite_draw find_numbered(unsigned int number, unsigned int from)
{
	const enum suite_fault fault = (enum suite_fault)(number % FAULTS);
	const int most_ranks = fault == FAULT_HOST ? 32 : fault == FAULT_TRANSFERS || number % 7 == 6 ? 16 : 8;

	return find(from + 1000 * number, fault, (enum suite_shape)(number / FAULTS % SHAPES), most_ranks);
}

static bool play_live(unsigned int number)
{
	const struct suite_draw draw = find_numbered(number, 0);

	play(&draw);
	return number + 1 < FAULTS * SHAPES;
}

static bool play_reported(unsigned int number)
{
	const struct suite_draw draw = find_numbered(number * 7 % (FAULTS * SHAPES), 500000);

	listening_post_mortem = true;
	play(&draw);
	return number + 1 < REPORTED;
}

/* What else is wrong is wrong with the rank at fault, or with another one; in the fault's time or not. */
static bool play_surrounded(unsigned int number)
{
	const struct suite_draw draw = find_numbered(number * 11 % (FAULTS * SHAPES), 900000);
	const double fault_ms = draw.fault_step * suite_step_ms(&draw);
	const struct surroundings around = {
		.number = number,
		.ranks = draw.ranks,
		.sick = (draw.rank < 0 ? 0 : draw.rank + (int)(number % 3 == 2)) % draw.ranks,
		.from_ms = number % 4 ? fault_ms : fault_ms / 3,
		.to_ms = fault_ms + 15000 + 5000 * (number % 4),
		.first_pid = PID,
		.first_bus = BUS,
	};

	listening_around = &around;
	play(&draw);
	listening_around = NULL;
	return number + 1 < SURROUNDED;
}

/* Late by about as much as noise that lasts: what tells one from the other decides. */
static bool play_noisy(unsigned int number)
{
	static const enum suite_fault faults[] = { FAULT_EVERY_STEP, FAULT_FROM_START, FAULT_BLOCKS, FAULT_CREEP,
						   FAULT_BY_TURNS,   FAULT_ONE_IN,     FAULT_TWO };
	static const double noises[] = { 0.015, 0.03, 0.06, 0.1 }, lasts[] = { 0.8, 0.95, 0.5, 0.9, 0 },
			    late[] = { 0.4, 0.7, 1, 1.6, 2.5 };
	struct suite_draw draw = find(2000000 + 1000 * number, faults[number % 7],
				      number % 3 ? SHAPE_SHARDED : (enum suite_shape)(number / 3 % SHAPES), 8);

	draw.noise = noises[number / 2 % 4];
	draw.lasts = lasts[number % 5];
	draw.noise_of_hosts = number % 9 == 8;
	draw.ms *= late[number / 3 % 5] / draw.times;
	play(&draw);
	return number + 1 < NOISY;
}

static void compare(const char *name, bool play_one(unsigned int number))
{
	if (SANITIZED)
		cr_skip_test("too many operations for a sanitizer");
	kept.without_repeats = true;
	kept_compare(name, play_one);
}

Test(suite_answers, about_every_fault_in_every_shape_of_job)
{
	compare("suite", play_live);
}

Test(suite_answers, about_jobs_that_are_read_afterwards)
{
	compare("suite-reported", play_reported);
}

Test(suite_answers, about_jobs_on_machines_with_troubles)
{
	compare("suite-surrounded", play_surrounded);
}

Test(suite_answers, about_jobs_that_are_late_by_what_noise_is)
{
	compare("suite-noisy", play_noisy);
}
