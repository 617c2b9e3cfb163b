/* SPDX-License-Identifier: MIT */
#include "plugin/drain/drain.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

#include "plugin/drain/group_thread.h"
#include "plugin/drain/self_sampler.h"
#include "plugin/drain/taskless.h"
#include "plugin/guest/clock.h"
#include "plugin/guest/memory.h"
#include "plugin/guest/own_thread.h"
#include "plugin/network/lease.h"
#include "plugin/recording/event_mask.h"
#include "plugin/recording/recording.h"
#include "plugin/scanning/scanning.h"

enum {
	/* Between polls while something is in flight. A wakeup is nearly all of what a poll costs; this with the slack
	 * is how late an arrival is seen, a quarter of the least lateness that counts (20 ms). */
	BUSY_NS = 3500000,
	/* … more or less, drawn anew each time: polls that come as regularly as operations do would see the same part
	 * of each of them, and another rank's polls another part. What is summed over many has to be a fair sample. */
	BUSY_SPREAD_NS = 500000,
	SLACK_NS = 500000,  /* the kernel may delay our wakeup by so much, to join it with others */
	IDLE_NS = 20000000, /* after IDLE_AFTER_NS without */
	PAUSE_NS = 500000000,
	IDLE_AFTER_NS = 1000000000,
	SECOND_NS = 1000000000,
};

enum stage {
	CLAIMED,  /* a claim number was given out; the slot may never be published (skipped claims) */
	CALLED,   /* published, no task yet */
	LAUNCHED, /* the GPU will report its end */
	STARTED,
};

/* One unfinished operation. Private to the thread, compact: the slots themselves are touched only when they move. */
struct watched {
	uint64_t ticket;
	uint64_t progress;
	uint64_t since_ns;
	uint32_t group;
	uint16_t comm;
	uint8_t stage; /* enum stage */
};

struct drain {
	struct recording *recording;
	struct watched *list; /* ascending tickets */
	size_t count, room;
	size_t moving;                         /* of them: something is about to be seen of it */
	uint64_t next;                         /* claim to be taken next */
	struct taskless taskless;
	struct group_threads group_threads;
	uint64_t busy_ns, second_ns;
	uint64_t random;
	struct self_sampler sampler;
	struct leases leases;
};

static void take_new(struct drain *drain, uint64_t now)
{
	uint64_t head = atomic_load_explicit(&drain->recording->box.header->head, memory_order_relaxed);

	if (head - drain->next > drain->room) /* we slept while the ring went round; those were finished without us */
		drain->next = head - drain->room;
	for (; drain->next < head && drain->count < drain->room; drain->next++)
		drain->list[drain->count++] =
		    (struct watched){ .ticket = drain->next + 1, .since_ns = now, .stage = CLAIMED };
}

static bool has_ended(const struct drain *drain, const struct watched *watched)
{
	return atomic_load_explicit(&drain->recording->communicators[watched->comm].ended, memory_order_acquire);
}

/*
 * The read protocol of the box: a slot without pending bits may be claimed again while it is copied, which reading the
 * ticket a second time finds out. False: not this ticket (any more). ThreadSanitizer cannot know that torn copies are
 * dropped.
 */
__attribute__((no_sanitize("thread"))) static bool copy(const struct box_writer *box, uint64_t ticket,
							struct glimpse *glimpse)
{
	const struct rw_operation *slot = &box->ring[(ticket - 1) & box->ring_mask];

	/* Acquire: pairs with box_publish(). */
	if (atomic_load_explicit(&slot->ticket, memory_order_acquire) != ticket)
		return false;
	*glimpse = (struct glimpse){
		/* Acquire: pairs with the release of whoever set the bit. */
		.known = atomic_load_explicit(&slot->known, memory_order_acquire),
	};
	glimpse->flags = atomic_load_explicit(&slot->flags, memory_order_relaxed);
	glimpse->api_ns = slot->api_ns;
	glimpse->return_ns = slot->return_ns;
	glimpse->progress = slot->progress;
	glimpse->group = slot->group;
	glimpse->api_tid = slot->api_tid;
	glimpse->launch_tid = slot->launch_tid;
	glimpse->comm = slot->comm;
	glimpse->function = slot->function;
	/* Pairs with the fence in box_take(). */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&slot->ticket, memory_order_relaxed) == ticket;
}

/* A claim that finds its slot taken is skipped and never published. One that has its slot is published sooner or
 * later. */
static bool may_be_published(const struct rw_operation *slot, const struct watched *watched, uint64_t now)
{
	uint32_t owner = atomic_load_explicit(&slot->owner, memory_order_relaxed);
	bool has_slot =
	    owner & RW_OWNER_PENDING && (owner & ~(uint32_t)RW_OWNER_PENDING) == box_owner(watched->ticket, 0);

	return has_slot || now - watched->since_ns < SECOND_NS;
}

