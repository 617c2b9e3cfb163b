/* SPDX-License-Identifier: MIT */
#include "suite/play.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/chances.h"
#include "suite/give_up.h"
#include "suite/records.h"

enum { CHECKPOINT_EVERY = 40, EVALUATION_EVERY = 50, COLLECTION_ONE_IN = 100, PAUSE_STEP = 120, AFTER_MS = 3000,
	TAIL_MS = 40000 };

struct rank {
	double host_ms, gpu_ms, level, difference;
	double extra_ms, slow_ms; /* of this step: noise, and what its GPU is slower by at everything */
	bool works, ended, skips; /* works: has begun to, in this step */
};

struct play {
	const struct suite_draw *draw;
	struct suite_course *course;
	struct records *records;
	struct chances chances;
	struct rank *ranks;
	double *hosts;
	int turn, place;
};

static double bent(double x, enum suite_tail tail)
{
	return tail == TAIL_NORMAL ? x : tail == TAIL_HEAVY ? x * exp(0.1 * x * x) : exp(x) - 1;
}

static double next_level(struct play *play, double level)
{
	double lasts = play->draw->lasts;

	return lasts * level + sqrt(1 - lasts * lasts) * normal(&play->chances);
}

static bool ends(enum suite_fault fault)
{
	return fault >= FAULT_NEVER && fault <= FAULT_SKIP;
}

/* The rest of its host's stall of this step is known when it is over. */
static void stall(struct play *play, int number, double ms)
{
	struct rank *rank = &play->ranks[number];

	if (ms <= 0)
		return;
	records_stall(play->records, number, play->draw->cause, rank->host_ms, rank->host_ms + ms);
	rank->host_ms += ms;
}

/* Its GPU takes longer before it comes to its first work of this step, or its host stops there. */
static void be_late(struct play *play, int number)
{
	const struct suite_draw *draw = play->draw;
	struct rank *rank = &play->ranks[number];
	double ms = suite_late_ms(draw, number, play->course->step);

	if (rank->works || draw->fault == FAULT_SPREAD || draw->fault == FAULT_EVERYBODY)
		return;
	rank->works = true;
	if (draw->cause < CAUSE_UNSEEN_GPU) {
		rank->host_ms = fmax(rank->host_ms, ms > 0 ? rank->gpu_ms : 0);
		stall(play, number, ms);
	} else {
		rank->gpu_ms += ms;
	}
}

static void be_slow(struct play *play, int number)
{
	const struct suite_draw *draw = play->draw;
	struct rank *rank = &play->ranks[number];
	double ms = suite_late_ms(draw, number, play->course->step);

	rank->works = false;
	rank->slow_ms = draw->fault == FAULT_SPREAD || draw->fault == FAULT_EVERYBODY ? ms : 0;
	if (draw->cause == CAUSE_THROTTLED && ms > 0)
		records_throttle(play->records, rank->gpu_ms);
}

static void keep_habit(struct play *play, int number)
{
	struct rank *rank = &play->ranks[number];
	int step = play->course->step;

	if (play->draw->habit == HABIT_CHECKPOINT && step % CHECKPOINT_EVERY == 0)
		rank->host_ms += 2 * play->draw->step_ms * (1 + 0.05 * uniform(&play->chances));
	if (play->draw->habit == HABIT_COLLECTION && one_in(&play->chances, COLLECTION_ONE_IN))
		rank->host_ms += 60;
	if (play->draw->habit == HABIT_ONCE && step == PAUSE_STEP &&
	    number == (int)play->draw->seed % play->draw->ranks)
		rank->host_ms += 2000;
	if (number == play->turn)
		rank->extra_ms += 0.3 * play->draw->step_ms;
}

