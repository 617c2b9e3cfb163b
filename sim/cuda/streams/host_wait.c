/* SPDX-License-Identifier: MIT */
#include "sim/cuda/streams/host_wait.h"

#include <sched.h>
#include <stdint.h>
#include <time.h>

#include "sim/cuda/devices/context.h"
#include "sim/cuda/streams/callback.h"
#include "sim/cuda/streams/host_share.h"

atomic_uint host_wait_contexts;

static enum host_wait of_flags(unsigned int flags)
{
	switch (flags & CU_CTX_SCHED_MASK) {
	case CU_CTX_SCHED_SPIN:
		return HOST_WAIT_SPIN;
	case CU_CTX_SCHED_YIELD:
		return HOST_WAIT_YIELD;
	case CU_CTX_SCHED_BLOCKING_SYNC:
		return HOST_WAIT_BLOCK;
	default: /* AUTO */
		return atomic_load(&host_wait_contexts) > (unsigned int)host_share_processors() ? HOST_WAIT_YIELD
												     : HOST_WAIT_SPIN;
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* By a sleep and not by a lock: nobody wakes a thread that spins. */
static void rest(void)
{
	uint64_t rest_ns = host_share_rest_ns();
	struct timespec pause = { .tv_sec = (time_t)(rest_ns / 1000000000u), .tv_nsec = (long)(rest_ns % 1000000000u) };

	if (rest_ns)
		nanosleep(&pause, NULL);
}

static void spin(const struct stream_point *point, bool yields)
{
	uint64_t until_ns = now_ns() + HOST_SHARE_BURST_NS;

	while (!stream_point_reached(point)) {
		if (yields)
			sched_yield();
		if (now_ns() < until_ns)
			continue;
		rest();
		until_ns = now_ns() + HOST_SHARE_BURST_NS;
	}
}

void host_wait_by(const struct stream_point *point, enum host_wait how)
{
	if (stream_point_reached(point))
		return;
	if (how != HOST_WAIT_BLOCK || !callback_await(point->stream->context->callbacks, point))
		spin(point, how == HOST_WAIT_YIELD);
}

void host_wait(const struct stream_point *point)
{
	if (point->stream)
		host_wait_by(point, of_flags(atomic_load(&point->stream->context->flags)));
}
