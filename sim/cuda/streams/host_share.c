/* SPDX-License-Identifier: MIT */
#include "sim/cuda/streams/host_share.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/cuda/devices/device.h"

static uint64_t rest_ns;
static bool share_is_right = true;

long host_share_processors(void)
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
		return device_host_count() ? 1.25 * (double)host_share_processors() / device_host_count() : 100;
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
		rest_ns = (uint64_t)(HOST_SHARE_BURST_NS * (100 - percent) / percent);
}

bool host_share_is_right(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, set_share);
	return share_is_right;
}

uint64_t host_share_rest_ns(void)
{
	host_share_is_right();
	return rest_ns;
}
