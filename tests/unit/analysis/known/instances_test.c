/* SPDX-License-Identifier: MIT */
/* The pool of instances against a plain list of what it should hold, over many random calls, at its limits and below.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/known/instances.h"
#include "tests/unit/analysis/jobs/seeds.h"

enum { COMMUNICATORS = 3, SEQUENCES = 20000, MEMBERS = 3 };
enum known { NEVER, UNFINISHED, FINISHED, FORGOTTEN };

/* What should be: of each communicator and sequence, and in which order. */
struct model {
	struct instances pool;
	struct communicator communicators[COMMUNICATORS];
	enum known known[COMMUNICATORS][SEQUENCES];
	uint64_t created_ns[COMMUNICATORS][SEQUENCES];
	struct instance *is[COMMUNICATORS][SEQUENCES];
	uint64_t next[COMMUNICATORS],
	    oldest[COMMUNICATORS]; /* sequences: to be made, and the first that may be unfinished */
	uint32_t ended[COMMUNICATORS * SEQUENCES], ended_count,
	    ended_first; /* communicator * SEQUENCES + sequence, as they finished */
	uint32_t unfinished[COMMUNICATORS], finished[COMMUNICATORS], count;
	uint64_t unjudged; /* that made room while they were unfinished */
	uint64_t random;
};

static uint64_t drawn(struct model *model, uint64_t below)
{
	model->random = model->random * 6364136223846793005u + 1442695040888963407u;
	return (model->random >> 33) % below;
}

static struct instance_key key_of(uint32_t communicator, uint64_t sequence)
{
	bool pair = sequence % 3 == 1;

	return (struct instance_key){ .communicator = communicator,
				      .function = sequence % 2,
				      .by_interposer = sequence % 5 == 4,
				      .source = pair ? 0 : -1,
				      .target = pair ? 1 : -1,
				      .sequence = sequence };
}

static void expect_forgotten(struct model *model, uint32_t communicator, uint64_t sequence)
{
	bool finished = model->known[communicator][sequence] == FINISHED;

	(finished ? model->finished : model->unfinished)[communicator]--;
	model->known[communicator][sequence] = FORGOTTEN;
	model->count--;
}

static uint64_t oldest_unfinished(struct model *model, uint32_t communicator)
{
	uint64_t *at = &model->oldest[communicator];

	while (*at < model->next[communicator] && model->known[communicator][*at] != UNFINISHED)
		++*at;
	return *at;
}

/* Is there a place for another one? As instances.h says: the oldest that is finished goes, of all communicators; where
 * none is, the oldest of this one, if that is not younger. */
static bool expect_room(struct model *model, uint32_t communicator, uint64_t created_ns)
{
	if (model->count < INSTANCES_MAX)
		return true;
	while (model->ended_first < model->ended_count) {
		uint32_t at = model->ended[model->ended_first++];
		if (model->known[at / SEQUENCES][at % SEQUENCES] == FINISHED) {
			expect_forgotten(model, at / SEQUENCES, at % SEQUENCES);
			return true;
		}
	}
	uint64_t oldest = oldest_unfinished(model, communicator);
	if (!model->unfinished[communicator] || model->created_ns[communicator][oldest] > created_ns)
		return false;
	expect_forgotten(model, communicator, oldest);
	model->unjudged++;
	return true;
}

