/* SPDX-License-Identifier: MIT */
#include "sim/nccl/launch/spread.h"

#define LEAST_TRAFFIC ((size_t)16 << 10) /* for which NCCL takes another channel */

static size_t larger(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t divide_up(size_t a, size_t b)
{
	return a / b + (a % b != 0);
}

struct spread spread_over(const struct task *list, int count)
{
	size_t traffic = 0, channels = 0;

	for (int i = 0; i < count && list; i++, list = list->next) {
		if (list->gathered)
			continue;
		traffic += larger(task_traffic(list), LEAST_TRAFFIC);
		channels += list->channels;
	}
	if (channels > PLAN_CHANNELS_MAX)
		channels = PLAN_CHANNELS_MAX;
	return (struct spread){ .share = larger(divide_up(traffic, larger(channels, 1)), LEAST_TRAFFIC) };
}

/* The last channel takes all that is left. */
static uint8_t channels_behind(const struct spread *spread, size_t traffic)
{
	size_t left = PLAN_CHANNELS_MAX - 1 - (size_t)spread->channel, needed = divide_up(traffic, spread->share);

	return (uint8_t)(needed < left ? needed : left);
}

void spread_place(struct spread *spread, struct task *task)
{
	size_t traffic = larger(task_traffic(task), LEAST_TRAFFIC);
	size_t room = spread->share > spread->filled ? spread->share - spread->filled : 0;
	uint8_t behind = traffic > room ? channels_behind(spread, traffic - room) : 0;

	if (task->gathered)
		return;
	task->first_channel = spread->channel;
	task->channels = (uint8_t)(1 + behind);
	spread->channel = (uint8_t)(spread->channel + behind);
	spread->filled = behind ? traffic - room - (behind - 1) * spread->share : spread->filled + traffic;
	if (spread->filled >= spread->share && spread->channel + 1 < PLAN_CHANNELS_MAX) {
		spread->channel++;
		spread->filled = 0;
	}
}
