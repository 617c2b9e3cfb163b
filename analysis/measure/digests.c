/* SPDX-License-Identifier: MIT */
#include "analysis/measure/digests.h"

#include <stdlib.h>

#include <rankwatch/blackbox.h>
#include <rankwatch/finding.h>

#include "analysis/known/call_order.h"

enum {
	PIECE_BYTES = 16, /* a digest counts position in these */
	VOTERS_MIN = 3,   /* of two that differ neither is the odd one */
};

/* What a buffer should be. */
struct expected {
	bool known;
	uint64_t digest, lane_sum;
};

/* What the digest and lane sum of a buffer differ by → where its one changed word is; RW_NO_INDEX. */
static uint64_t locate(uint64_t digest_difference, uint64_t lane_difference, uint64_t bytes)
{
	if (!lane_difference)
		return RW_NO_INDEX;
	/* One changed word of lane j at piece v: (2 v + 1) c d and c d. The quotient is exact but for the bits that the
	 * even part of the change takes. */
	int even = __builtin_ctzll(lane_difference);
	if (digest_difference & ((UINT64_C(1) << even) - 1))
		return RW_NO_INDEX;
	uint64_t odd = lane_difference >> even, inverse = odd;
	for (int i = 0; i < 5; i++)
		inverse *= 2 - odd * inverse; /* Newton: doubles the 3 bits that are right */
	uint64_t factor = ((digest_difference >> even) * inverse) & (UINT64_MAX >> even);
	uint64_t piece = factor >> 1;
	return factor & 1 && piece < (bytes + PIECE_BYTES - 1) / PIECE_BYTES ? piece * PIECE_BYTES : RW_NO_INDEX;
}

static uint64_t bytes_of(const struct instance *instance)
{
	return call_bytes(&(struct call){ .dtype = instance->dtype, .count = instance->count });
}

/* The inputs of all ranks, put together in the order of ranks. */
static struct expected gathered(const struct instance *instance)
{
	const struct communicator *communicator = instance->communicator;
	struct expected whole = { 0 };
	uint64_t bytes = bytes_of(instance);

	if (communicator->size <= 0 || communicator->member_count != (uint32_t)communicator->size ||
	    bytes % PIECE_BYTES || !bytes)
		return whole;
	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct rw_scan *scan = value_scan(instance, i, VALUE_IN);
		uint64_t piece = (uint64_t)communicator->members[i].comm_rank * (bytes / PIECE_BYTES);
		if (!scan)
			return whole;
		whole.digest += scan->digest - RW_DIGEST_LENGTH_FACTOR * bytes + 2 * piece * scan->lane_sum;
		whole.lane_sum += scan->lane_sum;
	}
	whole.digest += RW_DIGEST_LENGTH_FACTOR * bytes * (uint64_t)communicator->size;
	whole.known = true;
	return whole;
}

/* What the only rank with an input brought: root, or sender. */
static struct expected sent(const struct instance *instance)
{
	for (uint32_t i = 0; i < instance->communicator->member_count; i++) {
		const struct rw_scan *scan = value_scan(instance, i, VALUE_IN);
		if (scan)
			return (struct expected){ .known = true, .digest = scan->digest, .lane_sum = scan->lane_sum };
	}
	return (struct expected){ 0 };
}

/* The digest of more than half of all ranks, seen or not. */
static struct expected usual(const struct instance *instance)
{
	const struct communicator *communicator = instance->communicator;
	const struct rw_scan *candidate = NULL;
	uint32_t lead = 0, same = 0, seen = 0;

	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct rw_scan *scan = value_scan(instance, i, VALUE_OUT);
		if (!scan)
			continue;
		candidate = lead ? candidate : scan;
		lead += candidate->digest == scan->digest ? 1u : -1u;
	}
	for (uint32_t i = 0; candidate && i < communicator->member_count; i++) {
		const struct rw_scan *scan = value_scan(instance, i, VALUE_OUT);
		seen += scan != NULL;
		same += scan && scan->digest == candidate->digest;
	}
	uint32_t all =
	    communicator->size > 0 && (uint32_t)communicator->size > seen ? (uint32_t)communicator->size : seen;
	if (seen < VOTERS_MIN || same * 2 <= all)
		return (struct expected){ 0 };
	return (struct expected){ .known = true, .digest = candidate->digest, .lane_sum = candidate->lane_sum };
}

static struct expected expect(const struct instance *instance, bool *against_sent)
{
	struct expected expected = { 0 };

	if (instance->function == RW_FUNCTION_ALL_GATHER)
		expected = gathered(instance);
	else if (instance->root_or_peer >= 0 || instance_is_point_to_point(instance))
		expected = sent(instance);
	*against_sent = expected.known;
	return expected.known ? expected : usual(instance);
}

