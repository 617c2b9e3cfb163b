/* SPDX-License-Identifier: MIT */
#include "plugin/scan/scan_buffers.h"

#include "plugin/nccl/in_place.h"

/* How much of a buffer a rank has. EVERY: count elements for each rank of the communicator. */
enum extent { UNKNOWN, NOTHING, COUNT, EVERY, COUNT_AT_ROOT, EVERY_AT_ROOT };

struct shape {
	uint8_t in, out; /* enum extent */
	/* Where the smaller buffer lies in the larger, when they overlap, the operation leaves the input as it was. */
	bool keeps;
};

static const struct shape shapes[RW_FUNCTION_COUNT] = {
	[RW_FUNCTION_ALL_GATHER] = { COUNT, EVERY, true },
	[RW_FUNCTION_ALL_REDUCE] = { COUNT, COUNT, false },
	[RW_FUNCTION_ALL_TO_ALL] = { EVERY, EVERY, false },
	[RW_FUNCTION_BROADCAST] = { COUNT_AT_ROOT, COUNT, true },
	[RW_FUNCTION_GATHER] = { COUNT, EVERY_AT_ROOT, true },
	[RW_FUNCTION_REDUCE] = { COUNT, COUNT_AT_ROOT, false },
	[RW_FUNCTION_REDUCE_SCATTER] = { EVERY, COUNT, false },
	[RW_FUNCTION_SCATTER] = { EVERY_AT_ROOT, COUNT, true },
	[RW_FUNCTION_SEND] = { COUNT, NOTHING, true },
	[RW_FUNCTION_RECV] = { NOTHING, COUNT, true },
};

static bool is_integer(uint8_t dtype)
{
	return dtype >= RW_DTYPE_INT8 && dtype <= RW_DTYPE_UINT64;
}

static uint64_t elements_of(const struct scan_call *call, enum extent extent)
{
	bool at_root = call->root == call->rank;

	switch (extent) {
	case COUNT:
		return call->count;
	case EVERY:
		return call->count * (uint64_t)call->nranks;
	case COUNT_AT_ROOT:
		return at_root ? call->count : 0;
	case EVERY_AT_ROOT:
		return at_root ? call->count * (uint64_t)call->nranks : 0;
	default:
		return 0;
	}
}

/* Bytes that RANKWATCH_UINT8_AS declares to be numbers are scanned as such, where size and alignment allow it. */
static void retype(struct scan_buffer *buffer, uint8_t as)
{
	uint32_t size = dtype_size(as);

	if (!size || buffer->bytes % size || buffer->address % size)
		return;
	buffer->dtype = as;
	buffer->elements = buffer->bytes / size;
	buffer->flags = is_integer(as) ? SCAN_DIGEST_ONLY : 0;
}

static struct scan_buffer buffer_of(const struct scan_call *call, uint64_t address, enum extent extent)
{
	uint32_t size = dtype_size(call->dtype);
	struct scan_buffer buffer = { .address = address, .dtype = call->dtype };

	if (!address)
		return buffer;
	buffer.elements = elements_of(call, extent);
	buffer.bytes = buffer.elements * size;
	buffer.flags = is_integer(call->dtype) ? SCAN_DIGEST_ONLY : 0;
	if (address % size) { /* NCCL can, the kernel's types cannot: bytes have a digest */
		buffer.dtype = RW_DTYPE_UINT8;
		buffer.elements = buffer.bytes;
		buffer.flags = SCAN_DIGEST_ONLY;
	} else if (call->dtype == RW_DTYPE_UINT8) {
		retype(&buffer, call->uint8_as);
	}
	return buffer;
}

static bool share_bytes(const struct scan_buffer *a, const struct scan_buffer *b)
{
	return a->bytes && b->bytes && a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

static bool is_in_place(const struct scan_call *call)
{
	return in_place(&(struct in_place_call){
	    .function = call->function,
	    .root = call->root,
	    .rank = call->rank,
	    .send = call->send,
	    .recv = call->recv,
	    .bytes = call->count * dtype_size(call->dtype),
	});
}

static bool is_known(const struct scan_call *call)
{
	const struct shape *shape = &shapes[call->function % RW_FUNCTION_COUNT];
	uint64_t ranks = call->nranks > 0 ? (uint64_t)call->nranks : 1;

	if (shape->in == UNKNOWN || !dtype_size(call->dtype) || call->rank < 0)
		return false;
	if (call->nranks < 1 &&
	    (shape->in == EVERY || shape->out == EVERY || shape->in == EVERY_AT_ROOT || shape->out == EVERY_AT_ROOT))
		return false;
	return call->count <= SCAN_ELEMENTS_MAX / 8 / ranks;
}

bool scan_buffers(const struct scan_call *call, struct scan_buffers *buffers)
{
	const struct shape *shape = &shapes[call->function % RW_FUNCTION_COUNT];

	*buffers = (struct scan_buffers){ 0 };
	if (!is_known(call))
		return false;
	buffers->in = buffer_of(call, call->send, shape->in);
	buffers->out = buffer_of(call, call->recv, shape->out);
	bool overlap = share_bytes(&buffers->in, &buffers->out);
	buffers->survives = !overlap || (shape->keeps && is_in_place(call));
	buffers->same = buffers->survives && overlap && buffers->in.bytes == buffers->out.bytes;
	return true;
}