static void make_one(struct model *model, uint32_t communicator)
{
	uint64_t sequence = model->next[communicator]++, created_ns = 1000 + drawn(model, 8);
	struct instance_key key = key_of(communicator, sequence);
	bool room = expect_room(model, communicator, created_ns);
	struct instance *instance = instances_get(&model->pool, &model->communicators[communicator], &key, created_ns);

	cr_assert_eq(!!instance, room, "%u of communicator %u, with %u", (unsigned)sequence, communicator, model->count);
	if (!instance)
		return;
	instance->created_ns = created_ns;
	cr_assert(!instance->joined && !instance->finished && !instance->values && instance->sequence == sequence);
	for (uint32_t i = 0; i < MEMBERS && sequence % 4 == 0; i++) {
		struct operation *operation = instance_operation(&model->pool, instance, i);
		cr_assert(operation && !operation->ticket, "of who had this place before nothing is left");
		operation->ticket = sequence + 1;
	}
	model->created_ns[communicator][sequence] = created_ns;
	model->known[communicator][sequence] = UNFINISHED;
	model->is[communicator][sequence] = instance;
	model->unfinished[communicator]++;
	model->count++;
	cr_assert_eq(instances_get(&model->pool, &model->communicators[communicator], &key, 0), instance,
		     "there is one of each");
}

static void finish_one(struct model *model, uint32_t communicator)
{
	uint64_t sequence = oldest_unfinished(model, communicator) + drawn(model, 4);

	if (sequence >= model->next[communicator] || model->known[communicator][sequence] != UNFINISHED)
		return;
	instances_finish(&model->pool, model->is[communicator][sequence]);
	model->known[communicator][sequence] = FINISHED;
	model->ended[model->ended_count++] = (uint32_t)(communicator * SEQUENCES + sequence);
	model->unfinished[communicator]--;
	model->finished[communicator]++;
}

static void forget_all(struct model *model, uint32_t communicator)
{
	instances_forget(&model->pool, &model->communicators[communicator]);
	for (uint64_t sequence = 0; sequence < model->next[communicator]; sequence++)
		if (model->known[communicator][sequence] == FINISHED || model->known[communicator][sequence] == UNFINISHED)
			expect_forgotten(model, communicator, sequence);
}

static void expect_as_known(struct model *model)
{
	cr_expect_eq(model->pool.count, model->count);
	cr_expect_eq(model->pool.forgotten, model->unjudged);
	for (uint32_t c = 0; c < COMMUNICATORS; c++) {
		cr_expect_eq(model->communicators[c].unfinished_count, model->unfinished[c]);
		cr_expect_eq(model->communicators[c].finished_count, model->finished[c]);
		for (uint64_t sequence = 0; sequence < model->next[c]; sequence++) {
			struct instance_key key = key_of(c, sequence);
			enum known known = model->known[c][sequence];
			bool kept = known == UNFINISHED || known == FINISHED;
			cr_assert_eq(instances_find(&model->pool, &key), kept ? model->is[c][sequence] : NULL, "%lu of %u", sequence, c);
		}
	}
	uint32_t at = model->ended_first;
	for (const struct instance *one = model->pool.finished_first; one; one = one->next) {
		while (model->known[model->ended[at] / SEQUENCES][model->ended[at] % SEQUENCES] != FINISHED)
			at++;
		cr_assert_eq(one, model->is[model->ended[at] / SEQUENCES][model->ended[at] % SEQUENCES],
			     "in the order in which they finished");
		at++;
	}
}

static void play(uint64_t number, uint64_t finishing)
{
	struct model *model = calloc(1, sizeof(*model));

	cr_assert(model);
	model->random = number;
	for (uint32_t c = 0; c < COMMUNICATORS; c++)
		model->communicators[c] = (struct communicator){ .index = c, .size = MEMBERS, .member_count = MEMBERS };
	for (int call = 0; call < 24000; call++) {
		uint32_t communicator = (uint32_t)drawn(model, COMMUNICATORS);
		if (drawn(model, 100) < finishing)
			finish_one(model, communicator);
		else
			make_one(model, communicator);
		if (call == 12000)
			forget_all(model, 1);
		if (call % 6000 == 5999)
			expect_as_known(model);
	}
	instances_free(&model->pool);
	free(model);
}

Test(instances, are_kept_until_others_need_their_place)
{
	for (unsigned int number = 0; number < seeds(8); number++) {
		play(number, 45);
		play(number, 10);
		play(number, 1);
	}
}
