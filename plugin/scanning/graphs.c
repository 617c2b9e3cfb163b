/* SPDX-License-Identifier: MIT */
/* Scans inside CUDA graphs: nodes at the capture, on the capturing thread, and their replays on the drain thread. */
#include "plugin/scanning/results.h"
#include "plugin/scanning/scanning.h"
#include "plugin/scanning/state.h"

static struct scan_call shape_of(const struct recording *recording, const struct communicator *communicator,
				 const struct scanning_capture *capture)
{
	return (struct scan_call){
		.function = capture->function,
		.dtype = capture->dtype,
		.uint8_as = recording->config.uint8_as[capture->function % RW_FUNCTION_COUNT],
		.root = capture->root,
		.rank = communicator->rank,
		.nranks = communicator->nranks,
		.count = capture->count,
		.send = capture->send,
		.recv = capture->recv,
	};
}

static struct scan_captured description_of(const struct communicator *communicator,
					   const struct scanning_capture *capture)
{
	return (struct scan_captured){
		.sequence = rw_captured_sequence(capture->number, 0),
		.count = capture->count,
		.stream = capture->stream,
		.send = capture->send,
		.recv = capture->recv,
		.mark = communicator_mark(communicator),
		.root_or_peer = capture->peer >= 0 ? capture->peer : capture->root,
		.comm = (uint16_t)communicator->index,
		.function = capture->function,
		.dtype = capture->dtype,
		.reduction = capture->reduction,
	};
}

static void add_nodes(const struct recording *recording, const struct communicator *communicator, uint64_t stream,
		      const struct scan_buffers *buffers, uint32_t number)
{
	struct scan_request in = {
		.device = communicator->scan, .stream = stream, .ticket = number, .place = SCAN_BEFORE_CALL
	};
	struct scan_request out = in;

	out.place = SCAN_BEHIND_CALL;
	if (buffers->in.elements && recording->config.scan != CONFIG_SCAN_OUTPUT)
		in.parts[in.count++] = (struct scan_part){ buffers->in, RW_OWNER_SCAN_IN };
	/* A graph's nodes are in an order of their own. */
	if (buffers->out.elements && (recording->config.scan != CONFIG_SCAN_INPUT || scanning.only_before))
		out.parts[out.count++] = (struct scan_part){ buffers->out, RW_OWNER_SCAN_OUT };
	scanner_add(&scanning.scanner, &in);
	if (communicator->blocks)
		scanner_add(&scanning.scanner, &out);
	else if (out.count)
		scanner_refuse(&scanning.scanner, NULL, RW_UNSCANNABLE_CALLBACK);
}

void scanning_captured(struct recording *recording, struct communicator *communicator,
		       const struct scanning_capture *capture)
{
	struct scan_buffers buffers;
	struct scan_call shape;

	if (!communicator->scan || !scanner_is_on(&scanning.scanner))
		return;
	if (!capture) {
		scanner_refuse(&scanning.scanner, NULL, RW_UNSCANNABLE_CAPTURE);
		return;
	}
	shape = shape_of(recording, communicator, capture);
	if (capture->number > RW_CAPTURED_CALL_MASK || !scan_buffers(&shape, &buffers)) {
		scanner_refuse(&scanning.scanner, NULL, RW_UNSCANNABLE_SHAPE);
		return;
	}
	struct scan_captured description = description_of(communicator, capture);
	int32_t number = scan_nodes_call(&communicator->scan->nodes, &description);
	if (number < 0)
		scanner_refuse(&scanning.scanner, NULL, RW_UNSCANNABLE_CAPTURE);
	else
		add_nodes(recording, communicator, capture->stream, &buffers, (uint32_t)number);
}

struct taking {
	struct recording *recording;
	uint64_t now_ns;
};

/* The only time that is known is that of this poll, which is not when any rank arrived: the flag CAPTURED marks it. */
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
	atomic_store_explicit(&slot->flags, RW_FLAG_CAPTURED | rw_operator_flags(call->reduction),
			      memory_order_relaxed);
	atomic_store_explicit(&slot->known, RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_CALL, memory_order_relaxed);
}

/* Claims a slot for the replay, pending until the results of all its sides are there. NULL: no slot is to be had. */
static struct rw_operation *claim(const struct taking *taking, struct scan_captured *call, uint64_t replay)
{
	struct recording *recording = taking->recording;
	uint32_t sides = atomic_load_explicit(&call->sides, memory_order_relaxed);

	call->replay = replay + 1;
	call->ticket = 0;
	if (!scan_share_take(&scanning.share)) {
		scanner_refuse(&scanning.scanner, NULL, RW_UNSCANNABLE_BEHIND);
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
	if (slot) /* results that the replay before lacks will not arrive any more */
		box_release(slot, call->ticket, RW_OWNER_SCAN_IN | RW_OWNER_SCAN_OUT);
	return claim(taking, call, replay);
}

static void take_replay(void *argument, struct scan_captured *call, const struct scan_node_segment *segment,
			const struct scan_replay *replay)
{
	const struct taking *taking = argument;
	const struct communicator *communicator = &taking->recording->communicators[call->comm];

	if (communicator_mark(communicator) != call->mark)
		return; /* the communicator's entry belongs to another one by now */
	struct rw_operation *slot = slot_for(taking, call, replay->replay);
	uint32_t owner = slot ? atomic_load_explicit(&slot->owner, memory_order_acquire) : 0;
	if (!slot || !(owner & segment->sides)) /* or it was given up */
		return;
	scanning_record(taking->recording, slot,
			&(struct scanning_found){ .sides = segment->sides,
						  .ticket = call->ticket,
						  .elements = segment->elements,
						  .result = &replay->result },
			taking->now_ns);
	box_release(slot, call->ticket, segment->sides);
}

bool scanning_drain_replays(struct recording *recording, uint32_t every, uint64_t now_ns)
{
	struct taking taking = { recording, now_ns };

	bool any = scanner_collect_replays(&scanning.scanner, take_replay, &taking);
	uint64_t claims = atomic_load_explicit(&recording->box.header->head, memory_order_relaxed);
	uint32_t fitting = scan_share_judge(&scanning.share, now_ns, claims);
	scanner_sample_replays(&scanning.scanner, every && every < fitting ? fitting : every);
	return any;
}
