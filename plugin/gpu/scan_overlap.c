/* SPDX-License-Identifier: MIT */
#include "plugin/gpu/scan_overlap.h"

enum {
	LEAST_BYTES = 8 << 20, /* shorter scans tell of the launch, not of the memory */
	MEDIAN_STEP = 8,       /* part of itself that an estimate moves by */
	SHARE = 2,             /* of the operation that a scan may take: one half */
};

/* Operations of a class: same communicator and function, size within a factor of two. Different ones may share one. */
static uint32_t class_of(uint16_t comm, uint8_t function, uint64_t bytes)
{
	uint32_t magnitude = bytes ? 63 - (uint32_t)__builtin_clzll(bytes) : 0;
	uint32_t key = (uint32_t)comm << 16 | (uint32_t)function << 8 | magnitude;

	return key * 0x9e3779b1u >> 22;
}
static_assert(SCAN_OVERLAP_CLASSES == 1 << 10, "class_of() keeps ten bits");

/* An estimate that goes up as often as down: the median. One writer. */
static void learn(_Atomic uint32_t *estimate, uint64_t value)
{
	uint32_t now = atomic_load_explicit(estimate, memory_order_relaxed);
	uint32_t step = now / MEDIAN_STEP + 1;

	if (value > UINT32_MAX / 2)
		value = UINT32_MAX / 2;
	if (!now)
		now = value ? (uint32_t)value : 1;
	else if (value > now)
		now += step;
	else if (value < now && now > step)
		now -= step;
	atomic_store_explicit(estimate, now, memory_order_relaxed);
}

void scan_overlap_learn_operation(struct scan_overlap *overlap, uint16_t comm, uint8_t function, uint64_t bytes,
				  uint64_t took_ns)
{
	learn(&overlap->median_us[class_of(comm, function, bytes)], took_ns / 1000);
}

void scan_overlap_learn_scan(struct scan_overlap *overlap, uint64_t bytes, uint64_t took_ns)
{
	if (bytes >= LEAST_BYTES && took_ns >= 1000)
		learn(&overlap->bytes_per_us, bytes / (took_ns / 1000));
}

bool scan_overlap_is_possible(const struct scan_overlap *overlap)
{
	return !overlap->never && atomic_load_explicit(&overlap->bytes_per_us, memory_order_relaxed);
}

bool scan_overlap_pays(const struct scan_overlap *overlap, uint16_t comm, uint8_t function, uint64_t bytes,
		       uint64_t scan_bytes)
{
	uint32_t speed = atomic_load_explicit(&overlap->bytes_per_us, memory_order_relaxed);
	uint32_t median_us =
	    atomic_load_explicit(&overlap->median_us[class_of(comm, function, bytes)], memory_order_relaxed);

	return !overlap->never && speed && scan_bytes / speed * SHARE < median_us;
}
