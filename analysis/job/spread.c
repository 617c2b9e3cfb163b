/* SPDX-License-Identifier: MIT */
#include "analysis/job/spread.h"

#include <math.h>
#include <stdlib.h>

#include "analysis/numbers/sorting.h"

/* A member of some lane that is known, and not late. */
struct known {
	double difference; /* from what is usual, a share of the time; negative: it is early */
	uint32_t lane, member, host; /* lane: of lanes->judged */
};

/* All of them. Of each lane one is not counted, and none of its hosts: the one that is the median differs from
 * nothing. */
struct spread_order {
	uint32_t own;           /* the lane of the cut */
	struct known *known;
	double *sizes;          /* of their differences, either way, ascending */
	uint32_t count;
	uint32_t *of_lane, units;        /* how many of each lane; and of all */
	uint32_t *fresh, *first, hosts;  /* hosts that no lane before has; by host: the lane that has it first; and how many of all */
	uint32_t *by_host, *begins;      /* indexes into known, host by host; where each host's begin, and the last one's end */
};

/* One member beside all others. */
struct spread_one {
	uint32_t member, host;
	double late;
	uint32_t with; /* of its host: as late as it is */
};

static void free_order(struct spread_order *order)
{
	free(order->known);
	free(order->sizes);
	free(order->of_lane);
	free(order->fresh);
	free(order->first);
	free(order->by_host);
	free(order->begins);
	free(order);
}

static const struct world_comm *comm_of(const struct spread *spread, uint32_t lane)
{
	return spread->world->comms[spread->lanes->judged[lane]];
}

static bool has_room(const struct spread *spread, struct spread_order *order)
{
	uint32_t lanes = spread->lanes->count, hosts = spread->world->host_count, room = 0;

	for (uint32_t i = 0; i < lanes; i++)
		room += comm_of(spread, i)->lane->room;
	order->known = calloc(room + 1, sizeof(*order->known));
	order->sizes = calloc(room + 1, sizeof(*order->sizes));
	order->of_lane = calloc(lanes + 1, sizeof(*order->of_lane));
	order->fresh = calloc(lanes + 1, sizeof(*order->fresh));
	order->first = calloc(hosts + 1, sizeof(*order->first));
	order->by_host = calloc(room + 1, sizeof(*order->by_host));
	order->begins = calloc(hosts + 2, sizeof(*order->begins));
	return order->known && order->sizes && order->of_lane && order->fresh && order->first && order->by_host && order->begins;
}

static void note_lane(const struct spread *spread, struct spread_order *order, uint32_t lane, uint32_t parts)
{
	const struct world_comm *comm = comm_of(spread, lane);

	for (uint32_t i = 0; i < comm->lane->room; i++) {
		if (!parts_are_known(&comm->lane->members[i].parts, parts) || lane_is_late(comm->lane, i))
			continue;
		uint32_t host = spread->world->ranks[comm->members[i].rank].host;
		double difference = parts_mean(&comm->lane->members[i].parts, parts);
		order->sizes[order->count] = fabs(difference);
		order->known[order->count++] = (struct known){ difference, lane, i, host };
		order->of_lane[lane]++;
		if (order->first[host] == WORLD_NONE) {
			order->first[host] = lane;
			order->fresh[lane]++;
		}
	}
	order->units += order->of_lane[lane] - (order->of_lane[lane] > 0);
	order->hosts += order->fresh[lane] - (order->fresh[lane] > 0);
}

static void put_in_order(struct spread_order *order, uint32_t hosts)
{
	sort_doubles(order->sizes, order->count);
	for (uint32_t i = 0; i < order->count; i++)
		order->begins[order->known[i].host + 2]++;
	for (uint32_t host = 0; host < hosts; host++)
		order->begins[host + 2] += order->begins[host + 1];
	for (uint32_t i = 0; i < order->count; i++)
		order->by_host[order->begins[order->known[i].host + 1]++] = i;
}

