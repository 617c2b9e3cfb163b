/* SPDX-License-Identifier: MIT */
#include "analysis/late/excursion.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/measure/lateness.h"
#include "analysis/late/peers.h"
#include "analysis/numbers/steadiness.h"
#include "analysis/late/straggler.h"

static const uint32_t looks[] = { 3, 4, 6, 12, 24, PEERS_LENGTH_MAX }; /* steps that a rank is looked at over */

enum {
	THREE = 2, /* of excursions_lengths */
	TWELVE = 4,
	HALF = 2,
	QUARTER = 4, /* of an excursion's steps may be less late */
};

/* One rank, and those that it is compared with. */
struct comparison {
	struct peers *peers;
	const struct suspect *suspect;
	struct chosen_peers chosen;
	struct peers_seen seen; /* what these did */
	bool stands;            /* it is late by so much that its work cannot vary by it: something stops it */
};

/* The upper end. */
static double size_ns(uint32_t size)
{
	return LATENESS_NOISE_NS * exp2(size / 4.0);
}

/* Of what is left after 1 << lag steps; 0 also where nobody is ever late. */
static double correlation(const struct peers_seen *seen, uint32_t lag)
{
	double mean = seen->sum / seen->steps, variance = seen->squares / seen->steps - mean * mean;

	if (!(variance > 1e-3))
		return 0;
	return fmin(fmax((seen->products[lag] / seen->pairs[lag] - mean * mean) / variance, 0), 1);
}

/* What a few steps show, however many there were in which nobody was late: so many equal ones would have the same sums
 * of powers. Of ranks that are late together one counts. */
static double telling_steps(const struct peers_seen *seen)
{
	return seen->fourths > 0 ? seen->squares * seen->squares / seen->fourths * seen->apart : 0;
}

/* What may be left beyond what is seen to be, where so many steps tell as much as one: as of something that was seen so
 * often in so many trials (of what was never seen, up to 3 in them with 95 %: the rule of three). */
static double doubt(const struct peers_seen *seen, uint32_t lag, double lasts)
{
	double trials = telling_steps(seen) * seen->pairs[lag] / seen->steps / lasts;

	return trials > 0 ? fmin(EXCURSION_DOUBT * sqrt(correlation(seen, lag) / trials) + EXCURSION_NEVER / trials, 1)
			  : 1;
}

/* What may be left of noise after 1 << lag steps: what is seen to be, and by chance may be more; but not more than of
 * any noise that is known, unless it is seen. */
static double left_at_most(const struct peers_seen *seen, uint32_t lag, double lasts)
{
	double left = correlation(seen, lag), known = pow(EXCURSION_LASTS, (double)(UINT64_C(1) << lag));

	return fmax(left, fmin(left + doubt(seen, lag, lasts), known));
}

/* Steps after which what is left of noise has little to do with what it was: the sum of its autocorrelation, at
 * most. */
static double lasting_steps(const struct peers_seen *seen, double steps)
{
	double lasts = 1, most = 1;

	for (uint32_t i = 0; i < EXCURSION_LAGS; i++) {
		if (seen->pairs[i] < 1)
			return fmax(lasts, steps);
		most = fmin(most, left_at_most(seen, i, lasts));
		lasts += 2 * (double)(UINT64_C(1) << i) * most;
		if (correlation(seen, i) < doubt(seen, i, 1) && doubt(seen, i, 1) < EXCURSION_KNOWN)
			break;
	}
	return lasts;
}

/* The same, of what is seen alone: good enough where more must be seen than a lateness that stays. */
static double seen_to_last(const struct peers_seen *seen, double steps)
{
	double lasts = 1;

	for (uint32_t i = 0; i < EXCURSION_LAGS; i++) {
		if (seen->pairs[i] < 1)
			return fmax(lasts, steps);
		double left = correlation(seen, i), chance = EXCURSION_DOUBT / sqrt(seen->pairs[i]);
		lasts += 2 * (double)(UINT64_C(1) << i) * fmin(left + chance * sqrt(lasts), 1);
		if (left < chance)
			break;
	}
	return lasts;
}

/* Noise that lasts for as many steps as the rank is looked at over may hide behind larger latenesses of the others that
 * do not last. If the rank's own lateness wanders, it is of that kind, and the others showed it in only so many
 * independent times. */
static double wandering_steps(const struct comparison *comparison)
{
	uint32_t length = comparison->chosen.length;

	return length >= excursions_lengths[TWELVE] && wanders(comparison->suspect, length) ? length : 1;
}

