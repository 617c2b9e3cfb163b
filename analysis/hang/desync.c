/* SPDX-License-Identifier: MIT */
#include "analysis/hang/desync.h"

#include <stdlib.h>

#include "analysis/known/alignment.h"
#include "analysis/model.h"
#include "analysis/report/text.h"

/* The calls of the members at the place where they part. */
struct parting {
	const struct communicator *communicator;
	const struct call *usual; /* of most; NULL = no call is that of most ranks */
	const struct call *odd;   /* another one */
	uint32_t came, usual_count;
	bool complete; /* every rank of the communicator was seen and has come */
	bool parallel; /* `usual` is what parallel groups call there */
};

static const struct call *call_at_parting(const struct communicator *communicator, uint32_t member)
{
	const struct caller *caller = call_order_caller(communicator->order, member);

	return caller && caller->parted.known ? &caller->parted : NULL;
}

static uint32_t count_same(const struct communicator *communicator, const struct call *call)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct call *other = call_at_parting(communicator, i);
		count += other && call_is_same(call, other);
	}
	return count;
}

/*
 * More than half of all ranks of the communicator, seen or not, must agree before the others are called odd: the first
 * to come may be the wrong ones.
 */
static void look(const struct communicator *communicator, struct parting *parting)
{
	const struct call *first = NULL;

	*parting = (struct parting){ .communicator = communicator };
	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct call *call = call_at_parting(communicator, i);
		if (!call)
			continue;
		parting->came++;
		first = first ? first : call;
		if (!call_is_same(first, call))
			parting->odd = call;
		uint32_t same = count_same(communicator, call);
		if (communicator->size > 0 && same * 2 > (uint32_t)communicator->size) {
			parting->usual = call;
			parting->usual_count = same;
		}
	}
	if (parting->usual && !call_is_same(parting->usual, first))
		parting->odd = first;
	if (!parting->usual)
		parting->usual = first;
	parting->complete = communicator->size > 0 && parting->came == (uint32_t)communicator->size;
}

/* The call at a place, by the member that came there first; NULL: nobody has, or it is no longer kept. */
static const struct call *call_at(const struct communicator *communicator, uint64_t place)
{
	const struct call_order *order = communicator->order;

	return order->first[place % CALL_ORDER_DEPTH].place == place + 1 ? &order->first[place % CALL_ORDER_DEPTH].call
									 : NULL;
}

/* Is it a group of as many ranks that did the same up to this place, and goes on? */
static bool is_parallel(const struct communicator *communicator, const struct communicator *other)
{
	uint64_t place = communicator->order->parted_place;

	if (other == communicator || other->size != communicator->size || !other->order || other->order->parted ||
	    other->order->lossy || place < DESYNC_PARALLEL || !call_at(other, place))
		return false;
	for (uint64_t back = 1; back <= DESYNC_PARALLEL; back++) {
		const struct call *own = call_at(communicator, place - back), *its = call_at(other, place - back);
		if (!own || !its || !call_is_same(own, its))
			return false;
	}
	return true;
}

/* Where two calls have as many ranks each, what all parallel groups call at this place is the usual one. */
static void ask_parallel_groups(const struct job *job, struct parting *parting)
{
	const struct communicator *communicator = parting->communicator;
	const struct call *usual = NULL, *odd = NULL;

	for (uint32_t i = 0; i < job->communicator_count; i++) {
		if (!is_parallel(communicator, job->communicators[i]))
			continue;
		const struct call *its = call_at(job->communicators[i], communicator->order->parted_place);
		if (usual && !call_is_same(usual, its))
			return;
		usual = its;
	}
	uint32_t same = usual ? count_same(communicator, usual) : 0;
	for (uint32_t i = 0; i < communicator->member_count && same; i++) {
		const struct call *call = call_at_parting(communicator, i);
		if (call && !call_is_same(usual, call))
			odd = call;
	}
	if (!odd)
		return;
	parting->usual = usual;
	parting->odd = odd;
	parting->usual_count = same;
	parting->parallel = true;
}

int64_t desync_unseen(const struct member *member, const struct caller *caller)
{
	return (int64_t)(member->announced - member->captured - caller->calls - caller->other);
}