static void begin_step(struct play *play)
{
	const struct suite_draw *draw = play->draw;
	double pace = draw->habit == HABIT_RAMP ? (double)play->course->step / draw->steps : 0;
	float *noise = play->course->noise + (size_t)(play->course->step - 1) * (size_t)draw->ranks;

	play->place = 0;
	play->turn = draw->habit == HABIT_EXPERTS ? below(&play->chances, draw->ranks) : -1;
	for (int host = 0; host * draw->per_host < draw->ranks; host++)
		play->hosts[host] = next_level(play, play->hosts[host]);
	for (int i = 0; i < draw->ranks; i++) {
		struct rank *rank = &play->ranks[i];
		rank->level = next_level(play, rank->level);
		double level = draw->noise_of_hosts ? play->hosts[i / draw->per_host] : rank->level;
		double share = rank->difference + draw->noise * bent(level, draw->tail);
		rank->extra_ms = fmax(fmin(share, 5), -0.8) * draw->step_ms;
		noise[i] = (float)rank->extra_ms;
		rank->extra_ms += pace * draw->step_ms;
		rank->host_ms = fmax(rank->host_ms, rank->gpu_ms); /* it has read the loss */
		keep_habit(play, i);
		be_slow(play, i);
		if (draw->shape != SHAPE_STAGES) /* whose later stages have nothing to do yet */
			be_late(play, i);
	}
}

/* Only once: what it calls after that ends for nobody, so that no time is known any more. */
static void strike(struct play *play, const struct rank *rank)
{
	if (play->course->struck_ms <= 0)
		play->course->struck_ms = fmax(rank->host_ms, rank->gpu_ms);
}

/* A rank that ends does so in front of one operation of the step. */
static bool takes_part(struct play *play, int number)
{
	struct rank *rank = &play->ranks[number];
	const struct suite_draw *draw = play->draw;
	bool now = number == draw->rank && play->course->step == draw->fault_step && play->place >= draw->place;

	if (ends(draw->fault) && draw->fault < FAULT_COUNT && now && !rank->ended) {
		rank->ended = true;
		strike(play, rank);
		records_end(play->records, number, draw->fault, play->course->struck_ms);
		rank->gpu_ms = rank->host_ms = INFINITY;
	}
	if (draw->fault == FAULT_SKIP && now && !rank->skips) {
		rank->skips = true;
		strike(play, rank);
		return false;
	}
	return isfinite(rank->host_ms);
}

static bool calls_wrongly(struct play *play, int number)
{
	const struct suite_draw *draw = play->draw;
	bool now = number == draw->rank && play->course->step == draw->fault_step && play->place == draw->place;

	if (draw->fault == FAULT_COUNT && now)
		strike(play, &play->ranks[number]);
	return draw->fault == FAULT_COUNT && now;
}

/* How many operations of a step, of one rank, are between hosts. */
static int between_hosts(const struct suite_draw *draw)
{
	bool inner = records_hosts(draw, false) > 1, outer = records_hosts(draw, true) > 1,
	     groups = records_width(draw) < draw->ranks;

	if (draw->shape == SHAPE_STAGES)
		return inner + 2 * outer; /* and transfers between stages, which are not slower */
	return inner * ((draw->shape == SHAPE_TENSOR ? 8 : 2) * draw->layers + 1) + (groups && outer ? 2 : 0);
}

/* Some members together: each works for `part` of its step, then all wait for the last. */
static void together(struct play *play, struct call call, const int *members, const struct call *calls, int count,
		     double part)
{
	double last_ms = 0;
	struct operation_times times[SUITE_MEMBERS];
	bool joins[SUITE_MEMBERS];

	for (int i = 0; i < count; i++) {
		struct rank *rank = &play->ranks[members[i]];
		joins[i] = takes_part(play, members[i]);
		if (joins[i])
			rank->host_ms += 0.05;
		times[i].launched_ms = rank->host_ms;
		times[i].arrived_ms = fmax(rank->gpu_ms, rank->host_ms) +
				      part * (play->draw->step_ms + rank->extra_ms + rank->slow_ms);
		if (!joins[i] || rank->skips || calls_wrongly(play, members[i]))
			last_ms = INFINITY; /* what it calls is another operation */
		last_ms = fmax(last_ms, times[i].arrived_ms);
	}
	double slower = play->draw->fault == FAULT_TRANSFERS && play->course->step >= play->draw->fault_step &&
				call.spans_hosts ?
			play->draw->ms / between_hosts(play->draw) : 0;
	double done_ms = last_ms + 1 + slower;
	for (int i = 0; i < count; i++) {
		if (!joins[i])
			continue;
		struct call own = calls ? calls[i] : call;
		if (calls_wrongly(play, members[i]))
			own.count += 64;
		times[i].done_ms = done_ms;
		records_operation(play->records, members[i], own, times[i]);
		play->ranks[members[i]].gpu_ms = done_ms;
	}
}