static bool choose(struct comparison *comparison, uint32_t length, uint64_t least_ns)
{
	return peers_choose(comparison->peers, comparison->suspect, length, least_ns, &comparison->chosen);
}

static void add_up(struct comparison *comparison, uint32_t with)
{
	comparison->seen = peers_add_up(comparison->peers, &comparison->chosen, with);
	comparison->seen.apart = (double)comparison->chosen.units / comparison->chosen.ranks;
}

static double steps_of(const struct comparison *comparison)
{
	return (double)(comparison->suspect->step - comparison->peers->stragglers->first_step + 1);
}

/* Lateness that is spread over a step's operations begins to show when each of them is beyond the noise of the
 * measurement: what others may have been late by as well, and nobody saw. */
static double hidden_ns(const struct comparison *comparison)
{
	struct blame blame = suspect_blame(comparison->suspect, comparison->suspect->step);

	return blame.worst_ns ? LATENESS_NOISE_NS * ((double)blame.late_ns / (double)blame.worst_ns - 1) : 0;
}

/* What of its lateness over the last so many steps is usual of the rank. Three steps are too few to allow it less than
 * the tolerance. */
static uint64_t usual_ns(const struct comparison *comparison, uint32_t length)
{
	const struct peers *peers = comparison->peers;
	const struct suspect *suspect = comparison->suspect;

	return length <= excursions_lengths[THREE]
		   ? excursions_tolerance_ns(peers->step_ns)
		   : excursions_usual_before_ns(peers->stragglers, suspect, suspect->step + 1 - length, peers->step_ns);
}

static uint64_t beyond_usual_ns(const struct comparison *comparison, uint32_t length, uint64_t least_ns)
{
	return excursions_beyond(least_ns, usual_ns(comparison, length));
}

/* The tolerance was taken off the others' latenesses, and what is usual of it off this rank's. They may have been late
 * by what is between the two, which was not counted. */
static double uncounted_ns(const struct comparison *comparison)
{
	return (double)(excursions_tolerance_ns(comparison->peers->step_ns) -
			usual_ns(comparison, comparison->chosen.length));
}

/* Steps that the others' noise lasts for. In the first ones only much counts (is_too_early), and what is seen has to
 * do. Noise that is compared over twelve steps has come no more often than it was seen to come and go
 * (is_noise_known). */
static double noise_steps(const struct comparison *comparison, uint32_t i)
{
	double steps = steps_of(comparison), seen = seen_to_last(&comparison->seen, steps);

	if (steps < EXCURSION_EARLY)
		return seen;
	return i == TWELVE ? fmax(lasting_steps(&comparison->seen, steps), seen)
			   : lasting_steps(&comparison->seen, steps);
}

/* Beyond this no rank comes by chance in such a job: as the largest that was seen is to the usual ones, so is what is
 * not seen yet to the largest, and twice that at least; and the fewer were seen, the less they tell. */
static double bound_ns(const struct comparison *comparison, uint32_t i)
{
	double all = 0, below = 0, largest = LATENESS_NOISE_NS, usual = LATENESS_NOISE_NS;

	for (uint32_t k = 1; k < EXCURSION_SIZES; k++) {
		all += comparison->seen.sizes[k];
		if (comparison->seen.sizes[k])
			largest = size_ns(k);
	}
	for (uint32_t k = 1; k < EXCURSION_SIZES && below * 2 < all; k++) {
		below += comparison->seen.sizes[k];
		usual = size_ns(k);
	}
	double steps = steps_of(comparison), lasts = noise_steps(comparison, i);
	/* The others have shown little of what lasts for a few steps only. */
	if (comparison->chosen.length < excursions_lengths[TWELVE] && steps >= EXCURSION_EARLY && !comparison->stands)
		lasts = fmax(lasts, excursions_lengths[TWELVE]);
	double times = steps / fmax(fmax(lasts, wandering_steps(comparison)), excursions_lengths[i]);
	double few = 1 + EXCURSION_SEEN / (comparison->chosen.units * fmax(times, 1));
	double hidden = hidden_ns(comparison);
	double times_largest = fmax(fmax(few, largest / usual), EXCURSION_QUIET);
	return (fmax(largest, uncounted_ns(comparison)) + hidden) * times_largest - hidden;
}

/* Two ranks, or hosts, cannot show what is usual: when one is late the other is not. Then what counts is how much it
 * changes from one step to the next: noise that lasts got where it is by such steps. */
static bool is_steady(const struct suspect *suspect, uint32_t length, uint64_t least_ns)
{
	return steadiness(suspect, length, least_ns, 0.5) >= EXCURSION_STEADY;
}

