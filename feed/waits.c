/* SPDX-License-Identifier: MIT */
/* Network waits → the analysis: how much they have grown. */
#include "feed/feed_state.h"

#define SETTLE_NS UINT64_C(1000000000) /* after the end of a lease */

/* An entry that was given back begins anew. */
static bool goes_on(const struct rw_wait *before, const struct rw_wait *now)
{
	return before->key == now->key && before->first_ns == now->first_ns && before->gpu_ns <= now->gpu_ns &&
	       before->peer_ns <= now->peer_ns && before->network_ns <= now->network_ns;
}

static bool is_sound(const struct feed *feed, const struct rw_wait *now)
{
	uint16_t comm = RW_WAIT_COMM(now->key);
	/* Later than that is nobody's work, and would last for ever. */
	bool times = now->first_ns && now->first_ns <= now->last_ns && now->last_ns <= feed->until_ns &&
		     now->last_ns <= OPERATION_TIME_MAX;

	return now->key & RW_WAIT_USED && RW_WAIT_PEER(now->key) <= INT32_MAX && comm < RW_BOX_COMMS && times &&
	       feed->communicators[comm].created_ns && now->last_ns >= feed->communicators[comm].created_ns;
}

static void pass_wait(struct feed *feed, struct rw_wait *before, const struct rw_wait *now, uint64_t since_ns)
{
	if (!goes_on(before, now))
		*before = (struct rw_wait){ .key = now->key };
	struct analysis_network network = {
		.process = feed->id,
		.index = RW_WAIT_COMM(now->key),
		.peer = (int32_t)RW_WAIT_PEER(now->key),
		.channel = RW_WAIT_CHANNEL(now->key),
		.sends = now->key & RW_WAIT_SENDS,
		.gpu_ns = now->gpu_ns - before->gpu_ns,
		.peer_ns = now->peer_ns - before->peer_ns,
		.network_ns = now->network_ns - before->network_ns,
		.from_ns = since_ns > now->first_ns && since_ns < now->last_ns ? since_ns : now->first_ns,
		.to_ns = now->last_ns,
	};

	*before = *now;
	feed_account(feed, analysis_add_network(feed->analysis, &network));
}

int feed_pass_waits(struct feed *feed)
{
	const struct rw_box_header *header = &feed->reader.header;
	struct rw_wait run[FEED_RUN];
	uint64_t since_ns = feed_is_live(feed) ? feed->waits_ns : 0;

	if (!box_has_waits(header) || !header->leased_until_ns ||
	    (feed_is_live(feed) && since_ns > header->leased_until_ns + SETTLE_NS))
		return 0;
	feed->waits_ns = feed->now_ns;
	for (uint32_t first = 0; first < header->wait_slots; first += FEED_RUN) {
		int count = box_reader_waits(&feed->reader, first, FEED_RUN, run);

		if (count < 0)
			return count;
		for (int i = 0; i < count; i++) {
			struct rw_wait *before = &feed->waits[first + (uint32_t)i];

			if (!run[i].key || !feed_is_due(feed, run[i].last_ns) || !is_sound(feed, &run[i]) ||
			    (run[i].last_ns == before->last_ns && run[i].key == before->key))
				continue;
			pass_wait(feed, before, &run[i], since_ns);
		}
	}
	return 0;
}
