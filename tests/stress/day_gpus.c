/* SPDX-License-Identifier: MIT */
#include "day_gpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "collector/sources/machine/nvml_source.h"

static const uint64_t period_ns = 500000000, minute_ns = 60000000000;
static uint64_t now_ns, next_ns, handed_over;
static struct analysis_gpu_event event; /* .xid 0: none */

static void name(int number, char uuid[48], char pci[24])
{
	snprintf(uuid, 48, "GPU-01%02x0000-0000-0000-0000-000000000000", (unsigned)number);
	snprintf(pci, 24, "00000000:%02x:00.0", (unsigned)(DAY_GPU_BUS + number));
}

void day_gpus_set_time(uint64_t time_ns)
{
	now_ns = time_ns;
}

struct rw_device day_gpu_device(int number)
{
	struct rw_device device = { .uuid = { 1, (uint8_t)number }, .ordinal = number, .used = 1 };

	snprintf(device.pci, sizeof(device.pci), "0000:%02x:00.0", (unsigned)(DAY_GPU_BUS + number));
	return device;
}

void day_gpus_report_xid(int number, unsigned xid)
{
	event = (struct analysis_gpu_event){ .source = ANALYSIS_GPU_NVML, .at_ns = now_ns, .xid = xid, .pid = -1 };
	name(number, event.uuid, event.pci);
}

uint64_t day_gpus_states(void)
{
	return handed_over;
}

int nvml_source_open(struct nvml_source **source, const char *file, char *why)
{
	(void)file;
	*why = '\0';
	*source = malloc(1);
	return *source ? 0 : -ENOMEM;
}

void nvml_source_close(struct nvml_source *source)
{
	free(source);
}

/* Temperature, power and memory in use go up and down over minutes. */
static struct analysis_gpu_state state_of(int number)
{
	int32_t wave = (int32_t)((now_ns / minute_ns + (uint64_t)number) % 10);
	struct analysis_gpu_state state = {
		.at_ns = now_ns,
		.index = number,
		.sm_mhz = 1980 - wave,
		.sm_mhz_max = 1980,
		.celsius = 55 + wave,
		.watts = 500 + 10 * wave,
		.watts_cap = 700,
		.ecc_corrected = 0,
		.ecc_uncorrected = 0,
		.ecc_corrected_ever = 0,
		.ecc_uncorrected_ever = 0,
		.nvlink_errors = 0,
		.memory_used = (INT64_C(60) << 30) + ((int64_t)wave << 20),
		.memory_total = INT64_C(80) << 30,
	};

	name(number, state.uuid, state.pci);
	return state;
}

void nvml_source_poll(struct nvml_source *source, const struct nvml_source_events *events)
{
	(void)source;
	if (event.xid)
		events->event(events->argument, &event);
	event.xid = 0;
	if (now_ns < next_ns)
		return;
	next_ns = now_ns + period_ns;
	for (int i = 0; i < DAY_GPUS; i++) {
		const struct analysis_gpu_state state = state_of(i);

		events->state(events->argument, &state);
		handed_over++;
	}
}

uint64_t nvml_source_in_call_since(const struct nvml_source *source)
{
	(void)source;
	return 0;
}

const char *nvml_source_why(const struct nvml_source *source)
{
	(void)source;
	return "";
}
