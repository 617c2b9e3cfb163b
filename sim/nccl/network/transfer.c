/* SPDX-License-Identifier: MIT */
#include "sim/nccl/network/transfer.h"

#include <stdlib.h>

struct transfer *transfer_new(const struct task *task, struct wire *wire, bool sends, int peer, int steps)
{
	struct transfer *transfer = calloc(1, sizeof(*transfer));

	if (!transfer)
		return NULL;
	transfer->comm = task->comm;
	transfer->wire = wire;
	transfer->kind = task_is_p2p(task) ? LINK_P2P : LINK_COLLECTIVE;
	profiler_transfer_take(&transfer->events, task, sends, peer, steps);
	return transfer;
}

void transfers_drop(struct transfer *transfers)
{
	while (transfers) {
		struct transfer *next = transfers->next;
		free(transfers);
		transfers = next;
	}
}

static struct link *transfer_link(const struct transfer *transfer)
{
	return transfer->events.sends ? &transfer->wire->send[transfer->kind]
				      : &transfer->wire->receive[transfer->kind];
}

static size_t step_bytes(const struct transfer *transfer, int step)
{
	return transfer_link(transfer)->bytes[(transfer->base + (uint64_t)step) % LINK_STEPS];
}

static void step_state(struct transfer *transfer, int step, enum profiler_state state, size_t bytes)
{
	profiler_transfer(&transfer->events, STEP_STATE, step, state, bytes);
}

static void step_event(struct transfer *transfer, enum transfer_event event, int step)
{
	profiler_transfer(&transfer->events, event, step, 0, 0);
}

/* Steps of this transfer that a counter of its link has passed. */
static int passed_by(const struct transfer *transfer, uint64_t counter)
{
	return counter > transfer->base ? (int)(counter - transfer->base) : 0;
}

static bool may_post(const struct transfer *transfer)
{
	return transfer->posted < transfer->events.steps && transfer->posted < transfer->done + LINK_STEPS;
}

/* As in NCCL only the oldest step that is not on its way is looked at: those behind it stay in SendGPUWait. */
static bool send_advance(struct transfer *transfer)
{
	struct link *link = transfer_link(transfer);
	int before = transfer->posted + transfer->passed + transfer->done;

	while (may_post(transfer) && link_post(link)) {
		step_event(transfer, STEP_START, transfer->posted);
		step_state(transfer, transfer->posted++, STATE_SEND_GPU_WAIT, 0);
	}
	int filled = passed_by(transfer, atomic_load_explicit(&link->filled, memory_order_acquire));
	while (transfer->passed < filled) {
		/* Once for each attempt, as in NCCL. */
		step_state(transfer, transfer->passed, STATE_SEND_PEER_WAIT, 0);
		if (!wire_queue(transfer->wire, transfer->kind))
			break;
		step_state(transfer, transfer->passed, STATE_SEND_WAIT, step_bytes(transfer, transfer->passed));
		transfer->passed++;
	}
	while (transfer->done < passed_by(transfer, link->arrived))
		step_event(transfer, STEP_STOP, transfer->done++);
	return transfer->posted + transfer->passed + transfer->done != before;
}

static bool receive_advance(struct transfer *transfer)
{
	struct link *link = transfer_link(transfer);
	int before = transfer->posted + transfer->passed + transfer->done;

	while (may_post(transfer) && link_post(link)) {
		wire_credit(transfer->wire, transfer->kind);
		step_event(transfer, STEP_START, transfer->posted);
		step_state(transfer, transfer->posted++, STATE_RECV_WAIT, 0);
	}
	/* Only the progress thread fills a receiving link. */
	int filled = passed_by(transfer, atomic_load_explicit(&link->filled, memory_order_relaxed));
	while (transfer->passed < filled) {
		size_t bytes = step_bytes(transfer, transfer->passed);
		step_state(transfer, transfer->passed, STATE_RECV_FLUSH_WAIT, bytes);
		step_state(transfer, transfer->passed++, STATE_RECV_GPU_WAIT, bytes);
	}
	int emptied = passed_by(transfer, atomic_load_explicit(&link->emptied, memory_order_acquire));
	while (transfer->done < emptied)
		step_event(transfer, STEP_STOP, transfer->done++);
	return transfer->posted + transfer->passed + transfer->done != before;
}

/* Whether it needs a connection that has failed. */
static bool is_cut(const struct transfer *transfer)
{
	return transfer->wire->error &&
	       (transfer->events.sends ? transfer->done : transfer->passed) < transfer->events.steps;
}

enum transfer_result transfer_advance(struct transfer *transfer)
{
	if (!transfer->begun) {
		transfer->base = atomic_load_explicit(&transfer_link(transfer)->posted, memory_order_relaxed);
		transfer->begun = true;
		step_event(transfer, TRANSFER_PROGRESS, 0);
	}
	bool moved = transfer->events.sends ? send_advance(transfer) : receive_advance(transfer);
	if (is_cut(transfer))
		return TRANSFER_FAILED;
	if (moved)
		bell_ring(&transfer->comm->segment.shared->ranks[transfer->comm->rank].bell);
	if (transfer->done < transfer->events.steps)
		return moved ? TRANSFER_MOVED : TRANSFER_WAITS;
	step_event(transfer, TRANSFER_STOP, 0);
	return TRANSFER_DONE;
}
