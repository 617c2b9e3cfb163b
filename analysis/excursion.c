/* SPDX-License-Identifier: MIT */
#include "analysis/excursion.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/chance.h"
#include "analysis/lateness.h"
#include "analysis/straggler.h"

static const uint32_t lengths[EXCURSION_LENGTHS] = { 1, 2, 3, 6, 12 }; /* steps that are counted of everybody … */
static const uint32_t looks[] = { 3, 4, 6, 12, 24, 48 };	       /* … and that a rank is looked at over */

enum {
	LENGTH_MAX = 48,
	TWO = 1, /* of lengths */
	THREE = 2,
	AS_LATE = 2, /* half as late as another is as late */
	QUARTER = 4, /* of an excursion's steps may be less late */
};

/* The ranks that one is compared with. */
struct peers {
	const struct stragglers *stragglers;
	const struct suspect *suspect;
	bool *left_out; /* by rank */
	uint64_t step_ns;
	uint32_t units; /* ranks, or hosts where the whole host is late */
	struct excursions seen; /* but the sizes, which are … */
	uint32_t sizes[EXCURSION_SIZES]; /* … of one length */
};

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
	return (a > b) - (a < b);
}

uint64_t excursion_beyond_tolerance(uint64_t late_ns, uint64_t step_ns)
{
	uint64_t tolerance_ns = (uint64_t)(EXCURSION_TOLERANCE * (double)step_ns);
	return late_ns > tolerance_ns ? late_ns - tolerance_ns : 0;
}

/* What it was late by, at least, in three quarters of so many steps; 0 also before the first. */
static uint64_t level_ns(const struct stragglers *stragglers, const struct suspect *suspect, uint64_t step,
			 uint32_t length)
{
	uint64_t values[LENGTH_MAX];
	uint32_t late = 0, at = (length - 1) / QUARTER;

	if (step < stragglers->first_step + length - 1)
		return 0;
	for (uint32_t i = 0; i < length; i++) {
		values[i] = straggler_blame(suspect, step - i).late_ns;
		late += values[i] != 0;
		if (i + 1 - late > at)
			return 0;
	}
	qsort(values, length, sizeof(*values), by_value);
	return values[at];
}

static uint32_t size_of(uint64_t ns)
{
	if (ns <= LATENESS_NOISE_NS)
		return 0;
	double size = 1 + 4 * log2((double)ns / LATENESS_NOISE_NS);
	return size < EXCURSION_SIZES - 1 ? (uint32_t)size : EXCURSION_SIZES - 1;
}

/* The upper end. */
static double size_ns(uint32_t size)
{
	return LATENESS_NOISE_NS * exp2(size / 4.0);
}

static float logarithm(uint64_t ns)
{
	return log2f(1 + (float)ns / LATENESS_NOISE_NS);
}

static void add(struct excursions *sum, const struct excursions *more)
{
	sum->steps += more->steps;
	sum->sum += more->sum;
	sum->squares += more->squares;
	for (uint32_t i = 0; i < EXCURSION_LAGS; i++) {
		sum->pairs[i] += more->pairs[i];
		sum->products[i] += more->products[i];
	}
}

static void note_one(const struct stragglers *stragglers, struct suspect *suspect, uint64_t step, uint64_t step_ns)
{
	struct excursions *own = &suspect->excursions;
	if (step < stragglers->first_step + EXCURSION_WARM_UP)
		return;
	float now = logarithm(excursion_beyond_tolerance(straggler_blame(suspect, step).late_ns, step_ns));

	for (uint32_t i = 0; i < EXCURSION_LENGTHS; i++)
		if (step + 1 >= stragglers->first_step + EXCURSION_WARM_UP + lengths[i])
			own->sizes[i][size_of(excursion_beyond_tolerance(
			    level_ns(stragglers, suspect, step, lengths[i]), step_ns))]++;
	own->steps++;
	own->sum += now;
	own->squares += now * now;
	for (uint32_t i = 0; i < EXCURSION_LAGS; i++) {
		uint64_t lag = UINT64_C(1) << i;
		if (step < stragglers->first_step + EXCURSION_WARM_UP + lag)
			break;
		own->pairs[i]++;
		if (now > 0)
			own->products[i] += now * logarithm(excursion_beyond_tolerance(
						      straggler_blame(suspect, step - lag).late_ns, step_ns));
	}
}

