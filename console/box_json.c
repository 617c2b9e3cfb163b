/* SPDX-License-Identifier: MIT */
#include "console/box_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "finding/finding_json.h"
#include "finding/finding_text.h"

enum shape {
	U8,
	U16,
	U32,
	I32,
	U64,
	HEX, /* u64: an address, a label or a hash */
	ALGORITHM, PROTOCOL, GPU_SOURCE, /* u8: a name */
};

struct field {
	const char *name;
	size_t offset;
	enum shape shape;
	uint32_t known; /* bit of enum rw_known that makes it valid */
};

#define OPERATION(field, shape, known) { #field, offsetof(struct rw_operation, field), shape, known }

static const struct field operation_fields[] = {
	OPERATION(comm, U16, RW_KNOWN_IDENT),
	OPERATION(count, U64, RW_KNOWN_IDENT),
	OPERATION(sequence, U64, RW_KNOWN_IDENT),
	OPERATION(stream, HEX, RW_KNOWN_API),
	OPERATION(api_tid, U32, RW_KNOWN_API),
	OPERATION(group, U32, RW_KNOWN_API),
	OPERATION(api_ns, U64, RW_KNOWN_API),
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
	OPERATION(root_or_peer, I32, RW_KNOWN_TASK),
	OPERATION(send_address, HEX, RW_KNOWN_TASK),
	OPERATION(recv_address, HEX, RW_KNOWN_TASK),
	OPERATION(return_ns, U64, RW_KNOWN_RETURN),
	OPERATION(gpu_source, GPU_SOURCE, RW_KNOWN_STARTED),
	OPERATION(started_seen_ns, U64, RW_KNOWN_STARTED),
	OPERATION(done_seen_ns, U64, RW_KNOWN_DONE),
	OPERATION(gpu_start_raw, U64, RW_KNOWN_STAMP),
	OPERATION(gpu_end_raw, U64, RW_KNOWN_STAMP),
};

static const char *const known_names[] = { "ident",   "api",  "launch", "task",	   "return",
					   "started", "done", "stamp",	"scan_in", "scan_out" };
static const char *const flag_names[] = { "in_place",	 "captured",	  "untracked",	  "sampled_out",
					  "unscannable", "host_callback", "peer_unknown", "aborted" };
static const char *const untracked_names[RW_UNTRACKED_COUNT] = { NULL,	     "no_task",	 "broadcast",
								 "expired", "finalize", "captured" };

