/* SPDX-License-Identifier: MIT */
#include "analysis/values/origin_story.h"

#include <stdlib.h>

#include "analysis/model.h"

/* Inputs of the instance: how many are bad, how many are not known to be clean: not scanned, or bad and taken for a
 * habit. Ranks that were not seen count as one. */
static void count_inputs(const struct analysis *analysis, const struct instance *instance, uint32_t *bad,
			 uint32_t *unknown)
{
	*bad = 0;
	*unknown = job_unseen(instance->communicator) != 0;
	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		if (!value_matters(instance, i, VALUE_IN))
			continue;
		bool news = first_bad_can_be(analysis, instance, i, VALUE_IN);
		*bad += news;
		*unknown += !news && value_state(instance, i, VALUE_IN) != VALUE_CLEAN;
	}
}

static bool is_received(const struct analysis *analysis, const struct first_bad *first)
{
	uint32_t bad, unknown;

	if (first->side == VALUE_IN)
		return false;
	count_inputs(analysis, first->instance, &bad, &unknown);
	return bad != 0;
}

static bool is_before(const struct first_bad *left, const struct first_bad *right)
{
	const struct steps_place *a = &left->instance->place, *b = &right->instance->place;

	if (a->step != b->step)
		return a->step < b->step;
	return a->place < b->place;
}

bool origin_story_read(struct analysis *analysis, struct origin_story *story)
{
	*story = (struct origin_story){ .ranks = analysis->job.rank_count };
	story->firsts = calloc(story->ranks + 1, sizeof(*story->firsts));
	story->beginnings = calloc(story->ranks + 1, sizeof(*story->beginnings));
	if (!story->firsts || !story->beginnings)
		return false;
	first_bad_find(analysis, story->firsts);
	for (uint32_t i = 0; i < story->ranks; i++)
		if (story->firsts[i].instance && !is_received(analysis, &story->firsts[i]))
			story->beginnings[i] = story->firsts[i];
	int err = upstream_drop_later(analysis, story->beginnings);
	for (uint32_t i = 0; !err && i < story->ranks; i++)
		if (story->beginnings[i].instance && (!story->main || is_before(&story->beginnings[i], story->main)))
			story->main = &story->beginnings[i];
	return !err && story->main && !upstream_search(analysis, story->beginnings, &story->upstream);
}

void origin_story_free(struct origin_story *story)
{
	upstream_free(&story->upstream);
	free(story->firsts);
	free(story->beginnings);
}

bool origin_story_is_made_inside(const struct analysis *analysis, const struct origin_story *story)
{
	const struct first_bad *main = story->main;
	uint32_t bad, unknown;

	count_inputs(analysis, main->instance, &bad, &unknown);
	return main->side == VALUE_OUT && !bad && !unknown;
}

void origin_story_count(const struct origin_story *story, uint32_t *inputs, uint32_t *results, uint32_t *last_input)
{
	*inputs = *results = 0;
	for (uint32_t i = 0; i < story->ranks; i++) {
		if (!story->beginnings[i].instance)
			continue;
		bool input = story->beginnings[i].side == VALUE_IN;
		*(input ? inputs : results) += 1;
		if (input)
			*last_input = i;
	}
}

bool origin_story_came_from_unseen(const struct analysis *analysis, const struct origin_story *story)
{
	for (uint32_t i = 0; i < story->ranks; i++) {
		const struct first_bad *beginning = &story->beginnings[i];
		uint32_t bad, unknown;
		if (story->upstream.suspects[i])
			return false;
		if (!beginning->instance)
			continue;
		count_inputs(analysis, beginning->instance, &bad, &unknown);
		if (beginning->side == VALUE_IN || bad || unknown > 1 ||
		    job_unseen(beginning->instance->communicator) <= 0)
			return false;
	}
	return true;
}