static void halve(struct excursions *own)
{
	for (uint32_t i = 0; i < EXCURSION_LENGTHS; i++)
		for (uint32_t k = 0; k < EXCURSION_SIZES; k++)
			own->sizes[i][k] /= 2;
	own->steps /= 2;
	own->sum /= 2;
	own->squares /= 2;
	for (uint32_t i = 0; i < EXCURSION_LAGS; i++) {
		own->pairs[i] /= 2;
		own->products[i] /= 2;
	}
}

void excursions_note(struct stragglers *stragglers, uint64_t step)
{
	uint64_t step_ns = pace_step_ns(&stragglers->pace, STRAGGLER_PACE);

	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		struct suspect *suspect = &stragglers->suspects[i];
		if (suspect->open)
			continue;
		note_one(stragglers, suspect, step, step_ns);
		if (suspect->excursions.steps >= EXCURSION_FORGET)
			halve(&suspect->excursions);
	}
}

void excursions_forget(struct suspect *suspect)
{
	suspect->excursions = (struct excursions){ 0 };
}

/* Leaves out who is as late, too: it may be at fault as well. All ranks of its host, or a few; where more are late it is
 * what the job does. */
static bool leave_out(struct peers *peers, uint32_t length, uint64_t least_ns)
{
	const struct stragglers *stragglers = peers->stragglers;
	uint32_t count = stragglers->suspect_count, as_late = 0, mates = 0, late_mates = 0, ranks = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct suspect *other = &stragglers->suspects[i];
		bool late = level_ns(stragglers, other, peers->suspect->step, length) * AS_LATE >= least_ns;
		bool mate = other->host == peers->suspect->host;
		peers->left_out[i] = late || other == peers->suspect || other->open;
		mates += mate;
		late_mates += mate && late;
		as_late += late && !other->open && other != peers->suspect;
		ranks += !peers->left_out[i];
	}
	peers->units = ranks;
	if (late_mates * 2 > mates)
		peers->units = ranks / mates;
	if (as_late * EXCURSION_PART <= count)
		return ranks > 0;
	bool host = late_mates == mates && mates > 1 && (as_late - late_mates + 1) * EXCURSION_PART <= count - mates;
	return host && ranks > 0;
}

/* What the others did so far, and what they do now. */
static void add_up(struct peers *peers, uint32_t length)
{
	peers->seen = (struct excursions){ 0 };
	memset(peers->sizes, 0, sizeof(peers->sizes));
	for (uint32_t i = 0; i < peers->stragglers->suspect_count; i++) {
		const struct suspect *other = &peers->stragglers->suspects[i];
		if (peers->left_out[i])
			continue;
		add(&peers->seen, &other->excursions);
		for (uint32_t k = 0; k < EXCURSION_SIZES; k++)
			peers->sizes[k] += other->excursions.sizes[length][k];
		uint64_t now_ns = level_ns(peers->stragglers, other, peers->suspect->step, lengths[length]);
		peers->sizes[size_of(excursion_beyond_tolerance(now_ns, peers->step_ns))]++;
	}
}

/* Of what is left after 1 << lag steps; 0 also where nobody is ever late. */
static double correlation(const struct excursions *seen, uint32_t lag)
{
	double mean = seen->sum / seen->steps, variance = seen->squares / seen->steps - mean * mean;

	if (!(variance > 1e-3))
		return 0;
	return fmin(fmax((seen->products[lag] / seen->pairs[lag] - mean * mean) / variance, 0), 1);
}

/* What it may be by chance, where so many steps tell as much as one. */
static double doubt(const struct excursions *seen, uint32_t lag, double lasts)
{
	return EXCURSION_DOUBT * sqrt(lasts / seen->pairs[lag]);
}

/* Steps after which what is left of noise has little to do with what it was: the sum of its autocorrelation, at most. */
static double lasting_steps(const struct excursions *seen, double steps)
{
	double lasts = 1;

	for (uint32_t i = 0; i < EXCURSION_LAGS; i++) {
		if (seen->pairs[i] < 1)
			return fmax(lasts, steps);
		double left = correlation(seen, i);
		lasts += 2 * (double)(UINT64_C(1) << i) * fmin(left + doubt(seen, i, lasts), 1);
		if (left < doubt(seen, i, 1))
			break;
	}
	return lasts;
}

static double steps_of(const struct peers *peers)
{
	return (double)(peers->suspect->step - peers->stragglers->first_step + 1);
}

