/* SPDX-License-Identifier: MIT */
#include "analysis/hang/inits.h"

#include <stdlib.h>

#include <rankwatch/message.h>

#include "analysis/hang/gatherings.h"
#include "analysis/hang/init_circle.h"
#include "analysis/hang/init_finding.h"
#include "analysis/model.h"
#include "analysis/known/process.h"
#include "analysis/numbers/sorting.h"
#include "analysis/measure/waiting.h"

static const uint32_t absent_subject = 1u << 30, circle_subject = (1u << 30) | (1u << 29);

/* Fills in the ranks that are missing in some gathering and wait for nobody themselves, each once, ascending. Returns
 * how many there are, which may be more than `room`. */
static size_t find_missing(const struct gatherings *gatherings, int32_t *world_ranks, size_t room)
{
	size_t found = 0;
	for (uint32_t i = 0; i < gatherings->count; i++) {
		const struct gathering *gathering = &gatherings->items[i];
		for (uint32_t k = 0; k < gathering->missing_count; k++) {
			int32_t rank = gathering->missing[k];
			if (gatherings_waits(gatherings, rank) || gatherings_without(gatherings, rank) != gathering)
				continue;
			if (found < room)
				world_ranks[found] = rank;
			found++;
		}
	}
	sort_i32(world_ranks, found < room ? found : room);
	return found;
}

static bool is_among(const int32_t *world_ranks, size_t count, int32_t world_rank)
{
	for (size_t i = 0; i < count; i++)
		if (world_ranks[i] == world_rank)
			return true;
	return false;
}

/* Itself, on this host, in an init or in an operation. */
static bool waits(const struct job *job, const struct waiting *waiting, int32_t world_rank)
{
	for (uint32_t i = 0; i < job->process_count; i++) {
		const struct process *process = job->processes[i];
		if (process->world_rank == world_rank && process->life == ANALYSIS_ALIVE && process->init.since_ns)
			return true;
	}
	for (uint32_t i = 0; i < job->rank_count; i++) {
		const struct process *process = job->ranks[i].process;
		if (waiting->blocked[i] && process->life == ANALYSIS_ALIVE && process->world_rank == world_rank)
			return true;
	}
	return false;
}

/* asked_count: it is not among them. */
static uint32_t asked_at(const struct inits *inits, int32_t world_rank)
{
	uint32_t at = 0;
	while (at < inits->asked_count && inits->asked[at].world_rank != world_rank)
		at++;
	return at;
}

void inits_ask(struct inits *inits, const struct inits_asked *asked, uint64_t now_ns)
{
	uint32_t at = asked_at(inits, asked->world_rank);
	for (uint32_t i = 0; i < inits->asked_count && at == inits->asked_count; i++)
		if (now_ns >= inits->asked[i].until_ns)
			at = i;
	if (at == INITS_ABSENTEES)
		return;
	if (at == inits->asked_count)
		inits->asked_count++;
	inits->asked[at] = *asked;
	inits->asked[at].until_ns = now_ns + INIT_ASKED_NS;
}

/* Adds those asked for that are not among `found` of the ranks yet. Returns how many there are then. */
static size_t add_asked(const struct analysis *analysis, int32_t *world_ranks, size_t found, size_t room,
			uint64_t now_ns)
{
	const struct inits *inits = &analysis->inits;
	struct waiting waiting;
	bool any = false;
	for (uint32_t i = 0; i < inits->asked_count; i++)
		any |= now_ns < inits->asked[i].until_ns;
	if (!any || waiting_look(&waiting, &analysis->job))
		return found;
	for (uint32_t i = 0; i < inits->asked_count; i++) {
		const struct inits_asked *asked = &inits->asked[i];
		if (now_ns >= asked->until_ns ||
		    is_among(world_ranks, found < room ? found : room, asked->world_rank) ||
		    waits(&analysis->job, &waiting, asked->world_rank))
			continue;
		if (found < room)
			world_ranks[found] = asked->world_rank;
		found++;
	}
	waiting_free(&waiting);
	sort_i32(world_ranks, found < room ? found : room);
	return found;
}

static size_t find_all(const struct analysis *analysis, const struct gatherings *gatherings, int32_t *world_ranks,
		       size_t room, uint64_t now_ns)
{
	return add_asked(analysis, world_ranks, find_missing(gatherings, world_ranks, room), room, now_ns);
}

