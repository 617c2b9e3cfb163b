/* SPDX-License-Identifier: MIT */
#include "console/trace/operation_arguments.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/numbers/splitmix.h"
#include "console/dump/box_json.h"
#include "finding/finding_json.h"

/* Elements that a rank brings and gets, as multiples of the count of the API call. */
enum extent { NONE, ONE, ALL /* of the ranks */ };

/* Kineto has the names of PyTorch's own functions, which come down to these calls of NCCL. */
static const struct {
	const char *name;
	enum extent in, out;
} collectives[RW_FUNCTION_COUNT] = {
	[RW_FUNCTION_ALL_GATHER] = { "_allgather_base", ONE, ALL },
	[RW_FUNCTION_ALL_REDUCE] = { "allreduce", ONE, ONE },
	[RW_FUNCTION_ALL_TO_ALL] = { "all_to_all", ALL, ALL },
	[RW_FUNCTION_BROADCAST] = { "broadcast", ONE, ONE },
	[RW_FUNCTION_GATHER] = { "gather", ONE, NONE },
	[RW_FUNCTION_REDUCE] = { "reduce", ONE, NONE },
	[RW_FUNCTION_REDUCE_SCATTER] = { "_reduce_scatter_base", ALL, ONE },
	[RW_FUNCTION_SCATTER] = { "scatter", NONE, ONE },
	[RW_FUNCTION_SEND] = { "send", ONE, NONE },
	[RW_FUNCTION_RECV] = { "recv", NONE, ONE },
};

/* As PyTorch prints its types. */
static const char *const types[RW_DTYPE_COUNT] = {
	[RW_DTYPE_INT8] = "Char",
	[RW_DTYPE_UINT8] = "Byte",
	[RW_DTYPE_INT32] = "Int",
	[RW_DTYPE_UINT32] = "UInt32",
	[RW_DTYPE_INT64] = "Long",
	[RW_DTYPE_UINT64] = "UInt64",
	[RW_DTYPE_FLOAT16] = "Half",
	[RW_DTYPE_FLOAT32] = "Float",
	[RW_DTYPE_FLOAT64] = "Double",
	[RW_DTYPE_BFLOAT16] = "BFloat16",
	[RW_DTYPE_FLOAT8_E4M3] = "Float8_e4m3fn",
	[RW_DTYPE_FLOAT8_E5M2] = "Float8_e5m2",
};

static const char *const states[] = {
	[OPERATION_IN_CALL] = "its call had not returned at the end",
	[OPERATION_LAUNCHED] = "launched; the GPU had not reached it at the end",
	[OPERATION_RUNNING] = "the GPU had reached it and not ended it at the end",
	[OPERATION_DONE] = "the GPU had ended it by the end, nobody saw when",
};

const char *operation_name(const struct rw_operation *operation)
{
	const char *name = operation->known & RW_KNOWN_IDENT ? finding_function_name(operation->function) : NULL;

	return name ? name : "operation";
}

const char *operation_dtype(const struct rw_operation *operation)
{
	return operation->dtype < RW_DTYPE_COUNT ? types[operation->dtype] : NULL;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return splitmix_mix((hash ^ value) + SPLITMIX_STEP);
}

uint64_t operation_flow(const struct rw_operation *operation, const struct rw_communicator *communicator)
{
	bool send = operation->function == RW_FUNCTION_SEND, recv = operation->function == RW_FUNCTION_RECV;
	bool peer_known =
	    operation->known & (RW_KNOWN_TASK | RW_KNOWN_CALL) && !(operation->flags & RW_FLAG_PEER_UNKNOWN);
	uint64_t hash;

	if (!communicator || !(operation->known & RW_KNOWN_IDENT) || operation->flags & RW_FLAG_CAPTURED)
		return 0;
	if ((send || recv) && !peer_known)
		return 0;
	hash = mix(mix(communicator->id, operation->sequence), operation->flags & RW_FLAG_UNANNOUNCED);
	if (send || recv) {
		uint32_t own = (uint32_t)communicator->rank, peer = (uint32_t)operation->root_or_peer;

		hash = mix(mix(hash, RW_FUNCTION_SEND_RECV), (uint64_t)(send ? own : peer) << 32 | (send ? peer : own));
	} else {
		hash = mix(hash, operation->function);
	}
	return hash ? hash : 1;
}

static void add_elements(struct trace_arguments *arguments, enum trace_key key, enum extent extent, uint64_t count,
			 int32_t ranks)
{
	uint64_t factor = extent == ALL ? (uint64_t)ranks : 1, elements;

	if (extent == NONE || (extent == ALL && ranks <= 0) || __builtin_mul_overflow(count, factor, &elements) ||
	    elements > INT64_MAX)
		return;
	trace_add_number(arguments, key, (int64_t)elements);
}

