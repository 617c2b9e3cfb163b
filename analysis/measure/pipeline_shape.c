/* SPDX-License-Identifier: MIT */
#include "analysis/measure/pipeline_shape.h"

enum { NEIGHBOURS = 2, NOBODY = UINT32_MAX };

/* Whom a rank exchanges with, and how much. */
struct neighbour {
	uint32_t rank, sent, received;
};

static struct neighbour *find_or_add(struct neighbour neighbours[NEIGHBOURS], uint32_t rank)
{
	for (int i = 0; i < NEIGHBOURS; i++) {
		if (neighbours[i].rank == NOBODY)
			neighbours[i].rank = rank;
		if (neighbours[i].rank == rank)
			return &neighbours[i];
	}
	return 0;
}

/* False: it has more neighbours than a stage of a pipeline, none, or sends to itself. */
static bool find_neighbours(const struct pipeline_rank *ranks, uint32_t count, uint32_t self,
			    struct neighbour neighbours[NEIGHBOURS])
{
	for (int i = 0; i < NEIGHBOURS; i++)
		neighbours[i] = (struct neighbour){ .rank = NOBODY };
	for (uint32_t i = 0; i < ranks[self].count; i++) {
		const struct pipeline_call *call = &ranks[self].calls[i];
		struct neighbour *neighbour = call->peer < count && call->peer != self
						  ? find_or_add(neighbours, call->peer)
						  : 0;

		if (!neighbour)
			return false;
		neighbour->sent += call->sends;
		neighbour->received += !call->sends;
	}
	return ranks[self].count > 0;
}

/* Whoever begins has an activation to send before it has received anything; all others need one. */
static uint32_t find_first(const struct pipeline_rank *ranks, uint32_t count)
{
	uint32_t first = NOBODY;

	for (uint32_t i = 0; i < count; i++) {
		if (!ranks[i].count)
			return NOBODY;
		if (ranks[i].calls[0].sends && first != NOBODY)
			return NOBODY;
		if (ranks[i].calls[0].sends)
			first = i;
	}
	return first;
}

/* One way round from `first`, over neighbours that agree on what went between them. */
struct walk {
	uint32_t last, length; /* where it ends, in front of `first` where it is a ring, and how many ranks it met */
	bool ring, agrees;
	uint32_t least, most; /* exchanged between two neighbours, either way */
	uint32_t least_links; /* so many links have the least */
	bool closing_is_least; /* … and the one that leads back is among them */
};

static void note_link(struct walk *walk, uint32_t exchanged, bool closes)
{
	if (exchanged < walk->least) {
		walk->least = exchanged;
		walk->least_links = 0;
		walk->closing_is_least = false;
	}
	if (exchanged > walk->most)
		walk->most = exchanged;
	if (exchanged == walk->least) {
		walk->least_links++;
		walk->closing_is_least |= closes;
	}
}

static const struct neighbour *onwards(const struct neighbour neighbours[NEIGHBOURS], uint32_t from)
{
	for (int i = 0; i < NEIGHBOURS; i++)
		if (neighbours[i].rank != NOBODY && neighbours[i].rank != from)
			return &neighbours[i];
	return 0;
}

/* Does the other end tell the same of the link, and did as much go one way as the other? */
static bool link_agrees(const struct pipeline_rank *ranks, uint32_t count, uint32_t self, const struct neighbour *link)
{
	struct neighbour theirs[NEIGHBOURS];

	if (link->sent != link->received || !find_neighbours(ranks, count, link->rank, theirs))
		return false;
	for (int i = 0; i < NEIGHBOURS; i++)
		if (theirs[i].rank == self)
			return theirs[i].sent == link->received && theirs[i].received == link->sent;
	return false;
}

static bool walk_from(const struct pipeline_rank *ranks, uint32_t count, uint32_t first, struct walk *walk)
{
	struct neighbour neighbours[NEIGHBOURS];
	uint32_t from = NOBODY, at = first;

	*walk = (struct walk){ .last = first, .length = 1, .agrees = true, .least = UINT32_MAX };
	for (;;) {
		if (!find_neighbours(ranks, count, at, neighbours))
			return false;
		/* The first step leads to whom it sends first: with the flow. */
		uint32_t sent_to = ranks[first].calls[0].peer;
		const struct neighbour *next =
		    at == first ? find_or_add(neighbours, sent_to) : onwards(neighbours, from);

		if (!next)
			return true;
		walk->agrees &= link_agrees(ranks, count, at, next);
		walk->ring = next->rank == first;
		note_link(walk, next->sent, walk->ring);
		if (walk->ring || walk->length == count)
			return walk->ring;
		from = at;
		at = walk->last = next->rank;
		walk->length++;
	}
}

