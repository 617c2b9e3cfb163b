/* SPDX-License-Identifier: MIT */
#include "sim/cuda/streams/host_wait.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "sim/cuda/devices/context.h"
#include "sim/cuda/devices/device.h"
#include "sim/cuda/streams/callback.h"

static uint64_t rest_ns; /* between two bursts */
static bool share_is_right = true;

static long processors(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	return online > 0 ? online : 1;
}

/* In percent; 0: the text is wrong. */
static double read_share(void)
{
	const char *text = getenv("SIM_CUDA_SPIN");
	char *end;

	if (!text || !*text)
		return device_host_count() ? 1.25 * (double)processors() / device_host_count() : 100;
	double percent = strtod(text, &end);
	return *end || !(percent > 0 && percent <= 100) ? 0 : percent;
}

static void set_share(void)
{
	double percent = read_share();

	share_is_right = percent > 0;
	if (!share_is_right)
		fprintf(stderr, "stand-in libcuda: SIM_CUDA_SPIN is not a percentage above 0 and up to 100\n");
	else if (percent < 100)
		rest_ns = (uint64_t)(HOST_WAIT_BURST_NS * (100 - percent) / percent);
}

bool host_wait_share_is_right(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, set_share);
	return share_is_right;
}

enum host_wait host_wait_of_flags(unsigned int flags, unsigned int contexts)
{
	switch (flags & CU_CTX_SCHED_MASK) {
	case CU_CTX_SCHED_SPIN:
		return HOST_WAIT_SPIN;
	case CU_CTX_SCHED_YIELD:
		return HOST_WAIT_YIELD;
	case CU_CTX_SCHED_BLOCKING_SYNC:
		return HOST_WAIT_BLOCK;
	default: /* AUTO */
		return contexts > (unsigned int)processors() ? HOST_WAIT_YIELD : HOST_WAIT_SPIN;
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
	struct timespec pause = { .tv_sec = (time_t)(rest_ns / 1000000000u), .tv_nsec = (long)(rest_ns % 1000000000u) };

	if (rest_ns)
		nanosleep(&pause, NULL);
}

static void spin(const struct stream_point *point, bool yields)
{
	uint64_t until_ns = now_ns() + HOST_WAIT_BURST_NS;

	host_wait_share_is_right();
	while (!stream_point_reached(point)) {
		if (yields)
			sched_yield();
		if (now_ns() < until_ns)
			continue;
		rest();
		until_ns = now_ns() + HOST_WAIT_BURST_NS;
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
		host_wait_by(point, context_host_wait(point->stream->context));
}
