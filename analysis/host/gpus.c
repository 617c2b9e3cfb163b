/* SPDX-License-Identifier: MIT */
#include "analysis/host/gpus.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/host/gpu_trend.h"

/* "GPU-6fa1…" with or without dashes; all 0 when it is none. */
static void parse_uuid(const char *text, uint8_t uuid[16])
{
	unsigned int byte;
	int filled = 0;

	memset(uuid, 0, 16);
	if (strncmp(text, "GPU-", 4))
		return;
	for (text += 4; filled < 16 && *text; text += 2) {
		text += *text == '-';
		if (sscanf(text, "%2x", &byte) != 1 || !text[1])
			break;
		uuid[filled++] = (uint8_t)byte;
	}
	if (filled < 16)
		memset(uuid, 0, 16);
}

/* "0000:3b:00", "00000000:3B:00.0"; -1 when it is none. */
static int64_t parse_pci(const char *text)
{
	unsigned int domain, bus, device;

	if (sscanf(text, "%x:%x:%x", &domain, &bus, &device) != 3 || bus > 0xff || device > 0x1f)
		return -1;
	return (int64_t)((uint64_t)domain << 16 | bus << 8 | device);
}

static bool is_known(const uint8_t uuid[16])
{
	static const uint8_t none[16];

	return memcmp(uuid, none, sizeof(none)) != 0;
}

static struct gpu *find_by_uuid(const struct gpus *gpus, const uint8_t uuid[16])
{
	for (uint32_t i = 0; i < gpus->count && is_known(uuid); i++)
		if (!memcmp(gpus->items[i]->uuid, uuid, 16))
			return gpus->items[i];
	return NULL;
}

static struct gpu *find_by_pci(const struct gpus *gpus, int64_t pci)
{
	for (uint32_t i = 0; i < gpus->count && pci >= 0; i++)
		if (gpus->items[i]->pci == pci)
			return gpus->items[i];
	return NULL;
}

static struct gpu *find(const struct gpus *gpus, const uint8_t uuid[16], int64_t pci)
{
	struct gpu *gpu = find_by_uuid(gpus, uuid);

	return gpu ? gpu : find_by_pci(gpus, pci);
}

static struct gpu *add(struct gpus *gpus, int64_t pci)
{
	struct gpu **items = realloc(gpus->items, (gpus->count + 1) * sizeof(struct gpu *));
	struct gpu *gpu = items ? calloc(1, sizeof(*gpu)) : NULL;

	if (items)
		gpus->items = items;
	if (!gpu)
		return NULL;
	gpu->pci = pci;
	gpus->items[gpus->count++] = gpu;
	return gpu;
}

static int find_or_add(struct gpus *gpus, const char *uuid_text, const char *pci_text, struct gpu **gpu)
{
	int64_t pci = parse_pci(pci_text);
	uint8_t uuid[16];

	parse_uuid(uuid_text, uuid);
	if (pci < 0 && !is_known(uuid))
		return -EINVAL;
	*gpu = find(gpus, uuid, pci);
	if (!*gpu && gpus->count == GPUS_MAX)
		return -ENOMEM;
	if (!*gpu)
		*gpu = add(gpus, pci);
	if (!*gpu)
		return -ENOMEM;
	if (is_known(uuid))
		memcpy((*gpu)->uuid, uuid, sizeof(uuid));
	if (pci >= 0)
		(*gpu)->pci = pci;
	return 0;
}

int gpus_add_state(struct gpus *gpus, const struct analysis_gpu_state *state)
{
	struct gpu *gpu;
	int err = find_or_add(gpus, state->uuid, state->pci, &gpu);

	if (err)
		return err;
	gpu->now = *state;
	if (!gpu->is_read)
		gpu->first = *state;
	gpu->is_read = true;
	gpu->readings[gpu->reading_count++ % GPU_READINGS] = (struct gpu_reading){
		.at_ns = state->at_ns,
		.reasons = state->clock_reasons > 0 ? (uint32_t)state->clock_reasons : 0,
		.sm_mhz = state->sm_mhz,
		.memory = state->memory_used >= 0 && state->memory_total > 0
			      ? (double)state->memory_used / (double)state->memory_total
			      : -1,
	};
	gpu_trend_account(gpu);
	gpu_course_note(&gpu->course, state->at_ns, state->memory_used, state->memory_total);
	return 0;
}