/* Ranks in step have missed the same calls and captured the same; otherwise one of them has made calls that nobody saw.
 */
static bool is_comparable(const struct communicator *communicator)
{
	const struct member *first = NULL;
	int64_t unseen = 0;

	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct member *member = &communicator->members[i];
		const struct caller *caller = call_order_caller(communicator->order, i);
		if (!caller || !caller->parted.known)
			continue;
		unseen = first ? unseen : desync_unseen(member, caller);
		first = first ? first : member;
		if (desync_unseen(member, caller) != unseen || member->captured != first->captured)
			return false;
	}
	return true;
}

static bool is_due(const struct parting *parting, uint64_t now_ns)
{
	const struct communicator *communicator = parting->communicator;
	uint32_t living = 0, running = 0;

	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct member *member = &communicator->members[i];
		living += !member->ended;
		running += member->process->life == ANALYSIS_ALIVE;
	}
	if (!running)
		return parting->odd;
	uint64_t since_ns = communicator->order->parted_ns;
	bool all = parting->came >= living || parting->complete;
	return parting->odd && now_ns >= since_ns + (all ? DESYNC_SETTLE_NS : DESYNC_WAIT_NS);
}

enum side { SIDE_USUAL, SIDE_ODD, SIDE_BOTH };

/* Ranks at the place, by their call. The caller frees. */
static uint32_t *select_ranks(const struct parting *parting, enum side side, uint32_t *count)
{
	const struct communicator *communicator = parting->communicator;
	uint32_t *ranks = calloc(communicator->member_count + 1, sizeof(*ranks));

	*count = 0;
	for (uint32_t i = 0; ranks && i < communicator->member_count; i++) {
		const struct call *call = call_at_parting(communicator, i);
		if (call && (side == SIDE_BOTH || call_is_same(parting->usual, call) == (side == SIDE_USUAL)))
			ranks[(*count)++] = communicator->members[i].rank;
	}
	return ranks;
}

static void set_call(struct record *record, const struct analysis *analysis, const struct communicator *communicator,
		     const struct call *call)
{
	struct instance instance = {
		.communicator = (struct communicator *)communicator,
		.function = call->function,
		.dtype = call->dtype,
		.sequence = call->sequence,
		.count = call->count,
		.root_or_peer = call->root,
		.place.place = STEPS_NO_PLACE,
	};

	record_set_operation(record, &analysis->job, &instance, RW_PHASE_ENQUEUED);
}

/* Of those who call the usual, or else, the one of which most was seen since. NULL: nobody, or of the others more than
 * one. */
static const struct caller *caller_of(const struct parting *parting, enum side side)
{
	const struct communicator *communicator = parting->communicator;
	const struct caller *found = NULL;
	uint32_t count = 0;

	for (uint32_t i = 0; i < communicator->member_count; i++) {
		const struct call *call = call_at_parting(communicator, i);
		if (!call || call_is_same(parting->usual, call) != (side == SIDE_USUAL))
			continue;
		const struct caller *caller = call_order_caller(communicator->order, i);
		count++;
		if (!found || caller->since_count > found->since_count)
			found = caller;
	}
	return side == SIDE_ODD && count != 1 ? NULL : found;
}

/* The step of a call; -1: not known. */
static int64_t step_of(const struct analysis *analysis, const struct communicator *communicator,
		       const struct call *call)
{
	const struct instance_key key = {
		.communicator = communicator->index,
		.function = call->function,
		.by_interposer = call->unannounced,
		.source = -1,
		.target = -1,
		.sequence = call->sequence,
	};
	const struct instance *instance = instances_find(&analysis->instances, &key);

	return instance ? instance_step(instance) : -1;
}

/* What it did otherwise, where that is beyond doubt. */
static void tell_alignment(struct record *record, const struct analysis *analysis, const struct parting *parting)
{
	const struct caller *usual = caller_of(parting, SIDE_USUAL), *odd = caller_of(parting, SIDE_ODD);

	if (!usual || !odd)
		return;
	const struct alignment alignment =
	    alignment_find(usual->since, usual->since_count, odd->since, odd->since_count);
	const struct call *first = alignment.kind == ALIGNMENT_EXTRA ? odd->since : usual->since;
	if (alignment.kind != ALIGNMENT_NONE)
		text_alignment(record, &alignment, first, step_of(analysis, parting->communicator, usual->since));
}