/* By every group of the communicator: members of one lie side by side (inner), or apart by the width (outer). */
static void collective(struct play *play, bool outer, struct call call, double part)
{
	const struct suite_draw *draw = play->draw;
	int width = records_width(draw), groups = outer ? width : draw->ranks / width;
	int size = draw->ranks / groups, members[SUITE_MEMBERS];

	call.communicator = outer;
	call.spans_hosts = records_hosts(draw, outer) > 1;
	for (int group = 0; group < groups; group++) {
		for (int i = 0; i < size; i++)
			members[i] = outer ? group + i * width : group * width + i;
		together(play, call, members, NULL, size, part);
	}
	play->place++;
}

static void collectives(struct play *play, uint8_t function, bool backward, int count, double part)
{
	for (int layer = 0; layer < count; layer++)
		collective(play, false,
			   (struct call){ .function = function,
					  .count = 4096 + (play->draw->alike ? 0 : 64u * (unsigned)layer),
					  .backward = backward },
			   part / count);
}

/* One number of all ranks, as a gradient norm. */
static void norm(struct play *play)
{
	const struct call call = { .function = RW_FUNCTION_ALL_REDUCE, .count = 1 };

	collective(play, false, call, 0);
	if (records_width(play->draw) < play->draw->ranks)
		collective(play, true, call, 0);
}

static void exchange(struct play *play, int from, int to, int first, double part)
{
	int members[] = { first + from, first + to };
	const struct call calls[] = {
		{ .communicator = 2, .function = RW_FUNCTION_SEND, .count = 4096, .peer = 1 + to },
		{ .communicator = 2, .function = RW_FUNCTION_RECV, .count = 4096, .peer = 1 + from },
	};

	/* The sender works first, the receiver waits for it. */
	be_late(play, members[0]);
	play->ranks[members[0]].gpu_ms = fmax(play->ranks[members[0]].gpu_ms, play->ranks[members[0]].host_ms) +
					 part * (play->draw->step_ms + play->ranks[members[0]].extra_ms +
						 play->ranks[members[0]].slow_ms);
	together(play, calls[0], members, calls, 2, 0);
}

/* Forward through all stages and back, for each micro-batch. */
static void stages(struct play *play)
{
	const struct suite_draw *draw = play->draw;
	int batches = 2 * draw->layers, last = draw->width - 1;

	for (int batch = 0; batch < batches; batch++)
		for (int stage = 0; stage < last; stage++)
			for (int first = 0; first < draw->ranks; first += draw->width)
				exchange(play, stage, stage + 1, first, 0.3 / batches);
	play->place++;
	for (int batch = 0; batch < batches; batch++)
		for (int stage = last; stage > 0; stage--)
			for (int first = 0; first < draw->ranks; first += draw->width)
				exchange(play, stage, stage - 1, first, (stage == last ? 0.9 : 0.6) / batches);
	play->place++;
	/* The first stage works on last. */
	for (int first = 0; first < draw->ranks; first += draw->width)
		play->ranks[first].gpu_ms +=
		    0.6 * (draw->step_ms + play->ranks[first].extra_ms + play->ranks[first].slow_ms);
	collective(play, true,
		   (struct call){ .function = RW_FUNCTION_REDUCE_SCATTER, .count = 65536, .backward = true }, 0.1);
}

