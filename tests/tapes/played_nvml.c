/* SPDX-License-Identifier: MIT */
/* In place of collector/sources/machine/nvml_source.c, whose thread has a clock of its own: asks as it does, and has
 * NVML's recorded answers. */
#include "collector/sources/machine/nvml_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/machine/nvml_device.h"
#include "played.h"

enum { GPUS = 64 };

struct nvml_source {
	struct nvml_gpu gpus[GPUS];
	bool open[GPUS];
	uint64_t read_ns[GPUS];
	size_t events; /* bytes of them that were handed over */
};

static const char *answers; /* of the GPU that is asked */

/* What stands behind "ASKED = "; NULL: there was no answer. */
static const char *answer(const char *asked)
{
	size_t length = strlen(asked);

	for (const char *line = answers; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
		if (!strncmp(line, asked, length) && !strncmp(line + length, " = ", 3))
			return line + length + 3;
	return NULL;
}

/* The result, and up to four numbers. */
static int numbers(const char *asked, unsigned long long told[4])
{
	const char *text = answer(asked);
	int result = NVML_NOT_SUPPORTED;

	memset(told, 0, 4 * sizeof(*told));
	if (text)
		sscanf(text, "%d %llu %llu %llu %llu", &result, &told[0], &told[1], &told[2], &told[3]);
	return result;
}

static int by_index(unsigned int index, nvml_device *device)
{
	*device = (nvml_device)(uintptr_t)(index + 1);
	return NVML_OK;
}

static int uuid(nvml_device device, char *text, unsigned int room)
{
	const char *told = answer("uuid");

	(void)device;
	snprintf(text, room, "%.*s", told ? (int)strcspn(told + 2, "\n") : 0, told ? told + 2 : "");
	return NVML_OK;
}

static int pci(nvml_device device, struct nvml_pci *pci)
{
	const char *told = answer("pci");

	(void)device;
	if (told)
		snprintf(pci->address, sizeof(pci->address), "%.*s", (int)strcspn(told + 2, "\n"), told + 2);
	return NVML_OK;
}

static int number_of(const char *name, int which, unsigned int *number)
{
	unsigned long long told[4];
	char asked[48];

	snprintf(asked, sizeof(asked), "%s %d", name, which);
	int result = numbers(asked, told);

	*number = (unsigned int)told[0];
	return result;
}

static int ask_clock(nvml_device device, int which, unsigned int *mhz)
{
	(void)device;
	return number_of("clock", which, mhz);
}

static int ask_clock_max(nvml_device device, int which, unsigned int *mhz)
{
	(void)device;
	return number_of("clock_max", which, mhz);
}

static int ask_temperature(nvml_device device, int sensor, unsigned int *celsius)
{
	(void)device;
	return number_of("temperature", sensor, celsius);
}

static int ask_power(nvml_device device, unsigned int *milliwatts)
{
	unsigned long long told[4];
	int result = numbers("power", told);

	(void)device;
	*milliwatts = (unsigned int)told[0];
	return result;
}

static int ask_power_limit(nvml_device device, unsigned int *milliwatts)
{
	unsigned long long told[4];
	int result = numbers("power_limit", told);

	(void)device;
	*milliwatts = (unsigned int)told[0];
	return result;
}

static int ask_clock_reasons(nvml_device device, unsigned long long *bits)
{
	unsigned long long told[4];
	int result = numbers("clock_reasons", told);

	(void)device;
	*bits = told[0];
	return result;
}

static int ask_ecc(nvml_device device, int type, int counter, unsigned long long *count)
{
	unsigned long long told[4];
	char asked[48];

	(void)device;
	snprintf(asked, sizeof(asked), "ecc %d %d", type, counter);
	int result = numbers(asked, told);

	*count = told[0];
	return result;
}

static int ask_remapped_rows(nvml_device device, unsigned int *corrected, unsigned int *uncorrected,
			     unsigned int *pending, unsigned int *failure)
{
	unsigned long long told[4];
	int result = numbers("remapped_rows", told);

	(void)device;
	*corrected = (unsigned int)told[0];
	*uncorrected = (unsigned int)told[1];
	*pending = (unsigned int)told[2];
	*failure = (unsigned int)told[3];
	return result;
}

static int ask_memory(nvml_device device, struct nvml_memory *memory)
{
	unsigned long long told[4];
	int result = numbers("memory", told);

	(void)device;
	*memory = (struct nvml_memory){ .total = told[0], .free = told[1], .used = told[2] };
	return result;
}

static int ask_fields(nvml_device device, int count, struct nvml_field_value *values)
{
	int result = NVML_NOT_SUPPORTED;

	(void)device;
	for (int i = 0; i < count; i++) {
		unsigned long long told[4];
		char asked[48];

		snprintf(asked, sizeof(asked), "field %u", values[i].field);
		result = numbers(asked, told);
		values[i].result = (int)told[0];
		values[i].type = NVML_VALUE_ULONGLONG;
		values[i].value.ulonglong = told[1];
	}
	return result;
}

static const struct nvml_library recorded = {
	.device_by_index = by_index,
	.uuid = uuid,
	.pci = pci,
	.clock = ask_clock,
	.clock_max = ask_clock_max,
	.temperature = ask_temperature,
	.power = ask_power,
	.power_limit = ask_power_limit,
	.clock_reasons = ask_clock_reasons,
	.ecc = ask_ecc,
	.remapped_rows = ask_remapped_rows,
	.memory = ask_memory,
	.fields = ask_fields,
};

int nvml_source_open(struct nvml_source **source, const char *file, char *why)
{
	(void)file;
	*why = '\0';
	*source = calloc(1, sizeof(**source));
	return *source ? 0 : -ENOMEM;
}

void nvml_source_close(struct nvml_source *source)
{
	free(source);
}

static void poll_gpu(struct nvml_source *source, unsigned int index, const struct nvml_source_events *events)
{
	const char *at, *slow;
	char path[32];

	snprintf(path, sizeof(path), "nvml/%u", index);
	answers = tree_text(&played->tree, path);
	at = answer("at_ns");
	slow = answer("slow");
	uint64_t at_ns = at ? strtoull(at, NULL, 10) : 0;

	if (!at_ns || at_ns == source->read_ns[index])
		return;
	source->read_ns[index] = at_ns;
	if (!source->open[index])
		source->open[index] = nvml_gpu_open(&source->gpus[index], &recorded, index) == NVML_OK;
	nvml_gpu_read(&source->gpus[index], &recorded, at_ns, slow && *slow == '1');
	events->state(events->argument, &source->gpus[index].state);
}

static void poll_events(struct nvml_source *source, const struct nvml_source_events *events)
{
	const char *text = tree_text(&played->tree, "nvml/events");
	unsigned long long at_ns, type, xid;
	unsigned int gpu;

	while (text && strlen(text) > source->events &&
	       sscanf(text + source->events, "%llu %u %llu %llu", &at_ns, &gpu, &type, &xid) == 4) {
		struct analysis_gpu_event event = {
			.source = ANALYSIS_GPU_NVML, .at_ns = at_ns, .xid = (uint32_t)xid, .pid = -1
		};

		if (gpu < GPUS && type & NVML_EVENT_XID) {
			memcpy(event.uuid, source->gpus[gpu].state.uuid, sizeof(event.uuid));
			memcpy(event.pci, source->gpus[gpu].state.pci, sizeof(event.pci));
			events->event(events->argument, &event);
		}
		source->events += strcspn(text + source->events, "\n") + 1;
	}
}

void nvml_source_poll(struct nvml_source *source, const struct nvml_source_events *events)
{
	for (unsigned int i = 0; i < GPUS; i++)
		poll_gpu(source, i, events);
	poll_events(source, events);
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