static void add_ident(struct trace_arguments *arguments, const struct rw_operation *operation, int32_t ranks)
{
	uint8_t function = operation->function < RW_FUNCTION_COUNT ? operation->function : 0;
	uint64_t sequence = operation->sequence;

	trace_add_text(arguments, TRACE_COLLECTIVE_NAME, collectives[function].name);
	add_elements(arguments, TRACE_IN_ELEMENTS, collectives[function].in, operation->count, ranks);
	add_elements(arguments, TRACE_OUT_ELEMENTS, collectives[function].out, operation->count, ranks);
	trace_add_text(arguments, TRACE_DTYPE, operation_dtype(operation));
	if (operation->flags & RW_FLAG_CAPTURED)
		sequence = rw_captured_call(sequence);
	trace_add_number(arguments, TRACE_SEQUENCE, (int64_t)sequence);
}

static void add_communicator(struct trace_arguments *arguments, const struct rw_communicator *communicator,
			     struct operation_texts *texts)
{
	snprintf(texts->communicator, sizeof(texts->communicator), "0x%" PRIx64, communicator->id);
	if (communicator->nranks > 0)
		trace_add_number(arguments, TRACE_GROUP_SIZE, communicator->nranks);
	trace_add_number(arguments, TRACE_RANK, communicator->rank);
	trace_add_text(arguments, TRACE_GROUP_NAME, texts->group_name);
	trace_add_text(arguments, TRACE_GROUP_RANKS, texts->group_ranks);
	trace_add_text(arguments, TRACE_COMMUNICATOR, texts->communicator);
}

static void add_task(struct trace_arguments *arguments, const struct rw_operation *operation)
{
	bool peer = operation->known & (RW_KNOWN_TASK | RW_KNOWN_CALL) && !(operation->flags & RW_FLAG_PEER_UNKNOWN);

	if (operation->known & RW_KNOWN_TASK) {
		trace_add_text(arguments, TRACE_ALGORITHM, finding_algorithm_name(operation->algorithm));
		trace_add_text(arguments, TRACE_PROTOCOL, finding_protocol_name(operation->protocol));
		trace_add_number(arguments, TRACE_CHANNELS, operation->channels);
	}
	if (peer && operation->root_or_peer >= 0)
		trace_add_number(arguments, TRACE_PEER, operation->root_or_peer);
}

/* Only what should not be there: an argument that says 0 everywhere hides the one that does not. */
static void add_values(struct trace_arguments *arguments, const struct rw_operation *operation)
{
	if (operation->known & RW_KNOWN_SCAN_IN && operation->scan_in.nan)
		trace_add_number(arguments, TRACE_NAN_IN, operation->scan_in.nan);
	if (operation->known & RW_KNOWN_SCAN_IN && operation->scan_in.inf)
		trace_add_number(arguments, TRACE_INF_IN, operation->scan_in.inf);
	if (operation->known & RW_KNOWN_SCAN_OUT && operation->scan_out.nan)
		trace_add_number(arguments, TRACE_NAN_OUT, operation->scan_out.nan);
	if (operation->known & RW_KNOWN_SCAN_OUT && operation->scan_out.inf)
		trace_add_number(arguments, TRACE_INF_OUT, operation->scan_out.inf);
}

void operation_arguments_add(struct trace_arguments *arguments, const struct rw_operation *operation,
			     const struct rw_communicator *communicator, struct operation_texts *texts,
			     enum operation_state state)
{
	uint32_t untracked = (operation->flags & RW_FLAG_UNTRACKED_MASK) >> RW_FLAG_UNTRACKED_SHIFT;
	uint64_t handle = operation->known & RW_KNOWN_LAUNCH ? operation->launch_stream : operation->stream;

	if (operation->known & RW_KNOWN_IDENT)
		add_ident(arguments, operation, communicator ? communicator->nranks : 0);
	if (communicator)
		add_communicator(arguments, communicator, texts);
	trace_add_text(arguments, TRACE_STATE, states[state]);
	add_task(arguments, operation);
	add_values(arguments, operation);
	if (operation->flags & RW_FLAG_UNTRACKED)
		trace_add_text(arguments, TRACE_UNTRACKED,
			       untracked < RW_UNTRACKED_COUNT && box_json_untracked_names[untracked]
				   ? box_json_untracked_names[untracked]
				   : "for a reason that is not known here");
	if (texts->device >= 0)
		trace_add_number(arguments, TRACE_DEVICE, texts->device);
	snprintf(texts->handle, sizeof(texts->handle), "0x%" PRIx64, handle);
	trace_add_text(arguments, TRACE_STREAM_HANDLE,
		       operation->known & (RW_KNOWN_LAUNCH | RW_KNOWN_API) ? texts->handle : NULL);
	trace_add_number(arguments, TRACE_CORRELATION, (int64_t)(operation->ticket & INT64_MAX));
}
