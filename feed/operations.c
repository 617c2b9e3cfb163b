/* SPDX-License-Identifier: MIT */
/* The operations of a feed: new ones in order of tickets, unfinished ones again. */
#include "feed/feed_state.h"

#include <errno.h>

/* A kernel's times may come later than its end, by NCCL's own thread: for so long they are waited for. */
#define KERNEL_PATIENCE_NS UINT64_C(100000000)

/* A claim that is not published after this is passed over; a slot without a pending owner is final after this. */
#define PATIENCE_NS UINT64_C(1000000000)

enum { TIMED = RW_KNOWN_API | RW_KNOWN_STEP }; /* has api_ns */

/* A claim to look at again: not published yet, or of an operation that was passed over. */
static void remember(struct feed *feed, uint64_t claim)
{
	/* A slot holds one operation and at most one claim waits for it: more than that is a damaged box. */
	if (feed->unfinished.count >= 2 * (size_t)feed->reader.header.ring_slots)
		return;
	feed_account(feed, unfinished_add(&feed->unfinished,
					  &(struct unfinished_operation){ .claim = claim, .since_ns = feed->now_ns }));
}

/* What a replay knows of the GPU page at its moment: as far as operations were seen to be. */
static void raise_progress(struct feed *feed, const struct rw_operation *operation)
{
	if (operation->comm >= RW_BOX_COMMS)
		return;

	struct rw_gpu_progress *progress = &feed->progress[operation->comm];

	if (operation->known & RW_KNOWN_STARTED && operation->progress > progress->gpu_started)
		progress->gpu_started = operation->progress;
	if (operation->known & RW_KNOWN_DONE && operation->progress > progress->gpu_done)
		progress->gpu_done = operation->progress;
}

/* No owner's bit is kept for the times of a kernel, and only some jobs have them. */
static bool awaits_kernel(const struct feed *feed, const struct rw_operation *operation)
{
	uint32_t known = operation->known & (RW_KNOWN_DONE | RW_KNOWN_STAMP);

	return feed->has_kernel_times && feed_may_still_come(feed) && known == RW_KNOWN_DONE &&
	       feed->now_ns < operation->done_seen_ns + KERNEL_PATIENCE_NS;
}

/* Nothing more is going to be written to it. RETURN may come after the last owner has left. */
static bool is_final(const struct feed *feed, const struct rw_operation *operation, uint64_t since_ns)
{
	if (awaits_kernel(feed, operation))
		return false;
	return !(operation->owner & RW_OWNER_PENDING) &&
	       (operation->known & (RW_KNOWN_RETURN | RW_KNOWN_STEP) || operation->flags & RW_FLAG_CAPTURED ||
		feed->now_ns - since_ns > PATIENCE_NS);
}

/* Passes a whole slot if it says more than last time. Returns whether to read it again. */
static bool pass(struct feed *feed, struct unfinished_operation *last, struct rw_operation *operation)
{
	uint64_t next_ns = operation_view(operation, feed->until_ns);

	feed_is_due(feed, operation_last_ns(operation));
	if (next_ns < feed->next_ns)
		feed->next_ns = next_ns;
	if (operation->known != last->known || operation->owner != last->owner || operation->flags != last->flags) {
		if (!feed_is_live(feed))
			raise_progress(feed, operation);
		feed->has_kernel_times |= operation->known & RW_KNOWN_STAMP;
		feed_account(feed, analysis_add_operation(feed->analysis, feed->id, operation));
		feed->passed++;
		last->known = operation->known;
		last->owner = operation->owner;
		last->flags = operation->flags;
	}
	return next_ns != UINT64_MAX || !is_final(feed, operation, last->since_ns);
}

/* False: not enqueued yet at the moment of a replay. */
static bool is_due(struct feed *feed, const struct rw_operation *operation)
{
	return !(operation->known & TIMED) || feed_is_due(feed, operation->api_ns);
}

static bool is_damaged(const struct rw_operation *operation)
{
	return operation->known & TIMED && operation->api_ns > OPERATION_TIME_MAX;
}

/* Returns whether to read it again. */
static bool pass_again(struct feed *feed, struct unfinished_operation *last, struct rw_operation *operation,
		       enum box_slot state)
{
	switch (state) {
	case BOX_SLOT_OK:
		return !is_damaged(operation) && (!is_due(feed, operation) || pass(feed, last, operation));
	case BOX_SLOT_BUSY:
		return !last->known && feed_may_still_come(feed);
	case BOX_SLOT_OLDER:
		return feed_may_still_come(feed) && feed->now_ns - last->since_ns <= PATIENCE_NS;
	case BOX_SLOT_GONE:
		return false;
	}
	return false;
}