static json_t *hex(uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

json_t *box_json_text(const char *text, size_t size)
{
	char copy[RW_BOX_ENVIRONMENT + 1];
	size_t length = strnlen(text, size < sizeof(copy) ? size : sizeof(copy) - 1);

	memcpy(copy, text, length);
	copy[length] = '\0';
	char *escaped = finding_escape(copy);
	json_t *json = escaped ? json_string(escaped) : NULL;

	free(escaped);
	return json;
}

/* A number without a name came from a newer plugin. */
static json_t *name_or_number(const char *name, uint8_t number)
{
	return name ? json_string(name) : json_integer(number);
}

static const char *gpu_source_name(uint8_t source)
{
	static const char *const names[] = { "none", "watermark", "stamp", "kernel_ch", "scan" };

	return source < sizeof(names) / sizeof(*names) ? names[source] : NULL;
}

static json_t *field_value(const struct field *field, const void *record)
{
	const char *at = (const char *)record + field->offset;
	uint64_t wide;
	uint32_t word;
	uint16_t half;

	switch (field->shape) {
	case U8:
		return json_integer(*(const uint8_t *)at);
	case U16:
		memcpy(&half, at, sizeof(half));
		return json_integer(half);
	case U32:
		memcpy(&word, at, sizeof(word));
		return json_integer(word);
	case I32:
		memcpy(&word, at, sizeof(word));
		return json_integer((int32_t)word);
	case U64:
	case HEX:
		memcpy(&wide, at, sizeof(wide));
		return field->shape == HEX ? hex(wide) : json_integer((json_int_t)wide);
	case ALGORITHM:
		return name_or_number(finding_algorithm_name(*(const uint8_t *)at), *(const uint8_t *)at);
	case PROTOCOL:
		return name_or_number(finding_protocol_name(*(const uint8_t *)at), *(const uint8_t *)at);
	case GPU_SOURCE:
		return name_or_number(gpu_source_name(*(const uint8_t *)at), *(const uint8_t *)at);
	}
	return NULL;
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
	json_t *json = json_pack("{s:I, s:I, s:f, s:I, s:o, s:o}", "nan", (json_int_t)scan->nan, "inf",
				 (json_int_t)scan->inf, "absmax", (double)scan->absmax, "saturated",
				 (json_int_t)scan->saturated, "digest", hex(scan->digest), "lane_sum",
				 hex(scan->lane_sum));

	json_object_set_new(json, "first_bad",
			    scan->first_bad == UINT64_MAX ? json_null() : json_integer((json_int_t)scan->first_bad));
	return json;
}

static void set_communicator(json_t *json, const struct rw_communicator *communicator)
{
	json_object_set_new(json, "comm_id", hex(communicator->id));
	json_object_set_new(json, "comm_name", communicator->name[0] ?
						       box_json_text(communicator->name, sizeof(communicator->name)) :
						       json_null());
	json_object_set_new(json, "comm_rank", json_integer(communicator->rank));
	json_object_set_new(json, "comm_size", json_integer(communicator->nranks));
}

static void set_flags(json_t *json, uint32_t flags)
{
	uint32_t reason = (flags & RW_FLAG_UNTRACKED_MASK) >> RW_FLAG_UNTRACKED_SHIFT;

	json_object_set_new(json, "flags", BIT_NAMES(flags, flag_names));
	if (flags & RW_FLAG_UNTRACKED)
		json_object_set_new(json, "untracked", reason < RW_UNTRACKED_COUNT && untracked_names[reason] ?
							       json_string(untracked_names[reason]) :
							       json_integer(reason));
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
		const struct field *field = &operation_fields[i];

		if (known & field->known)
			json_object_set_new(json, field->name, field_value(field, operation));
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
		json, json_pack("{s:I, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "device",
				(json_int_t)communicator->device, "nnodes", communicator->nnodes, "born_ns",
				(json_int_t)communicator->born_ns, "ended_ns", (json_int_t)communicator->ended_ns,
				"api_count", (json_int_t)communicator->api_count, "launched",
				(json_int_t)communicator->launched, "captured", (json_int_t)communicator->captured,
				"gpu_started", (json_int_t)progress->gpu_started, "gpu_done",
				(json_int_t)progress->gpu_done));
	return json;
}

json_t *box_json_sample(const struct rw_host_sample *sample)
{
	static const char *const kinds[] = { [RW_SAMPLE_STATE] = "state",
					     [RW_SAMPLE_THREAD] = "thread",
					     [RW_SAMPLE_FILE] = "file" };
	json_t *json = json_pack("{s:I, s:I, s:I}", "ticket", (json_int_t)sample->ticket, "monotonic_ns",
				 (json_int_t)sample->monotonic_ns, "tid", (json_int_t)sample->tid);

	json_object_set_new(json, "kind", sample->kind && sample->kind < sizeof(kinds) / sizeof(*kinds) ?
						  json_string(kinds[sample->kind]) :
						  json_integer(sample->kind));
	json_object_set_new(json, "text", box_json_text(sample->text, sizeof(sample->text)));
	if (sample->kind == RW_SAMPLE_STATE)
		json_object_update_new(json, json_pack("{s:o, s:i, s:i, s:I, s:I}", "state",
						       box_json_text(&sample->state, 1), "system_call",
						       sample->system_call, "fd", sample->fd, "cpu_ms",
						       (json_int_t)sample->detail, "run_delay_ns",
						       (json_int_t)sample->run_delay_ns));
	if (sample->kind == RW_SAMPLE_FILE)
		json_object_update_new(json, json_pack("{s:i, s:i, s:I}", "piece", sample->state, "fd", sample->fd,
						       "device", (json_int_t)sample->detail));
	return json;
}