size_t inits_missing(const struct analysis *analysis, int32_t *world_ranks, size_t room)
{
	struct gatherings gatherings;
	if (gatherings_look(&gatherings, &analysis->job, false))
		return 0;
	size_t found = find_all(analysis, &gatherings, world_ranks, room, analysis->now_ns);
	gatherings_free(&gatherings);
	return found;
}

size_t inits_missing_in(const struct job *job, uint64_t id, int32_t *world_ranks, size_t room)
{
	struct gatherings gatherings;
	size_t count = 0;
	if (gatherings_look(&gatherings, job, true))
		return 0;
	const struct gathering *gathering = gatherings_of(&gatherings, id);
	for (; gathering && count < gathering->missing_count && count < room; count++)
		world_ranks[count] = gathering->missing[count];
	gatherings_free(&gatherings);
	return count;
}

static struct absentee *find(struct inits *inits, int32_t world_rank)
{
	for (uint32_t i = 0; i < inits->count; i++)
		if (inits->absentees[i].world_rank == world_rank)
			return &inits->absentees[i];
	return NULL;
}

static struct absentee *find_or_add(struct inits *inits, int32_t world_rank, uint64_t now_ns)
{
	struct absentee *absentee = find(inits, world_rank);
	if (absentee || inits->count == INITS_ABSENTEES)
		return absentee;
	absentee = &inits->absentees[inits->count++];
	*absentee = (struct absentee){ .world_rank = world_rank, .since_ns = now_ns };
	return absentee;
}

static void forget_process(struct absentee *absentee)
{
	process_free(absentee->seen.process);
	absentee->seen = (struct absent_process){ 0 };
}

void inits_free(struct inits *inits)
{
	for (uint32_t i = 0; i < inits->count; i++)
		forget_process(&inits->absentees[i]);
	inits->count = inits->asked_count = 0;
}

struct process *inits_process(struct inits *inits, analysis_process_id id)
{
	struct absentee *absentee = find(inits, (int32_t)(id & ~ANALYSIS_ABSENT_PROCESS));
	if (id < ANALYSIS_ABSENT_PROCESS || !absentee || !absentee->seen.pid)
		return NULL;
	struct absent_process *seen = &absentee->seen;
	if (!seen->process)
		seen->process = calloc(1, sizeof(*seen->process));
	if (!seen->process)
		return NULL;
	seen->process->id = id;
	seen->process->pid = seen->pid;
	seen->process->world_rank = absentee->world_rank;
	seen->process->exit_status = -1;
	seen->process->enqueue_tid = seen->tid;
	return seen->process;
}

/* What was seen of another process of that rank is of no matter. */
static void note_process(struct absentee *absentee, const struct analysis_absentee *seen)
{
	bool there = seen->pid && seen->absence != ANALYSIS_ABSENT_ENDED && seen->absence != ANALYSIS_ABSENT_NONE;
	if (absentee->seen.pid && (!there || absentee->seen.pid != seen->pid))
		forget_process(absentee);
	if (!there)
		return;
	absentee->seen.pid = seen->pid;
	absentee->seen.tid = seen->tid;
}

void inits_note(struct inits *inits, const struct analysis_absentee *seen, uint64_t now_ns)
{
	struct absentee *absentee = find_or_add(inits, seen->world_rank, now_ns);
	if (!absentee || absentee->dead)
		return;
	if (absentee->absence != seen->absence || now_ns > absentee->seen_ns + INIT_OBSERVED_NS)
		absentee->since_ns = now_ns;
	absentee->absence = seen->absence;
	absentee->pid = seen->pid;
	absentee->seen_ns = now_ns;
	note_process(absentee, seen);
}

/* One that ended in the very init that the others wait in. In boxes whose processes have all ended it is not known when
 * one that gave no sign of life ended, and none does before its first communicator: it may have waited as long as the
 * others. */
static const struct process *find_dead(const struct job *job, uint64_t init, int32_t world_rank, bool others_live)
{
	for (uint32_t i = 0; i < job->process_count; i++) {
		const struct process *process = job->processes[i];
		if (process->world_rank == world_rank && process_is_dead(process) &&
		    (others_live || process->heartbeat_ns) && process->init.since_ns && process->init.id == init)
			return process;
	}
	return NULL;
}

