/* SPDX-License-Identifier: MIT */
#include "console/trace/box_operations.h"

#include <errno.h>
#include <stdlib.h>

#include "console/boxes/boxes.h"
#include "feed/operation_view.h"

enum { BATCH = 512, NEVER_FOLLOWED = RW_FLAG_UNTRACKED | RW_FLAG_ABORTED | RW_FLAG_CAPTURED };

/* One that is older than the ring is long was passed over because it is still in flight: its claim comes no more. */
static bool is_wanted(const struct rw_operation *slot, enum box_slot state, uint64_t first)
{
	if (rw_is_step_mark(slot->known))
		return false;
	return state == BOX_SLOT_OK || (state == BOX_SLOT_OLDER && slot->ticket && slot->ticket - 1 < first);
}

static int by_ticket(const void *a, const void *b)
{
	const struct rw_operation *left = a, *right = b;

	return (left->ticket > right->ticket) - (left->ticket < right->ticket);
}

static int read_ring(struct box_operations *operations, const struct box_reader *reader)
{
	const struct rw_box_header *header = &reader->header;
	uint64_t oldest = header->head > header->ring_slots ? header->head - header->ring_slots : 0;
	enum box_slot states[BATCH];

	operations->list = calloc(header->head - oldest + 1, sizeof(*operations->list));
	if (!operations->list)
		return -ENOMEM;
	for (uint64_t next = oldest; next < header->head;) {
		struct rw_operation *slots = &operations->list[operations->count];
		uint32_t room = header->head - next < BATCH ? (uint32_t)(header->head - next) : BATCH;
		int count = box_reader_operations(reader, next, room, slots, states);

		if (count <= 0)
			return count;
		for (int i = 0; i < count; i++) {
			if (!is_wanted(&slots[i], states[i], oldest))
				continue;
			operations->list[operations->count] = slots[i];
			operation_view(&operations->list[operations->count++], OPERATION_TIME_MAX);
		}
		next += (uint64_t)count;
	}
	return 0;
}

static int read_progress(struct box_operations *operations, const struct box_reader *reader)
{
	uint32_t count = operations->communicator_count;

	operations->progress = calloc(count + 1, sizeof(*operations->progress));
	if (!operations->progress)
		return -ENOMEM;
	int read = count ? box_reader_progress(reader, 0, count, operations->progress) : 0;

	return read < 0 ? read : 0;
}

int box_operations_read(struct box_operations *operations, const struct box_reader *reader)
{
	*operations = (struct box_operations){ 0 };
	int err = box_communicators(reader, &operations->communicators, &operations->communicator_count);

	if (!err)
		err = read_progress(operations, reader);
	if (!err)
		err = read_ring(operations, reader);
	if (operations->count)
		qsort(operations->list, operations->count, sizeof(*operations->list), by_ticket);
	return err;
}

void box_operations_free(struct box_operations *operations)
{
	free(operations->list);
	free(operations->communicators);
	free(operations->progress);
	*operations = (struct box_operations){ 0 };
}

const struct rw_communicator *box_operations_communicator(const struct box_operations *operations,
							  const struct rw_operation *operation)
{
	bool known = (operation->known & RW_KNOWN_IDENT) && operation->comm < operations->communicator_count;

	return known && box_is_of(operation, &operations->communicators[operation->comm])
		   ? &operations->communicators[operation->comm]
		   : NULL;
}

enum operation_state box_operations_state(const struct box_operations *operations, const struct rw_operation *operation)
{
	const struct rw_communicator *communicator = box_operations_communicator(operations, operation);
	const struct rw_gpu_progress *progress = communicator ? &operations->progress[operation->comm] : NULL;
	bool numbered = (operation->known & RW_KNOWN_LAUNCH) && operation->progress && progress;

	if (operation->flags & NEVER_FOLLOWED)
		return OPERATION_ENDED;
	if (operation->owner & RW_OWNER_HOST && !(operation->known & RW_KNOWN_RETURN))
		return OPERATION_IN_CALL;
	if (!(operation->owner & RW_OWNER_GPU) || operation->known & RW_KNOWN_DONE)
		return OPERATION_ENDED;
	if (numbered && progress->gpu_done >= operation->progress)
		return OPERATION_DONE;
	if (operation->known & RW_KNOWN_STARTED || (numbered && progress->gpu_started >= operation->progress))
		return OPERATION_RUNNING;
	return OPERATION_LAUNCHED;
}
