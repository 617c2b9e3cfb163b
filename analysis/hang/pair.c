/* SPDX-License-Identifier: MIT */
#include "analysis/hang/pair.h"

#include <stdlib.h>

#include "analysis/hang/desync.h"
#include "analysis/model.h"
#include "analysis/report/text.h"

static uint64_t bytes_of(uint64_t count, uint8_t dtype)
{
	const struct call call = { .count = count, .dtype = dtype };

	return call_bytes(&call);
}

static uint32_t other_end(const struct instance *instance, uint32_t member)
{
	const struct communicator *communicator = instance->communicator;

	for (uint32_t i = 0; i < communicator->member_count; i++)
		if (i != member && instance_concerns(instance, i))
			return i;
	return JOB_NONE;
}

/* What the transfers before this one were of. */
static uint64_t usual_bytes(const struct instances *instances, const struct instance *instance)
{
	struct instance_key key = {
		.communicator = instance->communicator->index,
		.function = instance->function,
		.by_interposer = instance->by_interposer,
		.source = instance->source,
		.target = instance->target,
	};
	uint64_t usual = 0;

	if (instance->sequence < PAIR_STEADY)
		return 0;
	for (uint64_t back = 1; back <= PAIR_STEADY; back++) {
		key.sequence = instance->sequence - back;
		const struct instance *before = instances_find(instances, &key);
		uint64_t bytes = before && before->joined == 2 ? bytes_of(before->count, before->dtype) : 0;
		if (!bytes || (usual && bytes != usual))
			return 0;
		usual = bytes;
	}
	return usual;
}

void pair_note(const struct instances *instances, struct instance *instance, uint32_t member,
	       const struct rw_operation *slot)
{
	struct communicator *communicator = instance->communicator;
	uint64_t one = bytes_of(instance->count, instance->dtype), other = bytes_of(slot->count, slot->dtype);
	uint32_t peer = other_end(instance, member);

	if (communicator->pair || !one || !other || one == other || peer == JOB_NONE ||
	    !instance_joined(instance, peer))
		return;
	struct pair_parting *parting = calloc(1, sizeof(*parting));
	if (!parting)
		return;
	const struct call own = { .known = true, .function = slot->function, .dtype = slot->dtype,
				  .sequence = slot->sequence, .count = slot->count, .root = -1 };
	bool sends = communicator->members[member].comm_rank == instance->source;
	struct call theirs = own;
	theirs.function = sends ? RW_FUNCTION_RECV : RW_FUNCTION_SEND;
	theirs.count = instance->count;
	theirs.dtype = instance->dtype;
	*parting = (struct pair_parting){
		.since_ns = slot->api_ns,
		.sender = sends ? member : peer,
		.receiver = sends ? peer : member,
		.sent = sends ? own : theirs,
		.received = sends ? theirs : own,
		.instance = instance,
		.serial = instance->serial,
		.usual_bytes = usual_bytes(instances, instance),
	};
	communicator->pair = parting;
}

/* The one that leaves what was usual between the two, if the other one does not. */
static const struct call *odd_of(const struct pair_parting *parting)
{
	if (parting->usual_bytes && call_bytes(&parting->sent) == parting->usual_bytes)
		return &parting->received;
	if (parting->usual_bytes && call_bytes(&parting->received) == parting->usual_bytes)
		return &parting->sent;
	return NULL;
}

static struct record *make_record(const struct analysis *analysis, const struct communicator *communicator,
				  uint64_t now_ns)
{
	const struct pair_parting *parting = communicator->pair;
	const struct call *odd = odd_of(parting), *shown = odd ? odd : &parting->received;
	uint32_t ranks[] = { communicator->members[parting->sender].rank,
			     communicator->members[parting->receiver].rank };
	bool receiver = odd == &parting->received;
	struct record *record =
	    record_new(&analysis->job, RW_KIND_DESYNC, RW_SCOPE_RANK, odd ? &ranks[receiver] : ranks, odd ? 1 : 2);

	if (!record)
		return NULL;
	if (record_set_waiting(record, &analysis->job, &ranks[!receiver], odd ? 1 : 0)) {
		record_free(record);
		return NULL;
	}
	struct rw_finding *finding = &record->finding;
	record->subject = communicator->index;
	finding->severity = RW_CRITICAL;
	finding->confidence = odd ? RW_LIKELY : RW_INCONCLUSIVE;
	finding->first_seen_ns = parting->since_ns;
	finding->detect_ms = now_ns > parting->since_ns ? (double)(now_ns - parting->since_ns) / 1e6 : 0;
	const struct instance instance = {
		.communicator = (struct communicator *)communicator,
		.function = shown->function,
		.dtype = shown->dtype,
		.sequence = shown->sequence,
		.count = shown->count,
		.root_or_peer = shown->root,
		.place.place = STEPS_NO_PLACE,
	};
	record_set_operation(record, &analysis->job, &instance, RW_PHASE_ENQUEUED);
	record_add_missing(
	    record, odd ? "whether this end is the wrong one: the other end may have had to change, too"
			: "which of the two is wrong: the transfers between them before were not all of one size");
	text_pair(record, &analysis->job, communicator);
	return record;
}

static bool has_ended(const struct pair_parting *parting)
{
	return parting->instance->serial != parting->serial || parting->instance->finished;
}

void pair_tick(struct analysis *analysis, uint64_t now_ns)
{
	for (uint32_t i = 0; i < analysis->job.communicator_count; i++) {
		struct communicator *communicator = analysis->job.communicators[i];
		if (!communicator->pair || communicator->desync_told ||
		    now_ns < communicator->pair->since_ns + DESYNC_SETTLE_NS)
			continue;
		if (has_ended(communicator->pair)) {
			free(communicator->pair);
			communicator->pair = NULL;
			continue;
		}
		struct record *record = make_record(analysis, communicator, now_ns);
		if (!record)
			continue;
		communicator->desync_told = true;
		findings_tell(&analysis->findings, record, now_ns);
	}
}
