/* SPDX-License-Identifier: MIT */
#include "blackbox/header.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WHY = 160 };

/* One table of the file. */
struct section {
	const char *name;
	uint64_t offset, count, size;
	uint64_t count_max;
	uint64_t feature; /* optional: only there with that bit; 0 always */
};

int box_refuse(char *why, int err, const char *format, ...)
{
	va_list arguments;

	if (!why)
		return err;
	va_start(arguments, format);
	vsnprintf(why, WHY, format, arguments);
	va_end(arguments);
	return err;
}

void box_header_tame(struct rw_box_header *header)
{
	const struct {
		char *text;
		size_t size;
	} texts[] = {
		{ header->boot_id, sizeof(header->boot_id) },
		{ header->host, sizeof(header->host) },
		{ header->job, sizeof(header->job) },
		{ header->rank_from, sizeof(header->rank_from) },
		{ header->process_name, sizeof(header->process_name) },
		{ header->watchdog_from, sizeof(header->watchdog_from) },
		{ header->gpu_progress_state, sizeof(header->gpu_progress_state) },
		{ header->scan_state, sizeof(header->scan_state) },
		{ header->environment, sizeof(header->environment) },
		{ header->environment, sizeof(header->environment) - 1 }, /* the list ends in an empty text */
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		texts[i].text[texts[i].size - 1] = '\0';
	for (int i = 0; i < RW_BOX_DEVICES; i++)
		header->devices[i].pci[sizeof(header->devices[i].pci) - 1] = '\0';
	if (header->comms_used > header->comm_slots)
		header->comms_used = header->comm_slots;
}

static int check_kind(const struct rw_box_header *header, const char *name, char *why)
{
	if (memcmp(header->magic, RW_BOX_MAGIC, sizeof(header->magic)))
		return box_refuse(why, -EINVAL, "%.80s: not a black box", name);
	if (header->layout != RW_BOX_LAYOUT)
		return box_refuse(why, -EPROTO,
				  "%.80s is of another version of rankwatch: layout %u, this one reads layout %u", name,
				  header->layout, RW_BOX_LAYOUT);
	if (header->required_features)
		return box_refuse(why, -EPROTO, "%.80s is of a newer version of rankwatch: it needs features %#llx",
				  name, (unsigned long long)header->required_features);
	if (header->header_size != RW_BOX_HEADER_SIZE)
		return box_refuse(why, -EINVAL, "%.80s: damaged: header of %u bytes", name, header->header_size);
	if (header->operation_size != sizeof(struct rw_operation))
		return box_refuse(why, -EINVAL, "%.80s: damaged: operations of %u bytes", name, header->operation_size);
	if (header->ring_slots < RW_BOX_RING_MIN || header->ring_slots & (header->ring_slots - 1))
		return box_refuse(why, -EINVAL, "%.80s: damaged: ring of %u slots", name, header->ring_slots);
	return 0;
}

/* The tables follow one another inside the file. */
static int check_sections(const struct rw_box_header *header, uint64_t file_size, const char *name, char *why)
{
	const struct section sections[] = {
		{ "control page", header->control_offset, 1, RW_BOX_CONTROL_SIZE, 1 },
		{ "communicators", header->comms_offset, header->comm_slots, sizeof(struct rw_communicator),
		  RW_BOX_COMMS },
		{ "GPU page", header->gpu_offset, header->comm_slots, sizeof(struct rw_gpu_progress), RW_BOX_COMMS },
		{ "host samples", header->samples_offset, header->sample_slots, sizeof(struct rw_host_sample),
		  RW_BOX_SAMPLES },
		{ "network waits", header->waits_offset, header->wait_slots, sizeof(struct rw_wait), RW_BOX_WAITS,
		  RW_BOX_NETWORK },
		{ "operations", header->ring_offset, header->ring_slots, sizeof(struct rw_operation), RW_BOX_RING_MAX },
	};
	uint64_t end = RW_BOX_HEADER_SIZE;

	if (header->total_size > file_size)
		return box_refuse(why, -EIO, "%.80s: truncated: %llu of %llu bytes", name,
				  (unsigned long long)file_size, (unsigned long long)header->total_size);
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		const struct section *section = &sections[i];

		if (section->feature && !(header->optional_features & section->feature))
			continue;
		if (!section->count || section->count > section->count_max)
			return box_refuse(why, -EINVAL, "%.80s: damaged: %llu %s", name,
					  (unsigned long long)section->count, section->name);
		/* The product is at most 32 MiB; the offset is compared before anything is added to it. */
		if (section->offset % 8 || section->offset < end || section->offset > header->total_size ||
		    section->count * section->size > header->total_size - section->offset)
			return box_refuse(why, -EINVAL, "%.80s: damaged: %s at offset %llu", name, section->name,
					  (unsigned long long)section->offset);
		end = section->offset + section->count * section->size;
	}
	return 0;
}

int box_header_check(struct rw_box_header *header, uint64_t file_size, const char *name, char *why)
{
	int err = check_kind(header, name, why);

	if (!err)
		err = check_sections(header, file_size, name, why);
	if (!err)
		box_header_tame(header);
	return err;
}