/* Beyond this no rank comes by chance in such a job: as the largest that was seen is to the usual ones, so is what is not
 * seen yet to the largest; and the fewer were seen, the less they tell. */
static double bound_ns(const struct peers *peers, uint32_t i)
{
	double all = 0, below = 0, largest = LATENESS_NOISE_NS, usual = LATENESS_NOISE_NS;

	for (uint32_t k = 1; k < EXCURSION_SIZES; k++) {
		all += peers->sizes[k];
		if (peers->sizes[k])
			largest = size_ns(k);
	}
	for (uint32_t k = 1; k < EXCURSION_SIZES && below * 2 < all; k++) {
		below += peers->sizes[k];
		usual = size_ns(k);
	}
	double times = steps_of(peers) / fmax(lasting_steps(&peers->seen, steps_of(peers)), lengths[i]);
	double few = 1 + EXCURSION_SEEN / (peers->units * fmax(times, 1));
	return largest * fmax(fmax(few, largest / usual), EXCURSION_QUIET);
}

/* Two ranks, or hosts, cannot show what is usual: when one is late the other is not. Then what counts is how much it changes
 * from one step to the next: noise that lasts got where it is by such steps. */
static bool is_steady(const struct suspect *suspect, uint32_t length, uint64_t least_ns)
{
	uint64_t changes[LENGTH_MAX];

	for (uint32_t i = 0; i + 1 < length; i++) {
		uint64_t one = straggler_blame(suspect, suspect->step - i).late_ns,
			 other = straggler_blame(suspect, suspect->step - i - 1).late_ns;
		changes[i] = one > other ? one - other : other - one;
	}
	qsort(changes, length - 1, sizeof(*changes), by_value);
	return (double)least_ns >= EXCURSION_STEADY * (double)changes[(length - 1) / 2];
}

/* Where noise does not last, others had many occasions for much shorter ones. */
static uint32_t choose_length(struct peers *peers, uint32_t steps)
{
	uint32_t with = 0;

	add_up(peers, 0);
	double most = steps / (EXCURSION_SHORTER * lasting_steps(&peers->seen, steps_of(peers)));
	while (with + 1 < EXCURSION_LENGTHS && lengths[with + 1] <= most)
		with++;
	return with;
}

static double largest_ns(const struct peers *peers)
{
	uint32_t size = EXCURSION_SIZES - 1;

	while (size && !peers->sizes[size])
		size--;
	return size_ns(size);
}

/* Where others are late by much, but alone, and in time a step or two later: more than any of them ever was in one step, and
 * far more than they were for longer. In the first steps of a job the others have shown little: who costs less can wait. */
static bool is_beyond_all(struct peers *peers, uint32_t length, double beyond_ns)
{
	bool early = steps_of(peers) < EXCURSION_EARLY;

	if (early && beyond_ns < EXCURSION_EARLY_SHARE * (double)peers->step_ns)
		return false;
	add_up(peers, 0);
	double alone_ns = largest_ns(peers);
	add_up(peers, length);
	return beyond_ns >= (early ? EXCURSION_BEYOND_EARLY : EXCURSION_BEYOND_ALL) * alone_ns && alone_ns >= EXCURSION_ALONE * largest_ns(peers) &&
	       beyond_ns >= bound_ns(peers, length);
}

/* Who has been so from the start of a short job may be so by noise that lasts. That wanders; a slow rank is as late each time. */
static bool is_no_wandering(const struct peers *peers, uint64_t least_ns)
{
	uint32_t past = 0;

	if (steps_of(peers) >= EXCURSION_EARLY)
		return true;
	for (uint64_t step = peers->stragglers->first_step; step < peers->suspect->step; step++)
		past += straggler_blame(peers->suspect, step).late_ns * QUARTER < least_ns;
	return past >= EXCURSION_EARLY_PAST || is_steady(peers->suspect, (uint32_t)steps_of(peers), least_ns);
}

/* Compared with shorter excursions of the others. */
static bool is_beyond(struct peers *peers, uint32_t look, uint64_t limit_ns)
{
	const struct suspect *suspect = peers->suspect;
	uint32_t steps = looks[look];
	uint64_t least_ns = level_ns(peers->stragglers, suspect, suspect->step, steps);

	if (least_ns < limit_ns || !is_no_wandering(peers, least_ns) || !leave_out(peers, steps, least_ns))
		return false;
	if (peers->units < 2 && (steps < EXCURSION_ONE_STEPS || !is_steady(suspect, steps, least_ns)))
		return false;
	double beyond_ns = (double)excursion_beyond_tolerance(least_ns, peers->step_ns);
	uint32_t with = choose_length(peers, steps);
	add_up(peers, with);
	return beyond_ns >= bound_ns(peers, with) || is_beyond_all(peers, steps > lengths[THREE] ? THREE : TWO, beyond_ns);
}

