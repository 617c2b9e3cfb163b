/* SPDX-License-Identifier: MIT */
#include "suite/judge.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite/give_up.h"
#include "suite/oracle.h"
#include "suite/play.h"

enum { OVER_STEPS = 24 };

static const char *const names[VERDICTS] = {
	"right", "right rank, wrong cause", "partly", "inconclusive", "missed", "wrong", "false"
};

struct witness {
	const struct suite_draw *draw;
	struct suite_course course;
	struct suite_result *result;
	FILE *reported;
	bool *named; /* by rank */
	int wrong, inconclusive, transfers;
	bool kind, cause; /* are right, as reported last */
};

const char *suite_verdict_name(enum suite_verdict verdict)
{
	return names[verdict];
}

static bool is_kind(enum suite_fault fault, enum rw_kind kind)
{
	switch (fault) {
	case FAULT_NEVER:
		return kind == RW_KIND_HANG;
	case FAULT_STOPPED:
	case FAULT_KILLED:
	case FAULT_EXITED:
		return kind == RW_KIND_GONE;
	case FAULT_COUNT:
	case FAULT_SKIP:
		return kind == RW_KIND_DESYNC;
	default:
		return kind == RW_KIND_STRAGGLER;
	}
}

static bool is_cause(const struct suite_draw *draw, enum rw_cause_class cause)
{
	static const enum rw_cause_class seen[CAUSES] = { [CAUSE_FSYNC] = RW_CAUSE_IO, [CAUSE_WRITER] = RW_CAUSE_IO,
							  [CAUSE_RUN_QUEUE] = RW_CAUSE_CPU,
							  [CAUSE_THROTTLED] = RW_CAUSE_THROTTLE };

	if (draw->fault >= FAULT_NEVER)
		return draw->fault == FAULT_STOPPED ? cause == RW_CAUSE_STOPPED :
		       draw->fault == FAULT_KILLED || draw->fault == FAULT_EXITED ? cause == RW_CAUSE_GONE : true;
	/* Of what nobody saw no class is reported: RW_CAUSE_UNKNOWN is 0. */
	return cause == seen[draw->cause];
}

static void hear_of(struct witness *witness, const struct rw_finding *finding, int rank)
{
	const struct suite_draw *draw = witness->draw;
	struct suite_result *result = witness->result;
	bool due = witness->course.step >= draw->fault_step;

	if (!due || !suite_is_at_fault(draw, rank)) {
		if (!witness->wrong++)
			snprintf(result->text, sizeof(result->text), "%.0f s: %s", witness->course.now_ms / 1000,
				 finding->text);
		return;
	}
	if (!witness->named[rank])
		result->found_step = witness->course.step;
	witness->named[rank] = true;
	/* What the machine says of a GPU is no verdict about the job. */
	if (finding->kind == RW_KIND_GPU)
		return;
	result->kind = (int)finding->kind;
	result->cause = (int)finding->cause.class_;
	witness->kind = is_kind(draw->fault, finding->kind);
	witness->cause = is_cause(draw, finding->cause.class_);
	if (finding->late.present)
		result->share = finding->late.lost_share;
}

static void repeat(const struct witness *witness, const struct rw_finding *finding)
{
	static const char *const states[] = { "open", "update", "closed" };
	static const char *const severities[] = { "notice", "warning", "critical" };
	static const char *const confidences[] = { "certain", "likely", "inconclusive" };

	fprintf(witness->reported, "        step %d, %.1f s: %s, %s, %s: %s; %s\n", witness->course.step,
		witness->course.now_ms / 1000, states[finding->state], severities[finding->severity],
		confidences[finding->confidence], finding->text,
		finding->cause.present && finding->cause.text ? finding->cause.text : "no cause");
	for (size_t i = 0; i < finding->missing_count; i++)
		fprintf(witness->reported, "            not seen: %s\n", finding->missing[i]);
}

static void hear(void *argument, const struct rw_finding *finding)
{
	struct witness *witness = argument;

	if (witness->reported)
		repeat(witness, finding);
	if (finding->severity < RW_WARNING || finding->state == RW_FINDING_CLOSED)
		return;
	if (finding->confidence == RW_INCONCLUSIVE) {
		witness->inconclusive++;
		if (!witness->wrong)
			snprintf(witness->result->text, sizeof(witness->result->text), "%s", finding->text);
		return;
	}
	if (finding->kind == RW_KIND_SLOWDOWN) {
		witness->transfers++;
		if (finding->scope == RW_SCOPE_JOB)
			return; /* of which nobody is accused */
	}
	if (!witness->wrong)
		snprintf(witness->result->text, sizeof(witness->result->text), "%s", finding->text);
	for (size_t i = 0; i < finding->rank_count; i++)
		hear_of(witness, finding, finding->ranks[i]);
}

