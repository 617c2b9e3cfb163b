/* SPDX-License-Identifier: MIT */
#include "analysis/expiry.h"

#include "analysis/model.h"
#include "analysis/known/usual.h"

static const uint64_t look_every_ns = 1000000000;

static bool has_ended(const struct communicator *communicator)
{
	for (uint32_t i = 0; i < communicator->member_count; i++)
		if (!communicator->members[i].ended)
			return false;
	return true;
}

static bool is_suspects_last(const struct stragglers *stragglers, const struct communicator *communicator)
{
	for (uint32_t i = 0; i < stragglers->suspect_count; i++)
		if (stragglers->suspects[i].last.communicator == communicator ||
		    stragglers->suspects[i].intermittent->instance.communicator == communicator)
			return true;
	return false;
}

static bool has_trend(const struct usual_table *usual)
{
	return usual && (usual->trend_place[0] || usual->trend_place[1]);
}

static bool has_any_trend(const struct communicator *communicator)
{
	bool any = has_trend(communicator->usual_replays);

	for (uint32_t i = 0; i < communicator->member_count; i++)
		any |= has_trend(communicator->members[i].usual);
	return any;
}

static bool is_due(const struct analysis *analysis, struct communicator *communicator, uint64_t now_ns)
{
	if (!has_ended(communicator)) {
		communicator->ended_ns = 0;
		return false;
	}
	if (!communicator->ended_ns)
		communicator->ended_ns = now_ns;
	return now_ns >= communicator->ended_ns + EXPIRY_KEEP_NS && !has_any_trend(communicator) &&
	       !is_suspects_last(&analysis->stragglers, communicator);
}

static uint64_t entries_of(const struct usual_table *usual)
{
	return usual ? usual->entries : 0;
}

static void give_back(struct analysis *analysis, struct communicator *communicator)
{
	analysis->usual_entries -= entries_of(communicator->usual_replays);
	for (uint32_t i = 0; i < communicator->member_count; i++)
		analysis->usual_entries -= entries_of(communicator->members[i].usual);
	instances_forget(&analysis->instances, communicator);
	communicator_free(communicator);
}

void expiry_tick(struct analysis *analysis, uint64_t now_ns)
{
	struct job *job = &analysis->job;
	uint32_t kept = 0;

	if (analysis->post_mortem || now_ns < analysis->expiry_looked_ns + look_every_ns)
		return;
	analysis->expiry_looked_ns = now_ns;
	for (uint32_t i = 0; i < job->communicator_count; i++) {
		struct communicator *communicator = job->communicators[i];
		if (is_due(analysis, communicator, now_ns) &&
		    transfers_drop(&analysis->transfers, communicator->index)) {
			job_leave_communicator(communicator);
			give_back(analysis, communicator);
		} else {
			job->communicators[kept++] = communicator;
		}
	}
	job->communicator_count = kept;
}
