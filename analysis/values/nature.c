/* SPDX-License-Identifier: MIT */
#include "analysis/values/nature.h"

#include <inttypes.h>
#include <stdio.h>

#include "analysis/explain/gpu_evidence.h"
#include "analysis/model.h"

/* The inputs of the operation in which it began. */
struct inputs {
	uint32_t clean, bad, rising; /* rising: clean ones whose magnitudes have been growing towards the type's end */
};

static struct inputs look(const struct instance *instance)
{
	struct inputs inputs = { 0 };

	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		if (!value_matters(instance, i, VALUE_IN))
			continue;
		enum value_state state = value_state(instance, i, VALUE_IN);
		inputs.clean += state == VALUE_CLEAN;
		inputs.bad += state == VALUE_BAD;
		inputs.rising += state == VALUE_CLEAN && drift_is_rising(instance, i);
	}
	return inputs;
}

static bool is_reported_by_gpu(const struct analysis *analysis, uint32_t rank, const struct first_bad *first)
{
	const struct operation *operation = instance_joined(first->instance, first->member);

	return operation &&
	       gpu_evidence_is_faulty(analysis, rank, operation->done_ns ? operation->done_ns : analysis->now_ns);
}

static bool tell_one(const struct analysis *analysis, const struct first_bad *first, uint32_t rank, char *text,
		     size_t room)
{
	const struct instance *instance = first->instance;
	const struct inputs inputs = look(instance);
	uint32_t ranks = inputs.clean + inputs.bad, times = analysis->job.ranks[rank].births;
	uint64_t parted = drift_parted_since(analysis, rank), step = instance->place.step;

	if (inputs.bad != 1 || inputs.clean < NATURE_PEERS)
		return false;
	if (inputs.rising * 2 > inputs.clean)
		snprintf(text, room,
			 "one rank of %" PRIu32 ", while the largest values grow on %" PRIu32
			 " others: numerics more likely than hardware",
			 ranks, inputs.rising);
	else if (parted && step > parted && !inputs.rising && instance_is_in_step(instance))
		snprintf(text, room,
			 "one rank of %" PRIu32 ", %" PRIu64
			 " steps after its largest value left the others': hardware more likely than numerics",
			 ranks, step - parted);
	else if (times + 1 >= NATURE_TIMES)
		snprintf(text, room,
			 "one rank of %" PRIu32 ", the same %" PRIu32
			 " times in this run: hardware more likely than numerics",
			 ranks, times + 1);
	else
		return false;
	return true;
}

/* Several that nothing bad has reached: in the same step, of steps that are known? */
static bool tell_several(const struct origin_story *story, uint32_t count, char *text, size_t room)
{
	const struct instance *main = story->main->instance;

	for (uint32_t i = 0; i < story->ranks; i++) {
		const struct instance *instance = story->beginnings[i].instance;
		if (instance && (!instance_is_in_step(instance) || instance->place.step != main->place.step))
			return false;
	}
	snprintf(text, room,
		 "%" PRIu32 " of %" PRIu32 " ranks by themselves in the same step: numerics more likely than hardware",
		 count, story->ranks);
	return instance_is_in_step(main);
}

bool nature_tell(const struct analysis *analysis, const struct origin_story *story, char *text, size_t room)
{
	uint32_t inputs, results, last = 0;

	origin_story_count(story, &inputs, &results, &last);
	if (results || !inputs)
		return false;
	for (uint32_t i = 0; i < story->ranks; i++)
		if (story->beginnings[i].instance && is_reported_by_gpu(analysis, i, &story->beginnings[i]))
			return false;
	if (inputs == 1)
		return tell_one(analysis, &story->beginnings[last], last, text, room);
	return tell_several(story, inputs, text, room);
}
