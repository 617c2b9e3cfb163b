/* SPDX-License-Identifier: MIT */
#include "analysis/node/orders.h"

#include "analysis/call_order.h"
#include "analysis/desync.h"

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

static void tell(const struct job *job, const struct communicator *communicator, uint32_t i, const struct call_mark *mark,
		 struct outbox *outbox)
{
	struct rw_message message;

	if (!roster_address(&message, job_member_rank(job, &communicator->members[i]), RW_MESSAGE_CALLS))
		return;
	message.calls = (struct rw_message_calls){ .comm = communicator->id, .calls = mark->calls, .hash = mark->hash };
	outbox_add(outbox, &message);
}

/* From one mark to the next it should be neither too short nor too long. */
static void fit(struct order_mark *entry, uint64_t now_ns)
{
	uint64_t lasted_ns = entry->marked_ns ? now_ns - entry->marked_ns : ORDERS_SHORT_NS;

	if (lasted_ns > ORDERS_LONG_NS && entry->shift)
		entry->shift--;
	for (; lasted_ns < ORDERS_SHORT_NS && entry->shift < ORDERS_SHIFT_MAX; lasted_ns *= 2)
		entry->shift++;
	entry->marked_ns = now_ns;
}

static void note(struct roster *roster, const struct job *job, struct communicator *communicator, uint32_t i, struct outbox *outbox,
		 uint64_t now_ns)
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
	}
	if (entry->waits || caller->mark.calls == entry->mark.calls)
		return;
	entry->mark = caller->mark;
	entry->waits = true;
	entry->looks = 0;
	fit(entry, now_ns);
	call_order_mark_at(communicator->order, i, entry->shift);
}

void orders_tick(struct roster *roster, const struct job *job, struct outbox *outbox, uint64_t now_ns)
{
	for (uint32_t i = 0; i < job->communicator_count; i++)
		for (uint32_t k = 0; roster_spans(job->communicators[i]) && k < job->communicators[i]->member_count; k++)
			note(roster, job, job->communicators[i], k, outbox, now_ns);
}
