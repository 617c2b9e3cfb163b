/* SPDX-License-Identifier: MIT */
#include "analysis/explain/network.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One direction between two ranks; its channels work side by side, so the slowest one counts. */
struct link {
	uint32_t from, to;          /* members */
	/* as the sender and the receiver see it; the latter: until its GPU took the data */
	uint64_t network_ns, empty_ns;
	uint64_t waits_ns;          /* per step, of the network alone */
	bool sender_seen, receiver_seen;
	bool slow, quiet;
};

struct links {
	struct link *list;
	uint32_t count;
	const struct network_question *question;
	const struct link *slowest;
};

static int compare(uint64_t left, uint64_t right)
{
	return (left > right) - (left < right);
}

static int by_channel(const struct network_channel *left, const struct network_channel *right)
{
	int order = compare(left->member, right->member);
	if (!order)
		order = compare((uint32_t)left->peer, (uint32_t)right->peer);
	if (!order)
		order = compare(left->number, right->number);
	return order ? order : compare(left->sends, right->sends);
}

/* Where it is, or belongs. */
static uint32_t place_of(const struct network *network, const struct network_channel *channel)
{
	uint32_t from = 0, to = network->count;
	while (from < to) {
		uint32_t middle = (from + to) / 2;
		if (by_channel(&network->channels[middle], channel) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool make_room(struct network *network)
{
	if (network->count < network->room)
		return true;
	uint32_t room = network->room ? network->room * 2 : 32;
	struct network_channel *channels = realloc(network->channels, room * sizeof(*channels));
	if (!channels)
		return false;
	network->channels = channels;
	network->room = room;
	return true;
}

/* Made when it is new; NULL on lack of memory. */
static struct network_channel *get(struct network *network, const struct network_channel *wanted)
{
	uint32_t at = place_of(network, wanted);
	if (at < network->count && !by_channel(&network->channels[at], wanted))
		return &network->channels[at];
	if (!make_room(network))
		return NULL;
	struct network_channel *made = &network->channels[at];
	memmove(made + 1, made, (network->count - at) * sizeof(*made));
	*made = *wanted;
	network->count++;
	return made;
}

int network_add(struct network *network, uint32_t member, const struct analysis_network *seen)
{
	const struct network_channel wanted = {
		.member = member, .peer = seen->peer, .number = seen->channel, .sends = seen->sends };
	if (network->count == NETWORK_CHANNELS_MAX)
		return 0;
	struct network_channel *channel = get(network, &wanted);
	if (!channel)
		return -ENOMEM;
	channel->gpu_ns += seen->gpu_ns;
	channel->peer_ns += seen->peer_ns;
	channel->network_ns += seen->network_ns;
	if (!network->from_ns || seen->from_ns < network->from_ns)
		network->from_ns = seen->from_ns;
	if (seen->to_ns > network->to_ns)
		network->to_ns = seen->to_ns;
	return 0;
}

void network_clear(struct network *network)
{
	network->count = 0;
	network->from_ns = network->to_ns = 0;
}

void network_free(struct network *network)
{
	free(network->channels);
	*network = (struct network){ 0 };
}

static bool find_peer(const struct communicator *communicator, int32_t comm_rank, uint32_t *member)
{
	for (uint32_t i = 0; i < communicator->member_count; i++)
		if (communicator->members[i].comm_rank == comm_rank) {
			*member = i;
			return true;
		}
	return false;
}

static int by_ends(const void *left, const void *right)
{
	const struct link *a = left, *b = right;
	int order = compare(a->from, b->from);
	return order ? order : compare(a->to, b->to);
}

static void take_channel(struct links *links, const struct network_channel *channel)
{
	uint32_t peer;
	if (!find_peer(links->question->communicator, channel->peer, &peer) || peer == channel->member)
		return;
	links->list[links->count++] = (struct link){
		.from = channel->sends ? channel->member : peer,
		.to = channel->sends ? peer : channel->member,
		.network_ns = channel->sends ? channel->network_ns : 0,
		.empty_ns = channel->sends ? 0 : channel->gpu_ns,
		.sender_seen = channel->sends,
		.receiver_seen = !channel->sends,
	};
}

/* Both sides and all channels of each link into one. */
static void join_links(struct links *links)
{
	uint32_t count = 0;
	qsort(links->list, links->count, sizeof(*links->list), by_ends);
	for (uint32_t i = 0; i < links->count; i++) {
		const struct link *link = &links->list[i];
		struct link *last = count ? &links->list[count - 1] : NULL;
		if (!last || by_ends(last, link)) {
			links->list[count++] = *link;
			continue;
		}
		last->network_ns = link->network_ns > last->network_ns ? link->network_ns : last->network_ns;
		last->empty_ns = link->empty_ns > last->empty_ns ? link->empty_ns : last->empty_ns;
		last->sender_seen |= link->sender_seen;
		last->receiver_seen |= link->receiver_seen;
	}
	links->count = count;
}

/* Over sockets a receiver that is late holds up what is on its way, too: that is not the network's. */
static void judge_links(struct links *links, uint64_t recorded_ns)
{
	double steps = (double)recorded_ns / (double)links->question->step_ns;
	for (uint32_t i = 0; i < links->count; i++) {
		struct link *link = &links->list[i];
		uint64_t alone_ns = link->network_ns > link->empty_ns ? link->network_ns - link->empty_ns : 0;
		link->waits_ns = (uint64_t)((double)alone_ns / steps);
		if (link->sender_seen && (!links->slowest || link->waits_ns > links->slowest->waits_ns))
			links->slowest = link;
	}
	if (!links->slowest)
		return;
	double most_ns = (double)links->slowest->waits_ns, longer_ns = (double)links->question->longer_ns;
	for (uint32_t i = 0; i < links->count; i++) {
		struct link *link = &links->list[i];
		double ns = (double)link->waits_ns;
		link->slow = link->sender_seen && ns >= NETWORK_WAITS * longer_ns && ns >= NETWORK_WAITS * most_ns;
		link->quiet = link->sender_seen && ns <= NETWORK_QUIET * most_ns;
	}
}

static uint32_t host_of(const struct links *links, uint32_t member)
{
	return links->question->communicator->members[member].process->host;
}

/* What a finding could be about: both ends of a link, or one end of all its links. By rank or by host. */
struct suspicion {
	enum rw_scope scope;
	bool hosts;        /* ends are hosts' indices, else members' */
	uint32_t one, two; /* LINK: both ends; else `one` */
};

static uint32_t end_of(const struct links *links, const struct suspicion *suspicion, uint32_t member)
{
	return suspicion->hosts ? host_of(links, member) : member;
}

/* 1: along the link from one to two, or away from one; -1: the other way; 0: elsewhere. */
static int direction_of(const struct links *links, const struct suspicion *suspicion, const struct link *link)
{
	uint32_t from = end_of(links, suspicion, link->from), to = end_of(links, suspicion, link->to);
	bool whole = suspicion->scope != RW_SCOPE_LINK;
	if (from == suspicion->one && (whole || to == suspicion->two))
		return 1;
	return to == suspicion->one && (whole || from == suspicion->two) ? -1 : 0;
}

/* All slow links are among the suspicion's, all of its links in at least one direction are slow, the others are quiet.
 */
static bool fits(const struct links *links, const struct suspicion *suspicion)
{
	uint32_t slow[2] = { 0 }, all[2] = { 0 };
	for (uint32_t i = 0; i < links->count; i++) {
		const struct link *link = &links->list[i];
		int direction = direction_of(links, suspicion, link);
		if (!direction && link->sender_seen && !link->quiet)
			return false;
		if (!direction || !link->sender_seen)
			continue;
		all[direction < 0]++;
		slow[direction < 0] += link->slow;
	}
	return (slow[0] && slow[0] == all[0]) || (slow[1] && slow[1] == all[1]);
}

/* How many different others the slow links lead to. */
static uint32_t count_others(const struct links *links, const struct suspicion *suspicion)
{
	uint32_t count = 0, first = 0;
	for (uint32_t i = 0; i < links->count; i++) {
		const struct link *link = &links->list[i];
		int direction = link->slow ? direction_of(links, suspicion, link) : 0;
		if (!direction)
			continue;
		uint32_t other = end_of(links, suspicion, direction > 0 ? link->to : link->from);
		if (!count || (count == 1 && other != first))
			count++;
		if (count == 1)
			first = other;
	}
	return count;
}

/* The narrowest first. One end of all its links is only blamed when they lead to several others. */
static bool find_suspicion(const struct links *links, struct suspicion *suspicion)
{
	const struct link *slowest = links->slowest;
	uint32_t from_host = host_of(links, slowest->from), to_host = host_of(links, slowest->to);
	const struct suspicion suspicions[] = {
		{ RW_SCOPE_LINK, false, slowest->from, slowest->to },
		{ RW_SCOPE_RANK, false, slowest->from, 0 },
		{ RW_SCOPE_RANK, false, slowest->to, 0 },
		{ RW_SCOPE_LINK, true, from_host, to_host },
		{ RW_SCOPE_HOST, true, from_host, 0 },
		{ RW_SCOPE_HOST, true, to_host, 0 },
	};
	for (size_t i = 0; i < sizeof(suspicions) / sizeof(*suspicions); i++) {
		*suspicion = suspicions[i];
		if (suspicion->hosts && from_host == to_host)
			continue;
		if (suspicion->scope != RW_SCOPE_LINK && count_others(links, suspicion) < 2)
			continue;
		if (fits(links, suspicion))
			return true;
	}
	return false;
}

static bool is_concerned(const struct links *links, const struct suspicion *suspicion, uint32_t member)
{
	uint32_t end = end_of(links, suspicion, member);
	if (suspicion->scope != RW_SCOPE_LINK)
		return end == suspicion->one;
	for (uint32_t i = 0; i < links->count; i++) {
		const struct link *link = &links->list[i];
		if (link->slow && (link->from == member || link->to == member))
			return true;
	}
	return false;
}

static enum rw_confidence confidence_in(const struct links *links, const struct suspicion *suspicion)
{
	bool compared = false;
	if ((double)links->slowest->waits_ns < NETWORK_CERTAIN * (double)links->question->longer_ns)
		return RW_LIKELY;
	for (uint32_t i = 0; i < links->count; i++) {
		const struct link *link = &links->list[i];
		if (!link->sender_seen || (link->slow && !link->receiver_seen))
			return RW_LIKELY;
		compared |= link->quiet && !direction_of(links, suspicion, link);
	}
	return compared && suspicion->scope == RW_SCOPE_LINK ? RW_CERTAIN : RW_LIKELY;
}

static bool fill_answer(const struct links *links, const struct suspicion *suspicion, struct network_answer *answer)
{
	const struct network_question *question = links->question;
	answer->members = calloc(question->communicator->member_count + 1, sizeof(*answer->members));
	if (!answer->members)
		return false;
	for (uint32_t i = 0; i < question->communicator->member_count; i++)
		if (is_concerned(links, suspicion, i))
			answer->members[answer->member_count++] = i;
	answer->scope = suspicion->scope;
	answer->confidence = confidence_in(links, suspicion);
	answer->from = links->slowest->from;
	answer->to = links->slowest->to;
	for (uint32_t i = 0; i < links->count; i++)
		answer->both_ways |= links->list[i].slow && direction_of(links, suspicion, &links->list[i]) *
								direction_of(links, suspicion, links->slowest) < 0;
	answer->share = (double)links->slowest->waits_ns / (double)question->took_ns;
	if (answer->share > 1)
		answer->share = 1;
	return true;
}

static bool answer_from(const struct links *links, struct network_answer *answer)
{
	struct suspicion suspicion;
	if (!links->slowest || !links->slowest->slow) {
		answer->instead = "no transfer's wait for the network is as long as what the steps take longer";
		return true;
	}
	if (!find_suspicion(links, &suspicion)) {
		answer->instead =
		    "transfers wait for the network on several links that have no rank and no host in common";
		return true;
	}
	return fill_answer(links, &suspicion, answer);
}

bool network_answer(const struct network *network, const struct network_question *question,
		    struct network_answer *answer)
{
	uint64_t recorded_ns = network->to_ns - network->from_ns;
	*answer = (struct network_answer){ .scope = RW_SCOPE_JOB };
	if (!question->step_ns || !question->took_ns || recorded_ns < NETWORK_STEPS * question->step_ns)
		return false;
	struct links links = { .list = calloc(network->count + 1, sizeof(*links.list)), .question = question };
	if (!links.list)
		return false;
	for (uint32_t i = 0; i < network->count; i++)
		take_channel(&links, &network->channels[i]);
	join_links(&links);
	judge_links(&links, recorded_ns);
	bool answered = answer_from(&links, answer);
	free(links.list);
	return answered;
}
