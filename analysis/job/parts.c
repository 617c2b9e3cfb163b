/* SPDX-License-Identifier: MIT */
#include "analysis/job/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/lanes.h"
#include "analysis/numbers/sorting.h"

static const float forgets = 1 / 32.0f;

/* By which share of the time a member was late in each of the newest parts; negative: early. */
struct minute {
	double shares[LATE_LEVEL_PARTS];
};

/* One member beside all others. */
struct weighing {
	const struct world *world;
	struct minute member;
	uint32_t host, together; /* together: so many parts are taken as one */
	bool *seen;            /* by host */
	uint32_t others, near; /* others, and those of them that it is not far from */
	uint32_t hosts, beside; /* other hosts, and those of them in its own lane */
	uint32_t with, mates;  /* of its host: those that are as late, and the others */
	uint32_t most;         /* with more than so many near it is not beyond the others, however many these are */
};

void parts_note(struct parts *parts, double own, double inside, double uneven_us)
{
	parts->own += (float)own;
	parts->inside += (float)inside;
	parts->ragged_us += ((float)fabs(uneven_us) - parts->ragged_us) * forgets;
	parts->known++;
}

static void end_part(struct parts *parts, uint32_t cuts)
{
	bool known = (uint32_t)parts->known * 3 >= cuts * PARTS_KNOWN;

	float share = known ? (float)late_level_either_way(parts->own, parts->inside) / parts->known / (float)PARTS_UNIT : 0;

	memmove(&parts->shares[1], &parts->shares[0], (PARTS_KEPT - 1) * sizeof(parts->shares[0]));
	parts->shares[0] = (int16_t)fmaxf(fminf(share, INT16_MAX), INT16_MIN);
	parts->count = !known ? 0 : parts->count < PARTS_KEPT ? parts->count + 1 : PARTS_KEPT;
	parts->own = parts->inside = 0;
	parts->known = 0;
}

bool parts_end_cut(struct lane *lane)
{
	lane->part.cuts++;
	lane->part.lasted_s += lane->lasted_s;
	/* Cuts of no length do not occur; `known` must not overflow if they do. */
	if (lane->part.cuts < PARTS_CUTS || (lane->part.lasted_s < PARTS_S && lane->part.cuts < UINT8_MAX))
		return false;
	for (uint32_t i = 0; i < lane->room; i++)
		end_part(&lane->members[i].parts, lane->part.cuts);
	lane->part = (struct parts_clock){ 0 };
	return true;
}

void parts_forget(struct parts *parts)
{
	*parts = (struct parts){ .ragged_us = parts->ragged_us };
}

double parts_share(const struct parts *parts)
{
	double sum = 0;

	for (uint32_t i = 0; parts->count >= LATE_LEVEL_PARTS && i < LATE_LEVEL_PARTS; i++)
		sum += parts->shares[i] * PARTS_UNIT;
	return fmax(sum / LATE_LEVEL_PARTS, 0);
}

bool parts_are_known(const struct parts *parts, uint32_t count)
{
	return parts->count >= count;
}

double parts_mean(const struct parts *parts, uint32_t count)
{
	double sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += parts->shares[i] * PARTS_UNIT;
	return sum / count;
}

static bool is_known(const struct lane *lane, uint32_t member, uint32_t together)
{
	return member < lane->room && lane->members[member].parts.count >= together * LATE_LEVEL_PARTS;
}

static struct minute minute_of(const struct lane *lane, uint32_t member, uint32_t together)
{
	const int16_t *shares = lane->members[member].parts.shares;
	struct minute minute = { 0 };

	for (uint32_t i = 0; i < together * LATE_LEVEL_PARTS; i++)
		minute.shares[i / together] += shares[i] * PARTS_UNIT / together;
	return minute;
}

static double least_of(const struct minute *minute)
{
	double least = minute->shares[0];

	for (int i = 1; i < LATE_LEVEL_PARTS; i++)
		least = fmin(least, minute->shares[i]);
	return least;
}

/* In each part so many times as late as the other one was late or early in any. */
static bool is_far_from(const struct minute *member, const struct minute *other)
{
	for (int i = 0; i < LATE_LEVEL_PARTS; i++)
		if (fabs(other->shares[i]) * LATE_LEVEL_BEYOND > least_of(member))
			return false;
	return true;
}

