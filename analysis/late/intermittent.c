/* SPDX-License-Identifier: MIT */
#include "analysis/late/intermittent.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/numbers/chance.h"
#include "analysis/late/excursion.h"
#include "analysis/measure/lateness.h"
#include "analysis/model.h"
#include "analysis/numbers/sorting.h"
#include "analysis/late/straggler_cause.h"

static const uint64_t lag_ns = 200000000; /* records of all ranks have come */
static const double evidence_max = 1e30;  /* more says nothing, and must not overflow */
static const double shares[INTERMITTENT_SHARES] = { 0.5, 0.9 };
static const double lasts_min = 2;        /* steps: noise that is gone sooner does not last */
static const double pause_lasts = 3;      /* times as long as noise lasts, until the next lateness is another one */
static const double suspicious = 1000;   /* evidence against another rank, that its steps are compared with nobody's */
static const double beyond_chance = 1.5; /* a share that is no larger cannot be told from it */

enum {
	STEPS_LATER = 2, /* ranks may number steps one apart */
};

/* The latest of one step, of ranks that are compared with each other. */
struct latest {
	uint64_t step, late_ns, limit_ns;
	uint64_t worst_ns;  /* of that, at one operation */
	uint64_t second_ns; /* what the next one was late by */
	uint32_t rank;
	uint64_t pause; /* steps after which another lateness has nothing to do with this one */
	uint32_t count; /* ranks that it is one of: those that are suspected already are not */
};

void intermittent_forget(struct suspect *suspect)
{
	struct intermittent *intermittent = suspect->intermittent;

	memset(intermittent->bets, 0, sizeof(intermittent->bets));
	intermittent->since = intermittent->last = intermittent->late_ns = 0;
	intermittent->times = 0;
	intermittent->decided = intermittent->decided && suspect->open;
}

/* Who is late in a pipeline, and when, its schedule decides: only the same stage's ranks in the replicas are alike
 * there. */
static uint32_t group_of(const struct job *job, const struct suspect *suspect)
{
	return job->pipelined ? suspect->group : 0;
}

static void add_to(struct latest *latest, const struct suspect *suspect, uint32_t rank)
{
	struct blame blame = suspect_blame(suspect, latest->step);

	latest->count++;
	if (blame.late_ns <= latest->late_ns) {
		latest->second_ns = blame.late_ns > latest->second_ns ? blame.late_ns : latest->second_ns;
		return;
	}
	latest->second_ns = latest->late_ns;
	latest->late_ns = blame.late_ns;
	latest->worst_ns = blame.worst_ns;
	latest->rank = rank;
}

/* Which of `latest` a rank is bet on in. Where the same stage has few replicas, which of them is the latest tells next
 * to nothing: then all ranks are taken together, in the last of these, and only what is far beyond all that stages
 * differ by counts (is_far). */
static uint32_t circle_of(const struct latest *latest, const struct stragglers *stragglers, const struct job *job,
			  const struct suspect *suspect)
{
	uint32_t group = group_of(job, suspect);

	return job->pipelined && latest[group].count < INTERMITTENT_REPLICAS ? stragglers->suspect_count : group;
}

/* By group, and behind them that of all ranks; NULL on lack of memory. */
static struct latest *find_latest(const struct stragglers *stragglers, const struct job *job, uint64_t step,
				  uint64_t limit_ns)
{
	struct latest *latest = calloc(stragglers->suspect_count + 1, sizeof(*latest));

	for (uint32_t i = 0; latest && i <= stragglers->suspect_count; i++) {
		latest[i].step = step;
		latest[i].limit_ns = limit_ns;
		latest[i].rank = JOB_NONE;
	}
	for (uint32_t i = 0; latest && i < stragglers->suspect_count; i++) {
		const struct suspect *suspect = &stragglers->suspects[i];
		if (suspect->decided_ns)
			continue;
		add_to(&latest[group_of(job, suspect)], suspect, i);
		if (job->pipelined)
			add_to(&latest[stragglers->suspect_count], suspect, i);
	}
	return latest;
}