static struct spread_order *new_order(const struct spread *spread, uint32_t parts)
{
	struct spread_order *order = calloc(1, sizeof(*order));

	if (!order)
		return NULL;
	if (!has_room(spread, order)) {
		free_order(order);
		return NULL;
	}
	for (uint32_t host = 0; host < spread->world->host_count; host++)
		order->first[host] = WORLD_NONE;
	while (comm_of(spread, order->own) != spread->comm)
		order->own++;
	note_lane(spread, order, order->own, parts);
	for (uint32_t i = 0; i < spread->lanes->count; i++)
		if (i != order->own)
			note_lane(spread, order, i, parts);
	put_in_order(order, spread->world->host_count);
	return order;
}

/* How many of them are so large that this lateness is not far from them. */
static uint32_t count_near(const struct spread_order *order, double late, double beyond)
{
	uint32_t low = 0, high = order->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (order->sizes[middle] * beyond > late)
			high = middle;
		else
			low = middle + 1;
	}
	return order->count - low;
}

static bool is_self(const struct spread_order *order, const struct spread_one *one, const struct known *known)
{
	return known->lane == order->own && known->member == one->member;
}

/* Of its host: itself, and who is as late. They are none of the others. */
static bool is_with(const struct spread_order *order, const struct spread_one *one, const struct known *known)
{
	return is_self(order, one, known) || known->difference * 2 >= one->late;
}

/* How many others there are: hosts where its whole host may be late. */
static uint32_t count_units(struct spread_order *order, struct spread_one *one)
{
	uint32_t begin = order->begins[one->host], end = order->begins[one->host + 1], first = order->first[one->host];
	uint32_t units = order->units, hosts = order->hosts;

	for (uint32_t i = begin; i < end; i++) {
		const struct known *known = &order->known[order->by_host[i]];
		if (!is_with(order, one, known))
			continue;
		one->with += !is_self(order, one, known);
		units -= order->of_lane[known->lane]-- > 1;
	}
	for (uint32_t i = begin; i < end; i++)
		order->of_lane[order->known[order->by_host[i]].lane] += is_with(order, one, &order->known[order->by_host[i]]);
	if (first != WORLD_NONE)
		hosts -= order->fresh[first] > 1; /* its own is none */
	return one->with ? hosts : units;
}

static bool is_beyond(struct spread_order *order, struct spread_one *one)
{
	uint32_t units = count_units(order, one);

	if (!units)
		return false;
	double beyond = fmax(pow(SPREAD_CHANCE, -1.0 / units), SPREAD_BEYOND);
	uint32_t near = count_near(order, one->late, beyond), others = order->count - 1 - one->with;
	for (uint32_t i = order->begins[one->host]; i < order->begins[one->host + 1]; i++) {
		const struct known *known = &order->known[order->by_host[i]];
		near -= is_with(order, one, known) && fabs(known->difference) * beyond > one->late;
	}
	return near <= others / SPREAD_AS_LATE;
}

static bool stands_out(struct spread *spread, uint32_t member, uint32_t parts)
{
	const struct parts *own = &spread->comm->lane->members[member].parts;
	struct spread_one one = { .member = member, .host = spread->world->ranks[spread->comm->members[member].rank].host };

	if (!parts_are_known(own, parts))
		return false;
	one.late = parts_mean(own, parts);
	if (!spread->orders[parts])
		spread->orders[parts] = new_order(spread, parts);
	return one.late > 0 && spread->orders[parts] && is_beyond(spread->orders[parts], &one);
}

bool spread_is_exceeded(struct spread *spread, uint32_t member)
{
	for (uint32_t parts = SPREAD_PARTS; parts > 1; parts /= 2)
		if (stands_out(spread, member, parts))
			return true;
	return false;
}

void spread_forget(struct spread *spread)
{
	for (uint32_t parts = 0; parts <= SPREAD_PARTS; parts++)
		if (spread->orders[parts])
			free_order(spread->orders[parts]);
}