/* Where noise does not last, others had many occasions for much shorter ones. */
static uint32_t choose_length(struct comparison *comparison, uint32_t steps)
{
	uint32_t with = 0;

	add_up(comparison, 0);
	double lasts = fmax(lasting_steps(&comparison->seen, steps_of(comparison)), wandering_steps(comparison));
	double most = steps / (EXCURSION_SHORTER * lasts);
	while (with + 1 < EXCURSION_LENGTHS && excursions_lengths[with + 1] <= most)
		with++;
	return with;
}

static double largest_ns(const struct comparison *comparison)
{
	uint32_t size = EXCURSION_SIZES - 1;

	while (size && !comparison->seen.sizes[size])
		size--;
	return size_ns(size);
}

/* Then it had no step to become late in. */
static bool is_steady_from_the_start(const struct comparison *comparison, uint64_t least_ns)
{
	const struct suspect *suspect = comparison->suspect;
	uint32_t steps = (uint32_t)steps_of(comparison);

	if (steps >= EXCURSION_EARLY ||
	    excursions_level_ns(comparison->peers->stragglers, suspect, suspect->step, steps) * 2 < least_ns)
		return false;
	return steadiness(suspect, steps, least_ns, EXCURSION_STEADY_PART) >= EXCURSION_NO_NOISE_STEADY;
}

/* Who has been so from the start of a short job may be so by noise that lasts. That wanders, and takes no third of the
 * time; a slow rank is as late each time. */
static bool is_no_wandering(const struct comparison *comparison, uint64_t least_ns)
{
	uint32_t past = 0;

	if (steps_of(comparison) >= EXCURSION_EARLY)
		return true;
	if ((double)least_ns >= EXCURSION_NO_NOISE * (double)comparison->peers->step_ns &&
	    is_steady_from_the_start(comparison, least_ns))
		return true;
	for (uint64_t step = comparison->peers->stragglers->first_step; step < comparison->suspect->step; step++)
		past += suspect_shown_ns(comparison->suspect, step) * QUARTER < least_ns;
	return past >= EXCURSION_EARLY_PAST ||
	       steadiness(comparison->suspect, (uint32_t)steps_of(comparison), least_ns, EXCURSION_STEADY_PART) >=
		       EXCURSION_STEADY;
}

/* Has it come and gone so often? */
static bool is_noise_known(struct comparison *comparison)
{
	add_up(comparison, 0);
	return steps_of(comparison) >= EXCURSION_EARLY_TIMES * seen_to_last(&comparison->seen, steps_of(comparison));
}

/* Is the rank about as late in each of so many steps? Noise that lasts grows and fades within a few steps. A fault may
 * begin in the middle of the first one; but where two are left, that one must be half as late, as two that are alike
 * may be in the middle of noise that grows. */
static bool is_even(const struct suspect *suspect, uint32_t length)
{
	uint64_t least_ns = UINT64_MAX, most_ns = 0;

	for (uint32_t i = 0; i + 1 < length; i++) {
		uint64_t late_ns = suspect_shown_ns(suspect, suspect->step - i);
		least_ns = late_ns < least_ns ? late_ns : least_ns;
		most_ns = late_ns > most_ns ? late_ns : most_ns;
	}
	if (length <= EXCURSION_ROW_MIN && suspect_shown_ns(suspect, suspect->step + 1 - length) * HALF < most_ns)
		return false;
	return (double)most_ns <= EXCURSION_EVEN * (double)least_ns;
}

/* Was it no later in that step than any rank is in 19 of 20? A fault that is there at once begins at such a step, and
 * noise that lasts has grown before. */
static bool was_as_usual(struct comparison *comparison, uint64_t step)
{
	uint64_t late_ns =
	    excursions_beyond_tolerance(suspect_shown_ns(comparison->suspect, step), comparison->peers->step_ns);
	double all = 0, later = 0;

	if (comparison->chosen.alone)
		return true;
	add_up(comparison, 0);
	for (uint32_t k = 0; k < EXCURSION_SIZES; k++) {
		all += comparison->seen.sizes[k];
		later += k >= excursions_size(late_ns) ? comparison->seen.sizes[k] : 0;
	}
	return (later + EXCURSION_NEVER) * EXCURSION_UNUSUAL >= all; /* also where too few were seen to say so */
}

