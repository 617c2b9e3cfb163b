/* SPDX-License-Identifier: MIT */
#include "analysis/job/silence.h"

#include <stdio.h>
#include <string.h>

#include "analysis/job/told.h"

bool silence_went_on(const struct world *world, uint32_t host)
{
	uint64_t silent_ns = world_silent_since(&world->hosts[host]);

	for (uint32_t i = 0; i < world->comm_count; i++) {
		const struct world_comm *comm = world->comms[i];
		if (comm->fresh_row_ns < silent_ns + SILENCE_PROOF_NS)
			continue;
		for (uint32_t k = 0; k < comm->member_count; k++)
			if (world->ranks[comm->members[k].rank].host == host && !comm->members[k].left)
				return true;
	}
	return false;
}

/* With the first that was heard of it again. */
static bool was_started_anew(const struct world_host *host)
{
	return host->restarted && host->sender_ns == host->back_ns;
}

/* NULL: it is not refuted. */
static const char *refutation(const struct world *world, uint32_t at, uint64_t now_ns)
{
	const struct world_host *host = &world->hosts[at];

	if (!world_is_silent(host, now_ns))
		return was_started_anew(host)
			   ? ": the machine was started anew, and is heard again"
			   : " is heard again: it was its collector, or the way from it, that was lost";
	return silence_went_on(world, at) ? " sends nothing, but its ranks have gone on: its collector is lost" : NULL;
}

static void close_refuted(const struct world *world, struct open *open, struct findings *findings, uint32_t at,
			  const char *why, uint64_t now_ns)
{
	struct record *record = findings_over(findings, RW_KIND_GONE, TOLD_HOST | at);

	if (record)
		snprintf(record->text, sizeof(record->text), "host %s%s", world->hosts[at].name, why);
	open_close(open, findings, RW_KIND_GONE, TOLD_HOST | at, now_ns);
}

void silence_refute(struct world *world, struct open *open, struct findings *findings, uint64_t now_ns)
{
	for (uint32_t i = 0; i < world->host_count; i++) {
		struct world_host *host = &world->hosts[i];
		bool told = open_has(open, RW_KIND_GONE, TOLD_HOST | i);
		const char *why = told ? refutation(world, i, now_ns) : NULL;
		if (why)
			close_refuted(world, open, findings, i, why, now_ns);
		host->refuted |=
		    (why && !was_started_anew(host)) || (world_is_silent(host, now_ns) && silence_went_on(world, i));
	}
}
