/* SPDX-License-Identifier: MIT */
#include "console/dump/box_json.h"

#include <string.h>

#include "console/dump/record_field.h"

static json_t *unscannable_json(const struct rw_box_header *header)
{
	json_t *json = json_object();

	for (size_t i = 1; i < RW_UNSCANNABLE_COUNT; i++) {
		if (box_json_unscannable_names[i])
			json_object_set_new(json, box_json_unscannable_names[i],
					    json_integer((json_int_t)header->scan_unscannable[i]));
	}
	return json;
}

static json_t *scan_json(const struct rw_box_header *header)
{
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "state",
			 box_json_text(header->scan_state, sizeof(header->scan_state)), "every",
			 (json_int_t)header->scan_every, "budget_ppm", (json_int_t)header->budget_ppm, "cost_ppm",
			 (json_int_t)header->cost_ppm, "launches", (json_int_t)header->scan_launches, "buffers",
			 (json_int_t)header->scan_buffers, "bytes", (json_int_t)header->scan_bytes, "host_ns",
			 (json_int_t)header->scan_host_ns, "gpu_ns", (json_int_t)header->scan_gpu_ns, "sampled_out",
			 (json_int_t)header->scan_sampled_out, "unscannable", unscannable_json(header));
}

static void set_counters(json_t *json, const struct rw_box_header *header)
{
	json_t *untracked = json_object();

	for (size_t i = 1; i < RW_UNTRACKED_COUNT; i++) {
		if (box_json_untracked_names[i])
			json_object_set_new(untracked, box_json_untracked_names[i],
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
			json_array_append_new(
			    list, json_pack("{s:i, s:o}", "ordinal", header->devices[i].ordinal, "pci",
					    box_json_text(header->devices[i].pci, sizeof(header->devices[i].pci))));
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
	HEADER_TEXT(boot_id),
	HEADER_TEXT(host),
	HEADER_TEXT(job),
	HEADER_TEXT(rank_from),
	HEADER_TEXT(process_name),
	HEADER_TEXT(watchdog_from),
	HEADER_TEXT(gpu_progress_state),
};

#define HEADER(field, shape) { #field, offsetof(struct rw_box_header, field), shape, 0 }

static const struct record_field header_fields[] = {
	HEADER(layout, U32),
	HEADER(required_features, HEX),
	HEADER(optional_features, HEX),
	HEADER(total_size, U64),
	HEADER(comm_slots, U32),
	HEADER(sample_slots, U32),
	HEADER(ring_slots, U32),
	HEADER(pid, U32),
	HEADER(uid, U32),
	HEADER(pid_namespace, U64),
	HEADER(start_time_ticks, U64),
	HEADER(created_ns, U64),
	HEADER(world_rank, I32),
	HEADER(world_size, I32),
	HEADER(local_rank, I32),
	HEADER(generation, I32),
	HEADER(created_realtime_ns, U64),
	HEADER(watchdog_ms, U64),
	HEADER(watchdog_init_ms, U64),
	HEADER(rankwatch_version, U32),
	HEADER(nccl_version, U32),
	HEADER(profiler_abi, U32),
	HEADER(interposed, U32),
	HEADER(cuda_driver_version, U32),
	HEADER(end, U32),
	HEADER(history_limited, U32),
	HEADER(mask_missing, HEX),
	HEADER(mask_ns, U64),
	HEADER(machine, U32),
};

json_t *box_json_header(const struct rw_box_header *header)
{
	json_t *json = json_object();

	for (size_t i = 0; i < sizeof(header_texts) / sizeof(*header_texts); i++)
		json_object_set_new(json, header_texts[i].name,
				    box_json_text((const char *)header + header_texts[i].offset, header_texts[i].size));
	for (size_t i = 0; i < sizeof(header_fields) / sizeof(*header_fields); i++)
		json_object_set_new(json, header_fields[i].name, record_field_json(&header_fields[i], header));
	json_object_set_new(json, "devices", devices_json(header));
	json_object_set_new(json, "environment", environment_json(header));
	set_counters(json, header);
	json_object_set_new(json, "scan", scan_json(header));
	json_object_set_new(json, "progress",
			    json_pack("{s:I, s:I}", "every", (json_int_t)header->progress_every, "sampled_out",
				      (json_int_t)header->progress_sampled_out));
	return json;
}
