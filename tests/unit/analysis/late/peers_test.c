/* SPDX-License-Identifier: MIT */
/* What is found in sorted tables is what looking at each rank one by one finds. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "analysis/measure/lateness.h"
#include "analysis/late/peers.h"
#include "analysis/late/straggler.h"

#include "tests/unit/analysis/jobs/seeds.h"

enum { RANKS_MAX = 97, FIRST = 3, STEP = 60 };

static const uint32_t looks[] = { 3, 4, 5, 6, 7, 8, 12, 24, 48 };

/* xorshift64*, Vigna 2016. */
static uint64_t draw(uint64_t *random, uint64_t below)
{
	*random ^= *random >> 12;
	*random ^= *random << 25;
	*random ^= *random >> 27;
	return (*random * 0x2545f4914f6cdd1du >> 33) % below;
}

/* Ranks of which more and more are late, in more and more steps; with equal ones, and with findings that are open. */
static struct stragglers some_ranks(unsigned seed, uint64_t *random)
{
	uint32_t count = 2 + (uint32_t)draw(random, RANKS_MAX - 1), per_host = 1 + (uint32_t)draw(random, 12);
	struct stragglers stragglers = { .suspects = calloc(count, sizeof(struct suspect)), .suspect_count = count,
					 .first_step = seed % 4 ? FIRST : STEP - draw(random, 20) };

	uint64_t few = 2 + draw(random, 30), seldom = 1 + draw(random, 5);
	uint32_t groups = seed % 3 ? 1 : 1 + (uint32_t)draw(random, 4);

	cr_assert(stragglers.suspects);
	for (uint64_t step = 1; step <= STEP; step++)
		pace_note(&stragglers.pace, step, step * 500000000);
	for (uint32_t i = 0; i < count; i++) {
		struct suspect *suspect = &stragglers.suspects[i];
		suspect->host = i / per_host;
		suspect->group = i % groups;
		suspect->open = draw(random, 10) == 0;
		suspect->step = STEP;
		uint64_t steadily_ns = draw(random, few) ? 0 : draw(random, 30) * LATENESS_NOISE_NS;
		for (uint64_t step = stragglers.first_step; step <= STEP; step++)
			suspect->blames[step % STRAGGLER_STEPS] = (struct blame){
				.step = step, .shown_ns = steadily_ns + (draw(random, seldom) ? 0 : draw(random, 20) * LATENESS_NOISE_NS)
			};
		for (uint32_t with = 0; with < EXCURSION_LENGTHS; with++)
			for (uint32_t k = 0; k < EXCURSION_SIZES; k++)
				suspect->excursions.sizes[with][k] = (uint16_t)draw(random, 50);
		suspect->excursions.steps = (float)draw(random, 1000);
		suspect->excursions.products[EXCURSION_LAGS - 1] = (float)draw(random, 1000);
	}
	return stragglers;
}

static uint64_t level(const struct stragglers *stragglers, uint32_t rank, uint32_t length)
{
	return excursions_level_ns(stragglers, &stragglers->suspects[rank], STEP, length);
}

static bool is_left_out(const struct stragglers *stragglers, uint32_t rank, uint32_t other, uint32_t length,
			uint64_t least_ns)
{
	return other == rank || stragglers->suspects[other].group != stragglers->suspects[rank].group ||
	       stragglers->suspects[other].open || level(stragglers, other, length) * 2 >= least_ns;
}

static void expect_chosen(const struct stragglers *stragglers, struct peers *peers, uint32_t rank, uint32_t length,
			  uint64_t least_ns, struct chosen_peers *chosen, bool *fit)
{
	const struct suspect *suspect = &stragglers->suspects[rank];
	uint32_t ranks = 0, as_late = 0, elsewhere = 0, mates = 0, late_mates = 0, all = 0;

	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		const struct suspect *other = &stragglers->suspects[i];
		bool late = level(stragglers, i, length) * 2 >= least_ns;
		if (other->group != suspect->group)
			continue;
		all++;
		ranks += !is_left_out(stragglers, rank, i, length, least_ns);
		as_late += late && !other->open && other != suspect;
		elsewhere += late && !other->open && other->host != suspect->host;
		mates += other->host == suspect->host;
		late_mates += other->host == suspect->host && late;
	}
	bool few = as_late * EXCURSION_PART <= all;
	bool host = late_mates == mates && mates > 1 && elsewhere * EXCURSION_PART <= all - mates;

	*fit = peers_choose(peers, suspect, length, least_ns, chosen);
	cr_expect_eq(*fit, ranks > 0 && (few || host), "rank %u of %u over %u", rank, stragglers->suspect_count, length);
	cr_expect_eq(chosen->ranks, ranks);
	cr_expect_eq(chosen->alone, all == 1);
	cr_expect_eq(chosen->units, late_mates * 2 > mates ? ranks / mates : ranks);
}