static void hit(struct bet *bet, const struct latest *latest)
{
	if (!bet->times)
		bet->since = latest->step;
	bet->times++;
	bet->last = latest->step;
	bet->late_ns += latest->late_ns;
}

/* In the step after its latest lateness nearly all of that was gone: noise that lasts goes by and by. */
static bool is_gone(const struct suspect *suspect, const struct bet *bet, uint64_t step)
{
	return bet->times && step > bet->last + 1 &&
	       suspect_blame(suspect, bet->last + 1).late_ns * INTERMITTENT_GONE <=
		   suspect_blame(suspect, bet->last).late_ns;
}

/* A step in which somebody was late: was it this rank? */
static void wager(const struct suspect *suspect, struct bet *bet, const struct latest *latest, bool is_it, double share)
{
	double each = 1.0 / latest->count;

	if (share < beyond_chance * each)
		return;
	if (latest->step < bet->paused_until && !is_gone(suspect, bet, latest->step)) {
		if (is_it && bet->last + 1 == latest->step)
			bet->paused_until++; /* it has not ended yet */
		if (is_it)
			hit(bet, latest);
		return;
	}
	double begins = 1.0 / ((double)(bet->count + 1) * (bet->count + 2));
	bet->count++;
	if (bet->evidence < begins) { /* it had better begin here */
		bet->times = 0;
		bet->late_ns = 0;
	}
	bet->evidence = (bet->evidence + begins) * (is_it ? share / each : (1 - share) / (1 - each));
	if (bet->evidence > evidence_max)
		bet->evidence = evidence_max;
	if (!is_it)
		return;
	hit(bet, latest);
	bet->paused_until = latest->step + latest->pause;
}

static bool is_proven(const struct bet *bet, uint32_t ranks)
{
	double all = (double)ranks * INTERMITTENT_SIZES * INTERMITTENT_SHARES * INTERMITTENT_MARGIN;

	return bet->times >= INTERMITTENT_TIMES && chance_is_excluded(1 / bet->evidence, all);
}

static uint64_t percentile(uint64_t *values, uint32_t count, uint32_t percent)
{
	sort_u64(values, count);
	return values[(count - 1) * percent / 100];
}

/* A lateness at the start of a step makes the one before it longer. 0: not known. */
static uint64_t pair_ns(const struct stragglers *stragglers, uint64_t step)
{
	uint64_t before_ns = pace_duration_ns(&stragglers->pace, step - 1),
		 own_ns = pace_duration_ns(&stragglers->pace, step);

	return before_ns && own_ns ? before_ns + own_ns : 0;
}

/* Another one that is as suspicious: by turns with it, say. That so much comes by chance to any rank has one chance in
 * 1,000. */
static bool is_of_another(const struct stragglers *stragglers, uint32_t rank, uint64_t step, uint64_t least_ns)
{
	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		const struct suspect *other = &stragglers->suspects[i];
		if (i == rank || suspect_blame(other, step).late_ns < least_ns)
			continue;
		if (other->decided_ns)
			return true;
		for (uint32_t size = 0; size < INTERMITTENT_SIZES; size++)
			for (uint32_t k = 0; k < INTERMITTENT_SHARES; k++)
				if (other->intermittent->bets[size][k].evidence >= suspicious)
					return true;
	}
	return false;
}

/* Are its late steps longer than the others by half of its lateness, as far as they are remembered? What nobody had to
 * wait for costs nothing. Of the others the faster ones count: somebody else may be late in the rest; and none in which
 * it may have been as late where nobody could see it, or in which another suspect was. */