/* As late as that in so many steps in a row, and others as often as they were so far: would that come by chance in such a
 * job, with what noise is left of itself from one step to the next? */
static bool is_too_often(struct peers *peers, uint32_t row, uint64_t least_ns)
{
	uint64_t beyond_ns = excursion_beyond_tolerance(least_ns, peers->step_ns);
	double all = 1, late = 1, steps = steps_of(peers);

	if (steps < EXCURSION_ROW_AFTER || !leave_out(peers, row, least_ns) || peers->units < 2)
		return false;
	add_up(peers, 0);
	for (uint32_t k = 0; k < EXCURSION_SIZES; k++) {
		all += peers->sizes[k];
		late += k >= size_of(beyond_ns) ? peers->sizes[k] : 0;
	}
	double lasts = lasting_steps(&peers->seen, steps);
	if (lasts > EXCURSION_ROW_LASTS)
		return false;
	double left = fmin(correlation(&peers->seen, 0) + doubt(&peers->seen, 0, lasts), 1);
	double each = late / all, again = each + (1 - each) * left;
	return chance_is_excluded(each * pow(again, row - 1), steps * peers->stragglers->suspect_count);
}

static bool is_in_a_row(struct peers *peers, uint64_t limit_ns)
{
	const struct suspect *suspect = peers->suspect;
	uint64_t least_ns = UINT64_MAX;

	for (uint32_t row = 1; row <= EXCURSION_ROW_MAX && suspect->step + 1 >= peers->stragglers->first_step + row; row++) {
		uint64_t late_ns = straggler_blame(suspect, suspect->step - (row - 1)).late_ns;
		least_ns = late_ns < least_ns ? late_ns : least_ns;
		if (least_ns < limit_ns)
			return false;
		if (row >= EXCURSION_ROW_MIN && is_too_often(peers, row, least_ns))
			return true;
	}
	return false;
}

bool excursion_is_proven(const struct stragglers *stragglers, const struct suspect *suspect, uint64_t limit_ns)
{
	struct peers peers = { .stragglers = stragglers,
			       .suspect = suspect,
			       .step_ns = pace_step_ns(&stragglers->pace, STRAGGLER_PACE) };
	bool proven = false;

	if (suspect->step < stragglers->first_step + EXCURSION_STEPS_MIN - 1 ||
	    level_ns(stragglers, suspect, suspect->step, EXCURSION_ROW_MIN) < limit_ns)
		return false;
	peers.left_out = calloc(stragglers->suspect_count, sizeof(*peers.left_out));
	for (uint32_t i = 0; peers.left_out && i < sizeof(looks) / sizeof(*looks) && !proven; i++)
		proven = is_beyond(&peers, i, limit_ns);
	proven = proven || (peers.left_out && is_in_a_row(&peers, limit_ns));
	free(peers.left_out);
	return proven;
}

double excursion_lasts(const struct stragglers *stragglers, const struct suspect *suspect)
{
	struct excursions seen = { 0 };

	for (uint32_t i = 0; i < stragglers->suspect_count; i++)
		if (&stragglers->suspects[i] != suspect && !stragglers->suspects[i].open)
			add(&seen, &stragglers->suspects[i].excursions);
	return lasting_steps(&seen, (double)(suspect->step - stragglers->first_step + 1));
}

bool excursion_is_striking(const struct stragglers *stragglers, const struct suspect *suspect, uint64_t limit_ns)
{
	uint64_t least_ns = level_ns(stragglers, suspect, suspect->step, EXCURSION_ROW_MIN), count = 0, near = 0;

	if (suspect->step < stragglers->first_step + EXCURSION_STEPS_MIN - 1 || least_ns < limit_ns)
		return false;
	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		const struct suspect *other = &stragglers->suspects[i];
		for (uint64_t back = 0; other != suspect && back < EXCURSION_STRIKING_STEPS; back++) {
			if (suspect->step < back + stragglers->first_step)
				break;
			count++;
			near += straggler_blame(other, suspect->step - back).late_ns * EXCURSION_STRIKING > least_ns;
		}
	}
	return count && near * 20 <= count;
}