static struct record *make_record(const struct analysis *analysis, const struct parting *parting, uint64_t now_ns)
{
	bool known = parting->usual_count != 0;
	uint32_t odd_count, usual_count;
	uint32_t *odd = select_ranks(parting, known ? SIDE_ODD : SIDE_BOTH, &odd_count);
	uint32_t *usual = select_ranks(parting, SIDE_USUAL, &usual_count);
	struct record *record = NULL;

	if (odd && usual)
		record = record_new(&analysis->job, RW_KIND_DESYNC, RW_SCOPE_RANK, odd, odd_count);
	if (record && record_set_waiting(record, &analysis->job, usual, known ? usual_count : 0)) {
		record_free(record);
		record = NULL;
	}
	free(odd);
	free(usual);
	if (!record)
		return NULL;
	struct rw_finding *finding = &record->finding;
	record->subject = parting->communicator->index;
	finding->severity = RW_CRITICAL;
	finding->confidence = !known                                    ? RW_INCONCLUSIVE
			      : parting->complete && !parting->parallel ? RW_CERTAIN
									: RW_LIKELY;
	finding->first_seen_ns = parting->communicator->order->parted_ns;
	finding->detect_ms = (double)(now_ns - finding->first_seen_ns) / 1e6;
	set_call(record, analysis, parting->communicator, parting->odd);
	if (!known)
		record_add_missing(record,
				   "which ranks are wrong: no call is made by more than half of the communicator's "
				   "ranks");
	else if (parting->parallel)
		record_add_missing(record,
				   "which ranks are wrong: no call is made by more than half of the communicator's "
				   "ranks, so the call that the parallel groups make there is taken for the right one");
	else if (!parting->complete)
		record_add_missing(record, "what the other ranks call there: they had not reached this place yet");
	text_desync(record, parting->odd, parting->usual);
	if (known)
		tell_alignment(record, analysis, parting);
	return record;
}

uint64_t desync_since(const struct analysis *analysis, const struct communicator *communicator, uint64_t now_ns)
{
	const struct record *told = findings_open(&analysis->findings, RW_KIND_DESYNC, communicator->index);
	const struct call_order *order = communicator->order;

	if (told)
		return told->finding.confidence != RW_INCONCLUSIVE ? told->finding.first_seen_ns : 0;
	bool judged = communicator->desync_told || !order || !order->parted;
	return !judged && now_ns < order->parted_ns + DESYNC_SETTLE_NS + DESYNC_WAIT_NS ? order->parted_ns : 0;
}

uint64_t desync_of_rank(const struct analysis *analysis, uint32_t rank, uint64_t now_ns)
{
	const struct process *process = analysis->job.ranks[rank].process;
	uint64_t since_ns = 0;

	for (uint32_t i = 0; i < process->membership_count; i++) {
		const struct member *member = job_member_of(&process->memberships[i]);
		bool own = member && member->rank == rank && process->memberships[i].communicator;
		uint64_t at_ns = own ? desync_since(analysis, process->memberships[i].communicator, now_ns) : 0;
		if (at_ns && (!since_ns || at_ns < since_ns))
			since_ns = at_ns;
	}
	return since_ns;
}

void desync_tick(struct analysis *analysis, uint64_t now_ns)
{
	for (uint32_t i = 0; i < analysis->job.communicator_count; i++) {
		struct communicator *communicator = analysis->job.communicators[i];
		struct parting parting;
		if (!communicator->order || !communicator->order->parted || communicator->desync_told ||
		    communicator->mixed || communicator->uneven)
			continue;
		look(communicator, &parting);
		if (!is_due(&parting, now_ns) || !is_comparable(communicator))
			continue;
		if (!parting.usual_count)
			ask_parallel_groups(&analysis->job, &parting);
		struct record *record = make_record(analysis, &parting, now_ns);
		if (!record)
			continue;
		communicator->desync_told = true;
		findings_tell(&analysis->findings, record, now_ns);
	}
}