static bool costs(const struct stragglers *stragglers, uint32_t rank, uint64_t newest, uint64_t least_ns)
{
	const struct suspect *suspect = &stragglers->suspects[rank];
	uint64_t late[STRAGGLER_STEPS], others[STRAGGLER_STEPS], blames[STRAGGLER_STEPS];
	uint32_t late_count = 0, other_count = 0;

	for (uint64_t step = newest > STRAGGLER_KEPT_BY_ALL ? newest - STRAGGLER_KEPT_BY_ALL : 2; step <= newest;
	     step++) {
		struct blame blame = suspect_blame(suspect, step);
		uint64_t length_ns = pair_ns(stragglers, step), late_ns = blame.late_ns;
		if (!length_ns)
			continue;
		if (late_ns >= least_ns) {
			late[late_count] = length_ns;
			blames[late_count++] = late_ns;
		} else if (!blame.partly && !is_of_another(stragglers, rank, step, least_ns) &&
			   !is_of_another(stragglers, rank, step - 1, least_ns)) {
			others[other_count++] = length_ns;
		}
	}
	if (!late_count || !other_count)
		return true; /* not known: it is weighed by its lateness */
	uint64_t longer_ns = percentile(late, late_count, 50), usual_ns = percentile(others, other_count, 25);
	return longer_ns > usual_ns && (longer_ns - usual_ns) * 2 >= percentile(blames, late_count, 50);
}

static void add_window(struct intermittent *intermittent, const struct blame *blame)
{
	const struct instance *instance = blame->worst;

	if (!instance || instance->serial != blame->serial || blame->member >= instance->room)
		return;
	const struct operation *operation = &instance->operations[blame->member];
	uint32_t at = intermittent->window_count++ % CAUSE_WINDOWS;
	intermittent->windows[at] = suspect_window(operation);
	intermittent->host_windows[at] = suspect_host_window(operation);
	intermittent->instance = *instance;
	intermittent->instance.operations = NULL;
	intermittent->instance.room = 0;
	intermittent->operation = *operation;
}

/* It is one: from now on its own late steps count, whoever else is late. */
static void decide(struct stragglers *stragglers, const struct latest *latest, const struct bet *bet, uint64_t least_ns)
{
	struct suspect *suspect = &stragglers->suspects[latest->rank];
	struct intermittent *intermittent = suspect->intermittent;

	intermittent->decided = true;
	intermittent->times = bet->times;
	intermittent->since = bet->since;
	intermittent->last = bet->last;
	intermittent->late_ns = bet->late_ns;
	intermittent->least_ns = least_ns;
	intermittent->window_count = 0;
	uint64_t first = bet->last > STRAGGLER_KEPT_BY_ALL ? bet->last - STRAGGLER_KEPT_BY_ALL : 1;
	for (uint64_t step = bet->since > first ? bet->since : first; step <= bet->last; step++) {
		const struct blame *blame = &suspect->blames[step % STRAGGLER_STEPS];
		if (blame->step == step && blame->late_ns >= least_ns)
			add_window(intermittent, blame);
	}
	suspect_decide(suspect, intermittent->window_count ? intermittent->operation.arrival_ns
							      : suspect->last_operation.arrival_ns);
}

static bool is_worth_it(const struct bet *bet, uint64_t step_ns)
{
	double steps = (double)(bet->last - bet->since + 1);

	return (double)bet->late_ns >= STRAGGLER_SHARE_MIN * steps * (double)step_ns;
}

/* Suffices where a cause is seen: chance is excluded, without the margin for all the sizes and shares that are
 * tried. */
static bool is_striking(const struct bet *bet, uint32_t ranks)
{
	return bet->times >= INTERMITTENT_TIMES_SEEN && chance_is_excluded(1 / bet->evidence, ranks);
}

