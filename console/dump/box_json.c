/* SPDX-License-Identifier: MIT */
#include "console/dump/box_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/foreign_text.h"
#include "console/dump/record_field.h"
#include "finding/finding_json.h"

#define OPERATION(field, shape, known)                                                                                 \
	{                                                                                                              \
#field, offsetof(struct rw_operation, field), shape, known                                             \
	}

static const struct record_field operation_fields[] = {
	OPERATION(comm, U16, RW_KNOWN_IDENT),
	OPERATION(count, U64, RW_KNOWN_IDENT),
	OPERATION(sequence, U64, RW_KNOWN_IDENT),
	OPERATION(stream, HEX, RW_KNOWN_API),
	OPERATION(api_tid, U32, RW_KNOWN_API),
	OPERATION(group, U32, RW_KNOWN_API),
	OPERATION(api_ns, U64, RW_KNOWN_API | RW_KNOWN_STEP),
	OPERATION(launch_begin_ns, U64, RW_KNOWN_LAUNCH),
	OPERATION(launch_end_ns, U64, RW_KNOWN_LAUNCH),
	OPERATION(launch_stream, HEX, RW_KNOWN_LAUNCH),
	OPERATION(launch_tid, U32, RW_KNOWN_LAUNCH),
	OPERATION(plan, U32, RW_KNOWN_LAUNCH),
	OPERATION(progress, U64, RW_KNOWN_LAUNCH),
	OPERATION(nccl_sequence, U64, RW_KNOWN_TASK),
	OPERATION(algorithm, ALGORITHM, RW_KNOWN_TASK),
	OPERATION(protocol, PROTOCOL, RW_KNOWN_TASK),
	OPERATION(channels, U8, RW_KNOWN_TASK),
	OPERATION(root_or_peer, I32, RW_KNOWN_TASK | RW_KNOWN_CALL),
	OPERATION(send_address, HEX, RW_KNOWN_TASK | RW_KNOWN_CALL),
	OPERATION(recv_address, HEX, RW_KNOWN_TASK | RW_KNOWN_CALL),
	OPERATION(return_ns, U64, RW_KNOWN_RETURN),
	OPERATION(gpu_source, GPU_SOURCE, RW_KNOWN_STARTED | RW_KNOWN_STAMP),
	OPERATION(started_seen_ns, U64, RW_KNOWN_STARTED),
	OPERATION(done_seen_ns, U64, RW_KNOWN_DONE),
	OPERATION(gpu_start_raw, U64, RW_KNOWN_STAMP),
	OPERATION(gpu_end_raw, U64, RW_KNOWN_STAMP),
};

static const char *const known_names[] = { "ident", "api",   "launch",  "task",     "return", "started",
					   "done",  "stamp", "scan_in", "scan_out", "call", "began", "step" };
static const char *const flag_names[] = { "in_place",    "captured",      "untracked",    "sampled_out",
					  "unscannable", "host_callback", "peer_unknown", "aborted" };
const char *const box_json_untracked_names[RW_UNTRACKED_COUNT] = { NULL,      "no_task",  "broadcast",
								   "expired", "finalize", "captured", "one_sided" };

const char *const box_json_unscannable_names[RW_UNSCANNABLE_COUNT] = {
	NULL, "overwritten", "callback", "capture", "context", "memory", "shape", "behind", "error"
};

json_t *box_json_text(const char *text, size_t size)
{
	char copy[RW_BOX_ENVIRONMENT + 1];
	size_t length = strnlen(text, size < sizeof(copy) ? size : sizeof(copy) - 1);

	memcpy(copy, text, length);
	copy[length] = '\0';
	char *escaped = foreign_text(copy);
	json_t *json = escaped ? json_string(escaped) : NULL;

	free(escaped);
	return json;
}

/* Names of the bits that are set. */
static json_t *bit_names(uint32_t bits, const char *const *names, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		if (bits & (1u << i))
			json_array_append_new(list, json_string(names[i]));
	}
	return list;
}