static void set_counters(json_t *json, const struct rw_box_header *header)
{
	json_t *untracked = json_object();

	for (size_t i = 1; i < RW_UNTRACKED_COUNT; i++) {
		if (untracked_names[i])
			json_object_set_new(untracked, untracked_names[i],
					    json_integer((json_int_t)header->untracked[i]));
	}
	json_object_set_new(json, "untracked", untracked);
	json_object_update_new(
		json, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "claims", (json_int_t)header->head, "dropped",
				(json_int_t)header->dropped, "own_ns", (json_int_t)header->own_ns, "callbacks",
				(json_int_t)header->callbacks, "comms_used", (json_int_t)header->comms_used,
				"comms_refused", (json_int_t)header->comms_refused, "samples",
				(json_int_t)header->samples_head, "drain_ns", (json_int_t)header->drain_ns));
}

static json_t *devices_json(const struct rw_box_header *header)
{
	json_t *list = json_array();

	for (size_t i = 0; i < RW_BOX_DEVICES; i++) {
		if (header->devices[i].used)
			json_array_append_new(list, json_pack("{s:i, s:o}", "ordinal", header->devices[i].ordinal, "pci",
							      box_json_text(header->devices[i].pci,
									    sizeof(header->devices[i].pci))));
	}
	return list;
}

static json_t *environment_json(const struct rw_box_header *header)
{
	json_t *list = json_array();
	const char *at = header->environment, *end = header->environment + sizeof(header->environment);

	while (at < end && *at) {
		json_array_append_new(list, box_json_text(at, (size_t)(end - at)));
		at += strnlen(at, (size_t)(end - at)) + 1;
	}
	return list;
}

struct header_text {
	const char *name;
	size_t offset, size;
};

#define HEADER_TEXT(field) { #field, offsetof(struct rw_box_header, field), sizeof(((struct rw_box_header *)0)->field) }

static const struct header_text header_texts[] = {
	HEADER_TEXT(boot_id),	   HEADER_TEXT(host),	       HEADER_TEXT(job),
	HEADER_TEXT(rank_from),	   HEADER_TEXT(process_name),  HEADER_TEXT(watchdog_from),
	HEADER_TEXT(gpu_progress_state),
};

#define HEADER(field, shape) { #field, offsetof(struct rw_box_header, field), shape, 0 }

static const struct field header_fields[] = {
	HEADER(layout, U32),	       HEADER(required_features, HEX),	 HEADER(optional_features, HEX),
	HEADER(total_size, U64),       HEADER(comm_slots, U32),		 HEADER(sample_slots, U32),
	HEADER(ring_slots, U32),       HEADER(pid, U32),		 HEADER(uid, U32),
	HEADER(pid_namespace, U64),    HEADER(start_time_ticks, U64),	 HEADER(created_ns, U64),
	HEADER(world_rank, I32),       HEADER(world_size, I32),		 HEADER(local_rank, I32),
	HEADER(generation, I32),       HEADER(created_realtime_ns, U64), HEADER(watchdog_ms, U64),
	HEADER(watchdog_init_ms, U64), HEADER(rankwatch_version, U32),	 HEADER(nccl_version, U32),
	HEADER(profiler_abi, U32),     HEADER(cuda_driver_version, U32), HEADER(end, U32),
	HEADER(history_limited, U32),
};

json_t *box_json_header(const struct rw_box_header *header)
{
	json_t *json = json_object();

	for (size_t i = 0; i < sizeof(header_texts) / sizeof(*header_texts); i++)
		json_object_set_new(json, header_texts[i].name,
				    box_json_text((const char *)header + header_texts[i].offset, header_texts[i].size));
	for (size_t i = 0; i < sizeof(header_fields) / sizeof(*header_fields); i++)
		json_object_set_new(json, header_fields[i].name, field_value(&header_fields[i], header));
	json_object_set_new(json, "devices", devices_json(header));
	json_object_set_new(json, "environment", environment_json(header));
	set_counters(json, header);
	return json;
}