/* False: this claim is over, or will not be published any more. */
static bool see_claimed(struct drain *drain, struct watched *watched, uint64_t now)
{
	struct box_writer *box = &drain->recording->box;
	const struct rw_operation *slot = &box->ring[(watched->ticket - 1) & box->ring_mask];
	/* Read before the copy: an operation that is published between the two is copied, or found by the next poll. */
	uint64_t ticket = atomic_load_explicit(&slot->ticket, memory_order_relaxed);
	struct glimpse op;

	if (!copy(box, watched->ticket, &op))
		return ticket < watched->ticket && may_be_published(slot, watched, now);
	if (op.flags & RW_FLAG_CAPTURED || rw_is_step_mark(op.known))
		return false; /* a replay or a step mark: neither host nor GPU is waited for */
	watched->comm = op.comm;
	watched->group = op.group;
	watched->stage = CALLED;
	taskless_called(&drain->taskless, &op, watched->ticket);
	self_sampler_note(&drain->sampler, op.api_tid, op.api_ns);
	return true;
}

static void give_up(struct drain *drain, const struct watched *watched, enum rw_untracked reason)
{
	struct box_writer *box = &drain->recording->box;
	struct rw_operation *slot = box_slot(box, watched->ticket);

	if (!slot)
		return;
	atomic_fetch_or_explicit(&slot->flags, RW_FLAG_UNTRACKED | (uint32_t)reason << RW_FLAG_UNTRACKED_SHIFT,
				 memory_order_relaxed);
	atomic_fetch_add_explicit(&box->header->untracked[reason], 1, memory_order_relaxed);
	scanning_unreported(drain->recording, slot);
	box_release(slot, watched->ticket, RW_OWNER_HOST | RW_OWNER_GPU);
}

/* False: there is no GPU to wait for. */
static bool see_task(struct drain *drain, struct watched *watched, const struct glimpse *op)
{
	if (op->known & RW_KNOWN_LAUNCH) {
		taskless_launched(&drain->taskless, drain->recording, op, watched->ticket);
		watched->progress = op->progress;
	}
	watched->stage = LAUNCHED;
	return watched->progress != 0;
}

/* False: no more of it to see. */
static bool see_called(struct drain *drain, struct watched *watched, uint64_t now)
{
	struct taskless_later later = taskless_later(&drain->taskless, drain->recording, watched->comm, watched->ticket,
						     watched->group);
	struct glimpse op;

	if (!copy(&drain->recording->box, watched->ticket, &op))
		return false;
	if (op.known & RW_KNOWN_TASK)
		return see_task(drain, watched, &op);
	enum rw_untracked reason = taskless_why(drain->recording, &op, &later, now);
	if (reason == RW_UNTRACKED_NONE) {
		if (!later.called)
			group_threads_ask(&drain->group_threads, drain->recording, &op, now);
		taskless_note_inside(drain->recording, &op, watched->ticket);
		return true;
	}
	give_up(drain, watched, reason);
	return false;
}

static void see_started(struct watched *watched, struct rw_operation *slot, uint64_t now)
{
	if (watched->stage == STARTED)
		return;
	watched->stage = STARTED;
	slot->started_seen_ns = now;
	slot->gpu_source = RW_GPU_SOURCE_WATERMARK;
	box_known(slot, RW_KNOWN_STARTED);
}

/* False: it is done, or nobody will ever report that it is. */
static bool see_gpu(struct drain *drain, struct watched *watched, uint64_t now)
{
	const struct rw_gpu_progress *counters = &drain->recording->box.gpu[watched->comm];
	bool lost =
	    has_ended(drain, watched) || !atomic_load_explicit(&drain->recording->progress.on, memory_order_relaxed);
	bool done = atomic_load_explicit(&counters->gpu_done, memory_order_acquire) >= watched->progress;
	bool started = done || atomic_load_explicit(&counters->gpu_started, memory_order_relaxed) >= watched->progress;

	if (!lost && !done && !(started && watched->stage == LAUNCHED))
		return true;
	struct rw_operation *slot = box_slot(&drain->recording->box, watched->ticket);
	if (!slot)
		return false;
	if (started)
		see_started(watched, slot, now);
	if (done) {
		slot->done_seen_ns = now;
		box_known(slot, RW_KNOWN_DONE);
	} else if (lost && has_ended(drain, watched)) {
		atomic_fetch_or_explicit(&slot->flags, RW_FLAG_ABORTED, memory_order_relaxed);
	}
	if (!done && !lost)
		return true;
	box_release(slot, watched->ticket, RW_OWNER_GPU);
	return false;
}

static bool see(struct drain *drain, struct watched *watched, uint64_t now)
{
	if (watched->stage == CLAIMED && !see_claimed(drain, watched, now))
		return false;
	if (watched->stage == CALLED && !see_called(drain, watched, now))
		return false;
	return watched->stage < LAUNCHED || see_gpu(drain, watched, now);
}

