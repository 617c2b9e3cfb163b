/* SPDX-License-Identifier: MIT */
/*
 * NVML, which may answer anything: texts without an end or that are no UTF-8, numbers out of range, refusals of each
 * kind. The input is what its calls return, one after the other; when it is used up, they return zeros. The GPUs go
 * through the analysis to findings.
 */
#include "tests/fuzz/box_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "collector/sources/machine/nvml_device.h"
#include "tests/fuzz/printed_finding.h"

#define TERMINATED(text) (memchr((text), '\0', sizeof(text)) != NULL)
#define MS		 UINT64_C(1000000)

enum { GPUS = 2, ROUNDS = 24, ROUND_MS = 500 };

static const uint8_t *rest;
static size_t left;

static void take(void *bytes, size_t size)
{
	size_t part = size < left ? size : left;

	memset(bytes, 0, size);
	memcpy(bytes, rest, part);
	rest += part;
	left -= part;
}

/* One byte; most are NVML_OK, with a value behind it. */
static int answer(void *value, size_t size)
{
	static const uint8_t refusals[] = { 1, NVML_NOT_SUPPORTED, NVML_LOST, NVML_NEEDS_RESET, 255 };
	uint8_t result;

	take(&result, 1);
	if (result >= 0xe0)
		return refusals[result % sizeof(refusals)];
	take(value, size);
	return NVML_OK;
}

/* A byte says how much of the text is given: behind it there is no end. */
static int answer_text(char *text, size_t room)
{
	uint8_t size;
	int result = answer(&size, 1);

	if (result == NVML_OK)
		take(text, size < room ? size : room);
	return result;
}

static int device_by_index(unsigned int index, nvml_device *device)
{
	(void)index;
	return answer(device, sizeof(*device));
}

static int uuid(nvml_device device, char *text, unsigned int room)
{
	(void)device;
	return answer_text(text, room);
}

static int pci(nvml_device device, struct nvml_pci *found)
{
	(void)device;
	return answer_text(found->address, sizeof(found->address));
}

static int number_of(nvml_device device, int which, unsigned int *value)
{
	(void)device, (void)which;
	return answer(value, sizeof(*value));
}

static int number(nvml_device device, unsigned int *value)
{
	(void)device;
	return answer(value, sizeof(*value));
}

static int reasons(nvml_device device, unsigned long long *bits)
{
	(void)device;
	return answer(bits, sizeof(*bits));
}

static int ecc(nvml_device device, int type, int counter, unsigned long long *count)
{
	(void)device, (void)type, (void)counter;
	return answer(count, sizeof(*count));
}

static int remapped_rows(nvml_device device, unsigned int *corrected, unsigned int *uncorrected, unsigned int *pending,
			 unsigned int *failure)
{
	unsigned int numbers[4] = { 0 };
	int result = answer(numbers, sizeof(numbers));

	(void)device;
	*corrected = numbers[0];
	*uncorrected = numbers[1];
	*pending = numbers[2];
	*failure = numbers[3];
	return result;
}

static int memory(nvml_device device, struct nvml_memory *found)
{
	(void)device;
	return answer(found, sizeof(*found));
}

static int fields(nvml_device device, int count, struct nvml_field_value *values)
{
	uint8_t byte;

	(void)device;
	for (int i = 0; i < count; i++) {
		values[i].result = answer(&values[i].value, sizeof(values[i].value));
		take(&byte, 1);
		values[i].type = byte % 8;
	}
	return answer(&byte, 1);
}

static const struct nvml_library nvml = {
	.device_by_index = device_by_index, .uuid = uuid, .pci = pci, .clock = number_of, .clock_max = number_of,
	.temperature = number_of, .power = number, .power_limit = number, .clock_reasons = reasons, .ecc = ecc,
	.remapped_rows = remapped_rows, .memory = memory, .fields = fields,
};

/* Rank i of a job, on the GPU that NVML calls so. */
static void add_rank(struct analysis *analysis, int32_t rank, const struct nvml_gpu *gpu)
{
	static struct rw_box_header box;
	const struct analysis_process process = { .id = (analysis_process_id)rank + 1, .pid = 100 + rank, .box = &box };
	const struct rw_communicator communicator = { .id = 1, .rank = rank, .nranks = GPUS, .created_ns = MS };

	box = (struct rw_box_header){ .created_ns = MS, .world_rank = rank, .world_size = GPUS };
	box.devices[0].used = 1;
	snprintf(box.devices[0].pci, sizeof(box.devices[0].pci), "%.*s", (int)sizeof(box.devices[0].pci) - 1,
		 gpu->state.pci);
	analysis_add_process(analysis, &process);
	analysis_add_communicator(analysis, process.id, 0, &communicator);
}

static void add_state(struct analysis *analysis, const struct analysis_gpu_state *state)
{
	if (!TERMINATED(state->uuid) || !TERMINATED(state->pci) || state->nvlink_errors < -1 ||
	    state->memory_used < -1 || state->memory_total < -1 || state->clock_reasons < -1 || state->sm_mhz < -1 ||
	    state->sm_mhz_max < -1 || state->watts < -1 || state->watts_cap < -1 || state->remapped_rows < -1 ||
	    state->ecc_corrected < -1 || state->ecc_uncorrected < -1 || state->ecc_corrected_ever < -1 ||
	    state->ecc_uncorrected_ever < -1)
		abort();
	analysis_add_gpu_state(analysis, state);
}

static void add_xid(struct analysis *analysis, const struct analysis_gpu_state *state, uint64_t now_ns)
{
	struct analysis_gpu_event event = { .source = ANALYSIS_GPU_NVML, .at_ns = now_ns, .pid = -1 };
	uint8_t xid;

	take(&xid, 1);
	if (!xid)
		return;
	event.xid = xid;
	memcpy(event.uuid, state->uuid, sizeof(event.uuid));
	memcpy(event.pci, state->pci, sizeof(event.pci));
	analysis_add_gpu_event(analysis, &event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct analysis *analysis = analysis_new(false, printed_finding, NULL);
	struct nvml_gpu gpus[GPUS];
	unsigned int count = 0;

	rest = data;
	left = size;
	for (unsigned int i = 0; i < GPUS; i++)
		if (nvml_gpu_open(&gpus[count], &nvml, i) == NVML_OK)
			{
			add_rank(analysis, (int32_t)count, &gpus[count]);
			count++;
		}
	for (uint64_t round = 1; round <= ROUNDS && left; round++) {
		uint64_t now_ns = round * ROUND_MS * MS;

		for (unsigned int i = 0; i < count; i++) {
			nvml_gpu_read(&gpus[i], &nvml, now_ns, round % 4 == 1);
			add_state(analysis, &gpus[i].state);
			add_xid(analysis, &gpus[i].state, now_ns);
		}
		analysis_tick(analysis, now_ns);
	}
	analysis_free(analysis);
	return 0;
}