static int by_size(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

/* Of each step, what the median rank's noise was, ms. */
static double *medians(const struct witness *witness)
{
	size_t ranks = (size_t)witness->draw->ranks, steps = (size_t)witness->draw->steps;
	double *sorted = calloc(ranks, sizeof(*sorted)), *of = calloc(steps, sizeof(*of));

	if (!sorted || !of)
		suite_give_up();
	for (size_t step = 0; step < steps; step++) {
		for (size_t rank = 0; rank < ranks; rank++)
			sorted[rank] = witness->course.noise[step * ranks + rank];
		qsort(sorted, ranks, sizeof(*sorted), by_size);
		of[step] = sorted[ranks / 2];
	}
	free(sorted);
	return of;
}

/* The most that a rank was late by over so many steps in a row; with what the fault adds. */
static double most_ms(const struct witness *witness, const double *median, int rank, int from)
{
	const struct suite_draw *draw = witness->draw;
	double sum = 0, most = 0;

	for (int step = from; step <= draw->steps; step++) {
		const float *noise = witness->course.noise + (size_t)(step - 1) * (size_t)draw->ranks;
		sum += noise[rank] - median[step - 1] + suite_late_ms(draw, rank, step);
		int before = step - OVER_STEPS;
		if (before >= from) {
			noise -= (size_t)OVER_STEPS * (size_t)draw->ranks;
			sum -= noise[rank] - median[before - 1] + suite_late_ms(draw, rank, before);
		}
		if (step - from + 1 >= OVER_STEPS)
			most = fmax(most, sum / OVER_STEPS);
	}
	return most;
}

static double stands_out(const struct witness *witness)
{
	const struct suite_draw *draw = witness->draw;
	double *median = medians(witness), least = INFINITY, healthy = 0;

	for (int rank = 0; rank < draw->ranks; rank++) {
		bool at_fault = suite_is_at_fault(draw, rank);
		double most = most_ms(witness, median, rank, at_fault ? draw->fault_step : 1);
		if (at_fault)
			least = fmin(least, most);
		else
			healthy = fmax(healthy, most);
	}
	free(median);
	return healthy > 0 ? least / healthy : INFINITY;
}

static enum suite_verdict verdict(const struct witness *witness)
{
	const struct suite_draw *draw = witness->draw;
	int named = 0, at_fault = 0;

	for (int rank = 0; rank < draw->ranks; rank++) {
		named += witness->named[rank];
		at_fault += suite_is_at_fault(draw, rank);
	}
	if (witness->wrong)
		return draw->fault == FAULT_HEALTHY ? VERDICT_FALSE : VERDICT_WRONG;
	if (draw->fault == FAULT_TRANSFERS)
		return witness->transfers ? VERDICT_RIGHT : VERDICT_MISSED;
	if (!at_fault)
		return VERDICT_RIGHT;
	if (!named)
		return witness->inconclusive ? VERDICT_INCONCLUSIVE : VERDICT_MISSED;
	if (named < at_fault)
		return VERDICT_PARTLY;
	return witness->kind && witness->cause ? VERDICT_RIGHT : VERDICT_CAUSE;
}

void suite_judge(const struct suite_draw *draw, struct suite_result *result, FILE *reported)
{
	struct witness witness = { .draw = draw, .result = result, .reported = reported };
	struct analysis_account account;

	*result = (struct suite_result){ .share = -1, .kind = -1, .cause = -1, .stands_out = INFINITY };
	witness.named = calloc((size_t)draw->ranks, sizeof(*witness.named));
	if (!witness.named)
		suite_give_up();
	suite_play(draw, &witness.course, hear, &witness, &account);
	for (uint32_t i = 0; account.known && i < account.loss_count; i++)
		result->accounted |= suite_is_at_fault(draw, account.losses[i].rank);
	result->oracle_steps = oracle_applies(draw) ? oracle_steps(draw, &witness.course) : 1;
	if (oracle_applies(draw))
		result->stands_out = stands_out(&witness);
	result->steps_seen = witness.course.steps_seen;
	result->verdict = verdict(&witness);
	free(witness.course.noise);
	free(witness.course.differences);
	free(witness.named);
}