static void expect_sums(const struct stragglers *stragglers, struct peers *peers, uint32_t rank, uint64_t least_ns,
			const struct chosen_peers *chosen, uint32_t with)
{
	struct peers_seen seen = peers_add_up(peers, chosen, with);
	uint32_t sizes[EXCURSION_SIZES] = { 0 };
	double steps = 0, products = 0;

	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		const struct excursions *own = &stragglers->suspects[i].excursions;
		if (is_left_out(stragglers, rank, i, chosen->length, least_ns))
			continue;
		steps += (double)own->steps;
		products += (double)own->products[EXCURSION_LAGS - 1];
		for (uint32_t k = 0; k < EXCURSION_SIZES; k++)
			sizes[k] += own->sizes[with][k];
		uint64_t now_ns = level(stragglers, i, excursions_lengths[with]);
		sizes[excursions_size(excursions_beyond_tolerance(now_ns, peers->step_ns))]++;
	}
	cr_expect_arr_eq(seen.sizes, sizes, sizeof(sizes));
	cr_expect_float_eq(seen.steps, steps, 1e-6);
	cr_expect_float_eq(seen.products[EXCURSION_LAGS - 1], products, 1e-6);
}

/* On its host, with all of its group there as late, and others of it elsewhere. */
static bool is_late_together(const struct stragglers *stragglers, uint32_t rank, uint32_t other, uint64_t least_ns)
{
	const struct suspect *one = &stragglers->suspects[rank], *two = &stragglers->suspects[other];

	if (one->host != two->host || one->group != two->group)
		return false;
	bool elsewhere = false;
	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		const struct suspect *mate = &stragglers->suspects[i];
		if (mate->group != one->group)
			continue;
		elsewhere = elsewhere || mate->host != one->host;
		if (mate->host == one->host && level(stragglers, i, EXCURSION_ROW_MIN) * 2 < least_ns)
			return false;
	}
	return elsewhere;
}

static void expect_near(const struct stragglers *stragglers, struct peers *peers, uint32_t rank, uint64_t least_ns)
{
	uint64_t near = 0, all = 0, told_of,
		 told = peers_near(peers, &stragglers->suspects[rank], 20000000, least_ns, &told_of);

	for (uint32_t i = 0; i < stragglers->suspect_count; i++)
		for (uint64_t back = 0; i != rank && !is_late_together(stragglers, rank, i, least_ns) &&
					back < EXCURSION_STRIKING_STEPS && STEP >= back + stragglers->first_step;
		     back++) {
			all++;
			near += suspect_shown_ns(&stragglers->suspects[i], STEP - back) * EXCURSION_STRIKING > least_ns;
		}
	cr_expect_eq(told, near, "rank %u of %u", rank, stragglers->suspect_count);
	cr_expect_eq(told_of, all);
}

Test(peers, are_those_that_looking_at_each_rank_finds)
{
	unsigned fitting = 0, unfit = 0, draws = seeds(240);

	for (unsigned seed = 0; seed < draws; seed++) {
		uint64_t random = 0x9e3779b97f4a7c15u * (seed + 1ul);
		struct stragglers stragglers = some_ranks(seed, &random);
		struct peers peers = peers_in(&stragglers, STEP);
		for (uint32_t rank = 0; rank < stragglers.suspect_count; rank++)
			for (size_t i = 0; i < sizeof(looks) / sizeof(*looks); i++) {
				struct chosen_peers chosen;
				uint64_t least_ns = level(&stragglers, rank, looks[i]);
				bool fit;
				if (least_ns < 20000000)
					continue;
				expect_chosen(&stragglers, &peers, rank, looks[i], least_ns, &chosen, &fit);
				expect_near(&stragglers, &peers, rank, least_ns);
				fitting += fit;
				unfit += !fit;
				for (uint32_t with = 0; fit && with < EXCURSION_LENGTHS; with++)
					expect_sums(&stragglers, &peers, rank, least_ns, &chosen, with);
			}
		cr_expect(!peers.incomplete);
		peers_forget(&peers);
		free(stragglers.suspects);
	}
	cr_expect_gt(fitting, draws);
	cr_expect_gt(unfit, draws);
}

/* Whose finding has been opened is nobody's peer any more. */
Test(peers, are_chosen_anew_once_a_finding_is_open)
{
	uint64_t random = 1;
	struct stragglers stragglers = some_ranks(1, &random);
	struct peers peers = peers_in(&stragglers, STEP);
	struct chosen_peers before, after;

	for (uint32_t i = 0; i < stragglers.suspect_count; i++) {
		stragglers.suspects[i].open = false;
		for (uint64_t step = FIRST; step <= STEP; step++)
			stragglers.suspects[i].blames[step % STRAGGLER_STEPS].shown_ns = i ? 0 : 100000000;
	}
	cr_expect(peers_choose(&peers, &stragglers.suspects[0], 3, 100000000, &before));
	stragglers.suspects[1].open = true;
	peers_forget(&peers);
	cr_expect(peers_choose(&peers, &stragglers.suspects[0], 3, 100000000, &after));
	cr_expect_eq(before.ranks, stragglers.suspect_count - 1);
	cr_expect_eq(after.ranks, before.ranks - 1);
	peers_forget(&peers);
	free(stragglers.suspects);
}
