/* SPDX-License-Identifier: MIT */
/*
 * Births of NaN and Inf in generated jobs: four meshes, any call of a step, three rates of sampling, with and without
 * the interposer, beside padding that begins late. The jobs know who made it; nothing of the analysis is used to make
 * them. The table of docs/accuracy.md, "Values", adds up what this prints with RANKWATCH_TEST_LONG=1.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/analysis/jobs/scanned.h"
#include "tests/unit/analysis/jobs/seeds.h"

enum { RANKS = 8, CALLS_MAX = 160, ELEMENTS = 4096, LEARNED = 30, AFTER = 20, BIRTHS = 200 };

struct planned {
	int communicator;
	struct scanned_call call;
};

/* What all ranks call in a step. */
struct program {
	struct scanned job;
	struct planned calls[CALLS_MAX];
	int count, fsdp[2], tp[4], pp[4], ep[2], world;
	bool interposed;
};

enum mesh { FSDP, TP, PP, EP, MESHES };

static const char *const mesh_names[] = {
	[FSDP] = "fsdp=8", [TP] = "fsdp=4,tp=2", [PP] = "pp=2,fsdp=4", [EP] = "fsdp=8,ep=4"
};

static void plan(struct program *program, int communicator, struct scanned_call call)
{
	bool adds = call.function == RW_FUNCTION_REDUCE_SCATTER || call.function == RW_FUNCTION_ALL_REDUCE;

	if (adds && program->interposed)
		call.reduction = RW_OPERATOR_SUM;
	if (call.function == RW_FUNCTION_ALL_REDUCE && !program->interposed)
		call.in_place = true;
	cr_assert_lt(program->count, CALLS_MAX);
	program->calls[program->count++] = (struct planned){ communicator, call };
}

static void plan_each(struct program *program, const int *communicators, int count, uint8_t function, uint64_t elements)
{
	for (int i = 0; i < count; i++)
		plan(program, communicators[i], (struct scanned_call){ .function = function, .count = elements });
}

static void plan_send(struct program *program, int communicator, int sender, int receiver)
{
	plan(program, communicator,
	     (struct scanned_call){
		 .function = RW_FUNCTION_SEND, .count = ELEMENTS, .sender = sender, .root = receiver });
}

static void plan_fsdp(struct program *program, int layers)
{
	int groups = program->fsdp[0] == program->fsdp[1] ? 1 : 2;

	for (int layer = 0; layer < layers; layer++)
		plan_each(program, program->fsdp, groups, RW_FUNCTION_ALL_GATHER, ELEMENTS + (uint64_t)layer);
	for (int layer = 0; layer < layers; layer++)
		plan_each(program, program->fsdp, groups, RW_FUNCTION_REDUCE_SCATTER, ELEMENTS + (uint64_t)layer);
}

static void plan_tp(struct program *program)
{
	for (int layer = 0; layer < 2; layer++) {
		plan_each(program, program->fsdp, 2, RW_FUNCTION_ALL_GATHER, ELEMENTS + (uint64_t)layer);
		plan_each(program, program->tp, 4, RW_FUNCTION_ALL_GATHER, ELEMENTS);
		plan_each(program, program->tp, 4, RW_FUNCTION_REDUCE_SCATTER, ELEMENTS);
	}
	for (int layer = 0; layer < 2; layer++) {
		plan_each(program, program->tp, 4, RW_FUNCTION_ALL_REDUCE, ELEMENTS + 9);
		plan_each(program, program->fsdp, 2, RW_FUNCTION_REDUCE_SCATTER, ELEMENTS + (uint64_t)layer);
	}
}

/* Two microbatches, there and back. */
static void plan_pp(struct program *program)
{
	for (int way = 0; way < 2; way++)
		for (int batch = 0; batch < 2; batch++)
			for (int i = 0; i < 4; i++)
				plan_send(program, program->pp[i], way, !way);
	plan_fsdp(program, 2);
}