static void weigh(struct weighing *weighing, const struct world_comm *comm, uint32_t other)
{
	uint32_t host = weighing->world->ranks[comm->members[other].rank].host;
	struct minute other_minute = minute_of(comm->lane, other, weighing->together);
	bool near = !is_far_from(&weighing->member, &other_minute);

	if (host == weighing->host && near && least_of(&other_minute) * 2 >= least_of(&weighing->member)) {
		weighing->with++;
		return;
	}
	weighing->mates += host == weighing->host;
	weighing->hosts += host != weighing->host && !weighing->seen[host];
	weighing->seen[host] = true;
	weighing->others++;
	weighing->near += near;
}

/* `member`: WORLD_NONE where it is of another lane. The member that is the median, and its host, differ from nothing,
 * and show nothing. */
static void weigh_lane(struct weighing *weighing, const struct world_comm *comm, uint32_t member)
{
	uint32_t before = weighing->others, hosts = weighing->hosts;

	for (uint32_t i = 0; i < comm->member_count && weighing->near <= weighing->most; i++)
		if (i != member && is_known(comm->lane, i, weighing->together))
			weigh(weighing, comm, i);
	if (member != WORLD_NONE)
		weighing->beside = weighing->hosts;
	weighing->others -= weighing->others > before;
	weighing->hosts -= weighing->hosts > hosts;
}

static void weigh_all(struct weighing *weighing, const struct lanes *lanes, const struct world_comm *comm, uint32_t member)
{
	weigh_lane(weighing, comm, member);
	if (weighing->others >= PARTS_ENOUGH)
		return;
	for (uint32_t i = 0; i < lanes->count && weighing->near <= weighing->most; i++) {
		const struct world_comm *other = weighing->world->comms[lanes->judged[i]];
		if (other != comm)
			weigh_lane(weighing, other, WORLD_NONE);
	}
}

static bool is_beyond(const struct weighing *weighing)
{
	uint32_t units = weighing->with ? weighing->hosts : weighing->others;

	/* Some of a host's ranks, and not all: that is no host, and no rank. Of two hosts it is not known which one
	 * differs. */
	if (weighing->with && (weighing->mates || weighing->beside + 1 < PARTS_MEMBERS))
		return false;
	return units >= PARTS_OTHERS && weighing->near <= weighing->others / PARTS_AS_LATE;
}

/* Times at which it looks at its GPU that depend on what it waits for make waits look like work. Then it sees ends at
 * other times than the others do, too. */
static bool is_ragged(const struct lane *lane, uint32_t member, uint32_t together)
{
	uint64_t *values = calloc(lane->room, sizeof(*values));
	uint32_t count = 0;

	for (uint32_t i = 0; values && i < lane->room; i++)
		if (is_known(lane, i, together))
			values[count++] = (uint64_t)lane->members[i].parts.ragged_us;
	if (count)
		sort_u64(values, count);
	double usual_us = count ? (double)values[count / 2] : 0;
	free(values);
	return !count || (double)lane->members[member].parts.ragged_us > PARTS_RAGGED * usual_us + PARTS_RAGGED_US;
}

static bool has_members(const struct lane *lane, uint32_t together)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < lane->room && count < PARTS_MEMBERS; i++)
		count += is_known(lane, i, together);
	return count == PARTS_MEMBERS;
}

static bool show_late(const struct lanes *lanes, const struct world *world, const struct world_comm *comm, uint32_t member, uint32_t together)
{
	const struct lane *lane = comm->lane;

	if (!is_known(lane, member, together))
		return false;
	struct weighing weighing = {
		.world = world, .member = minute_of(lane, member, together), .host = world->ranks[comm->members[member].rank].host,
		.together = together,
		.most = (comm->member_count > PARTS_ENOUGH ? comm->member_count : world->rank_count) / PARTS_AS_LATE,
	};
	if (least_of(&weighing.member) < LATE_LEVEL_SHARE || !has_members(lane, together))
		return false;
	weighing.seen = calloc(world->host_count + 1, sizeof(*weighing.seen));
	if (!weighing.seen)
		return false;
	weigh_all(&weighing, lanes, comm, member);
	free(weighing.seen);
	return is_beyond(&weighing) && !is_ragged(lane, member, together);
}

bool parts_show_late(const struct lanes *lanes, const struct world *world, const struct world_comm *comm, uint32_t member)
{
	for (uint32_t together = 1; together <= PARTS_TOGETHER; together *= 2)
		if (show_late(lanes, world, comm, member, together))
			return true;
	return false;
}
