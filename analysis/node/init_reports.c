/* SPDX-License-Identifier: MIT */
#include "analysis/node/init_reports.h"

#include "analysis/report/cause_text.h"
#include "analysis/hang/gatherings.h"
#include "analysis/model.h"
#include "analysis/node/roster.h"
#include "analysis/node/standing.h"
#include "analysis/known/process.h"

/* The launcher's count of restarts that the newest black box shows. A process that has none yet may be of a later
 * start. */
static int32_t newest_generation(const struct job *job)
{
	int32_t newest = 0;

	for (uint32_t i = 0; i < job->process_count; i++)
		if (job->processes[i]->generation > newest)
			newest = job->processes[i]->generation;
	return newest;
}

/* Another process says that it is this rank, and lives: which of the two waits is not known. */
static bool is_claimed_twice(const struct job *job, const struct process *process)
{
	for (uint32_t i = 0; i < job->process_count; i++) {
		const struct process *other = job->processes[i];
		if (other != process && other->world_rank == process->world_rank && !process_is_dead(other))
			return true;
	}
	return false;
}

static void tell_init(const struct job *job, const struct process *process, struct outbox *outbox, uint64_t now_ns)
{
	uint64_t since_ns = process->init.since_ns;
	const struct communicator *parent = NULL;
	const struct member *member = gatherings_parent(process, &parent);

	/* A growing communicator's new ranks do not come under its id: who hears of one without the other would miss
	 * them. */
	if (process->init.call != RW_INIT_CALL_MAKE || !since_ns || now_ns < since_ns + STANDING_AFTER_NS ||
	    process->world_rank < 0 || process->world_size < process->init.nranks || is_claimed_twice(job, process))
		return;
	/* Who hears of a split can tell who has been through it only if it is known which one it is. */
	if (process->init.parent && (!member || !member->splits))
		return;
	uint64_t watchdog_ms = process->watchdog_init_ms ? process->watchdog_init_ms : process->watchdog_ms;
	struct rw_message message = { .type = RW_MESSAGE_INIT, .rank = process->world_rank };
	message.generation = process->generation > 0 ? (uint16_t)process->generation : 0;
	message.init = (struct rw_message_init){
		.init = process->init.id,
		.size = process->init.nranks,
		.comm_rank = process->init.rank,
		.world_size = process->world_size,
		.pid = process->pid,
		.age_ms = roster_ms_since(since_ns, now_ns),
		.watchdog_ms = watchdog_ms < UINT32_MAX ? (uint32_t)watchdog_ms : 0,
		.life = roster_life(process),
		.splits = member ? (uint16_t)member->splits : 0,
		.parent = member ? rw_message_parent(parent->id) : 0,
	};
	outbox_add(outbox, &message);
}

static void tell_absent(const struct inits_answer *answer, struct outbox *outbox, uint64_t now_ns)
{
	static const uint8_t absences[] = {
		[ANALYSIS_ABSENT_STOPPED] = RW_MESSAGE_ABSENT_STOPPED,
		[ANALYSIS_ABSENT_IDLE] = RW_MESSAGE_ABSENT_IDLE,
		[ANALYSIS_ABSENT_BUSY] = RW_MESSAGE_ABSENT_BUSY,
	};
	struct rw_message message = { .type = RW_MESSAGE_ABSENT,
				      .rank = answer->world_rank,
				      .generation = answer->generation };

	if (!answer->passed && !absences[answer->absence])
		return;
	message.absent = (struct rw_message_absent){
		.pid = answer->pid,
		.age_ms = answer->passed ? 0 : roster_ms_since(answer->since_ns, now_ns),
		.absence = answer->passed ? RW_MESSAGE_ABSENT_PASSED : absences[answer->absence],
		.of = answer->of,
	};
	if (answer->process && answer->absence == ANALYSIS_ABSENT_IDLE) {
		message.absent.level = (uint8_t)answer->cause.seen;
		message.absent.class_ = (uint8_t)answer->cause.class_;
		cause_text(message.absent.text, sizeof(message.absent.text), &answer->cause, answer->process);
	}
	outbox_add(outbox, &message);
}

void init_reports_ask(struct analysis *analysis, const struct rw_message *message, uint64_t now_ns)
{
	int16_t later = (int16_t)(uint16_t)(message->generation - (uint16_t)newest_generation(&analysis->job));
	const struct inits_asked asked = { .world_rank = message->rank,
					   .generation = message->generation,
					   .splits = message->ask.splits,
					   .parent = message->ask.parent };

	if (message->rank >= 0 && later >= 0)
		inits_ask(&analysis->inits, &asked, now_ns);
}

void init_reports_tick(const struct analysis *analysis, struct outbox *outbox, uint64_t now_ns)
{
	struct inits_answer answers[INITS_ABSENTEES];
	size_t count = inits_answers(analysis, answers, now_ns);

	for (uint32_t i = 0; i < analysis->job.process_count; i++)
		tell_init(&analysis->job, analysis->job.processes[i], outbox, now_ns);
	for (size_t i = 0; i < count; i++)
		tell_absent(&answers[i], outbox, now_ns);
}