static void note_dead(struct inits *inits, const struct process *dead, uint64_t now_ns)
{
	struct absentee *absentee = find_or_add(inits, dead->world_rank, now_ns);
	if (!absentee)
		return;
	forget_process(absentee);
	absentee->dead = dead;
	absentee->absence = ANALYSIS_ABSENT_ENDED;
	absentee->pid = dead->pid;
	absentee->since_ns = dead->life_ns;
	absentee->seen_ns = now_ns;
}

static uint64_t due_since(const struct absentee *absentee, const struct gathering *gathering)
{
	return absentee->since_ns > gathering->since_ns ? absentee->since_ns : gathering->since_ns;
}

static bool is_due(const struct absentee *absentee, const struct gathering *gathering, uint64_t now_ns)
{
	uint64_t since_ns = due_since(absentee, gathering);
	if (now_ns > absentee->seen_ns + INIT_OBSERVED_NS || now_ns < since_ns)
		return false;
	return now_ns - since_ns >= init_finding_after_ns(absentee->absence);
}

/* A rank that has been in other communicators has a box, whose process the job knows: what its threads do is noted
 * there. */
static const struct process *boxed_process(const struct job *job, const struct absentee *absentee)
{
	for (uint32_t i = 0; i < job->process_count; i++) {
		const struct process *process = job->processes[i];
		if (process->world_rank == absentee->world_rank && process->pid == absentee->pid &&
		    !process_is_dead(process))
			return process;
	}
	return NULL;
}

/* The one that enqueued before, else the main thread. */
static uint32_t calling_thread(const struct process *process, const struct absentee *absentee)
{
	return process->enqueue_tid ? process->enqueue_tid : absentee->seen.tid;
}

/* What it has waited for since then, in the words of any other wait. NULL: nobody saw its threads. */
static const struct process *find_cause(const struct analysis *analysis, const struct absentee *absentee,
					uint64_t since_ns, uint64_t now_ns, struct cause *cause)
{
	const struct process *boxed = boxed_process(&analysis->job, absentee);
	const struct process *process = boxed ? boxed : absentee->seen.process;
	if (!process)
		return NULL;
	uint64_t kept_ns = evidence_since_ns(&process->evidence);
	const struct cause_window window = { kept_ns > since_ns ? kept_ns : since_ns, now_ns };
	cause_find(&analysis->intern, process, calling_thread(process, absentee), &window, 1, cause);
	cause->lost = losses_in(&analysis->losses, &window, 1);
	return cause->seen == RW_LEVEL_NONE ? NULL : process;
}

static bool add_cause(const struct analysis *analysis, const struct absentee *absentee,
		      const struct gathering *gathering, uint64_t now_ns, struct record *record)
{
	struct cause cause;
	const struct process *process = find_cause(analysis, absentee, due_since(absentee, gathering), now_ns, &cause);
	if (!process)
		return false;
	record_set_cause(record, &analysis->intern, process, &cause);
	bool enqueued = process != absentee->seen.process && process->enqueue_tid;
	if (process == absentee->seen.process && !gathering->split && !cause.fork_lock)
		init_finding_advise_first(record, cause.class_);
	record_add_missing(record, enqueued
				       ? "which of its threads has to call it: the one that enqueued before is assumed"
				       : "which of its threads has to call it: its main thread is assumed");
	return true;
}

static struct record *make_record(const struct analysis *analysis, const struct absentee *absentee,
				  const struct gathering *gathering, uint64_t now_ns)
{
	const struct job *job = &analysis->job;
	enum analysis_absence absence = absentee->absence;
	const struct process *first = job->processes[gathering->first];
	struct record *record = record_new_absent(job, init_finding_kind(absence), absentee->world_rank,
						  absentee->dead ? absentee->dead->host_name : first->host_name,
						  init_finding_has_process(absence) ? absentee->pid : 0);
	if (!record || init_finding_begin(record, absence, gathering, now_ns)) {
		record_free(record);
		return NULL;
	}
	record->subject = absent_subject | (uint32_t)absentee->world_rank;
	record->finding.level = absentee->dead ? RW_LEVEL_SELF : RW_LEVEL_PROC;
	record_set_watchdog(record, first, false, now_ns - gathering->begun_ns);
	bool seen = absence == ANALYSIS_ABSENT_IDLE && add_cause(analysis, absentee, gathering, now_ns, record);
	init_finding_end(record, absence, absentee->pid, gathering, seen);
	return record;
}

