/* SPDX-License-Identifier: MIT */
#include "analysis/circle.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/hang_verdict.h"
#include "analysis/model.h"
#include "analysis/naming.h"
#include "analysis/text.h"

/* Nobody's rank: the finding names none. */
#define SUBJECT JOB_NONE

enum { NOT_MET, MET };

static bool stands_in(const struct instance *instance, uint32_t rank)
{
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		if (instance->communicator->members[i].rank == rank)
			return instance_concerns(instance, i) && waiting_stands(instance, i);
	return false;
}

/* Where the rank has waited longest; NULL where it waits nowhere, or for nobody: what all have come to may still end. */
static const struct standing *where_it_waits(const struct waiting *waiting, uint32_t rank)
{
	const struct standing *oldest = NULL;

	for (size_t i = 0; i < waiting->count; i++) {
		const struct standing *standing = &waiting->standings[i];
		if (!standing->since_ns || !stands_in(standing->instance, rank))
			continue;
		if (!standing->missing)
			return NULL;
		if (!oldest || standing->since_ns < oldest->since_ns)
			oldest = standing;
	}
	return oldest;
}

/* Of those it waits for, one that lives and waits, too. JOB_NONE: none. */
static uint32_t whom_it_awaits(const struct waiting *waiting, const struct standing *standing)
{
	const struct communicator *communicator = standing->instance->communicator;

	for (uint32_t i = 0; i < communicator->member_count; i++)
		if (waiting_misses(standing->instance, i) && waiting->blocked[communicator->members[i].rank] &&
		    communicator->members[i].process->life == ANALYSIS_ALIVE)
			return communicator->members[i].rank;
	return JOB_NONE;
}

/* From this rank on, over ranks that were not met; those that are left of the way lead into the circle, and are no part of it. */
static bool walk(const struct waiting *waiting, uint32_t rank, uint8_t *met, struct circle *circle)
{
	circle->count = 0;
	while (rank != JOB_NONE && circle->count < CIRCLE_RANKS_MAX) {
		for (uint32_t i = 0; i < circle->count; i++) {
			if (circle->links[i].rank != rank)
				continue;
			circle->count -= i;
			memmove(circle->links, &circle->links[i], circle->count * sizeof(circle->links[0]));
			return true;
		}
		const struct standing *standing = met[rank] ? NULL : where_it_waits(waiting, rank);
		met[rank] = MET;
		if (!standing)
			return false;
		circle->links[circle->count++] = (struct circle_link){ rank, standing };
		rank = whom_it_awaits(waiting, standing);
	}
	return false;
}

static void begin_with_lowest(struct circle *circle)
{
	struct circle_link turned[CIRCLE_RANKS_MAX];
	uint32_t lowest = 0;

	for (uint32_t i = 1; i < circle->count; i++)
		if (circle->links[i].rank < circle->links[lowest].rank)
			lowest = i;
	for (uint32_t i = 0; i < circle->count; i++)
		turned[i] = circle->links[(lowest + i) % circle->count];
	memcpy(circle->links, turned, circle->count * sizeof(turned[0]));
	circle->since_ns = 0;
	for (uint32_t i = 0; i < circle->count; i++)
		if (circle->links[i].standing->since_ns > circle->since_ns)
			circle->since_ns = circle->links[i].standing->since_ns;
}

bool circle_find(const struct waiting *waiting, const struct job *job, struct circle *circle)
{
	uint8_t *met = calloc(job->rank_count + 1, sizeof(*met));
	bool found = false;

	for (uint32_t rank = 0; met && rank < job->rank_count && !found; rank++)
		if (waiting->blocked[rank] && met[rank] == NOT_MET)
			found = walk(waiting, rank, met, circle);
	free(met);
	if (found)
		begin_with_lowest(circle);
	return found && circle->count > 1;
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

static void write_text(struct record *record, const struct job *job, const struct circle *circle)
{
	struct text_circle_link links[TEXT_CIRCLE_LINKS];

	for (uint32_t i = 0; i < circle->count && i < TEXT_CIRCLE_LINKS; i++) {
		const struct instance *instance = circle->links[i].standing->instance;
		links[i] = (struct text_circle_link){
			.rank = job->ranks[circle->links[i].rank].world,
			.awaited = job->ranks[circle->links[(i + 1) % circle->count].rank].world,
			.function = instance->function,
			.sequence = instance->sequence,
		};
		naming_communicator(links[i].comm_name, sizeof(links[i].comm_name), job, instance->communicator);
	}
	text_circle(record, links, circle->count);
}

static struct record *make_record(const struct analysis *analysis, const struct circle *circle, enum rw_severity severity,
				  uint64_t now_ns)
{
	uint32_t ranks[CIRCLE_RANKS_MAX];
	struct record *record = record_new(&analysis->job, RW_KIND_HANG, RW_SCOPE_JOB, NULL, 0);

	if (!record)
		return NULL;
	for (uint32_t i = 0; i < circle->count; i++)
		ranks[i] = circle->links[i].rank;
	if (record_set_waiting(record, &analysis->job, ranks, circle->count)) {
		record_free(record);
		return NULL;
	}
	struct rw_finding *finding = &record->finding;
	const struct instance *first = circle->links[0].standing->instance;
	record->subject = SUBJECT;
	finding->severity = severity;
	finding->confidence = RW_INCONCLUSIVE;
	finding->arrival = RW_ARRIVAL_GPU;
	finding->first_seen_ns = circle->since_ns;
	finding->detect_ms = (double)(now_ns - circle->since_ns) / 1e6;
	finding->late.present = true;
	finding->late.by_ms = finding->detect_ms;
	record_set_operation(record, &analysis->job, first, RW_PHASE_RUNNING);
	record_set_watchdog(record, analysis->job.ranks[ranks[0]].process, analysis->stragglers.first_step != 0,
			    now_ns - circle->since_ns);
	write_text(record, &analysis->job, circle);
	return record;
}

bool circle_tick(struct analysis *analysis, const struct waiting *waiting, bool is_blamed, uint64_t now_ns)
{
	struct hangs *hangs = &analysis->hangs;
	uint64_t after_ns = hang_verdict_after(analysis);
	struct circle circle;
	bool found = !is_blamed && waiting->count && circle_find(waiting, &analysis->job, &circle) &&
		     !is_told_otherwise(&circle) && now_ns >= circle.since_ns + after_ns && is_still(&analysis->job, &circle, now_ns);

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