static void look_for_proof(struct analysis *analysis, const struct latest *latest, uint64_t step_ns)
{
	struct stragglers *stragglers = &analysis->stragglers;
	struct suspect *suspect = &stragglers->suspects[latest->rank];
	uint32_t ranks = stragglers->suspect_count;

	for (uint32_t size = INTERMITTENT_SIZES; size-- > 0;) {
		uint64_t least_ns = latest->limit_ns << size;
		for (uint32_t i = 0; i < INTERMITTENT_SHARES; i++) {
			const struct bet *bet = &suspect->intermittent->bets[size][i];
			if (latest->late_ns < least_ns || bet->last != latest->step || !is_striking(bet, ranks) ||
			    !is_worth_it(bet, step_ns) || !costs(stragglers, latest->rank, latest->step, least_ns))
				continue;
			decide(stragglers, latest, bet, least_ns);
			if (is_proven(bet, ranks) || straggler_is_explained(analysis, latest->rank)) {
				memset(suspect->intermittent->bets, 0, sizeof(suspect->intermittent->bets));
				return;
			}
			suspect->intermittent->decided = false;
			suspect->decided_ns = 0;
		}
	}
}

static void bet_on(struct suspect *suspect, const struct latest *latest, bool is_it)
{
	for (uint32_t size = 0; size < INTERMITTENT_SIZES && !suspect->decided_ns; size++) {
		if (latest->late_ns < latest->limit_ns << size)
			break;
		for (uint32_t k = 0; k < INTERMITTENT_SHARES; k++)
			wager(suspect, &suspect->intermittent->bets[size][k], latest, is_it, shares[k]);
	}
}

/* One that is decided: was it late in this step, too, and if not, for how long was it not? */
static void follow(struct suspect *suspect, uint64_t step)
{
	struct intermittent *intermittent = suspect->intermittent;
	struct blame blame = suspect_blame(suspect, step);

	if (blame.late_ns >= intermittent->least_ns) {
		if (!intermittent->times)
			intermittent->since = step;
		intermittent->times++;
		intermittent->last = step;
		intermittent->late_ns += blame.late_ns;
		add_window(intermittent, &blame);
		return;
	}
	if (!intermittent->last)
		intermittent->last = intermittent->since = step;
	double clean = (double)(step - intermittent->last);
	if (clean < STRAGGLER_CLEAN || clean < INTERMITTENT_CLEAN * suspect_interval(intermittent))
		return;
	intermittent->decided = false;
	suspect->decided_ns = 0;
}

/* Until little is left of noise that lasts. */
static uint64_t pause_after(const struct stragglers *stragglers, const struct suspect *suspect)
{
	double lasts = excursion_lasts(stragglers, suspect);

	/* What never ends makes it longer than any job. */
	return lasts > lasts_min ? INTERMITTENT_PAUSE + (uint64_t)fmin(pause_lasts * lasts, UINT32_MAX)
				 : INTERMITTENT_PAUSE;
}

/* Far beyond what the next one was late by in this step, and in each that is remembered: what stages differ by decides
 * nothing then. */
static bool is_far(const struct latest *latest, const struct stragglers *stragglers)
{
	uint64_t step = latest->step > STRAGGLER_KEPT_BY_ALL ? latest->step - STRAGGLER_KEPT_BY_ALL : 1;

	for (; step <= latest->step; step++) {
		struct latest other = { .step = step };
		for (uint32_t i = 0; i < stragglers->suspect_count; i++)
			if (!stragglers->suspects[i].decided_ns)
				add_to(&other, &stragglers->suspects[i], i);
		if (latest->late_ns < INTERMITTENT_FAR * other.second_ns)
			return false;
	}
	return true;
}

/* Are most ranks of its host half as late? Then it is the host that was late, and which of its ranks is the latest they
 * differ by for good. */
static bool is_late_with_its_host(const struct latest *latest, const struct stragglers *stragglers)
{
	uint32_t mates = 0, as_late = 0;

	for (uint32_t i = 0; i < stragglers->suspect_count; i++) {
		const struct suspect *mate = &stragglers->suspects[i];
		if (i == latest->rank || mate->host != stragglers->suspects[latest->rank].host || mate->decided_ns)
			continue;
		mates++;
		as_late += suspect_blame(mate, latest->step).late_ns * 2 >= latest->late_ns;
	}
	return as_late * 2 > mates;
}

