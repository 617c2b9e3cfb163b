/* SPDX-License-Identifier: MIT */
#include "analysis/measure/aftermath.h"

#include "analysis/model.h"
#include "analysis/known/replays.h"
#include "analysis/measure/last_bad.h"
#include "analysis/known/trace.h"
#include "analysis/known/usual.h"

/* What was seen of all ranks since their first bad values. */
struct seen {
	const struct analysis *analysis;
	bool spoilt, numbers; /* numbers: and by nothing else */
	bool spared;          /* a sum over ranks that had them came out clean */
	bool awaited;         /* results of scans of sums are still to come */
	bool passed;          /* every rank has come round to where it had its first */
	bool clean;           /* … and was clean where it had its last */
	bool lasting;         /* longer than a loss scale takes */
	bool far;             /* it will be forgotten soon */
	/* The first reduction whose operator is not known that has Inf: in another one as well, it is no mask. */
	const struct communicator *doubtful;
	uint64_t doubtful_count;
};

/* Of one rank. */
struct stretch {
	struct seen *seen;
	const struct first_bad *first;
	struct usual_spot first_spot, last_spot;
	bool first_has_spot, last_has_spot;
	uint64_t last; /* ticket of its newest bad value */
	const struct instance *last_instance;
	uint32_t last_member;
	enum value_side last_side;
	bool passed, clean;
};

typedef void visit_fn(struct stretch *stretch, struct instance *instance, uint32_t member, uint64_t ticket);

/* Operations and replays of the rank since its first bad value. */
static void for_each(struct stretch *stretch, uint32_t rank, visit_fn *visit)
{
	const struct process *process = stretch->seen->analysis->job.ranks[rank].process;
	uint64_t newest = trace_newest_operation(process), oldest = trace_oldest(newest),
		 first = stretch->first->ticket;

	for (uint64_t ticket = first > oldest ? first : oldest; ticket <= newest; ticket++) {
		const struct trace *trace = &process->trace[ticket % JOB_TRACE];
		struct instance *instance =
		    trace->ticket == ticket && trace->rank == rank ? trace_instance(trace) : NULL;
		if (instance)
			visit(stretch, instance, trace->member, ticket);
	}
	for (uint32_t i = 0; i < replays_count(process); i++) {
		const struct trace *trace = replays_at(process, i);
		if (trace && trace->rank == rank && trace->ticket >= first)
			visit(stretch, trace->instance, trace->member, trace->ticket);
	}
}

/* The largest or smallest says nothing of what was added, and where the result is clean nothing bad was. */
static bool adds(const struct instance *instance)
{
	return value_is_reduction(instance) && instance->reduction != RW_OPERATOR_MAX &&
	       instance->reduction != RW_OPERATOR_MIN;
}

static bool is_no_sum(const struct instance *instance, uint32_t member)
{
	return instance->reduction == RW_OPERATOR_UNKNOWN && instance->function != RW_FUNCTION_REDUCE_SCATTER &&
	       value_state(instance, member, VALUE_OUT) == VALUE_CLEAN;
}

/* Inf, and the operator is not known. */
static bool is_doubtful(struct seen *seen, const struct instance *instance)
{
	if (!seen->doubtful) {
		seen->doubtful = instance->communicator;
		seen->doubtful_count = instance->count;
	}
	return seen->doubtful == instance->communicator && seen->doubtful_count == instance->count;
}

static void weigh(struct seen *seen, const struct instance *instance, uint32_t member, enum value_side side)
{
	enum value_effect effect = value_effect(instance, value_scan(instance, member, side));

	if (effect == VALUE_SPARES || is_no_sum(instance, member) ||
	    (effect == VALUE_MAY_SPOIL && is_doubtful(seen, instance)))
		return;
	bool number = value_is_number(instance) && usual_is_outside(instance, member);
	seen->numbers = number && (!seen->spoilt || seen->numbers);
	seen->spoilt = true;
}

static void visit_bad(struct stretch *stretch, struct instance *instance, uint32_t member, uint64_t ticket)
{
	const struct operation *operation = instance_joined(instance, member);
	struct seen *seen = stretch->seen;

	for (int side = VALUE_IN; side <= VALUE_OUT; side++) {
		if (first_bad_can_be(seen->analysis, instance, member, (enum value_side)side)) {
			weigh(seen, instance, member, (enum value_side)side);
			stretch->last_has_spot = usual_spot(instance, member, &stretch->last_spot);
			stretch->last = ticket;
			stretch->last_instance = instance;
			stretch->last_member = member;
			stretch->last_side = (enum value_side)side;
		} else if (adds(instance) && value_state(instance, member, (enum value_side)side) == VALUE_CLEAN) {
			seen->spared = true;
		}
	}
	if (adds(instance) && operation && operation->state & OPERATION_SCANNING)
		seen->awaited = true;
}