/* It may begin in the middle of a step: in that one the rank is late by a part of what it is later. */
static bool begins_as_usual(struct comparison *comparison, uint32_t length)
{
	const struct suspect *suspect = comparison->suspect;
	uint64_t first = suspect->step + 1 - length;

	if (first < comparison->peers->stragglers->first_step + 2 || was_as_usual(comparison, first - 1))
		return true;
	bool is_whole =
	    (double)suspect_shown_ns(suspect, first) * EXCURSION_EVEN >= (double)suspect_shown_ns(suspect, first + 1);
	return is_whole && was_as_usual(comparison, first - 2);
}

/* Before so many steps, was the rank at most a quarter as late: in the step just before, and in nearly all of those
 * before that? And is a lateness of few steps even, or a third of the step? Noise that lasts comes and goes gradually,
 * and so begins at an unusual step. */
static bool begins_with_a_jump(struct comparison *comparison, uint32_t length, uint64_t least_ns)
{
	const struct suspect *suspect = comparison->suspect;
	uint32_t before = 0;

	bool noise_may = (double)least_ns < EXCURSION_NO_NOISE * (double)comparison->peers->step_ns;
	if (length < excursions_lengths[TWELVE] && noise_may && !is_even(suspect, length))
		return false;
	for (uint32_t i = length; i < length + EXCURSION_PAST && suspect->step >= i; i++)
		before += suspect_shown_ns(suspect, suspect->step - i) * QUARTER >= least_ns;
	bool just_before =
	    suspect->step >= length && suspect_shown_ns(suspect, suspect->step - length) * QUARTER >= least_ns;
	return !just_before && before <= (noise_may ? EXCURSION_BEFORE : EXCURSION_PAST / QUARTER) &&
	       begins_as_usual(comparison, length);
}

/* As steadily late as noise that lasts never is, and by more than the others were for three steps: then it is no matter
 * how little they have shown yet. One other rank, or host, shows less: then it is so for longer. */
static bool is_steadily_late(struct comparison *comparison, uint32_t length, uint64_t least_ns, double beyond_ns)
{
	if (length < EXCURSION_STEADY_STEPS || (comparison->chosen.units < 2 && length < EXCURSION_LONG) ||
	    steadiness(comparison->suspect, length, least_ns, EXCURSION_STEADY_PART) < EXCURSION_STEADY)
		return false;
	add_up(comparison, THREE);
	double hidden = hidden_ns(comparison);
	return beyond_ns + hidden >= EXCURSION_QUIET * (largest_ns(comparison) + hidden);
}

/* Was it later than now in most of these steps? */
static bool is_fading(const struct suspect *suspect, uint32_t length, uint64_t least_ns)
{
	uint32_t later = 0;

	for (uint32_t i = 0; i < length; i++)
		later += (double)suspect_shown_ns(suspect, suspect->step - i) > EXCURSION_EVEN * (double)least_ns;
	return later * 2 > length;
}

/* Half as steadily suffices over twice as many steps, if it stays near one value and others did not: noise that lasts
 * fades in these. */
static bool is_steadier_than_noise(const struct comparison *comparison, uint32_t length, uint64_t least_ns)
{
	double steady = steadiness(comparison->suspect, length, least_ns, EXCURSION_STEADY_PART);
	bool longer = length >= EXCURSION_LONG && !comparison->chosen.alone;

	return steady >= EXCURSION_STEADY ||
	       (longer && steady >= EXCURSION_STEADY_LONG && !wanders(comparison->suspect, length));
}

/* The rank became late in one step, by many times what its lateness changes by since. Noise that lasts gets there by
 * such changes. */
static bool has_jumped(struct comparison *comparison, uint32_t length, uint64_t least_ns)
{
	const struct suspect *suspect = comparison->suspect;
	double hidden = hidden_ns(comparison);

	return length >= EXCURSION_STEADY_STEPS && !is_fading(suspect, length, least_ns) &&
	       suspect->step + 1 >= comparison->peers->stragglers->first_step + length + EXCURSION_OWN_PAST &&
	       begins_with_a_jump(comparison, length, least_ns) &&
	       is_steadier_than_noise(comparison, length, least_ns) &&
	       (double)least_ns + hidden >= EXCURSION_QUIET * (LATENESS_NOISE_NS + hidden);
}

/* A rank that nobody does the same as has only its own past to be compared with. If another rank has jumped, too, that
 * is what the job does; and so it may be where ranks are not seen. */