/* What a rank exchanged with the one behind it, in its own order. */
struct link {
	uint32_t sends;          /* in all */
	uint32_t before, behind; /* sends before the first receive, receives behind the last send */
	uint32_t ahead;          /* most that it had sent more than received */
};

static struct link read_link(const struct pipeline_rank *rank, uint32_t peer)
{
	struct link link = { 0 };
	uint32_t received = 0;

	for (uint32_t i = 0; i < rank->count; i++) {
		if (rank->calls[i].peer != peer)
			continue;
		if (rank->calls[i].sends) {
			link.sends++;
			link.before += !received;
			link.behind = 0;
			if (link.sends > received && link.sends - received > link.ahead)
				link.ahead = link.sends - received;
		} else {
			received++;
			link.behind++;
		}
	}
	return link;
}

static bool is_link(const struct link *link, uint32_t before, uint32_t behind)
{
	return link->before == before && link->ahead == before && link->behind == behind;
}

/* 1F1B: on each link as many micro-batches are under way as there are ranks from there to the end, all the time. Two
 * ranks that send four times each may as well be a V of two micro-batches. */
static bool is_1f1b(const struct pipeline_rank *ranks, uint32_t count, uint32_t first)
{
	struct neighbour neighbours[NEIGHBOURS];
	uint32_t from = NOBODY, at = first, left = count;

	for (; left > 1; left--) {
		if (!find_neighbours(ranks, count, at, neighbours))
			return false;
		const struct neighbour *next = onwards(neighbours, from);
		const struct link link = next ? read_link(&ranks[at], next->rank) : (struct link){ 0 };

		if (!next || !is_link(&link, left, left) || (count == 2 && link.sends == 2 * count))
			return false;
		from = at;
		at = next->rank;
	}
	return true;
}

/*
 * A chain. Either the last rank has the loss and what comes back are gradients, or the pipeline turns there (V: two
 * stages on each rank) and ends where it began. In a V the first rank sends as many gradients as activations, each
 * gradient behind the activation that it has received for it: so it is never ahead by more than half of what it sends.
 */
static struct pipeline_shape end_of_chain(const struct pipeline_rank *ranks, uint32_t count, uint32_t first,
					  uint32_t last)
{
	const struct link link = read_link(&ranks[first], ranks[first].calls[0].peer);

	if (link.ahead * 2 > link.sends)
		return (struct pipeline_shape){ PIPELINE_CERTAIN, first, last };
	if (is_1f1b(ranks, count, first))
		return (struct pipeline_shape){ PIPELINE_LIKELY, first, last };
	/* ZB-V and DualPipeV: as many as fit on the way there and back, and at the end as many gradients as ranks. */
	if (count > 2 && is_link(&link, 2 * count - 1, count))
		return (struct pipeline_shape){ PIPELINE_LIKELY, first, first };
	return (struct pipeline_shape){ PIPELINE_OPEN, first, last };
}

/*
 * A ring: several stages on each rank, one round after the other. Between the last rank and the first one round less
 * is exchanged than elsewhere: what follows the last stage goes nowhere.
 */
static struct pipeline_shape end_of_ring(const struct walk *walk, uint32_t first)
{
	if (walk->closing_is_least && walk->least_links == 1 && walk->least < walk->most)
		return (struct pipeline_shape){ PIPELINE_CERTAIN, first, walk->last };
	return (struct pipeline_shape){ PIPELINE_NONE, first, first };
}

struct pipeline_shape pipeline_shape_find(const struct pipeline_rank *ranks, uint32_t count)
{
	const struct pipeline_shape none = { PIPELINE_NONE, 0, 0 };
	uint32_t first = count > 1 ? find_first(ranks, count) : NOBODY;
	struct neighbour neighbours[NEIGHBOURS];
	struct walk walk;

	if (first == NOBODY || !walk_from(ranks, count, first, &walk) || walk.length != count || !walk.agrees)
		return none;
	if (walk.ring)
		return end_of_ring(&walk, first);
	if (!find_neighbours(ranks, count, first, neighbours) || neighbours[1].rank != NOBODY)
		return none;
	return end_of_chain(ranks, count, first, walk.last);
}
