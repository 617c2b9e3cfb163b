/* SPDX-License-Identifier: MIT */
/*
 * Brings the times of a box to the clock of another host. A box's times are CLOCK_MONOTONIC of the host that recorded
 * it; boxes of several hosts can be judged together once their readers have such clocks (console/replay/common_clock.h
 * finds them). Pure functions. 0 ("not yet") stays 0, and so does what no clock shows.
 */
#ifndef BLACKBOX_CLOCK_H
#define BLACKBOX_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>

/* Zeroed: times stay as they are. */
struct box_clock {
	int64_t ahead_ns; /* the other clock less this one, at from_ns of this one; not 0 in a clock that changes
			     anything */
	uint64_t from_ns;
	double drift; /* what the other one gains in a ns of this one: a few parts per million */
};

uint64_t box_clock_time(const struct box_clock *clock, uint64_t ns);
/* In place, every time in CLOCK_MONOTONIC. */
void box_clock_header(const struct box_clock *clock, struct rw_box_header *header);
void box_clock_communicators(const struct box_clock *clock, struct rw_communicator *communicators, size_t count);
void box_clock_progress(const struct box_clock *clock, struct rw_gpu_progress *progress, size_t count);
void box_clock_operations(const struct box_clock *clock, struct rw_operation *operations, size_t count);
void box_clock_samples(const struct box_clock *clock, struct rw_host_sample *samples, size_t count);
void box_clock_waits(const struct box_clock *clock, struct rw_wait *waits, size_t count);

#endif
