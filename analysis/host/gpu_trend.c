/* SPDX-License-Identifier: MIT */
#include "analysis/host/gpu_trend.h"

#include <stdio.h>
#include <string.h>

static void account_clocks(struct gpu *gpu)
{
	bool slow = gpu->now.clock_reasons > 0 && gpu->now.clock_reasons & GPU_SLOW;

	if (!slow)
		gpu->slow_since_ns = 0;
	else if (!gpu->slow_since_ns)
		gpu->slow_since_ns = gpu->now.at_ns;
}

/* A job that has filled the GPU and then uses less had its caches freed; the next step allocates them again. */
static void account_memory(struct gpu *gpu)
{
	struct gpu_memory_use *memory = &gpu->memory;
	int64_t used = gpu->now.memory_used, total = gpu->now.memory_total;

	if (used < 0 || total <= 0)
		return;
	if ((double)used >= GPU_MEMORY_HIGH * (double)total) {
		memory->peak = used > memory->peak ? used : memory->peak;
		return;
	}
	if (memory->peak && (double)(memory->peak - used) >= GPU_MEMORY_DROP * (double)total) {
		memory->drops[memory->drop_count++ % GPU_DROPS] = gpu->now.at_ns;
		memory->peak = 0;
	}
}

static void account_nvlink(struct gpu *gpu)
{
	if (gpu->now.nvlink_errors < 0)
		return;
	if (gpu->nvlink_before_ns && gpu->now.nvlink_errors >= gpu->nvlink_before &&
	    gpu->now.at_ns < gpu->nvlink_before_ns + GPU_NVLINK_WINDOW_NS)
		return;
	gpu->nvlink_before = gpu->now.nvlink_errors;
	gpu->nvlink_before_ns = gpu->now.at_ns;
}

void gpu_trend_account(struct gpu *gpu)
{
	account_clocks(gpu);
	account_memory(gpu);
	account_nvlink(gpu);
}

uint32_t gpu_trend_drops(const struct gpu *gpu, uint64_t now_ns)
{
	uint32_t kept = gpu->memory.drop_count < GPU_DROPS ? gpu->memory.drop_count : GPU_DROPS, count = 0;

	for (uint32_t i = 0; i < kept; i++)
		count += gpu->memory.drops[i] + GPU_MEMORY_DROPS_NS >= now_ns;
	return count;
}

const char *gpu_trend_reasons(char *text, size_t room, uint32_t reasons)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} names[] = {
		{ ANALYSIS_CLOCK_HW_THERMAL, "hardware thermal slowdown" },
		{ ANALYSIS_CLOCK_HW_POWER_BRAKE, "power brake" },
		{ ANALYSIS_CLOCK_SW_THERMAL, "thermal slowdown by the driver" },
		{ ANALYSIS_CLOCK_HW_SLOWDOWN, "hardware slowdown" },
		{ ANALYSIS_CLOCK_POWER_CAP, "power cap" },
		{ ANALYSIS_CLOCK_APPLICATION, "clocks set by hand" },
		{ ANALYSIS_CLOCK_SYNC_BOOST, "sync boost" },
	};
	size_t used = 0;

	/* NVML sets the general bit beside the exact one. */
	if (reasons & (ANALYSIS_CLOCK_HW_THERMAL | ANALYSIS_CLOCK_HW_POWER_BRAKE))
		reasons &= ~(uint32_t)ANALYSIS_CLOCK_HW_SLOWDOWN;
	snprintf(text, room, "no reason given");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!(reasons & names[i].bit) || used >= room)
			continue;
		used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", names[i].name);
	}
	return text;
}