static bool is_beyond_own_past(struct comparison *comparison, uint32_t length, uint64_t least_ns)
{
	const struct peers *peers = comparison->peers;
	const struct stragglers *stragglers = peers->stragglers;
	const struct suspect *suspect = comparison->suspect;

	if (peers->partial || !has_jumped(comparison, length, least_ns))
		return false;
	for (uint32_t i = 0; i < stragglers->suspect_count; i++)
		if (&stragglers->suspects[i] != suspect &&
		    excursions_level_ns(stragglers, &stragglers->suspects[i], peers->step, length) * 2 >= least_ns)
			return false;
	return true;
}

/* In the first steps of a job, and until noise that lasts has come and gone, the others have shown little: who costs
 * less than a fifth of the step can wait. */
static bool is_too_early(struct comparison *comparison, double beyond_ns)
{
	bool early = steps_of(comparison) < EXCURSION_EARLY || !is_noise_known(comparison);

	return early && (comparison->chosen.units < 2 ||
			 beyond_ns < EXCURSION_EARLY_SHARE * (double)comparison->peers->step_ns);
}

/* Compared with shorter excursions of the others. */
static bool is_beyond(struct comparison *comparison, uint32_t look, uint64_t limit_ns)
{
	const struct suspect *suspect = comparison->suspect;
	uint32_t steps = looks[look];
	uint64_t least_ns = excursions_level_ns(comparison->peers->stragglers, suspect, suspect->step, steps);

	if (least_ns < limit_ns || !is_no_wandering(comparison, least_ns))
		return false;
	if (!choose(comparison, steps, least_ns))
		return comparison->chosen.alone && is_beyond_own_past(comparison, steps, least_ns);
	if (comparison->chosen.units < 2 && (steps < EXCURSION_ONE_STEPS || !is_steady(suspect, steps, least_ns)))
		return is_beyond_own_past(comparison, steps, least_ns);
	double beyond_ns = (double)beyond_usual_ns(comparison, steps, least_ns);
	comparison->stands = least_ns >= EXCURSION_STANDS * comparison->peers->step_ns;
	if (has_jumped(comparison, steps, least_ns) || is_steadily_late(comparison, steps, least_ns, beyond_ns))
		return true;
	if (is_too_early(comparison, beyond_ns))
		return false;
	if (steps < excursions_lengths[TWELVE] && !begins_with_a_jump(comparison, steps, least_ns) &&
	    !is_steady_from_the_start(comparison, least_ns))
		return false;
	uint32_t with = choose_length(comparison, steps);
	add_up(comparison, with);
	return beyond_ns >= bound_ns(comparison, with);
}

/* Steps in which nobody could be seen to be late show neither that this rank was in time nor what the others are late
 * by. */
static bool are_enough_seen(const struct stragglers *stragglers, const struct suspect *suspect)
{
	uint64_t first =
	    stragglers->measured_step > stragglers->first_step ? stragglers->measured_step : stragglers->first_step;

	return suspect->step >= first + EXCURSION_STEPS_MIN - 1;
}

bool excursion_is_proven(struct peers *peers, const struct suspect *suspect, uint64_t limit_ns)
{
	const struct stragglers *stragglers = peers->stragglers;
	struct comparison comparison = { .peers = peers, .suspect = suspect };
	bool proven = false;

	if (!are_enough_seen(stragglers, suspect) ||
	    excursions_level_ns(stragglers, suspect, suspect->step, EXCURSION_ROW_MIN) < limit_ns)
		return false;
	for (uint32_t i = 0; i < sizeof(looks) / sizeof(*looks) && !proven; i++)
		proven = is_beyond(&comparison, i, limit_ns);
	return proven && !peers->incomplete;
}

double excursion_lasts(const struct stragglers *stragglers, const struct suspect *suspect)
{
	struct peers_seen seen = { 0 };

	for (uint32_t i = 0; i < stragglers->suspect_count; i++)
		if (&stragglers->suspects[i] != suspect && !stragglers->suspects[i].open)
			peers_seen_add(&seen, &stragglers->suspects[i].excursions);
	return seen_to_last(&seen, (double)(suspect->step - stragglers->first_step + 1));
}

bool excursion_is_striking(struct peers *peers, const struct suspect *suspect, uint64_t limit_ns)
{
	const struct stragglers *stragglers = peers->stragglers;
	uint64_t least_ns = excursions_level_ns(stragglers, suspect, suspect->step, EXCURSION_ROW_MIN), count;

	if (suspect->step < stragglers->first_step + EXCURSION_STEPS_MIN - 1 || least_ns < limit_ns)
		return false;
	uint64_t near = peers_near(peers, suspect, limit_ns, least_ns, &count);
	return count && near * 20 <= count;
}
