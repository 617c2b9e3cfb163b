/* SPDX-License-Identifier: MIT */
#include "blackbox/clock.h"

/* Some 146 years of uptime: what is later is damage, which stays visible as such. */
#define LATEST_NS (UINT64_C(1) << 62)

uint64_t box_clock_time(const struct box_clock *clock, uint64_t ns)
{
	if (!ns || ns > LATEST_NS || !clock->ahead_ns)
		return ns;
	int64_t moved = (int64_t)ns + clock->ahead_ns + (int64_t)(((double)ns - (double)clock->from_ns) * clock->drift);

	return moved > 0 ? (uint64_t)moved : 1;
}

void box_clock_header(const struct box_clock *clock, struct rw_box_header *header)
{
	header->created_ns = box_clock_time(clock, header->created_ns);
	header->drain_ns = box_clock_time(clock, header->drain_ns);
	header->leased_until_ns = box_clock_time(clock, header->leased_until_ns);
	header->init.since_ns = box_clock_time(clock, header->init.since_ns);
	header->mask_ns = box_clock_time(clock, header->mask_ns);
	for (size_t i = 0; i < RW_BOX_PAUSES; i++) {
		header->pauses[i].from_ns = box_clock_time(clock, header->pauses[i].from_ns);
		header->pauses[i].until_ns = box_clock_time(clock, header->pauses[i].until_ns);
	}
	for (size_t i = 0; i < RW_BOX_ANCHORS; i++)
		header->anchors[i].monotonic_ns = box_clock_time(clock, header->anchors[i].monotonic_ns);
}

void box_clock_communicators(const struct box_clock *clock, struct rw_communicator *communicators, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		communicators[i].created_ns = box_clock_time(clock, communicators[i].created_ns);
		communicators[i].ended_ns = box_clock_time(clock, communicators[i].ended_ns);
	}
}

void box_clock_progress(const struct box_clock *clock, struct rw_gpu_progress *progress, size_t count)
{
	for (size_t i = 0; i < count; i++)
		progress[i].signal_since_ns = box_clock_time(clock, progress[i].signal_since_ns);
}

void box_clock_operations(const struct box_clock *clock, struct rw_operation *operations, size_t count)
{
	for (size_t i = 0; clock->ahead_ns && i < count; i++) {
		struct rw_operation *operation = &operations[i];

		operation->api_ns = box_clock_time(clock, operation->api_ns);
		operation->launch_begin_ns = box_clock_time(clock, operation->launch_begin_ns);
		operation->launch_end_ns = box_clock_time(clock, operation->launch_end_ns);
		operation->return_ns = box_clock_time(clock, operation->return_ns);
		operation->started_seen_ns = box_clock_time(clock, operation->started_seen_ns);
		operation->done_seen_ns = box_clock_time(clock, operation->done_seen_ns);
	}
}

void box_clock_samples(const struct box_clock *clock, struct rw_host_sample *samples, size_t count)
{
	for (size_t i = 0; i < count; i++)
		samples[i].monotonic_ns = box_clock_time(clock, samples[i].monotonic_ns);
}

void box_clock_waits(const struct box_clock *clock, struct rw_wait *waits, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		waits[i].first_ns = box_clock_time(clock, waits[i].first_ns);
		waits[i].last_ns = box_clock_time(clock, waits[i].last_ns);
	}
}