/* Marks the results that are not as expected, or, without expectation, all if any two differ. Returns one of the
 * wrong. */
static const struct rw_scan *mark(const struct instance *instance, const struct expected *expected,
				  struct disagreement *found)
{
	const struct rw_scan *first = NULL, *odd = NULL;
	uint32_t members = instance->communicator->member_count;

	for (uint32_t i = 0; i < members; i++) {
		const struct rw_scan *scan = value_scan(instance, i, VALUE_OUT);
		if (!scan)
			continue;
		found->seen++;
		first = first ? first : scan;
		if (scan->digest == (expected->known ? expected->digest : first->digest))
			continue;
		odd = scan;
		found->wrong[i] = true;
	}
	for (uint32_t i = 0; i < members && odd; i++) {
		found->wrong[i] = expected->known ? found->wrong[i] : value_scan(instance, i, VALUE_OUT) != NULL;
		found->wrong_count += found->wrong[i];
	}
	return odd;
}

static bool all_the_same(const struct instance *instance, const struct disagreement *found, const struct rw_scan *odd)
{
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		if (found->wrong[i] && value_scan(instance, i, VALUE_OUT)->digest != odd->digest)
			return false;
	return true;
}

/* Who sent what all others have wrong: by the place of the changed word, else the only one that has it right. */
static uint32_t sender_of(const struct instance *instance, const struct disagreement *found)
{
	const struct communicator *communicator = instance->communicator;
	uint64_t bytes = bytes_of(instance);
	uint32_t sender = JOB_NONE;

	for (uint32_t i = 0; i < communicator->member_count; i++) {
		bool gathers = instance->function == RW_FUNCTION_ALL_GATHER;
		bool sends = gathers ? found->offset != RW_NO_INDEX &&
					   found->offset / bytes == (uint64_t)communicator->members[i].comm_rank
				     : value_matters(instance, i, VALUE_IN);
		if (sends || (gathers && found->offset == RW_NO_INDEX && !found->wrong[i]))
			sender = i;
	}
	for (uint32_t i = 0; i < communicator->member_count; i++)
		if (i != sender && !found->wrong[i])
			return JOB_NONE;
	return sender;
}

static uint32_t single(const struct disagreement *found, uint32_t members)
{
	for (uint32_t i = 0; i < members && found->wrong_count == 1; i++)
		if (found->wrong[i])
			return i;
	return JOB_NONE;
}

static void blame(const struct instance *instance, const struct expected *expected, const struct rw_scan *odd,
		  struct disagreement *found)
{
	uint32_t members = instance->communicator->member_count;
	bool whole = instance->communicator->size == (int32_t)members && found->seen == members;

	found->culprit = JOB_NONE;
	if (!expected->known || found->seen < VOTERS_MIN)
		return;
	found->culprit = single(found, members);
	if (found->culprit != JOB_NONE || !found->against_sent || !whole || !all_the_same(instance, found, odd))
		return;
	found->culprit = sender_of(instance, found);
	found->sender = found->culprit != JOB_NONE;
}

/* The bytes of a transfer as this member called it; 0: it was not scanned there. */
static uint64_t transferred(const struct instance *instance, int32_t comm_rank, enum value_side side)
{
	for (uint32_t i = 0; i < instance->communicator->member_count; i++)
		if (instance->communicator->members[i].comm_rank == comm_rank)
			return value_scan(instance, i, side) ? instance->values[i].bytes[side] : 0;
	return 0;
}

/* A program that receives into more room than is sent has a bug of its own: NCCL does not look, and nothing is the
 * same. */
static bool has_to_agree(const struct instance *instance)
{
	if (!instance_is_point_to_point(instance))
		return value_is_symmetric(instance);
	uint64_t sent = transferred(instance, instance->source, VALUE_IN);
	return sent && sent == transferred(instance, instance->target, VALUE_OUT);
}

bool digests_disagree(const struct instance *instance, struct disagreement *found)
{
	uint32_t members = instance->communicator->member_count;

	*found = (struct disagreement){ .culprit = JOB_NONE, .offset = RW_NO_INDEX };
	if (!has_to_agree(instance))
		return false;
	found->wrong = calloc(members, sizeof(*found->wrong));
	if (!found->wrong)
		return false;
	struct expected expected = expect(instance, &found->against_sent);
	const struct rw_scan *odd = mark(instance, &expected, found);
	if (!odd) {
		free(found->wrong);
		return false;
	}
	if (expected.known) {
		bool gathers = instance->function == RW_FUNCTION_ALL_GATHER;
		uint64_t parts = gathers ? (uint64_t)instance->communicator->size : 1;
		found->offset = locate(odd->digest - expected.digest, odd->lane_sum - expected.lane_sum,
					       bytes_of(instance) * parts);
	}
	blame(instance, &expected, odd, found);
	return true;
}