/* Copies slots from claim `first` on: `count`, or in a live box up to FEED_RUN of those that have been claimed. What is
 * new is mostly right behind what is unfinished, and then is read with it. How many were copied, or -errno. */
static int read_run(struct feed *feed, uint64_t first, uint64_t count)
{
	uint64_t claimed = feed->reader.header.head - first;

	if (feed_is_live(feed) && first + count <= feed->next_claim && first + FEED_RUN > feed->next_claim)
		count = claimed < FEED_RUN ? claimed : FEED_RUN;
	int got = box_reader_operations(&feed->reader, first, (uint32_t)count, feed->run, feed->states);

	feed->run_first = first;
	feed->run_count = got > 0 ? (uint32_t)got : 0;
	return got;
}

/* How many from `at` on lie close enough together for one read. */
static size_t close_together(const struct unfinished *unfinished, size_t at)
{
	size_t count = 1;

	while (at + count < unfinished->count &&
	       unfinished->operations[at + count].claim - unfinished->operations[at].claim < FEED_RUN)
		count++;
	return count;
}

static int pass_unfinished(struct feed *feed)
{
	struct unfinished *unfinished = &feed->unfinished;
	size_t kept = 0, count;

	for (size_t at = 0; at < unfinished->count; at += count) {
		struct unfinished_operation *group = unfinished->operations + at;

		count = close_together(unfinished, at);

		uint64_t first = group[0].claim;
		int got = read_run(feed, first, group[count - 1].claim - first + 1);

		if (got < 0)
			return got;
		for (size_t i = 0; i < count; i++) {
			size_t slot = (size_t)(group[i].claim - first);

			if (pass_again(feed, &group[i], &feed->run[slot], feed->states[slot]))
				unfinished->operations[kept++] = group[i];
		}
	}
	unfinished->count = kept;
	return 0;
}

/* Waits for a claim that is being filled, so that operations keep their order; false when that takes too long. */
static bool hold(struct feed *feed)
{
	if (!feed_may_still_come(feed))
		return false;
	if (feed->held_claim != feed->next_claim || !feed->held_since_ns) {
		feed->held_claim = feed->next_claim;
		feed->held_since_ns = feed->now_ns;
	}
	return feed->now_ns - feed->held_since_ns <= PATIENCE_NS;
}

/* Returns false when the line stops here for now. */
static bool pass_new(struct feed *feed, struct rw_operation *operation, enum box_slot state)
{
	struct unfinished_operation last = { .claim = feed->next_claim, .since_ns = feed->now_ns };

	switch (state) {
	case BOX_SLOT_OK:
		if (!is_due(feed, operation) && !is_damaged(operation))
			return false;
		if (is_damaged(operation)) {
			feed_account(feed, -EINVAL);
			return true;
		}
		if (pass(feed, &last, operation))
			feed_account(feed, unfinished_add(&feed->unfinished, &last));
		return true;
	case BOX_SLOT_BUSY:
		if (hold(feed))
			return false;
		remember(feed, feed->next_claim);
		return true;
	case BOX_SLOT_OLDER:
		remember(feed, feed->next_claim);
		return true;
	case BOX_SLOT_GONE:
		return true;
	}
	return true;
}

/* Operations that have been in flight for more than a turn of the ring have claims before everything that is left. */
static int find_passed_over(struct feed *feed, uint64_t first)
{
	uint32_t slots = feed->reader.header.ring_slots;

	for (uint32_t done = 0; done < slots; done += FEED_RUN) {
		int got = box_reader_operations(&feed->reader, first + done, FEED_RUN, feed->run, feed->states);

		if (got < 0)
			return got;
		for (int i = 0; i < got; i++)
			if (feed->states[i] == BOX_SLOT_OLDER)
				remember(feed, feed->run[i].ticket - 1);
	}
	unfinished_order(&feed->unfinished);
	return 0;
}

int feed_pass_operations(struct feed *feed)
{
	uint64_t head = feed->reader.header.head;
	uint32_t slots = feed->reader.header.ring_slots;
	int err = 0;

	feed->run_count = 0;
	if (head - feed->next_claim > slots) {
		feed->next_claim = head - slots;
		err = find_passed_over(feed, feed->next_claim);
	}
	if (!err)
		err = pass_unfinished(feed);
	while (!err && feed->next_claim != head) {
		uint64_t at = feed->next_claim - feed->run_first, left = head - feed->next_claim;

		if (at >= feed->run_count) {
			int got = read_run(feed, feed->next_claim, left < FEED_RUN ? left : FEED_RUN);

			err = got < 0 ? got : 0;
			at = 0;
		}
		for (; at < feed->run_count; at++, feed->next_claim++)
			if (!pass_new(feed, &feed->run[at], feed->states[at]))
				return 0;
	}
	return err;
}
