/* SPDX-License-Identifier: MIT */
#include "tests/stress/pattern.h"

static const struct {
	uint32_t known;
	size_t offset;
} fields[] = {
	{ RW_KNOWN_API, offsetof(struct rw_operation, count) },
	{ RW_KNOWN_API, offsetof(struct rw_operation, sequence) },
	{ RW_KNOWN_API, offsetof(struct rw_operation, stream) },
	{ RW_KNOWN_API, offsetof(struct rw_operation, api_ns) },
	{ RW_KNOWN_LAUNCH, offsetof(struct rw_operation, launch_begin_ns) },
	{ RW_KNOWN_LAUNCH, offsetof(struct rw_operation, launch_end_ns) },
	{ RW_KNOWN_LAUNCH, offsetof(struct rw_operation, progress) },
	{ RW_KNOWN_RETURN, offsetof(struct rw_operation, return_ns) },
	{ RW_KNOWN_DONE, offsetof(struct rw_operation, done_seen_ns) },
	{ RW_KNOWN_DONE, offsetof(struct rw_operation, gpu_end_raw) },
	{ RW_KNOWN_DONE, offsetof(struct rw_operation, scan_out.lane_sum) },
};

enum { FIELDS = sizeof(fields) / sizeof(*fields) };

static uint64_t value(uint64_t ticket, size_t offset)
{
	return (ticket * 256 + offset) * UINT64_C(0x9e3779b97f4a7c15);
}

void pattern_fill(struct rw_operation *slot, uint64_t ticket, uint32_t known)
{
	for (int i = 0; i < FIELDS; i++)
		if (fields[i].known & known)
			*(uint64_t *)((char *)slot + fields[i].offset) = value(ticket, fields[i].offset);
}

bool pattern_holds(const struct rw_operation *slot)
{
	for (int i = 0; i < FIELDS; i++) {
		uint64_t found = *(const uint64_t *)((const char *)slot + fields[i].offset);

		if (fields[i].known & slot->known && found != value(slot->ticket, fields[i].offset))
			return false;
	}
	return true;
}