static void play_step(struct play *play)
{
	const struct suite_draw *draw = play->draw;

	begin_step(play);
	if (draw->habit == HABIT_EVALUATION && play->course->step % EVALUATION_EVERY == 0)
		for (int i = 0; i < 10; i++)
			collective(play, false, (struct call){ .function = RW_FUNCTION_ALL_GATHER, .count = 100 }, 0.3);
	switch (draw->shape) {
	case SHAPE_BUCKETS:
		collectives(play, RW_FUNCTION_ALL_REDUCE, true, 2 * draw->layers, 1);
		break;
	case SHAPE_TENSOR:
		collectives(play, RW_FUNCTION_ALL_REDUCE, false, 4 * draw->layers, 0.4);
		collectives(play, RW_FUNCTION_ALL_REDUCE, true, 4 * draw->layers, 0.6);
		collective(play, true,
			   (struct call){ .function = RW_FUNCTION_REDUCE_SCATTER, .count = 65536, .backward = true },
			   0);
		break;
	case SHAPE_STAGES:
		stages(play);
		break;
	default:
		collectives(play, RW_FUNCTION_ALL_GATHER, false, draw->layers, 0.4);
		collectives(play, RW_FUNCTION_REDUCE_SCATTER, true, draw->layers, 0.6);
		if (draw->shape == SHAPE_HYBRID)
			collective(play, true,
				   (struct call){ .function = RW_FUNCTION_ALL_REDUCE, .count = 8192, .backward = true },
				   0);
	}
	norm(play);
}

/* Nothing later than this has happened to anybody who still gets on. */
static double played_until(const struct play *play)
{
	double least = INFINITY;

	for (int i = 0; i < play->draw->ranks; i++)
		least = fmin(least, fmax(play->ranks[i].host_ms, play->ranks[i].gpu_ms));
	return least;
}

static void run(struct play *play)
{
	const struct suite_draw *draw = play->draw;
	double until = RECORDS_BEGIN_MS;

	/* Before it trains, a program compares its parameters: by its main thread. */
	collective(play, false, (struct call){ .function = RW_FUNCTION_ALL_GATHER, .count = 9 }, 0.1);
	play->course->struck_ms = 0;
	for (play->course->step = 1; play->course->step <= draw->steps; play->course->step++) {
		play_step(play);
		if (ends(draw->fault) && play->course->step == draw->fault_step)
			break;
		until = played_until(play);
		records_show(play->records, until, &play->course->now_ms);
	}
	if (ends(draw->fault))
		until = play->course->struck_ms + TAIL_MS;
	records_show(play->records, until + AFTER_MS, &play->course->now_ms);
}

void suite_play(const struct suite_draw *draw, struct suite_course *course, analysis_emit *emit, void *argument,
		struct analysis_account *account)
{
	struct suite_collectors *collectors = suite_collectors_new(draw, emit, argument);
	struct analysis *analysis = suite_collectors_analysis(collectors, 0);
	struct play play = { .draw = draw, .course = course, .chances = { 0x9a9e0000u + draw->seed } };
	struct analysis_summary summary;
	size_t ranks = (size_t)draw->ranks;

	*course = (struct suite_course){ .noise = calloc((size_t)draw->steps * ranks, sizeof(float)),
					 .differences = calloc(ranks, sizeof(float)) };
	play.ranks = calloc(ranks, sizeof(*play.ranks));
	play.hosts = calloc(ranks, sizeof(*play.hosts));
	play.records = records_new(draw, collectors);
	if (!course->noise || !course->differences || !play.ranks || !play.hosts)
		suite_give_up();
	for (size_t i = 0; i < ranks; i++) {
		play.ranks[i] = (struct rank){ .host_ms = RECORDS_BEGIN_MS, .gpu_ms = RECORDS_BEGIN_MS,
					       .level = normal(&play.chances),
					       .difference = draw->differences * (2 * uniform(&play.chances) - 1) };
		play.hosts[i] = normal(&play.chances);
		course->differences[i] = (float)play.ranks[i].difference;
	}
	run(&play);
	analysis_summarise(analysis, &summary);
	course->steps_seen = summary.steps;
	if (account && draw->apart)
		*account = (struct analysis_account){ 0 };
	else if (account)
		analysis_tell_account(analysis, account);
	records_free(play.records);
	suite_collectors_free(collectors);
	free(play.ranks);
	free(play.hosts);
}
