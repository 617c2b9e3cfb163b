/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/pipelined.h"

#include <criterion/criterion.h>

enum { FORWARD, BACKWARD };

static int world(struct pipelined *pipelined)
{
	if (!pipelined->world)
		pipelined->world = 1 + scanned_communicator(&pipelined->job, "world", pipelined->job.ranks, 0, 1);
	return pipelined->world - 1;
}

static int fsdp(struct pipelined *pipelined, int stage)
{
	int width = pipelined->is.width;

	if (!pipelined->fsdp[stage])
		pipelined->fsdp[stage] = 1 + scanned_communicator(&pipelined->job, "fsdp", width, stage * width, 1);
	return pipelined->fsdp[stage] - 1;
}

static int pipe_of(struct pipelined *pipelined, int lane)
{
	if (!pipelined->pipes[lane])
		pipelined->pipes[lane] =
		    1 + scanned_communicator(&pipelined->job, "pp", pipelined->is.stages, lane, pipelined->is.width);
	return pipelined->pipes[lane] - 1;
}

void pipelined_start(struct pipelined *pipelined, const struct pipelined_job *job)
{
	*pipelined = (struct pipelined){ .is = *job };
	scanned_start(&pipelined->job, job->stages * job->width, job->stages * job->width);
	if (job->lazy)
		return;
	world(pipelined);
	for (int stage = 0; stage < job->stages && job->width > 1; stage++)
		fsdp(pipelined, stage);
	for (int lane = 0; lane < job->width; lane++)
		pipe_of(pipelined, lane);
}

/* By all ranks of the stage at once. */
static void call_stage(struct pipelined *pipelined, int stage, uint8_t function, uint64_t count)
{
	scanned_call(&pipelined->job, fsdp(pipelined, stage),
		     (struct scanned_call){ .function = function, .count = count });
}

static void number(struct pipelined *pipelined, int communicator)
{
	scanned_call(&pipelined->job, communicator,
		     (struct scanned_call){ .function = RW_FUNCTION_ALL_REDUCE, .count = 1 });
}

/* All lanes of a stage send to, or receive from, the stage beside it. */
static void pass(struct pipelined *pipelined, int stage, int direction, bool sends)
{
	int from = sends ? stage : stage + (direction == FORWARD ? -1 : 1);
	int to = from + (direction == FORWARD ? 1 : -1);
	uint64_t *count = sends ? &pipelined->sent[stage][direction] : &pipelined->received[stage][direction];

	for (int lane = 0; lane < pipelined->is.width; lane++)
		scanned_call(&pipelined->job, pipe_of(pipelined, lane),
			     (struct scanned_call){ .function = RW_FUNCTION_SEND,
						    .sender = from,
						    .root = to,
						    .count = 64,
						    .only = stage + 1,
						    .sequence = *count });
	++*count;
}

static bool has_come(const struct pipelined *pipelined, int stage, int direction)
{
	int from = stage + (direction == FORWARD ? -1 : 1);

	return from < 0 || from == pipelined->is.stages ||
	       pipelined->sent[from][direction] > pipelined->received[stage][direction];
}

static void forward(struct pipelined *pipelined, int stage)
{
	if (stage)
		pass(pipelined, stage, FORWARD, false);
	if (stage + 1 < pipelined->is.stages)
		pass(pipelined, stage, FORWARD, true);
}

static void backward(struct pipelined *pipelined, int stage, bool last)
{
	if (stage + 1 < pipelined->is.stages)
		pass(pipelined, stage, BACKWARD, false);
	for (int layer = 0; layer < pipelined->is.layers && last && pipelined->is.sharded; layer++)
		call_stage(pipelined, stage, RW_FUNCTION_REDUCE_SCATTER, 32);
	if (stage)
		pass(pipelined, stage, BACKWARD, true);
}

/* The next pass of the stage, when what it needs has come; `done` counts passes of both directions. */
static bool advance(struct pipelined *pipelined, int stage, int *done)
{
	int passes = pipelined->is.microbatches, warm = pipelined->is.stages - 1 - stage;
	int direction = done[FORWARD] < passes && done[FORWARD] <= done[BACKWARD] + warm ? FORWARD : BACKWARD;

	if (done[BACKWARD] == passes || !has_come(pipelined, stage, direction))
		return false;
	if (direction == FORWARD)
		forward(pipelined, stage);
	else
		backward(pipelined, stage, done[BACKWARD] + 1 == passes);
	done[direction]++;
	return true;
}

static void end_step(struct pipelined *pipelined)
{
	const struct pipelined_job *is = &pipelined->is;

	for (int lane = 0; lane < is->width && is->norm; lane++)
		number(pipelined, pipe_of(pipelined, lane));
	for (int stage = 0; stage < is->stages && is->loss; stage++)
		if (pipelined->step > 1 || is->without_number != stage + 1)
			number(pipelined, fsdp(pipelined, stage));
	if (pipelined->step == 1 && is->barrier)
		number(pipelined, world(pipelined));
}

void pipelined_step(struct pipelined *pipelined)
{
	const struct pipelined_job *is = &pipelined->is;
	int done[PIPELINED_STAGES][2] = { 0 };
	bool moved = true;

	if (!pipelined->step++ && is->barrier)
		number(pipelined, world(pipelined));
	for (int stage = 0; stage < is->stages && is->sharded; stage++)
		for (int layer = 0; layer < is->layers; layer++)
			call_stage(pipelined, stage, RW_FUNCTION_ALL_GATHER, 32);
	while (moved) {
		moved = false;
		for (int stage = 0; stage < is->stages; stage++)
			moved |= advance(pipelined, stage, done[stage]);
	}
	for (int stage = 0; stage < is->stages; stage++)
		cr_assert_eq(done[stage][BACKWARD], is->microbatches);
	end_step(pipelined);
	scanned_tick(&pipelined->job, 100);
}