static void poll(struct drain *drain, uint64_t now)
{
	size_t kept = 0;

	take_new(drain, now);
	drain->moving = 0;
	for (size_t i = 0; i < drain->count; i++) {
		struct watched *watched = &drain->list[i];

		if (!see(drain, watched, now))
			continue;
		/* A call that hangs before its launch, or of which nothing more may come, does not keep us polling
		 * fast. */
		drain->moving += watched->stage != CALLED || now - watched->since_ns < IDLE_AFTER_NS;
		drain->list[kept++] = *watched;
	}
	drain->count = kept;
}

static void take_anchor(struct rw_box_header *header, uint64_t now)
{
	uint32_t number = atomic_load_explicit(&header->anchors_written, memory_order_relaxed);
	struct rw_anchor *anchor = &header->anchors[number % RW_BOX_ANCHORS];
	struct timespec realtime;

	clock_gettime(CLOCK_REALTIME, &realtime);
	anchor->monotonic_ns = now;
	anchor->realtime_ns = (uint64_t)realtime.tv_sec * SECOND_NS + (uint64_t)realtime.tv_nsec;
	anchor->gpu_ns = 0;
	/* Release: a reader takes the anchor for whole. */
	atomic_store_explicit(&header->anchors_written, number + 1, memory_order_release);
}

static void every_second(struct drain *drain, uint64_t now)
{
	struct box_writer *box = &drain->recording->box;

	if (now - drain->second_ns < SECOND_NS)
		return;
	drain->second_ns = now;
	take_anchor(box->header, now);
	event_mask_poll(drain->recording, now);
	box_writer_expire(box, drain->count ? drain->list[0].ticket - 1 : drain->next);
}

/* This thread has not run since its last poll, for so long that no scheduler under load makes many. In place of the
 * older one. */
static void note_pause(struct rw_box_header *header, uint64_t until_ns)
{
	uint64_t from_ns = atomic_load_explicit(&header->drain_ns, memory_order_relaxed);
	struct rw_pause *pause = &header->pauses[0];

	if (!from_ns || from_ns + PAUSE_NS > until_ns)
		return;
	for (int i = 1; i < RW_BOX_PAUSES; i++)
		if (atomic_load_explicit(&header->pauses[i].until_ns, memory_order_relaxed) <
		    atomic_load_explicit(&pause->until_ns, memory_order_relaxed))
			pause = &header->pauses[i];
	atomic_store_explicit(&pause->until_ns, 0, memory_order_relaxed);
	atomic_store_explicit(&pause->from_ns, from_ns, memory_order_release);
	atomic_store_explicit(&pause->until_ns, until_ns, memory_order_release);
}

/* xorshift64*, Vigna 2016. */
static long busy_pause(struct drain *drain)
{
	drain->random ^= drain->random >> 12;
	drain->random ^= drain->random << 25;
	drain->random ^= drain->random >> 27;
	return BUSY_NS - BUSY_SPREAD_NS +
	       (long)((drain->random * UINT64_C(0x2545f4914f6cdd1d) >> 32) % (2 * BUSY_SPREAD_NS));
}

static void *run(void *argument)
{
	struct drain *drain = argument;
	struct rw_box_header *header = drain->recording->box.header;

	drain->busy_ns = clock_ns(); /* operations are about to come */
	drain->random = drain->busy_ns | 1;
	prctl(PR_SET_NAME, RW_PLUGIN_THREAD);
	prctl(PR_SET_TIMERSLACK, (unsigned long)SLACK_NS);
	for (;;) {
		uint64_t now = clock_ns();

		/* First: what is seen to have ended behind it was held up by it. */
		note_pause(header, now);
		poll(drain, now);
		recording_sum_costs(drain->recording); /* before the budget is judged */
		bool scans = scanning_drain(drain->recording, now);
		if (drain->moving || scans)
			drain->busy_ns = now;
		if (atomic_load_explicit(&drain->recording->living, memory_order_relaxed))
			self_sampler_poll(&drain->sampler, now);
		group_threads_poll(&drain->group_threads, drain->recording, now);
		leases_poll(&drain->leases, drain->recording, now);
		every_second(drain, now);
		/* Release: pairs with the acquire of who gives an ended communicator's place to another. */
		atomic_store_explicit(&header->drain_ns, now, memory_order_release);
		long pause = now - drain->busy_ns < IDLE_AFTER_NS ? busy_pause(drain) : IDLE_NS;
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = pause }, NULL);
	}
	return NULL;
}

int drain_start(struct recording *recording)
{
	static struct drain drain;
	static const struct own_thread own = { run, &drain };

	drain.recording = recording;
	drain.room = (size_t)recording->box.ring_mask + 1;
	drain.list = memory_reserved(drain.room * sizeof(*drain.list));
	if (!drain.list)
		return -ENOMEM;
	self_sampler_open(&drain.sampler, &recording->box);
	return own_thread_start(&own);
}