/* Does it tell anything that this one was the latest of its group? */
static bool tells(struct latest *latest, const struct stragglers *stragglers, uint32_t hosts, uint64_t step_ns)
{
	if (latest->count < 2 || latest->rank == JOB_NONE || latest->late_ns < latest->limit_ns)
		return false;
	/* What is spread over a step's operations begins to show at some noise: others may be as late, and nobody sees
	 * it. */
	if (latest->worst_ns < EXCURSION_QUIET * (uint64_t)LATENESS_NOISE_NS)
		return false;
	/* Who of two is the latest their usual difference may decide: that tells nothing. */
	if (excursions_beyond_tolerance(latest->late_ns, step_ns / 2) < latest->second_ns)
		return false;
	if (hosts > 1 && is_late_with_its_host(latest, stragglers))
		return false;
	latest->pause = pause_after(stragglers, &stragglers->suspects[latest->rank]);
	return true;
}

static void judge_step(struct analysis *analysis, uint64_t step)
{
	struct stragglers *stragglers = &analysis->stragglers;
	const struct job *job = &analysis->job;
	uint64_t step_ns = pace_step_ns(&stragglers->pace, PACE_USUAL);
	if (!step_ns)
		return;
	struct latest *latest = find_latest(stragglers, job, step, suspect_limit_ns(step_ns));

	for (uint32_t i = 0; i < stragglers->suspect_count; i++)
		if (stragglers->suspects[i].intermittent->decided)
			follow(&stragglers->suspects[i], step);
	for (uint32_t i = 0; latest && i <= stragglers->suspect_count; i++)
		if (!tells(&latest[i], stragglers, job->host_count, step_ns) ||
		    (i == stragglers->suspect_count && !is_far(&latest[i], stragglers)))
			latest[i].rank = JOB_NONE;
	for (uint32_t i = 0; latest && i < stragglers->suspect_count; i++) {
		const struct latest *own = &latest[circle_of(latest, stragglers, job, &stragglers->suspects[i])];
		if (own->rank != JOB_NONE)
			bet_on(&stragglers->suspects[i], own, i == own->rank);
	}
	for (uint32_t i = 0; latest && i <= stragglers->suspect_count; i++)
		if (latest[i].rank != JOB_NONE)
			look_for_proof(analysis, &latest[i], step_ns);
	free(latest);
}

/* What repeats in a pipeline may be its passes, of which a step has many: then it is late in all of them, or in
 * none. */
static bool are_steps(const struct analysis *analysis)
{
	const struct stragglers *stragglers = &analysis->stragglers;

	return !analysis->job.pipelined || stragglers->newest_step >= stragglers->first_step + STRAGGLER_PASSES;
}

void intermittent_tick(struct analysis *analysis, uint64_t now_ns)
{
	struct stragglers *stragglers = &analysis->stragglers;
	uint64_t step = stragglers->weighed_step + 1;

	if (!stragglers->first_step || !are_steps(analysis))
		return;
	if (step < stragglers->first_step)
		step = stragglers->first_step;
	/* What is not remembered any more is not judged: a collector that comes late reads years in a moment. */
	if (stragglers->newest_step > STRAGGLER_KEPT_BY_ALL && step < stragglers->newest_step - STRAGGLER_KEPT_BY_ALL)
		step = stragglers->newest_step - STRAGGLER_KEPT_BY_ALL;
	for (; step + STEPS_LATER <= stragglers->newest_step; step++) {
		const struct step_start *later = &stragglers->pace.starts[(step + STEPS_LATER) % PACE_STEPS];
		if (later->step == step + STEPS_LATER && later->start_ns + lag_ns > now_ns)
			return;
		judge_step(analysis, step);
		stragglers->weighed_step = step;
	}
}