/* Tokens to their experts and back: every rank to every other one of its group. */
static void plan_ep(struct program *program)
{
	for (int way = 0; way < 2; way++)
		for (int group = 0; group < 2; group++)
			for (int pair = 0; pair < 16; pair++)
				if (pair / 4 != pair % 4)
					plan_send(program, program->ep[group], pair / 4, pair % 4);
	plan_fsdp(program, 2);
}

static void start(struct program *program, enum mesh mesh)
{
	struct scanned *job = &program->job;

	scanned_start(job, RANKS, RANKS);
	program->world = scanned_communicator(job, "world", RANKS, 0, 1);
	program->fsdp[0] = program->fsdp[1] = program->world;
	for (int i = 0; i < 2 && mesh == TP; i++)
		program->fsdp[i] = scanned_communicator(job, "fsdp", 4, i, 2);
	for (int i = 0; i < 2 && mesh == PP; i++)
		program->fsdp[i] = scanned_communicator(job, "fsdp", 4, 4 * i, 1);
	for (int i = 0; i < 4 && mesh == TP; i++)
		program->tp[i] = scanned_communicator(job, "tp", 2, 2 * i, 1);
	for (int i = 0; i < 4 && mesh == PP; i++)
		program->pp[i] = scanned_communicator(job, "pp", 2, i, 4);
	for (int i = 0; i < 2 && mesh == EP; i++)
		program->ep[i] = scanned_communicator(job, "ep", 4, 4 * i, 1);
	switch (mesh) {
	case TP:
		plan_tp(program);
		break;
	case PP:
		plan_pp(program);
		break;
	case EP:
		plan_ep(program);
		break;
	default:
		plan_fsdp(program, 4);
	}
	plan(program, program->world, (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .count = 1 });
}

/* What happens to whom. */
struct birth {
	int rank, call, step;
	bool inf, lasts;         /* the optimizer takes it */
	int padding, padding_at; /* rank whose gathered shard ends in NaN from some step on; -1 none */
	uint32_t every;          /* one operation in so many is scanned, until something bad was seen */
	uint64_t salt;           /* of which ones */
	bool hit, scanned;       /* something bad was scanned; … of its own */
};

static uint32_t mixed(uint64_t salt, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t hash = (((salt + 1) * 0x9e3779b97f4a7c15u + a) * 31 + b) * 1000003 + c;

	hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
	return (uint32_t)(hash >> 32);
}

static bool is_any_bad(const struct program *program)
{
	for (int i = 0; i < RANKS; i++)
		if (program->job.bad[i] || program->job.brings[i])
			return true;
	return false;
}

/* Padding is gathered, and nobody computes with it. */
static void make_padded(struct program *program, const struct planned *planned, struct scanned_call call, int rank)
{
	bool before[RANKS];

	memcpy(before, program->job.bad, sizeof(before));
	program->job.brings[rank] = true;
	program->job.nan = 16;
	call.inf = false;
	scanned_call(&program->job, planned->communicator, call);
	program->job.nan = 0;
	program->job.brings[rank] = false;
	memcpy(program->job.bad, before, sizeof(before));
}

static void step(struct program *program, struct birth *birth, int number)
{
	struct scanned *job = &program->job;
	bool all = birth->hit;

	for (int i = 0; i < program->count; i++) {
		const struct planned *planned = &program->calls[i];
		struct scanned_call call = planned->call;
		uint64_t sequence = job->communicator[planned->communicator].sequence[call.function];
		if (number == birth->step && i == birth->call)
			job->bad[birth->rank] = true;
		call.inf = birth->inf;
		call.sampled_out =
		    !all && mixed(birth->salt, (uint64_t)planned->communicator, call.function, sequence) % birth->every;
		bool padded = birth->padding >= 0 && i == 0 && call.function == RW_FUNCTION_ALL_GATHER &&
			      number >= birth->padding_at;
		birth->hit |= (is_any_bad(program) || padded) && !call.sampled_out;
		birth->scanned |= is_any_bad(program) && !call.sampled_out;
		if (padded && !is_any_bad(program))
			make_padded(program, planned, call, birth->padding);
		else
			scanned_call(job, planned->communicator, call);
	}
	if (number == birth->step && birth->lasts)
		job->nan = ELEMENTS, memset(job->bad, 1, sizeof(job->bad));
	else if (number >= birth->step && !birth->lasts)
		memset(job->bad, 0, sizeof(job->bad));
	scanned_tick(job, 200);
}

