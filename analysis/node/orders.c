/* SPDX-License-Identifier: MIT */
#include "analysis/node/orders.h"

#include "analysis/known/call_order.h"
#include "analysis/hang/desync.h"

/* NULL: some of its calls are not known to others in this order, or not to us. */
static const struct caller *whole_caller(const struct communicator *communicator, uint32_t i)
{
	const struct member *member = &communicator->members[i];
	const struct caller *caller = communicator->order ? call_order_caller(communicator->order, i) : NULL;

	return caller && caller->seen_whole && !member->captured && !member->process->counts_calls ? caller : NULL;
}

struct call_mark orders_now(const struct communicator *communicator, uint32_t member)
{
	const struct caller *caller = whole_caller(communicator, member);

	if (!caller || desync_unseen(&communicator->members[member], caller) > 0)
		return (struct call_mark){ 0 };
	return caller->now;
}

static void tell(const struct job *job, const struct communicator *communicator, uint32_t i,
		 const struct call_mark *mark, struct outbox *outbox)
{
	struct rw_message message;

	if (!roster_address(&message, job_member_rank(job, &communicator->members[i]), RW_MESSAGE_CALLS))
		return;
	message.calls =
	    (struct rw_message_calls){ .comm = communicator->told_id, .calls = mark->calls, .hash = mark->hash };
	outbox_add(outbox, &message);
}

/* From one mark to the next it should be neither too short nor too long. How long it is follows from how fast calls are
 * made, not from how long ago the last mark was: that was taken with another shift, and may have been close before the
 * next multiple of this one. */
static void fit(struct order_mark *entry, uint64_t calls, uint64_t now_ns)
{
	double made = (double)(calls - entry->fitted_calls), each_ns = (double)(now_ns - entry->fitted_ns) / made;
	double stretch_ns = each_ns * (double)(UINT64_C(1) << entry->shift);

	if (stretch_ns >= ORDERS_SHORT_NS && stretch_ns <= ORDERS_LONG_NS)
		return;
	for (entry->shift = 0;
	     each_ns * (double)(UINT64_C(1) << entry->shift) < ORDERS_SHORT_NS && entry->shift < ORDERS_SHIFT_MAX;)
		entry->shift++;
}

static void note(struct roster *roster, const struct job *job, struct communicator *communicator, uint32_t i,
		 struct outbox *outbox, uint64_t now_ns)
{
	const struct caller *caller = whole_caller(communicator, i);
	struct roster_member *member = caller ? roster_member(roster, communicator, i) : NULL;

	if (!member)
		return;
	struct order_mark *entry = &member->mark;
	entry->looks = desync_unseen(&communicator->members[i], caller) > 0 ? 0 : entry->looks + 1;
	if (entry->waits && entry->looks >= ORDERS_LOOKS) {
		tell(job, communicator, i, &entry->mark, outbox);
		entry->waits = false;
		entry->told_ns = now_ns;
	}
	/* Once more: it may have been lost, and the next one is far away. */
	if (entry->told_ns && now_ns >= entry->told_ns + ORDERS_AGAIN_NS) {
		tell(job, communicator, i, &entry->mark, outbox);
		entry->told_ns = 0;
	}
	/* Also while no mark comes: it may be far away, if the calls were quicker before. */
	bool news = caller->mark.calls != entry->mark.calls;
	if (entry->waits || (!news && now_ns < entry->fitted_ns + ORDERS_SHORT_NS))
		return;
	if (entry->fitted_ns && now_ns > entry->fitted_ns && caller->now.calls > entry->fitted_calls)
		fit(entry, caller->now.calls, now_ns);
	entry->fitted_ns = now_ns;
	entry->fitted_calls = caller->now.calls;
	call_order_mark_at(communicator->order, i, entry->shift);
	if (!news)
		return;
	entry->mark = caller->mark;
	entry->told_ns = 0;
	entry->waits = true;
	entry->looks = 0;
}

void orders_tick(struct roster *roster, const struct job *job, struct outbox *outbox, uint64_t now_ns)
{
	for (uint32_t i = 0; i < job->communicator_count; i++)
		for (uint32_t k = 0; roster_spans(job->communicators[i]) && k < job->communicators[i]->member_count;
		     k++)
			note(roster, job, job->communicators[i], k, outbox, now_ns);
}

static void send_call(const struct rank *rank, const struct rw_message_ask_calls *ask, uint8_t index,
		      const struct call *call, uint64_t hash, struct outbox *outbox)
{
	struct rw_message message;

	if (!roster_address(&message, rank, RW_MESSAGE_CALLED))
		return;
	message.function = call->function;
	message.called = (struct rw_message_called){
		.comm = ask->comm,
		.count = call->count,
		.hash = hash,
		.from = (uint32_t)ask->from,
		.sequence = (uint32_t)call->sequence,
		.root = call->root,
		.shift = ask->shift,
		.index = index,
		.dtype = call->dtype,
	};
	outbox_add(outbox, &message);
}

static struct call call_of(const struct past_call *past)
{
	return (struct call){ .known = true,
			      .count = past->count,
			      .root = past->root,
			      .function = past->function,
			      .dtype = past->dtype };
}

static void answer(const struct job *job, const struct communicator *communicator, uint32_t member,
		   const struct rw_message_ask_calls *ask, struct outbox *outbox)
{
	const struct rank *rank = job_member_rank(job, &communicator->members[member]);
	const struct caller *caller = whole_caller(communicator, member);
	const struct call_history *history = caller ? call_order_history(communicator->order, member) : NULL;
	uint64_t hash = 0, until = caller ? caller->now.calls : 0;

	if (!history || !call_history_at(history, ask->from)) {
		send_call(rank, ask, 0, &(struct call){ .root = -1 }, 0, outbox);
		return;
	}
	for (uint64_t place = ask->from, index = 0; place < until && index < RW_CALLED_MAX; place++) {
		struct call call = call_of(call_history_at(history, place));
		hash = call_hash(hash, &call);
		if ((place - ask->from + 1) & ((UINT64_C(1) << ask->shift) - 1))
			continue;
		call.sequence = call_order_sequence(communicator->order, member, place);
		send_call(rank, ask, (uint8_t)index++, &call, hash, outbox);
	}
}

void orders_answer(const struct job *job, const struct rw_message *message, struct outbox *outbox)
{
	for (uint32_t i = 0; i < job->communicator_count; i++) {
		const struct communicator *communicator = job->communicators[i];
		if (communicator->told_id != message->ask_calls.comm || !roster_spans(communicator))
			continue;
		for (uint32_t k = 0; k < communicator->member_count; k++)
			if (roster_is_addressed(message, job_member_rank(job, &communicator->members[k])))
				answer(job, communicator, k, &message->ask_calls, outbox);
	}
}
