/* SPDX-License-Identifier: MIT */
#include "plugin/recording/event_mask.h"

#include "plugin/recording/recording.h"

static _Atomic int asked[RW_BOX_COMMS]; /* by the communicator's place */

void event_mask_asked(struct communicator *communicator, int *mask, int bits)
{
	atomic_store_explicit(&asked[communicator->index], bits, memory_order_relaxed);
	/* Release: who sees the mask sees the bits. */
	atomic_store_explicit(&communicator->mask, mask, memory_order_release);
}

/* A mask is valid while its communicator lives. */
static int missing_of(const struct communicator *communicator)
{
	bool ended = atomic_load_explicit(&communicator->ended, memory_order_acquire);
	const int *mask = ended ? NULL : atomic_load_explicit(&communicator->mask, memory_order_acquire);

	if (!mask)
		return 0;
	return atomic_load_explicit(&asked[communicator->index], memory_order_relaxed) &
	       ~__atomic_load_n(mask, __ATOMIC_RELAXED);
}

void event_mask_poll(struct recording *recording, uint64_t now_ns)
{
	struct rw_box_header *header = recording->box.header;
	uint64_t used = atomic_load_explicit(&header->comms_used, memory_order_acquire);
	uint64_t known = atomic_load_explicit(&header->mask_missing, memory_order_relaxed), missing = 0;

	if (!communicators_hold()) /* the next second will do */
		return;
	for (uint64_t i = 0; i < used; i++)
		missing |= (unsigned int)missing_of(&recording->communicators[i]);
	communicators_release();
	if (!(missing & ~known)) /* the line is the claims' */
		return;
	if (!known)
		atomic_store_explicit(&header->mask_ns, now_ns, memory_order_relaxed);
	/* Release: who sees the bits sees since when. */
	atomic_store_explicit(&header->mask_missing, known | missing, memory_order_release);
}
