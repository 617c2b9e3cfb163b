/* SPDX-License-Identifier: MIT */
#include "analysis/hang/circle.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/hang/hang_verdict.h"
#include "analysis/model.h"
#include "analysis/report/naming.h"
#include "analysis/report/text.h"

/* Nobody's rank: the finding names none. */
#define SUBJECT JOB_NONE

static bool stands_in(const struct instance *instance, uint32_t rank)
{
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		if (instance->communicator->members[i].rank == rank)
			return instance_concerns(instance, i) && waiting_stands(instance, i);
	return false;
}

/* Where the rank has waited longest; NULL where it waits nowhere, or for nobody: what all have come to may still end,
 * unless it was called in one group with a Send or Recv that has no other end. */
static const struct standing *where_it_waits(const struct waiting *waiting, uint32_t rank)
{
	const struct standing *oldest = NULL;

	for (size_t i = 0; i < waiting->count; i++) {
		const struct standing *standing = &waiting->standings[i];
		if (!standing->since_ns || !stands_in(standing->instance, rank))
			continue;
		if (!standing->missing && waiting_is_tied(standing->instance))
			continue;
		if (!standing->missing)
			return NULL;
		if (!oldest || standing->since_ns < oldest->since_ns)
			oldest = standing;
	}
	return oldest;
}

/* Of those it waits for, one that lives and waits, too. CIRCLE_NOBODY: none. */
static uint32_t whom_it_awaits(const struct waiting *waiting, const struct standing *standing)
{
	const struct communicator *communicator = standing->instance->communicator;

	for (uint32_t i = 0; i < communicator->member_count; i++)
		if (waiting_misses(standing->instance, i) && waiting->blocked[communicator->members[i].rank] &&
		    communicator->members[i].process->life == ANALYSIS_ALIVE)
			return communicator->members[i].rank;
	return CIRCLE_NOBODY;
}

/* CIRCLE_NOBODY: for none that waits, too. */
static uint32_t whom_the_rank_awaits(const void *argument, uint32_t rank)
{
	const struct waiting *waiting = argument;
	const struct standing *standing = where_it_waits(waiting, rank);

	return standing ? whom_it_awaits(waiting, standing) : CIRCLE_NOBODY;
}

bool circle_find(const struct waiting *waiting, const struct job *job, struct circle *circle)
{
	bool *met = calloc(job->rank_count + 1, sizeof(*met));
	uint32_t ranks[CIRCLE_RANKS_MAX];

	*circle = (struct circle){ 0 };
	for (uint32_t rank = 0; met && rank < job->rank_count && circle->count < 2; rank++)
		if (waiting->blocked[rank])
			circle->count = circle_walk(rank, whom_the_rank_awaits, waiting, met, ranks);
	free(met);
	for (uint32_t i = 0; i < circle->count; i++) {
		const struct standing *standing = where_it_waits(waiting, ranks[i]);
		circle->links[i] = (struct circle_link){ ranks[i], standing };
		if (standing->since_ns > circle->since_ns)
			circle->since_ns = standing->since_ns;
	}
	return circle->count > 1;
}

/* Where calls differ on a communicator, that is why, and is told. */
static bool is_told_otherwise(const struct circle *circle)
{
	for (uint32_t i = 0; i < circle->count; i++)
		if (circle->links[i].standing->instance->communicator->desync_told)
			return true;
	return false;
}

/* Have the GPUs of all done nothing since? Another stream of one may still lead to what the others wait for. */
static bool is_still(const struct job *job, const struct circle *circle, uint64_t now_ns)
{
	for (uint32_t i = 0; i < circle->count; i++)
		if (now_ns < job->ranks[circle->links[i].rank].process->gpu_moved_ns + HANG_PROGRESS_WINDOW_NS)
			return false;
	return true;
}

/* Of a transfer between two, which end of it the rank is. */
static uint8_t function_of(const struct instance *instance, uint32_t rank)
{
	const struct communicator *communicator = instance->communicator;

	for (uint32_t i = 0; instance_is_point_to_point(instance) && i < communicator->member_count; i++)
		if (communicator->members[i].rank == rank)
			return communicator->members[i].comm_rank == instance->source ? RW_FUNCTION_SEND
										      : RW_FUNCTION_RECV;
	return instance->function;
}

static void write_text(struct record *record, const struct job *job, const struct circle *circle)
{
	struct text_circle_link links[TEXT_CIRCLE_LINKS];

	for (uint32_t i = 0; i < circle->count && i < TEXT_CIRCLE_LINKS; i++) {
		const struct instance *instance = circle->links[i].standing->instance;
		uint32_t rank = circle->links[i].rank;
		links[i] = (struct text_circle_link){
			.rank = job->ranks[rank].world,
			.awaited = job->ranks[circle->links[(i + 1) % circle->count].rank].world,
			.function = function_of(instance, rank),
			.sequence = instance->sequence,
		};
		naming_communicator(links[i].comm_name, sizeof(links[i].comm_name), job, instance->communicator);
	}
	text_circle(record, links, circle->count);
}

static bool has_rank(const struct communicator *communicator, uint32_t rank)
{
	for (uint32_t i = 0; i < communicator->member_count; i++)
		if (communicator->members[i].rank == rank)
			return true;
	return false;
}

/* The two operations of a circle in which all ranks of two communicators stand, each rank in one of them. */
struct crossing {
	const struct instance *usual, *other; /* where all but one stand, and where that one does */
	uint32_t odd, waiting_count;
	uint32_t *waiting; /* those who stand in `usual`; the caller frees */
};