static void visit_again(struct stretch *stretch, struct instance *instance, uint32_t member, uint64_t ticket)
{
	struct usual_spot spot;

	if (ticket <= stretch->first->ticket || !usual_spot(instance, member, &spot))
		return;
	if (stretch->first_has_spot && usual_spot_is(&spot, &stretch->first_spot) &&
	    spot.step > stretch->first_spot.step)
		stretch->passed = true;
	if (stretch->last_has_spot && ticket > stretch->last && usual_spot_is(&spot, &stretch->last_spot) &&
	    value_state(instance, member, stretch->last_side) == VALUE_CLEAN)
		stretch->clean = true;
}

static void look_at_rank(struct seen *seen, const struct first_bad *first, uint32_t rank)
{
	struct stretch stretch = { .seen = seen, .first = first };
	const struct process *process = seen->analysis->job.ranks[rank].process;

	stretch.first_has_spot = usual_spot(first->instance, first->member, &stretch.first_spot);
	for_each(&stretch, rank, visit_bad);
	for_each(&stretch, rank, visit_again);
	seen->passed &= stretch.passed;
	seen->clean &= stretch.clean;
	seen->lasting |= stretch.first_has_spot && stretch.last_has_spot &&
			 stretch.last_spot.step >= stretch.first_spot.step + AFTERMATH_STEPS;
	seen->far |= trace_newest(process) > first->ticket + JOB_TRACE / 2;
}

/* Ranks whose first bad values come from nobody else's, and Inf among them, all in fp16. */
static bool may_be_scaled(const struct origin_story *story)
{
	uint32_t count = 0;
	bool inf = false;

	for (uint32_t i = 0; i < story->ranks; i++) {
		const struct first_bad *first = &story->beginnings[i];
		if (!first->instance)
			continue;
		if (first->instance->dtype != RW_DTYPE_FLOAT16)
			return false;
		inf |= value_scan(first->instance, first->member, first->side)->inf != 0;
		count++;
	}
	return inf && count > 1;
}

enum aftermath aftermath_judge(const struct analysis *analysis, const struct origin_story *story, bool waited)
{
	struct seen seen = { .analysis = analysis, .passed = true, .clean = true };

	for (uint32_t i = 0; i < story->ranks; i++)
		if (story->firsts[i].instance)
			look_at_rank(&seen, &story->firsts[i], i);
	waited |= seen.far;
	if (seen.spoilt && may_be_scaled(story) && !seen.lasting) {
		if (seen.clean)
			return AFTERMATH_SCALED;
		if (!waited)
			return AFTERMATH_OPEN;
	}
	if (seen.spoilt)
		return seen.numbers ? AFTERMATH_NUMBERS : AFTERMATH_SPOILT;
	if (!waited && (!seen.passed || seen.awaited || !seen.spared))
		return AFTERMATH_OPEN;
	return seen.spared ? AFTERMATH_HARMLESS : AFTERMATH_UNSEEN;
}

static void excuse(struct stretch *stretch, struct instance *instance, uint32_t member, uint64_t ticket)
{
	(void)ticket;
	for (int side = VALUE_IN; side <= VALUE_OUT; side++)
		if (first_bad_can_be(stretch->seen->analysis, instance, member, (enum value_side)side))
			instance->values[member].excused |= (uint8_t)(1u << side);
}

static void excuse_and_learn(struct stretch *stretch, struct instance *instance, uint32_t member, uint64_t ticket)
{
	for (int side = VALUE_IN; side <= VALUE_OUT; side++) {
		struct usual *usual = usual_find(instance, member, (enum value_side)side);
		if (usual && first_bad_can_be(stretch->seen->analysis, instance, member, (enum value_side)side))
			usual_accept(usual, value_scan(instance, member, (enum value_side)side));
	}
	excuse(stretch, instance, member, ticket);
}

void aftermath_excuse(const struct analysis *analysis, const struct origin_story *story, bool learn)
{
	struct seen seen = { .analysis = analysis };

	for (uint32_t i = 0; i < story->ranks; i++) {
		struct stretch stretch = { .seen = &seen, .first = &story->firsts[i] };
		if (story->firsts[i].instance)
			for_each(&stretch, i, learn ? excuse_and_learn : excuse);
	}
}

void aftermath_note_last_bad(struct analysis *analysis, const struct origin_story *story)
{
	struct seen seen = { .analysis = analysis };

	for (uint32_t i = 0; i < story->ranks; i++) {
		struct stretch stretch = { .seen = &seen, .first = &story->firsts[i] };
		if (!story->firsts[i].instance)
			continue;
		for_each(&stretch, i, visit_bad);
		if (stretch.last_instance)
			last_bad_note(analysis, stretch.last_instance, stretch.last_member, stretch.last_side);
	}
}
