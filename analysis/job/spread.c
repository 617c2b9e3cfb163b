/* SPDX-License-Identifier: MIT */
#include "analysis/job/spread.h"

#include <math.h>
#include <stdlib.h>

/* One member beside all others that are known. */
struct spread {
	const struct world *world;
	uint32_t parts, host;
	double late;       /* share of the time */
	bool *seen;        /* by host */
	double *others;    /* how much each differs from what is usual, either way; a share of the time */
	uint32_t count;
	uint32_t with;     /* of its host: as late as it is */
	uint32_t units, hosts; /* others, and other hosts, without the one of each lane that is the median: it differs from nothing */
};

static void note(struct spread *spread, const struct lane *lane, uint32_t member, uint32_t host)
{
	double difference = parts_mean(&lane->members[member].parts, spread->parts);

	if (host == spread->host && difference * 2 >= spread->late) {
		spread->with++;
		return;
	}
	spread->hosts += host != spread->host && !spread->seen[host];
	spread->seen[host] = true;
	spread->others[spread->count++] = fabs(difference);
}

static void note_lane(struct spread *spread, const struct world_comm *comm, uint32_t but)
{
	const struct lane *lane = comm->lane;
	uint32_t before = spread->count, hosts = spread->hosts;

	for (uint32_t i = 0; i < lane->room && spread->count < spread->world->rank_room; i++)
		if (i != but && parts_are_known(&lane->members[i].parts, spread->parts) && !lane_is_late(lane, i))
			note(spread, lane, i, spread->world->ranks[comm->members[i].rank].host);
	spread->units += spread->count - before - (spread->count > before);
	spread->hosts -= spread->hosts > hosts;
}

static bool is_beyond(const struct spread *spread)
{
	uint32_t units = spread->with ? spread->hosts : spread->units, near = 0;

	if (!units)
		return false;
	double beyond = fmax(pow(SPREAD_CHANCE, -1.0 / units), SPREAD_BEYOND);
	for (uint32_t i = 0; i < spread->count; i++)
		near += spread->others[i] * beyond > spread->late;
	return near <= spread->count / SPREAD_AS_LATE;
}

static bool stands_out(const struct lanes *lanes, const struct world *world, const struct world_comm *comm, uint32_t member, uint32_t parts)
{
	struct spread spread = { .world = world, .parts = parts, .host = world->ranks[comm->members[member].rank].host };
	bool beyond = false;

	if (!parts_are_known(&comm->lane->members[member].parts, parts))
		return false;
	spread.late = parts_mean(&comm->lane->members[member].parts, parts);
	spread.seen = calloc(world->host_count + 1, sizeof(*spread.seen));
	spread.others = calloc(world->rank_room + 1, sizeof(*spread.others));
	if (spread.seen && spread.others && spread.late > 0) {
		note_lane(&spread, comm, member);
		for (uint32_t i = 0; i < lanes->count; i++)
			if (world->comms[lanes->judged[i]] != comm)
				note_lane(&spread, world->comms[lanes->judged[i]], WORLD_NONE);
		beyond = is_beyond(&spread);
	}
	free(spread.seen);
	free(spread.others);
	return beyond;
}

bool spread_is_exceeded(const struct lanes *lanes, const struct world *world, const struct world_comm *comm, uint32_t member)
{
	for (uint32_t parts = SPREAD_PARTS; parts > 1; parts /= 2)
		if (stands_out(lanes, world, comm, member, parts))
			return true;
	return false;
}