/* One of three ranks or more has another order than all others: it is likely to be the one that left it. What is only
 * noted may still end by itself. */
static bool find_crossing(const struct circle *circle, struct crossing *crossing, enum rw_severity severity)
{
	const struct instance *one = circle->links[0].standing->instance, *other = circle->links[1].standing->instance;
	const struct communicator *communicator = one->communicator;
	uint32_t counts[2] = { 0 }, last[2] = { 0 }, all = communicator->member_count;

	*crossing = (struct crossing){ 0 };
	if (severity == RW_NOTICE || circle->count != 2 || communicator == other->communicator || all < 3 ||
	    other->communicator->member_count != all || job_unseen(communicator) || instance_is_point_to_point(one) ||
	    instance_is_point_to_point(other))
		return false;
	for (uint32_t i = 0; i < all; i++) {
		uint32_t rank = communicator->members[i].rank;
		bool in_other = stands_in(other, rank);
		if (in_other == stands_in(one, rank) || !has_rank(other->communicator, rank))
			return false;
		counts[in_other]++;
		last[in_other] = rank;
	}
	bool swapped = counts[0] == 1;
	if (counts[0] != 1 && counts[1] != 1)
		return false;
	crossing->waiting = calloc(all, sizeof(*crossing->waiting));
	crossing->odd = last[!swapped];
	crossing->usual = swapped ? other : one;
	crossing->other = swapped ? one : other;
	for (uint32_t i = 0; crossing->waiting && i < all; i++)
		if (communicator->members[i].rank != crossing->odd)
			crossing->waiting[crossing->waiting_count++] = communicator->members[i].rank;
	return crossing->waiting;
}

static void write_crossing(struct record *record, const struct job *job, const struct crossing *crossing)
{
	struct text_circle_link link = {
		.rank = job->ranks[crossing->odd].world,
		.function = crossing->other->function,
		.sequence = crossing->other->sequence,
	};

	naming_communicator(link.comm_name, sizeof(link.comm_name), job, crossing->other->communicator);
	text_crossing(record, &link);
}

/* Names the one that has another order than all others, or nobody. */
static struct record *new_record(const struct analysis *analysis, const struct circle *circle,
				 const struct crossing *crossing)
{
	const struct job *job = &analysis->job;
	uint32_t ranks[CIRCLE_RANKS_MAX];
	bool odd = crossing->waiting;
	struct record *record =
	    record_new(job, RW_KIND_HANG, odd ? RW_SCOPE_RANK : RW_SCOPE_JOB, odd ? &crossing->odd : NULL, odd ? 1 : 0);

	for (uint32_t i = 0; i < circle->count; i++)
		ranks[i] = circle->links[i].rank;
	if (record && record_set_waiting(record, job, odd ? crossing->waiting : ranks,
					 odd ? crossing->waiting_count : circle->count)) {
		record_free(record);
		return NULL;
	}
	return record;
}

static struct record *make_record(const struct analysis *analysis, const struct circle *circle,
				  enum rw_severity severity, uint64_t now_ns)
{
	struct crossing crossing;
	bool odd = find_crossing(circle, &crossing, severity);
	struct record *record = new_record(analysis, circle, &crossing);

	free(crossing.waiting);
	if (!record)
		return NULL;
	struct rw_finding *finding = &record->finding;
	const struct instance *first = odd ? crossing.usual : circle->links[0].standing->instance;
	const struct process *watchdog = analysis->job.ranks[circle->links[0].rank].process;
	record->subject = SUBJECT;
	finding->standing = RW_STANDING_CIRCLE;
	finding->severity = severity;
	finding->confidence = odd ? RW_LIKELY : RW_INCONCLUSIVE;
	finding->arrival = RW_ARRIVAL_GPU;
	finding->first_seen_ns = circle->since_ns;
	finding->detect_ms = (double)(now_ns - circle->since_ns) / 1e6;
	finding->late.present = true;
	finding->late.by_ms = finding->detect_ms;
	record_set_operation(record, &analysis->job, first, RW_PHASE_RUNNING);
	record_set_watchdog(record, watchdog, analysis->stragglers.first_step != 0, now_ns - circle->since_ns);
	if (odd)
		write_crossing(record, &analysis->job, &crossing);
	else
		write_text(record, &analysis->job, circle);
	return record;
}

bool circle_tick(struct analysis *analysis, const struct waiting *waiting, bool is_blamed, uint64_t now_ns)
{
	struct hangs *hangs = &analysis->hangs;
	uint64_t after_ns = hang_verdict_after(analysis);
	struct circle circle;
	bool found = !is_blamed && waiting->count && circle_find(waiting, &analysis->job, &circle) &&
		     !is_told_otherwise(&circle) && now_ns >= circle.since_ns + after_ns &&
		     is_still(&analysis->job, &circle, now_ns);

	if (!found) {
		if (hangs->circle_told)
			findings_close(&analysis->findings, RW_KIND_HANG, SUBJECT, now_ns);
		return hangs->circle_told = false;
	}
	bool warned = now_ns - circle.since_ns >= (after_ns > HANG_TRANSFER_NS ? after_ns : HANG_TRANSFER_NS);
	struct record *record = make_record(analysis, &circle, warned ? RW_WARNING : RW_NOTICE, now_ns);
	if (!record)
		return hangs->circle_told;
	findings_tell(&analysis->findings, record, now_ns);
	return hangs->circle_told = true;
}