#define BIT_NAMES(bits, names) bit_names(bits, names, sizeof(names) / sizeof(*(names)))

static json_t *scan_json(const struct rw_scan *scan)
{
	json_t *json =
	    json_pack("{s:I, s:I, s:f, s:I, s:o, s:o}", "nan", (json_int_t)scan->nan, "inf", (json_int_t)scan->inf,
		      "absmax", (double)scan->absmax, "saturated", (json_int_t)scan->saturated, "digest",
		      record_field_hex(scan->digest), "lane_sum", record_field_hex(scan->lane_sum));

	json_object_set_new(json, "first_bad",
			    scan->first_bad == UINT64_MAX ? json_null() : json_integer((json_int_t)scan->first_bad));
	return json;
}

static void set_communicator(json_t *json, const struct rw_communicator *communicator)
{
	json_object_set_new(json, "comm_id", record_field_hex(communicator->id));
	json_object_set_new(json, "comm_name",
			    communicator->name[0] ? box_json_text(communicator->name, sizeof(communicator->name))
						  : json_null());
	json_object_set_new(json, "comm_rank", json_integer(communicator->rank));
	json_object_set_new(json, "comm_size",
			    communicator->nranks > 0 ? json_integer(communicator->nranks) : json_null());
}

static json_t *reason_json(uint32_t reason, const char *const *names, uint32_t count)
{
	return reason < count && names[reason] ? json_string(names[reason]) : json_integer(reason);
}

static const char *const reduction_names[RW_OPERATOR_COUNT] = {
	[RW_OPERATOR_SUM] = "sum",	   [RW_OPERATOR_PRODUCT] = "product", [RW_OPERATOR_MAX] = "max",
	[RW_OPERATOR_MIN] = "min",	   [RW_OPERATOR_AVERAGE] = "average", [RW_OPERATOR_SCALED_SUM] = "scaled sum",
};

static void set_flags(json_t *json, uint32_t flags)
{
	uint32_t untracked = (flags & RW_FLAG_UNTRACKED_MASK) >> RW_FLAG_UNTRACKED_SHIFT;
	uint32_t unscannable = (flags & RW_FLAG_UNSCANNABLE_MASK) >> RW_FLAG_UNSCANNABLE_SHIFT;
	uint8_t reduction = rw_operator(flags);

	json_object_set_new(json, "flags", BIT_NAMES(flags, flag_names));
	if (flags & RW_FLAG_UNANNOUNCED)
		json_array_append_new(json_object_get(json, "flags"), json_string("unannounced"));
	if (flags & RW_FLAG_PROGRESS_SAMPLED_OUT)
		json_array_append_new(json_object_get(json, "flags"), json_string("progress_sampled_out"));
	if (flags & RW_FLAG_ENTERED)
		json_array_append_new(json_object_get(json, "flags"), json_string("entered"));
	if (flags & RW_FLAG_IN_PROGRESS)
		json_array_append_new(json_object_get(json, "flags"), json_string("in_progress"));
	if (flags & RW_FLAG_UNTRACKED)
		json_object_set_new(json, "untracked",
				    reason_json(untracked, box_json_untracked_names, RW_UNTRACKED_COUNT));
	if (flags & RW_FLAG_UNSCANNABLE)
		json_object_set_new(json, "unscannable",
				    reason_json(unscannable, box_json_unscannable_names, RW_UNSCANNABLE_COUNT));
	if (reduction)
		json_object_set_new(json, "reduction", reason_json(reduction, reduction_names, RW_OPERATOR_COUNT));
}