static void close_one(struct analysis *analysis, struct absentee *absentee, uint64_t now_ns)
{
	if (absentee->told)
		findings_close(&analysis->findings, absentee->kind, absent_subject | (uint32_t)absentee->world_rank,
			       now_ns);
	absentee->told = false;
}

/* Those who have come, or for whom nobody waits any more, are forgotten. */
static void forget(struct analysis *analysis, const int32_t *missing, size_t count, uint64_t now_ns)
{
	struct inits *inits = &analysis->inits;
	for (uint32_t i = 0; i < inits->count;) {
		if (is_among(missing, count, inits->absentees[i].world_rank)) {
			i++;
			continue;
		}
		close_one(analysis, &inits->absentees[i], now_ns);
		forget_process(&inits->absentees[i]);
		inits->absentees[i] = inits->absentees[--inits->count];
	}
}

/* It was told that there is no process, and there is one. */
static bool has_appeared(const struct absentee *absentee)
{
	static const bool without[] = { [ANALYSIS_ABSENT_NONE] = true, [ANALYSIS_ABSENT_ENDED] = true,
					[ANALYSIS_ABSENT_BUSY] = false };
	return absentee->told && without[absentee->told_absence] && !without[absentee->absence] &&
	       absentee->absence != ANALYSIS_ABSENT_UNKNOWN;
}

static void tell(struct analysis *analysis, struct absentee *absentee, const struct gathering *gathering,
		 uint64_t now_ns)
{
	if (has_appeared(absentee))
		close_one(analysis, absentee, now_ns);
	if (!is_due(absentee, gathering, now_ns))
		return;
	struct record *record = make_record(analysis, absentee, gathering, now_ns);
	if (!record)
		return;
	if (absentee->told && absentee->kind != record->finding.kind)
		close_one(analysis, absentee, now_ns);
	absentee->told = true;
	absentee->kind = record->finding.kind;
	absentee->told_absence = absentee->absence;
	findings_tell(&analysis->findings, record, now_ns);
}

static bool is_looked_at(const struct absentee *absentee, uint64_t now_ns)
{
	return absentee->seen.pid && now_ns <= absentee->seen_ns + INIT_OBSERVED_NS;
}

size_t inits_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room)
{
	size_t count = 0;
	for (uint32_t i = 0; i < analysis->inits.count; i++) {
		const struct absentee *absentee = &analysis->inits.absentees[i];
		if (!is_looked_at(absentee, analysis->now_ns))
			continue;
		const struct process *boxed = boxed_process(&analysis->job, absentee);
		if (count < room)
			suspects[count] = (struct analysis_suspect){
				.process = boxed ? boxed->id : analysis_absent_process(absentee->world_rank),
				.tid = boxed ? calling_thread(boxed, absentee) : absentee->seen.tid,
				.since_ns = absentee->since_ns,
			};
		count++;
	}
	return count;
}

/* The rank's place in the communicator that others split; NULL: no process of it with such a place lives here. */
static const struct member *asked_member(const struct job *job, const struct inits_asked *asked)
{
	for (uint32_t i = 0; i < job->process_count; i++) {
		const struct process *process = job->processes[i];
		if (process->world_rank != asked->world_rank || process_is_dead(process))
			continue;
		for (uint32_t k = 0; k < process->membership_count; k++)
			if (process->memberships[k].communicator &&
			    rw_message_parent(process->memberships[k].communicator->id) == asked->parent)
				return job_member_of(&process->memberships[k]);
	}
	return NULL;
}

/* False: of a rank that may be in that split without being seen there nothing is said. */
static bool begin_answer(const struct job *job, const struct inits_asked *asked, struct inits_answer *answer)
{
	const struct member *member = asked->parent ? asked_member(job, asked) : NULL;

	*answer = (struct inits_answer){ .world_rank = asked->world_rank, .generation = asked->generation,
					 .of = rw_message_split(asked->parent, asked->splits) };
	if (!asked->parent)
		return true;
	if (!member || !member->splits)
		return false;
	answer->pid = member->process->pid;
	answer->passed = (int16_t)(uint16_t)(member->splits - asked->splits) > 0;
	return true;
}

