/* SPDX-License-Identifier: MIT */
#include "plugin/cost/scan_share.h"

#define SECOND_NS UINT64_C(1000000000)

enum {
	IN_ADVANCE = 4, /* of the ring: a quarter */
	CALM_S = 5,     /* as of the budget */
	CALM_SHARE = 4,
};

void scan_share_open(struct scan_share *share, uint64_t ring_slots, uint64_t now_ns)
{
	*share = (struct scan_share){
		.room = ring_slots / IN_ADVANCE,
		.left = ring_slots / IN_ADVANCE,
		.since_ns = now_ns,
		.second_ns = now_ns,
		.every = 1,
	};
}

static void add(struct scan_share *share, uint64_t now_ns, uint64_t claims)
{
	uint64_t others = claims - share->claims - share->taken;
	uint64_t more = (now_ns - share->since_ns) * SCAN_SHARE_PER_SECOND / SECOND_NS + others / SCAN_SHARE_OTHERS;

	if (!more)
		return; /* what is too little to count is counted with the next */
	share->since_ns = now_ns;
	share->claims = claims;
	share->taken = 0;
	share->added += more;
	share->left = share->left + more < share->room ? share->left + more : share->room;
}

/* A second is over. What is wanted doubles and halves with every step. */
static void adjust(struct scan_share *share, uint64_t wanted, uint64_t added)
{
	bool scarce = share->refused || share->left < share->room / 2;

	share->calm_s = wanted * CALM_SHARE < added ? share->calm_s + 1 : 0;
	for (; scarce && wanted > added && share->every < SCAN_SHARE_EVERY_MAX; wanted /= 2)
		share->every *= 2;
	if (share->calm_s < CALM_S || share->every == 1)
		return;
	share->every /= 2;
	share->calm_s = 0;
}

uint32_t scan_share_judge(struct scan_share *share, uint64_t now_ns, uint64_t claims)
{
	add(share, now_ns, claims);
	if (now_ns - share->second_ns < SECOND_NS)
		return share->every;
	adjust(share, share->wanted - share->wanted_at, share->added - share->added_at);
	share->second_ns = now_ns;
	share->refused = false;
	share->wanted_at = share->wanted;
	share->added_at = share->added;
	return share->every;
}

bool scan_share_take(struct scan_share *share)
{
	share->wanted++;
	if (!share->left) {
		share->refused = true;
		return false;
	}
	share->left--;
	share->taken++;
	return true;
}
