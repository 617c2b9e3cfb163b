/* SPDX-License-Identifier: MIT */
/* Scans inside CUDA graphs: nodes at the capture, on the capturing thread, and their replays on the drain thread. */
#include "plugin/operations/call.h"
#include "plugin/operations/operation.h"
#include "plugin/scanning/results.h"
#include "plugin/scanning/scanning.h"

static struct scan_call shape_of(const struct recording *recording, const struct communicator *communicator,
				 const struct call *call)
{
	return (struct scan_call){
		.function = call->what.function,
		.dtype = call->what.dtype,
		.uint8_as = recording->config.uint8_as[call->what.function % RW_FUNCTION_COUNT],
		.root = call->what.root,
		.rank = communicator->rank,
		.nranks = communicator->nranks,
		.count = call->what.count,
		.send = call->send,
		.recv = call->recv,
	};
}

static struct scan_captured description_of(const struct communicator *communicator, const struct call *call,
					   uint64_t number)
{
	return (struct scan_captured){
		.sequence = rw_captured_sequence(number, 0),
		.count = call->what.count,
		.stream = call->what.stream,
		.send = call->send,
		.recv = call->recv,
		.mark = communicator_mark(communicator),
		.root_or_peer = call->peer >= 0 ? call->peer : call->what.root,
		.comm = (uint16_t)communicator->index,
		.function = call->what.function,
		.dtype = call->what.dtype,
		.reduction = call->what.reduction,
	};
}

static enum rw_unscannable add_node(struct recording *recording, struct scan_device *device, const struct call *call,
				    const struct scan_buffer *buffer, uint32_t number, uint32_t side)
{
	struct scan_request request = {
		.device = device,
		.place = side == RW_OWNER_SCAN_IN ? SCAN_BEFORE_CALL : SCAN_BEHIND_CALL,
		.stream = call->what.stream,
		.buffer = buffer,
		.ticket = number,
		.owner = side,
	};

	return scanner_add(&recording->scanner, &request);
}

static void add_nodes(struct recording *recording, struct communicator *communicator, const struct call *call,
		      const struct scan_buffers *buffers, uint32_t number)
{
	enum rw_unscannable in = RW_UNSCANNABLE_NONE, out = RW_UNSCANNABLE_NONE;

	if (buffers->in.elements && recording->config.scan != CONFIG_SCAN_OUTPUT)
		in = add_node(recording, communicator->scan, call, &buffers->in, number, RW_OWNER_SCAN_IN);
	if (buffers->out.elements && recording->config.scan != CONFIG_SCAN_INPUT)
		out = communicator->launches_elsewhere
			      ? RW_UNSCANNABLE_CALLBACK
			      : add_node(recording, communicator->scan, call, &buffers->out, number, RW_OWNER_SCAN_OUT);
	if (in != RW_UNSCANNABLE_NONE)
		scanner_refuse(&recording->scanner, NULL, in);
	if (out != RW_UNSCANNABLE_NONE)
		scanner_refuse(&recording->scanner, NULL, out);
}

void scanning_captured(struct recording *recording, struct communicator *communicator, const struct call *call)
{
	uint64_t ordinal = call ? operation_captured(communicator, call->what.function, call->peer) : 0;
	struct scan_buffers buffers;
	struct scan_call shape;

	if (!communicator->scan || !scanner_is_on(&recording->scanner))
		return;
	if (!call) {
		scanner_refuse(&recording->scanner, NULL, RW_UNSCANNABLE_CAPTURE);
		return;
	}
	shape = shape_of(recording, communicator, call);
	if (ordinal > RW_CAPTURED_CALL_MASK || !scan_buffers(&shape, &buffers)) {
		scanner_refuse(&recording->scanner, NULL, RW_UNSCANNABLE_SHAPE);
		return;
	}
	struct scan_captured description = description_of(communicator, call, ordinal);
	int32_t number = scan_nodes_call(&communicator->scan->nodes, &description);
	if (number < 0)
		scanner_refuse(&recording->scanner, NULL, RW_UNSCANNABLE_CAPTURE);
	else
		add_nodes(recording, communicator, call, &buffers, (uint32_t)number);
}

struct taking {
	struct recording *recording;
	uint64_t now_ns;
};

/* No time of it is known but this one: nothing that reads arrivals may take it for one. */
static void fill(struct rw_operation *slot, const struct scan_captured *call, uint64_t replay, uint64_t now_ns)
{
	slot->comm = call->comm;
	slot->function = call->function;
	slot->dtype = call->dtype;
	slot->count = call->count;
	slot->sequence = rw_captured_sequence(rw_captured_call(call->sequence), replay);
	slot->stream = call->stream;
	slot->send_address = call->send;
	slot->recv_address = call->recv;
	slot->root_or_peer = call->root_or_peer;
	slot->api_ns = now_ns;
	atomic_store_explicit(&slot->flags, RW_FLAG_CAPTURED | rw_operator_flags(call->reduction), memory_order_relaxed);
	atomic_store_explicit(&slot->known, RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_CALL, memory_order_relaxed);
}

/* A slot that waits for what the replay reports; one of its two sides comes first. NULL: there is none for it. */
static struct rw_operation *claim(const struct taking *taking, struct scan_captured *call, uint64_t replay)
{
	struct recording *recording = taking->recording;
	uint32_t sides = atomic_load_explicit(&call->sides, memory_order_relaxed);

	call->replay = replay + 1;
	call->ticket = 0;
	if (!scan_share_take(&recording->share)) {
		scanner_refuse(&recording->scanner, NULL, RW_UNSCANNABLE_BEHIND);
		return NULL;
	}
	struct rw_operation *slot = box_claim(&recording->box, sides, &call->ticket);
	if (!slot)
		return NULL;
	fill(slot, call, replay, taking->now_ns);
	box_publish(slot, call->ticket);
	return slot;
}

static struct rw_operation *slot_for(const struct taking *taking, struct scan_captured *call, uint64_t replay)
{
	struct box_writer *box = &taking->recording->box;
	struct rw_operation *slot = box_slot(box, call->ticket);

	if (call->replay == replay + 1)
		return slot;
	if (slot) /* what is missing of the last one is not going to come */
		box_release(slot, call->ticket, RW_OWNER_SCAN_IN | RW_OWNER_SCAN_OUT);
	return claim(taking, call, replay);
}

static void take_replay(void *argument, struct scan_captured *call, const struct scan_node_segment *segment,
			const struct scan_replay *replay)
{
	const struct taking *taking = argument;
	const struct communicator *communicator = &taking->recording->communicators[call->comm];

	if (communicator_mark(communicator) != call->mark)
		return; /* its entry has a new owner */
	struct rw_operation *slot = slot_for(taking, call, replay->replay);
	uint32_t owner = slot ? atomic_load_explicit(&slot->owner, memory_order_acquire) : 0;
	if (!slot || !(owner & segment->sides)) /* or it was given up */
		return;
	scanning_record(taking->recording, slot, segment->sides, &replay->result, segment->elements, taking->now_ns);
	box_release(slot, call->ticket, segment->sides);
}

bool scanning_drain_replays(struct recording *recording, uint32_t every, uint64_t now_ns)
{
	struct taking taking = { recording, now_ns };

	bool any = scanner_collect_replays(&recording->scanner, take_replay, &taking);
	uint64_t claims = atomic_load_explicit(&recording->box.header->head, memory_order_relaxed);
	uint32_t fitting = scan_share_judge(&recording->share, now_ns, claims);
	scanner_sample_replays(&recording->scanner, every && every < fitting ? fitting : every);
	return any;
}