static struct gpu_xid *find_same(struct gpu *gpu, const struct analysis_gpu_event *event)
{
	uint32_t kept = gpu->xid_count < GPU_XIDS ? gpu->xid_count : GPU_XIDS;

	for (uint32_t i = 0; i < kept; i++) {
		struct gpu_xid *xid = &gpu->xids[i];
		bool near =
		    event->at_ns <= xid->last_ns + GPU_SAME_XID_NS && xid->first_ns <= event->at_ns + GPU_SAME_XID_NS;

		if (xid->number == event->xid && near)
			return xid;
	}
	return NULL;
}

int gpus_add_event(struct gpus *gpus, const struct analysis_gpu_event *event)
{
	struct gpu *gpu;
	int err = find_or_add(gpus, event->uuid, event->pci, &gpu);

	if (err)
		return err;
	struct gpu_xid *xid = find_same(gpu, event);
	if (!xid) {
		xid = &gpu->xids[gpu->xid_count++ % GPU_XIDS];
		*xid = (struct gpu_xid){
			.first_ns = event->at_ns, .last_ns = event->at_ns, .number = event->xid, .pid = -1
		};
	}
	xid->sources |= (uint8_t)(1u << event->source);
	if (event->at_ns < xid->first_ns)
		xid->first_ns = event->at_ns;
	if (event->at_ns > xid->last_ns)
		xid->last_ns = event->at_ns;
	if (event->pid >= 0)
		xid->pid = event->pid;
	if (!*xid->text)
		snprintf(xid->text, sizeof(xid->text), "%s", event->text);
	return 0;
}

void gpus_free(struct gpus *gpus)
{
	for (uint32_t i = 0; i < gpus->count; i++)
		free(gpus->items[i]);
	free(gpus->items);
	*gpus = (struct gpus){ 0 };
}

const struct gpu *gpus_of_device(const struct gpus *gpus, const struct rw_device *device)
{
	const struct gpu *gpu = device->used ? find_by_uuid(gpus, device->uuid) : NULL;

	/* In each tick, for each rank and GPU: the text is parsed only where it is needed. */
	return gpu || !device->used ? gpu : find_by_pci(gpus, parse_pci(device->pci));
}

struct gpu *gpus_add_device(struct gpus *gpus, const struct rw_device *device)
{
	int64_t pci = parse_pci(device->pci);
	struct gpu *gpu = find(gpus, device->uuid, pci);

	if (gpu || (pci < 0 && !is_known(device->uuid)) || gpus->count == GPUS_MAX)
		return gpu;
	gpu = add(gpus, pci);
	if (gpu)
		memcpy(gpu->uuid, device->uuid, sizeof(gpu->uuid));
	return gpu;
}

const struct gpu *gpus_of_rank(const struct gpus *gpus, const struct rank *rank)
{
	return gpus_of_device(gpus, &rank->process->devices[rank->device]);
}

const struct gpu_reading *gpu_reading_at(const struct gpu *gpu, uint64_t age)
{
	if (age >= gpu->reading_count || age >= GPU_READINGS)
		return NULL;
	return &gpu->readings[(gpu->reading_count - 1 - age) % GPU_READINGS];
}

const struct gpu_xid *gpu_xid_at(const struct gpu *gpu, uint32_t age)
{
	if (age >= gpu->xid_count || age >= GPU_XIDS)
		return NULL;
	return &gpu->xids[(gpu->xid_count - 1 - age) % GPU_XIDS];
}