static struct birth draw(struct program *program, uint64_t seed, uint32_t every)
{
	struct scanned *job = &program->job;

	job->random = seed * 7919 + 13;
	struct birth birth = {
		.rank = (int)scanned_chance(job, RANKS),
		.call = (int)scanned_chance(job, (uint64_t)program->count),
		.step = LEARNED + (int)scanned_chance(job, 30),
		.inf = scanned_chance(job, 4) == 0,
		.lasts = scanned_chance(job, 2),
		.padding = -1,
		.every = every,
		.salt = seed,
	};
	if (seed % 3 == 0) {
		birth.padding = (birth.rank + 1 + (int)scanned_chance(job, RANKS - 1)) % RANKS;
		birth.padding_at = birth.step - 4 - (int)scanned_chance(job, 10);
	}
	return birth;
}

enum outcome { RIGHT, INCONCLUSIVE, SILENT, NOT_SCANNED, WRONG, OUTCOMES };

static bool is_among(const struct scanned_told *told, int rank)
{
	for (size_t i = 0; i < told->rank_count; i++)
		if (told->ranks[i] == rank)
			return true;
	return false;
}

static enum outcome judge(const struct scanned_told *told, const struct birth *birth)
{
	if (!told)
		return birth->scanned ? SILENT : NOT_SCANNED;
	if (told->confidence != RW_INCONCLUSIVE)
		return told->rank_count == 1 && told->ranks[0] == birth->rank ? RIGHT : WRONG;
	return is_among(told, birth->rank) || strstr(told->missing, "not seen") ? INCONCLUSIVE : WRONG;
}

static enum outcome play(enum mesh mesh, uint64_t seed, uint32_t every)
{
	static struct program program;

	program = (struct program){ .interposed = seed % 4 != 3 };
	start(&program, mesh);
	struct birth birth = draw(&program, seed, every);
	for (int i = 1; i <= birth.step + AFTER; i++)
		step(&program, &birth, i);
	scanned_end(&program.job);
	const struct scanned_told *told = scanned_loud(&program.job);
	enum outcome outcome = judge(told, &birth);
	cr_expect_neq(outcome, WRONG, "%s, seed %lu, 1 in %u: rank %d made it in step %d, padding of %d: %s (%s)",
		      mesh_names[mesh], seed, every, birth.rank, birth.step, birth.padding, told ? told->text : "",
		      told ? told->missing : "");
	scanned_free(&program.job);
	return outcome;
}

Test(generated_births, no_rank_is_named_that_did_not_make_it, .timeout = 240)
{
	static const uint32_t rates[] = { 1, 16, 256 };

	for (size_t rate = 0; rate < sizeof(rates) / sizeof(*rates); rate++) {
		for (int mesh = FSDP; mesh < MESHES; mesh++) {
			unsigned int count[OUTCOMES] = { 0 }, births = seeds(BIRTHS / MESHES);
			for (uint64_t seed = 0; seed < births; seed++)
				count[play((enum mesh)mesh, seed, rates[rate])]++;
			cr_log_info("| `%s` | 1 in %u | %u | %u | %u | %u | %u |", mesh_names[mesh], rates[rate],
				    count[RIGHT], count[INCONCLUSIVE], count[SILENT], count[NOT_SCANNED], count[WRONG]);
			cr_expect(rates[rate] > 1 || count[RIGHT] * 10 >= births * 7, "%s: %u of %u found",
				  mesh_names[mesh], count[RIGHT], births);
		}
	}
}
