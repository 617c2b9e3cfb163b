/* SPDX-License-Identifier: MIT */
#include "analysis/job/job_half.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/batch.h"
#include "analysis/report/findings.h"
#include "analysis/job/agreement.h"
#include "analysis/job/asks.h"
#include "analysis/job/births.h"
#include "analysis/job/course.h"
#include "analysis/job/hearing.h"
#include "analysis/job/job_view.h"
#include "analysis/job/late.h"
#include "analysis/job/order.h"
#include "analysis/job/job_rows.h"
#include "analysis/job/stand.h"
#include "analysis/job/strangers.h"
#include "analysis/job/transfers.h"
#include "analysis/job/world.h"

struct job_half {
	struct world world;
	struct course course;
	struct job_rows rows;
	struct transfers_before before_transfers;
	struct stand stand;
	struct births births;
	struct asks asks;
	struct strangers strangers;
	struct findings findings;
	struct job nobody; /* findings look for ends of processes in a job: of many hosts nobody has one */
	uint64_t now_ns;
};

/* So long after a process has seen that its event mask was changed the job half has heard of it. */
#define MASK_HEARD_NS 2000000000u

struct job_half *job_half_new(const char *job, analysis_emit *emit, void *argument)
{
	struct job_half *half = calloc(1, sizeof(*half));

	if (!half)
		return NULL;
	half->findings.emit = emit;
	half->findings.argument = argument;
	half->findings.job = &half->nobody;
	half->world.world_size = -1;
	half->world.has_job = job != NULL;
	if (job)
		snprintf(half->world.job, sizeof(half->world.job), "%s", job);
	return half;
}

static void begin(struct job_half *half, uint16_t generation, uint64_t now_ns)
{
	findings_close_all(&half->findings, half->now_ns);
	half->stand = (struct stand){ 0 };
	half->births = (struct births){ 0 };
	job_rows_forget(&half->rows, &half->world);
	world_begin(&half->world, generation, now_ns);
}

/* Before anything of it is taken: what a later start of the job tells is not of the same ranks. */
static void begin_later(struct job_half *half, const struct rw_batch *header, const void *bytes, uint64_t now_ns)
{
	for (uint32_t i = 0; i < header->count; i++) {
		struct rw_message message;
		if (batch_message(bytes, i, &message) && world_is_later(&half->world, message.generation))
			begin(half, message.generation, now_ns);
	}
}

/* Of what was taken from a host of another job before that was known, nothing must stay. */
static void leave_strangers(struct job_half *half, const struct rw_batch *header, const void *bytes, uint64_t now_ns)
{
	uint32_t host = world_known_host(&half->world, header->host);

	if (host != WORLD_NONE && half->world.begun &&
	    strangers_note(&half->strangers, &half->world, host, header, bytes, now_ns))
		begin(half, half->world.generation, now_ns);
}

int job_half_take(struct job_half *half, const void *bytes, size_t length, uint64_t now_ns, const char **why)
{
	struct rw_batch header;
	const char *refused = batch_refuse(bytes, length, &header);
	int err = refused ? -EINVAL : 0;

	if (!refused && half->world.has_job && strcmp(half->world.job, header.job)) {
		refused = "it is of another job";
		err = -EINVAL;
	}
	if (!err) {
		hearing_note(&half->world, now_ns);
		leave_strangers(half, &header, bytes, now_ns);
		begin_later(half, &header, bytes, now_ns);
		err = world_take(&half->world, &header, bytes, now_ns);
	}
	half->world.bad += refused != NULL;
	if (why && refused)
		*why = refused;
	return err;
}

/* What is open is not over because nobody is heard who would tell it again. */
static void hold(struct job_half *half, uint64_t now_ns)
{
	open_hold(&half->stand.open, now_ns);
	open_hold(&half->births.open, now_ns);
}

void job_half_deaf(struct job_half *half, uint64_t now_ns)
{
	hearing_lost(&half->world, half->now_ns, now_ns);
	hold(half, now_ns);
}

