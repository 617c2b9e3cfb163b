/* SPDX-License-Identifier: MIT */
#include "plugin/operations/step.h"

#include <rankwatch/rankwatch.h>

#include "plugin/guest/clock.h"

enum {
	TAG_JUMP_MAX = 1 << 20,
	/* A tag that each operation has for itself numbers operations: among so many marks … */
	TAGS_JUDGED = 16,
	/* … so many claims are the least, marks included. */
	CLAIMS_PER_TAG = 3,
};

_Atomic uint64_t step_newest_tag;

static _Atomic uint64_t called; /* number of the last call of rankwatch_step(), plus 1; 0 none */
static _Atomic bool refused;    /* the tags of this process are no steps */
static _Atomic uint64_t tags, first_claim; /* marks by tags so far, and where the first of them is */

static void mark(struct recording *recording, uint64_t step, enum rw_step_source source)
{
	uint64_t ticket;
	struct rw_operation *slot = box_claim(&recording->box, RW_OWNER_HOST, &ticket);

	if (!slot)
		return;
	slot->count = step;
	slot->group = source;
	slot->api_ns = clock_ns();
	/* Relaxed: nobody reads the slot before box_publish(). */
	atomic_store_explicit(&slot->known, RW_KNOWN_STEP, memory_order_relaxed);
	box_publish(slot, ticket);
	box_release(slot, ticket, RW_OWNER_HOST);
}

void rankwatch_step(uint64_t step)
{
	if (step > RANKWATCH_STEP_MAX || atomic_exchange(&called, step + 1) == step + 1)
		return;
	struct recording *recording = recording_get();
	if (recording)
		mark(recording, step, RW_STEP_CALL);
}

/* A thread that calls rankwatch_step() meanwhile may mark the same step: the second mark says nothing new. */
void step_begin(struct recording *recording)
{
	uint64_t number = atomic_load(&called);

	if (number)
		mark(recording, number - 1, RW_STEP_CALL);
}

/* Is this tag the number of a step that follows the newest? */
static bool follows(const struct recording *recording, uint64_t newest, uint64_t tag)
{
	uint64_t count = atomic_load_explicit(&tags, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&recording->box.header->head, memory_order_relaxed);
	uint64_t claims = head - atomic_load_explicit(&first_claim, memory_order_relaxed);

	if (tag > RANKWATCH_STEP_MAX || (newest && (tag < newest || tag - newest > TAG_JUMP_MAX)))
		return false;
	return count != TAGS_JUDGED || claims >= TAGS_JUDGED * CLAIMS_PER_TAG;
}

static void take_back(struct recording *recording)
{
	if (!atomic_exchange(&refused, true) && atomic_load_explicit(&tags, memory_order_relaxed))
		mark(recording, 0, RW_STEP_TAG);
}

void step_take_tag(uint64_t tag)
{
	struct recording *recording = recording_get();
	uint64_t newest = atomic_load_explicit(&step_newest_tag, memory_order_relaxed);

	if (!tag || !recording || atomic_load_explicit(&refused, memory_order_relaxed) ||
	    atomic_load_explicit(&called, memory_order_relaxed))
		return;
	if (!follows(recording, newest, tag)) {
		take_back(recording);
		return;
	}
	if (!atomic_compare_exchange_strong(&step_newest_tag, &newest, tag))
		return; /* another thread has just taken one */
	if (!atomic_fetch_add_explicit(&tags, 1, memory_order_relaxed))
		atomic_store_explicit(&first_claim,
				      atomic_load_explicit(&recording->box.header->head, memory_order_relaxed),
				      memory_order_relaxed);
	mark(recording, tag, RW_STEP_TAG);
}