json_t *box_json_operation(const struct rw_operation *operation, const struct rw_communicator *communicator)
{
	json_t *json = json_object();
	uint32_t known = operation->known;

	json_object_set_new(json, "ticket", json_integer((json_int_t)operation->ticket));
	json_object_set_new(json, "known", BIT_NAMES(known, known_names));
	set_flags(json, operation->flags);
	json_object_set_new(json, "pending", json_integer(operation->owner & RW_OWNER_PENDING));
	if (known & RW_KNOWN_IDENT) {
		json_object_set_new(json, "function", json_string(finding_function_name(operation->function)));
		json_object_set_new(json, "dtype", json_string(finding_dtype_name(operation->dtype)));
		if (communicator)
			set_communicator(json, communicator);
	}
	for (size_t i = 0; i < sizeof(operation_fields) / sizeof(*operation_fields); i++) {
		const struct record_field *field = &operation_fields[i];

		if (known & field->known)
			json_object_set_new(json, field->name, record_field_json(field, operation));
	}
	if (rw_is_step_mark(known)) {
		json_object_set_new(json, "step", json_integer((json_int_t)operation->count));
		json_object_set_new(json, "step_from",
				    json_string(operation->group == RW_STEP_TAG ? "userTag" : "rankwatch_step"));
	}
	if (known & RW_KNOWN_IDENT && operation->flags & RW_FLAG_CAPTURED) {
		json_object_set_new(json, "sequence", json_integer((json_int_t)rw_captured_call(operation->sequence)));
		json_object_set_new(json, "replay", json_integer((json_int_t)rw_captured_replay(operation->sequence)));
	}
	if (known & RW_KNOWN_SCAN_IN)
		json_object_set_new(json, "scan_in", scan_json(&operation->scan_in));
	if (known & RW_KNOWN_SCAN_OUT)
		json_object_set_new(json, "scan_out", scan_json(&operation->scan_out));
	return json;
}

json_t *box_json_communicator(const struct rw_communicator *communicator, const struct rw_gpu_progress *progress)
{
	json_t *json = json_object();

	set_communicator(json, communicator);
	json_object_update_new(
	    json,
	    json_pack("{s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "device",
		      (json_int_t)communicator->device, "nnodes",
		      communicator->nnodes > 0 ? json_integer(communicator->nnodes) : json_null(), "created_ns",
		      (json_int_t)communicator->created_ns, "ended_ns", (json_int_t)communicator->ended_ns, "api_count",
		      (json_int_t)communicator->api_count, "launched", (json_int_t)communicator->launched, "captured",
		      (json_int_t)communicator->captured, "replays_timed", (json_int_t)communicator->replays_timed,
		      "one_sided", (json_int_t)communicator->one_sided, "gpu_started",
		      (json_int_t)progress->gpu_started, "gpu_done", (json_int_t)progress->gpu_done));
	return json;
}

json_t *box_json_sample(const struct rw_host_sample *sample)
{
	static const char *const kinds[] = {
		[RW_SAMPLE_STATE] = "state", [RW_SAMPLE_THREAD] = "thread", [RW_SAMPLE_FILE] = "file"
	};
	json_t *json = json_pack("{s:I, s:I, s:I}", "ticket", (json_int_t)sample->ticket, "monotonic_ns",
				 (json_int_t)sample->monotonic_ns, "tid", (json_int_t)sample->tid);

	json_object_set_new(json, "kind",
			    sample->kind && sample->kind < sizeof(kinds) / sizeof(*kinds)
				? json_string(kinds[sample->kind])
				: json_integer(sample->kind));
	json_object_set_new(json, "text", box_json_text(sample->text, sizeof(sample->text)));
	if (sample->kind == RW_SAMPLE_STATE)
		json_object_update_new(
		    json, json_pack("{s:o, s:i, s:i, s:I, s:I}", "state", box_json_text(&sample->state, 1),
				    "system_call", sample->system_call, "fd", sample->fd, "cpu_ms",
				    (json_int_t)sample->detail, "run_delay_ns", (json_int_t)sample->run_delay_ns));
	if (sample->kind == RW_SAMPLE_FILE)
		json_object_update_new(json, json_pack("{s:i, s:i, s:I}", "piece", sample->state, "fd", sample->fd,
						       "device", (json_int_t)sample->detail));
	return json;
}