/* Who stands, and who does not come. */
static void judge_standing(struct job_half *half)
{
	uint64_t now_ns = half->now_ns;
	bool holds = hearing_holds(&half->world, now_ns), awaits = hearing_awaits(&half->world, now_ns);

	if (holds || awaits)
		hold(half, now_ns);
	if (holds)
		return;
	stand_tick(&half->stand, &half->world, &half->findings, now_ns);
	if (!awaits)
		births_tick(&half->births, &half->world, &half->stand, &half->findings, now_ns);
}

void job_half_tick(struct job_half *half, uint64_t now_ns)
{
	half->now_ns = now_ns;
	if (!half->world.begun)
		return;
	half->nobody.masked_ns = half->world.masked_ns > MASK_HEARD_NS ? half->world.masked_ns - MASK_HEARD_NS : 0;
	job_rows_tick(&half->rows, &half->world, now_ns);
	late_tick(&half->rows, &half->world, &half->findings, now_ns);
	transfers_tick(&half->before_transfers, &half->rows, &half->world, &half->findings, now_ns);
	judge_standing(half);
	order_tick(&half->world, &half->findings, now_ns);
	agreement_tick(&half->world, &half->findings, now_ns);
	findings_tick(&half->findings, now_ns);
}

void job_half_ask_why(struct job_half *half, uint64_t now_ns, job_half_ask *ask, void *argument)
{
	asks_tick(&half->asks, &half->world, now_ns, ask, argument);
}

static_assert((int)JOB_HALF_NEWS == (int)STRANGERS_LINE, "one is the other");

bool job_half_news(struct job_half *half, char line[JOB_HALF_NEWS])
{
	return strangers_say(&half->strangers, &half->world, half->now_ns, line);
}

bool job_half_is_member(const struct job_half *half, const char *host, uint64_t comm)
{
	const struct world_comm *known = world_comm(&half->world, comm);
	uint32_t at = world_known_host(&half->world, host);

	for (uint32_t i = 0; known && at != WORLD_NONE && i < known->member_count; i++)
		if (half->world.ranks[known->members[i].rank].host == at)
			return true;
	return false;
}

void job_half_keep_course(struct job_half *half)
{
	course_open(&half->course);
	half->world.course = &half->course;
}

void job_half_look(const struct job_half *half, struct job_view *view)
{
	*view = (struct job_view){ .world = &half->world, .course = &half->course, .now_ns = half->now_ns };
}

void job_half_tell_turns(const struct job_half *half, struct analysis_turns *told)
{
	job_turns_tell(&half->rows.turns, half->rows.count, told);
}

void job_half_replay_open(struct job_half *half, uint64_t now_ns)
{
	half->now_ns = now_ns;
	findings_replay_open(&half->findings, now_ns);
}

void job_half_summarise(const struct job_half *half, struct job_half_summary *summary)
{
	const struct world *world = &half->world;

	*summary = (struct job_half_summary){
		.hosts = world->host_count,
		.ranks = world->rank_count,
		.ranks_total = world->world_size,
		.communicators = world->comm_count,
		.generation = world->generation,
		.batches = world->batches,
		.messages = world->messages,
		.bad = world->bad,
		.ignored = world->ignored,
		.unaligned = half->rows.unaligned,
		.rows = half->rows.rows,
		.findings_opened = half->findings.opened,
	};
	for (uint32_t i = 0; i < world->host_count; i++) {
		const struct world_host *host = &world->hosts[i];
		summary->silent_hosts += world_is_silent(host, half->now_ns);
		summary->missed += host->next > host->taken ? host->next - host->taken : 0;
		summary->unsent += host->unsent;
	}
}

size_t job_half_bytes(const struct job_half *half)
{
	return sizeof(*half) + world_bytes(&half->world) + job_rows_bytes(&half->rows, &half->world) +
	       course_bytes(&half->course);
}

void job_half_free(struct job_half *half)
{
	if (!half)
		return;
	job_rows_forget(&half->rows, &half->world);
	world_free(&half->world);
	course_free(&half->course);
	findings_free(&half->findings);
	free(half);
}
