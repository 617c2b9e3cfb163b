/* SPDX-License-Identifier: MIT */
#include "collector/sources/machine/nvml_device.h"

#include <stdio.h>
#include <string.h>

/* What the whole GPU says, whichever call was made. */
static bool answers(struct analysis_gpu_state *state, int result)
{
	state->lost |= result == NVML_LOST;
	state->needs_reset |= result == NVML_NEEDS_RESET;
	return result == NVML_OK;
}

/* What is out of range is as good as not reported. */
static int32_t number_or_none(unsigned int number)
{
	return number <= INT32_MAX ? (int32_t)number : -1;
}

int nvml_gpu_open(struct nvml_gpu *gpu, const struct nvml_library *nvml, unsigned int index)
{
	char uuid[NVML_UUID_BYTES] = "";
	struct nvml_pci pci;
	int result = nvml->device_by_index(index, &gpu->handle);

	gpu->state = (struct analysis_gpu_state){ .index = number_or_none(index),
						  .ecc_corrected = -1,
						  .ecc_uncorrected = -1,
						  .ecc_corrected_ever = -1,
						  .ecc_uncorrected_ever = -1,
						  .remapped_rows = -1,
						  .remap_pending = -1,
						  .remap_failure = -1,
						  .nvlink_errors = -1 };
	if (result != NVML_OK)
		return result;
	memset(&pci, 0, sizeof(pci));
	nvml->uuid(gpu->handle, uuid, sizeof(uuid));
	result = nvml->pci(gpu->handle, &pci);
	snprintf(gpu->state.uuid, sizeof(gpu->state.uuid), "%.*s", (int)sizeof(gpu->state.uuid) - 1, uuid);
	snprintf(gpu->state.pci, sizeof(gpu->state.pci), "%.*s", (int)sizeof(gpu->state.pci) - 1, pci.address);
	return result;
}

static int64_t count_or_none(unsigned long long count)
{
	return count <= INT64_MAX ? (int64_t)count : -1;
}

static int32_t read_number(struct nvml_gpu *gpu, int (*call)(nvml_device, int, unsigned int *), int which)
{
	unsigned int value;

	return call && answers(&gpu->state, call(gpu->handle, which, &value)) ? number_or_none(value) : -1;
}

static int32_t read_watts(struct nvml_gpu *gpu, int (*call)(nvml_device, unsigned int *))
{
	unsigned int milliwatts;

	return call && answers(&gpu->state, call(gpu->handle, &milliwatts)) ? (int32_t)(milliwatts / 1000) : -1;
}

static int64_t read_ecc(struct nvml_gpu *gpu, const struct nvml_library *nvml, int type, int counter)
{
	unsigned long long count;

	return nvml->ecc && answers(&gpu->state, nvml->ecc(gpu->handle, type, counter, &count)) ? count_or_none(count)
												: -1;
}

static unsigned long long field_number(const struct nvml_field_value *field)
{
	switch (field->type) {
	case NVML_VALUE_UINT:
		return field->value.uint;
	case NVML_VALUE_ULONG:
		return field->value.ulong;
	case NVML_VALUE_ULONGLONG:
		return field->value.ulonglong;
	default:
		return 0;
	}
}

static int64_t read_nvlink(struct nvml_gpu *gpu, const struct nvml_library *nvml)
{
	struct nvml_field_value fields[] = { { .field = NVML_NVLINK_FLIT },
					     { .field = NVML_NVLINK_DATA },
					     { .field = NVML_NVLINK_REPLAY },
					     { .field = NVML_NVLINK_RECOVERY } };
	int count = (int)(sizeof(fields) / sizeof(*fields));
	unsigned long long errors = 0;
	bool any = false;

	if (!nvml->fields || !answers(&gpu->state, nvml->fields(gpu->handle, count, fields)))
		return -1;
	for (int i = 0; i < count; i++) {
		if (fields[i].result != NVML_OK)
			continue;
		any = true;
		if (__builtin_add_overflow(errors, field_number(&fields[i]), &errors))
			return -1;
	}
	return any ? count_or_none(errors) : -1;
}

static void read_counters(struct nvml_gpu *gpu, const struct nvml_library *nvml)
{
	struct analysis_gpu_state *state = &gpu->state;
	unsigned int corrected, uncorrected, pending, failure;

	state->ecc_corrected = read_ecc(gpu, nvml, NVML_CORRECTED, NVML_SINCE_LOAD);
	state->ecc_uncorrected = read_ecc(gpu, nvml, NVML_UNCORRECTED, NVML_SINCE_LOAD);
	state->ecc_corrected_ever = read_ecc(gpu, nvml, NVML_CORRECTED, NVML_EVER);
	state->ecc_uncorrected_ever = read_ecc(gpu, nvml, NVML_UNCORRECTED, NVML_EVER);
	state->nvlink_errors = read_nvlink(gpu, nvml);
	state->remapped_rows = state->remap_pending = state->remap_failure = -1;
	if (!nvml->remapped_rows ||
	    !answers(state, nvml->remapped_rows(gpu->handle, &corrected, &uncorrected, &pending, &failure)))
		return;
	state->remapped_rows = number_or_none(corrected + uncorrected);
	state->remap_pending = pending != 0;
	state->remap_failure = failure != 0;
}

void nvml_gpu_read(struct nvml_gpu *gpu, const struct nvml_library *nvml, uint64_t now_ns, bool slow)
{
	struct analysis_gpu_state *state = &gpu->state;
	unsigned long long reasons;
	struct nvml_memory memory;

	state->lost = state->needs_reset = false;
	state->sm_mhz = read_number(gpu, nvml->clock, NVML_SM);
	state->sm_mhz_max = read_number(gpu, nvml->clock_max, NVML_SM);
	state->celsius = read_number(gpu, nvml->temperature, NVML_GPU_SENSOR);
	state->watts = read_watts(gpu, nvml->power);
	state->watts_cap = read_watts(gpu, nvml->power_limit);
	state->clock_reasons = -1;
	if (nvml->clock_reasons && answers(state, nvml->clock_reasons(gpu->handle, &reasons)))
		state->clock_reasons = count_or_none(reasons);
	state->memory_used = state->memory_total = -1;
	if (nvml->memory && answers(state, nvml->memory(gpu->handle, &memory))) {
		state->memory_used = count_or_none(memory.used);
		state->memory_total = count_or_none(memory.total);
	}
	if (slow)
		read_counters(gpu, nvml);
	state->at_ns = now_ns;
}