static bool fill_answer(const struct analysis *analysis, struct inits_answer *answer, uint64_t now_ns)
{
	for (uint32_t i = 0; i < analysis->inits.count; i++) {
		const struct absentee *absentee = &analysis->inits.absentees[i];
		if (absentee->world_rank != answer->world_rank || !is_looked_at(absentee, now_ns) || absentee->dead)
			continue;
		answer->pid = absentee->pid;
		answer->absence = absentee->absence;
		answer->since_ns = absentee->since_ns;
		answer->process = find_cause(analysis, absentee, absentee->since_ns, now_ns, &answer->cause);
		return true;
	}
	return false;
}

size_t inits_answers(const struct analysis *analysis, struct inits_answer answers[INITS_ABSENTEES], uint64_t now_ns)
{
	int32_t asked[INITS_ABSENTEES];
	size_t count = 0, asked_count = add_asked(analysis, asked, 0, INITS_ABSENTEES, now_ns);
	for (size_t i = 0; i < asked_count; i++) {
		struct inits_answer *answer = &answers[count];
		if (!begin_answer(&analysis->job, &analysis->inits.asked[asked_at(&analysis->inits, asked[i])], answer))
			continue;
		count += answer->passed || fill_answer(analysis, answer, now_ns);
	}
	return count;
}

static void tick(struct analysis *analysis, const struct gatherings *gatherings, uint64_t now_ns, bool others_live)
{
	int32_t missing[INITS_ABSENTEES];
	size_t count = find_all(analysis, gatherings, missing, INITS_ABSENTEES, now_ns);
	if (count > INITS_ABSENTEES)
		count = 0; /* so many are no single rank's affair */
	forget(analysis, missing, count, now_ns);
	for (size_t i = 0; i < count; i++) {
		const struct gathering *gathering = gatherings_without(gatherings, missing[i]);
		const struct process *dead =
		    gathering ? find_dead(&analysis->job, gathering->id, missing[i], others_live) : NULL;
		struct absentee *before = find(&analysis->inits, missing[i]);
		if (dead)
			note_dead(&analysis->inits, dead, now_ns);
		else if (before)
			before->dead = NULL; /* that was another init */
	}
	for (uint32_t i = 0; i < analysis->inits.count; i++) {
		struct absentee *absentee = &analysis->inits.absentees[i];
		const struct gathering *gathering = gatherings_without(gatherings, absentee->world_rank);
		if (gathering)
			tell(analysis, absentee, gathering, now_ns);
		else
			close_one(analysis, absentee, now_ns); /* it is only asked for */
	}
}

static bool tell_circle(struct analysis *analysis, const struct init_circle *circle, uint64_t now_ns)
{
	const struct gathering *first = circle->links[0].gathering;
	struct record *record = record_new(&analysis->job, RW_KIND_HANG, RW_SCOPE_JOB, NULL, 0);
	if (!record || init_finding_write_circle(record, circle, now_ns)) {
		record_free(record);
		return false;
	}
	record->subject = circle_subject;
	record->finding.level = RW_LEVEL_SELF;
	record_set_watchdog(record, analysis->job.processes[first->first], false, now_ns - first->begun_ns);
	findings_tell(&analysis->findings, record, now_ns);
	return true;
}

static void tick_circle(struct analysis *analysis, const struct gatherings *gatherings, uint64_t now_ns)
{
	struct init_circle circle;
	bool due = init_circle_find(gatherings, &circle) && now_ns >= circle.since_ns + INIT_AFTER_NS;
	if (due) {
		analysis->inits.circle_told |= tell_circle(analysis, &circle, now_ns);
	} else if (analysis->inits.circle_told) {
		findings_close(&analysis->findings, RW_KIND_HANG, circle_subject, now_ns);
		analysis->inits.circle_told = false;
	}
}

void inits_tick(struct analysis *analysis, uint64_t now_ns, bool others_live)
{
	struct gatherings gatherings;
	if (gatherings_look(&gatherings, &analysis->job, !others_live))
		return;
	tick(analysis, &gatherings, now_ns, others_live);
	tick_circle(analysis, &gatherings, now_ns);
	gatherings_free(&gatherings);
}
