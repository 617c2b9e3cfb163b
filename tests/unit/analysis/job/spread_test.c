/* SPDX-License-Identifier: MIT */
/* Whether a member stands out from the differences of all others, in drawn lanes: as if each of the others were looked at anew. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/spread.h"
#include "tests/unit/analysis/jobs/seeds.h"

enum { RANKS = 48, HOSTS = 12, LANES = 3, MEMBERS = 24 };

static struct drawn {
	struct world world;
	struct lanes lanes;
	struct world_rank ranks[RANKS];
	struct world_comm comms[LANES], *listed[LANES];
	struct world_member members[LANES][MEMBERS];
	struct lane of[LANES];
	struct lane_member lane_members[LANES][MEMBERS];
	struct suspect suspects[LANES][MEMBERS];
	uint32_t judged[LANES];
	uint64_t random;
} drawn;

static uint32_t draw(uint32_t below)
{
	drawn.random = drawn.random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(drawn.random >> 33) % below;
}

/* Most differ by a little, some by much, in either direction; some are known for a short time, and some late already. */
static void draw_member(uint32_t lane, uint32_t i, uint32_t rank)
{
	struct parts *parts = &drawn.lane_members[lane][i].parts;
	int base = draw(5) ? (int)draw(400) - 200 : (int)draw(12000) - 2000;

	drawn.members[lane][i].rank = rank;
	parts->count = (uint8_t)(draw(6) ? SPREAD_PARTS : draw(SPREAD_PARTS));
	for (uint32_t k = 0; k < SPREAD_PARTS; k++)
		parts->shares[k] = (int16_t)(base + (int)draw(100));
	drawn.suspects[lane][i].decided_ns = !draw(12);
}

static void draw_all(uint64_t seed)
{
	memset(&drawn, 0, sizeof(drawn));
	drawn.random = seed * 0x9e3779b97f4a7c15u;
	uint32_t hosts = 1 + draw(HOSTS), lanes = 1 + draw(LANES), from = 0;

	drawn.world = (struct world){ .ranks = drawn.ranks, .rank_room = RANKS, .rank_count = RANKS, .host_count = hosts, .comms = drawn.listed, .comm_count = lanes };
	drawn.lanes = (struct lanes){ .judged = drawn.judged, .count = lanes };
	for (uint32_t i = 0; i < RANKS; i++)
		drawn.ranks[i].host = draw(hosts);
	for (uint32_t lane = 0; lane < lanes; lane++) {
		uint32_t count = 1 + draw(RANKS / lanes < MEMBERS ? RANKS / lanes : MEMBERS);
		drawn.of[lane] = (struct lane){ .members = drawn.lane_members[lane], .room = count, .watched = { .suspects = drawn.suspects[lane], .suspect_count = count } };
		drawn.comms[lane] = (struct world_comm){ .index = lane, .members = drawn.members[lane], .member_count = count, .lane = &drawn.of[lane] };
		drawn.listed[lane] = &drawn.comms[lane];
		drawn.judged[lane] = lane;
		for (uint32_t i = 0; i < count; i++)
			draw_member(lane, i, from++);
	}
}

/* One member beside the others, lane by lane. */
struct walk {
	uint32_t parts, host, count, with, units, hosts;
	double late, others[RANKS];
	bool seen[HOSTS];
};

static void walk_lane(struct walk *walk, uint32_t lane, uint32_t but)
{
	uint32_t before = walk->count, hosts = walk->hosts;

	for (uint32_t i = 0; i < drawn.of[lane].room; i++) {
		uint32_t host = drawn.ranks[drawn.members[lane][i].rank].host;
		if (i == but || !parts_are_known(&drawn.lane_members[lane][i].parts, walk->parts) || lane_is_late(&drawn.of[lane], i))
			continue;
		double difference = parts_mean(&drawn.lane_members[lane][i].parts, walk->parts);
		if (host == walk->host && difference * 2 >= walk->late) {
			walk->with++;
			continue;
		}
		walk->hosts += host != walk->host && !walk->seen[host];
		walk->seen[host] = true;
		walk->others[walk->count++] = fabs(difference);
	}
	walk->units += walk->count - before - (walk->count > before);
	walk->hosts -= walk->hosts > hosts;
}

static bool stands_out(uint32_t lane, uint32_t member, uint32_t parts)
{
	struct walk walk = { .parts = parts, .host = drawn.ranks[drawn.members[lane][member].rank].host };
	uint32_t near = 0;

	if (!parts_are_known(&drawn.lane_members[lane][member].parts, parts))
		return false;
	walk.late = parts_mean(&drawn.lane_members[lane][member].parts, parts);
	walk_lane(&walk, lane, member);
	for (uint32_t i = 0; i < drawn.lanes.count; i++)
		if (i != lane)
			walk_lane(&walk, i, WORLD_NONE);
	uint32_t units = walk.with ? walk.hosts : walk.units;
	if (walk.late <= 0 || !units)
		return false;
	double beyond = fmax(pow(SPREAD_CHANCE, -1.0 / units), SPREAD_BEYOND);
	for (uint32_t i = 0; i < walk.count; i++)
		near += walk.others[i] * beyond > walk.late;
	return near <= walk.count / SPREAD_AS_LATE;
}

Test(spread, of_members_put_in_order_once_says_what_a_look_at_each_says)
{
	uint32_t asked = 0, exceeded = 0;

	for (uint64_t seed = 1; seed <= seeds(20000); seed++) {
		draw_all(seed);
		for (uint32_t lane = 0; lane < drawn.lanes.count; lane++) {
			struct spread spread = { .lanes = &drawn.lanes, .world = &drawn.world, .comm = &drawn.comms[lane] };
			for (uint32_t i = 0; i < drawn.of[lane].room; i++) {
				if (lane_is_late(&drawn.of[lane], i))
					continue;
				bool right = stands_out(lane, i, SPREAD_PARTS) || stands_out(lane, i, SPREAD_PARTS / 2);
				cr_assert_eq(spread_is_exceeded(&spread, i), right, "seed %lu, lane %u, member %u", (unsigned long)seed, lane, i);
				asked++;
				exceeded += right;
			}
			spread_forget(&spread);
		}
	}
	cr_expect_gt(exceeded * 100, asked, "%u of %u stand out", exceeded, asked);
	cr_expect_lt(exceeded * 2, asked, "%u of %u stand out", exceeded, asked);
}
