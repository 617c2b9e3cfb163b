/* SPDX-License-Identifier: MIT */
#include "console/dump/inspector_line.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "analysis/known/call_order.h"
#include "console/dump/box_json.h"

#define FORMAT_VERSION "v4.0"

/* What Inspector knows, and how it makes bandwidths of sizes: bytes that are counted once or for each rank, and by
 * which share of the others they are multiplied for the bus. */
enum bus { WHOLE, OTHERS /* (n - 1) / n */, TWICE_OTHERS };

static const struct shape {
	const char *name; /* NULL: Inspector has none */
	bool per_rank, transfer;
	enum bus bus;
} shapes[RW_FUNCTION_COUNT] = {
	[RW_FUNCTION_ALL_GATHER] = { "AllGather", .per_rank = true, .bus = OTHERS },
	[RW_FUNCTION_ALL_REDUCE] = { "AllReduce", .bus = TWICE_OTHERS },
	[RW_FUNCTION_BROADCAST] = { "Broadcast", .bus = WHOLE },
	[RW_FUNCTION_REDUCE] = { "Reduce", .bus = WHOLE },
	[RW_FUNCTION_REDUCE_SCATTER] = { "ReduceScatter", .per_rank = true, .bus = OTHERS },
	[RW_FUNCTION_SEND] = { "Send", .transfer = true, .bus = WHOLE },
	[RW_FUNCTION_RECV] = { "Recv", .transfer = true, .bus = WHOLE },
};

struct timing {
	uint64_t us;
	const char *source; /* as Inspector calls it; NULL: not known */
};

static struct timing timing_of(const struct rw_operation *operation)
{
	if (operation->known & RW_KNOWN_STAMP && operation->gpu_end_raw > operation->gpu_start_raw)
		return (struct timing){ (operation->gpu_end_raw - operation->gpu_start_raw) / 1000, "kernel_gpu" };
	if (operation->known & RW_KNOWN_STARTED && operation->known & RW_KNOWN_DONE &&
	    operation->done_seen_ns > operation->started_seen_ns)
		return (struct timing){ (operation->done_seen_ns - operation->started_seen_ns) / 1000, "kernel_cpu" };
	return (struct timing){ 0, NULL };
}

static double bus_share(enum bus bus, int32_t ranks)
{
	return bus == WHOLE ? 1 : (bus == TWICE_OTHERS ? 2.0 : 1.0) * (ranks - 1) / ranks;
}

static json_t *header_json(const struct rw_communicator *communicator)
{
	char id[24];

	snprintf(id, sizeof(id), "0x%" PRIx64, communicator->id);
	return json_pack("{s:s, s:o, s:i, s:i, s:i}", "id", id, "comm_name",
			 communicator->name[0] ? box_json_text(communicator->name, sizeof(communicator->name))
					       : json_string("unknown"),
			 "rank", communicator->rank, "n_ranks", communicator->nranks, "nnodes", communicator->nnodes);
}

/* Inspector's time stamp is of its own dump, shortly behind the operation; what is known here is when that had ended.
 */
static json_t *metadata_json(const struct box_entry *entry, const struct rw_operation *operation)
{
	const struct rw_box_header *header = &entry->reader.header;
	uint64_t end_ns = operation->known & RW_KNOWN_DONE ? operation->done_seen_ns : operation->api_ns;

	return json_pack("{s:s, s:s, s:s, s:I, s:o, s:I}", "inspector_output_format_version", FORMAT_VERSION, "git_rev",
			 "", "rec_mechanism", "rankwatch " RANKWATCH_VERSION, "dump_timestamp_us",
			 (json_int_t)(((int64_t)end_ns + box_realtime_offset(header)) / 1000), "hostname",
			 box_json_text(header->host, sizeof(header->host)), "pid", (json_int_t)header->pid);
}

/* Names of keys begin with what the operation is. */
static void set(json_t *object, const char *kind, const char *key, json_t *value)
{
	char name[40];

	snprintf(name, sizeof(name), "%s_%s", kind, key);
	json_object_set_new(object, name, value);
}

static json_t *performance_json(const struct inspector_box *box, const struct rw_operation *operation,
				const struct rw_communicator *communicator, struct timing timing)
{
	const struct shape *shape = &shapes[operation->function];
	const char *kind = shape->transfer ? "p2p" : "coll";
	uint64_t bytes = call_bytes(&(struct call){ .dtype = operation->dtype, .count = operation->count });
	uint64_t number = operation->known & RW_KNOWN_TASK ? operation->nccl_sequence : operation->sequence;
	double traffic = (double)bytes * (shape->per_rank ? communicator->nranks : 1);
	double speed = timing.us ? traffic / 1e3 / (double)timing.us : 0;
	json_t *performance = json_pack("{s:s}", kind, shape->name);

	set(performance, kind, "sn",
	    json_integer((json_int_t)(shape->transfer ? box->transfers[operation->comm] : number)));
	if (shape->transfer)
		set(performance, kind, "peer", json_integer(operation->root_or_peer));
	set(performance, kind, "msg_size_bytes", json_integer((json_int_t)bytes));
	set(performance, kind, "exec_time_us", json_integer((json_int_t)timing.us));
	set(performance, kind, "timing_source", json_string(timing.source));
	set(performance, kind, "algobw_gbs", json_real(speed));
	set(performance, kind, "busbw_gbs", json_real(speed * bus_share(shape->bus, communicator->nranks)));
	return performance;
}

static bool is_strange(const struct rw_operation *operation, const struct rw_communicator *communicator)
{
	const struct shape *shape = operation->function < RW_FUNCTION_COUNT ? &shapes[operation->function] : NULL;

	if (!communicator || !shape || !shape->name || operation->comm >= RW_BOX_COMMS ||
	    operation->dtype == RW_DTYPE_UNKNOWN)
		return true;
	return shape->transfer &&
	       (!(operation->known & (RW_KNOWN_TASK | RW_KNOWN_CALL)) || operation->flags & RW_FLAG_PEER_UNKNOWN);
}

json_t *inspector_line(struct inspector_box *box, const struct rw_operation *operation,
		       const struct rw_communicator *communicator, struct inspector_left_out *left_out)
{
	struct timing timing = timing_of(operation);

	if (is_strange(operation, communicator)) {
		left_out->strange++;
		return NULL;
	}
	/* Those that are left out count, too: the number is the same however much is known. */
	box->transfers[operation->comm] += shapes[operation->function].transfer;
	if (communicator->nranks <= 0 || communicator->nnodes <= 0) {
		left_out->sizeless++;
		return NULL;
	}
	if (!timing.source) {
		left_out->untimed++;
		return NULL;
	}
	return json_pack("{s:o, s:o, s:o}", "header", header_json(communicator), "metadata",
			 metadata_json(box->entry, operation),
			 shapes[operation->function].transfer ? "p2p_perf" : "coll_perf",
			 performance_json(box, operation, communicator, timing));
}
