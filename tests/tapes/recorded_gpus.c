/* SPDX-License-Identifier: MIT */
/* NVML's answers as lines, "clock 1 = 0 1980": the call, its result, what it told. The questions are those of the
 * collector's own source. */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/sources/machine/nvml_device.h"
#include "machine.h"

enum { GPUS = 64, LOOK_MS = 500, SLOW_ROUNDS = 4, EVENTS = 16, ANSWERS = 8192 };

struct recorded_gpus {
	bool open;
	struct nvml_gpu gpus[GPUS];
	unsigned int count, round;
	nvml_event_set events;
	uint64_t next_ns;
	struct buffer xids;
	char log[TAPE_PATH];
	char log_text[TAPE_TEXT_MAX];
};

static struct nvml_library real; /* the functions below have no argument to say whose it is */
static char answers[ANSWERS];
static size_t answered;

static void __attribute__((format(printf, 1, 2))) answer(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(answers + answered, sizeof(answers) - answered, format, arguments);
	va_end(arguments);
	if (length > 0 && answered + (size_t)length < sizeof(answers))
		answered += (size_t)length;
}

static int by_index(unsigned int index, nvml_device *device)
{
	return real.device_by_index(index, device);
}

static int uuid(nvml_device device, char *text, unsigned int room)
{
	int result = real.uuid(device, text, room);

	answer("uuid = %d %s\n", result, result == NVML_OK ? text : "");
	return result;
}

static int pci(nvml_device device, struct nvml_pci *told)
{
	int result = real.pci(device, told);

	answer("pci = %d %s\n", result, result == NVML_OK ? told->address : "");
	return result;
}

#define NUMBER_OF(name)                                                                                                \
	static int name(nvml_device device, int which, unsigned int *number)                                           \
	{                                                                                                              \
		int result = real.name(device, which, number);                                                         \
                                                                                                                       \
		answer(#name " %d = %d %u\n", which, result, result == NVML_OK ? *number : 0);                         \
		return result;                                                                                         \
	}
NUMBER_OF(clock)
NUMBER_OF(clock_max)
NUMBER_OF(temperature)

#define WATTS_OF(name)                                                                                                 \
	static int name(nvml_device device, unsigned int *milliwatts)                                                  \
	{                                                                                                              \
		int result = real.name(device, milliwatts);                                                            \
                                                                                                                       \
		answer(#name " = %d %u\n", result, result == NVML_OK ? *milliwatts : 0);                               \
		return result;                                                                                         \
	}
WATTS_OF(power)
WATTS_OF(power_limit)

static int clock_reasons(nvml_device device, unsigned long long *bits)
{
	int result = real.clock_reasons(device, bits);

	answer("clock_reasons = %d %llu\n", result, result == NVML_OK ? *bits : 0);
	return result;
}

static int ecc(nvml_device device, int type, int counter, unsigned long long *count)
{
	int result = real.ecc(device, type, counter, count);

	answer("ecc %d %d = %d %llu\n", type, counter, result, result == NVML_OK ? *count : 0);
	return result;
}

static int remapped_rows(nvml_device device, unsigned int *corrected, unsigned int *uncorrected, unsigned int *pending,
			 unsigned int *failure)
{
	int result = real.remapped_rows(device, corrected, uncorrected, pending, failure);
	bool told = result == NVML_OK;

	answer("remapped_rows = %d %u %u %u %u\n", result, told ? *corrected : 0, told ? *uncorrected : 0,
	       told ? *pending : 0, told ? *failure : 0);
	return result;
}

static int memory(nvml_device device, struct nvml_memory *told)
{
	int result = real.memory(device, told);

	answer("memory = %d %llu %llu %llu\n", result, result == NVML_OK ? told->total : 0,
	       result == NVML_OK ? told->free : 0, result == NVML_OK ? told->used : 0);
	return result;
}

/* The stand-in's and every driver's counters of links are unsigned long long; another type is told as "not there". */
static int fields(nvml_device device, int count, struct nvml_field_value *values)
{
	int result = real.fields(device, count, values);

	for (int i = 0; i < count; i++) {
		bool told = result == NVML_OK && values[i].result == NVML_OK && values[i].type == NVML_VALUE_ULONGLONG;

		answer("field %u = %d %d %llu\n", values[i].field, result, told ? NVML_OK : NVML_NOT_SUPPORTED,
		       told ? values[i].value.ulonglong : 0);
	}
	return result;
}

static struct nvml_library asking(void)
{
	struct nvml_library library = { .device_by_index = by_index, .uuid = uuid, .pci = pci };

	library.clock = real.clock ? clock : NULL;
	library.clock_max = real.clock_max ? clock_max : NULL;
	library.temperature = real.temperature ? temperature : NULL;
	library.power = real.power ? power : NULL;
	library.power_limit = real.power_limit ? power_limit : NULL;
	library.clock_reasons = real.clock_reasons ? clock_reasons : NULL;
	library.ecc = real.ecc ? ecc : NULL;
	library.remapped_rows = real.remapped_rows ? remapped_rows : NULL;
	library.memory = real.memory ? memory : NULL;
	library.fields = real.fields ? fields : NULL;
	return library;
}

static void open_events(struct recorded_gpus *gpus)
{
	if (!real.event_set || real.event_set(&gpus->events) != NVML_OK)
		return;
	for (unsigned int i = 0; i < gpus->count; i++)
		real.event_register(gpus->gpus[i].handle, NVML_EVENT_XID, gpus->events);
}

static void open_library(struct recorded_gpus *gpus)
{
	char why[256];

	if (nvml_library_open(&real, "libnvidia-ml.so.1", why, sizeof(why)) || real.init() != NVML_OK ||
	    real.device_count(&gpus->count) != NVML_OK)
		return;
	if (gpus->count > GPUS)
		gpus->count = GPUS;
	for (unsigned int i = 0; i < gpus->count; i++)
		real.device_by_index(i, &gpus->gpus[i].handle);
	open_events(gpus);
	gpus->open = true;
}

struct recorded_gpus *recorded_gpus_new(const char *directory)
{
	struct recorded_gpus *gpus;
	char script[TAPE_PATH], log[TAPE_PATH];

	recorded_variable(directory, "SIM_NVML", script);
	recorded_variable(directory, "SIM_KERNEL_LOG", log);
	if (!*script || !(gpus = calloc(1, sizeof(*gpus))))
		return NULL;
	setenv("SIM_NVML", script, 1);
	snprintf(gpus->log, sizeof(gpus->log), "%s", log);
	open_library(gpus);
	return gpus;
}

static void look_at(struct recorded_gpus *gpus, struct recording *recording, unsigned int index, uint64_t now_ns)
{
	const struct nvml_library library = asking();
	bool slow = gpus->round % SLOW_ROUNDS == 0;
	char path[32];

	answered = 0;
	answer("at_ns = %llu\nslow = %d\n", (unsigned long long)now_ns, slow);
	if (nvml_gpu_open(&gpus->gpus[index], &library, index) != NVML_OK)
		return;
	nvml_gpu_read(&gpus->gpus[index], &library, now_ns, slow);
	snprintf(path, sizeof(path), "nvml/%u", index);
	recording_text(recording, path, answers, answered);
}

static void take_events(struct recorded_gpus *gpus, struct recording *recording, uint64_t now_ns)
{
	struct nvml_event event;
	char line[96];

	for (int i = 0; gpus->events && i < EVENTS; i++) {
		memset(&event, 0, sizeof(event));
		if (real.event_wait(gpus->events, &event, 0) != NVML_OK)
			break;
		for (unsigned int gpu = 0; gpu < gpus->count; gpu++) {
			if (gpus->gpus[gpu].handle != event.device)
				continue;
			int length = snprintf(line, sizeof(line), "%llu %u %llu %llu\n", (unsigned long long)now_ns,
					      gpu, event.type, event.data);
			put_bytes(&gpus->xids, line, (size_t)length);
		}
	}
	if (gpus->xids.used)
		recording_text(recording, "nvml/events", (const char *)gpus->xids.bytes, gpus->xids.used);
}

void recorded_gpus_look(struct recorded_gpus *gpus, struct recording *recording, uint64_t now_ns)
{
	ssize_t length = *gpus->log ? machine_read(gpus->log, gpus->log_text) : -1;

	if (length >= 0)
		recording_text(recording, "dev/kmsg", gpus->log_text, (size_t)length);
	if (!gpus->open)
		return;
	take_events(gpus, recording, now_ns);
	if (now_ns < gpus->next_ns)
		return;
	gpus->next_ns = now_ns + LOOK_MS * UINT64_C(1000000);
	for (unsigned int i = 0; i < gpus->count; i++)
		look_at(gpus, recording, i, now_ns);
	gpus->round++;
}

void recorded_gpus_free(struct recorded_gpus *gpus)
{
	if (!gpus)
		return;
	if (gpus->events)
		real.event_free(gpus->events);
	if (gpus->open)
		real.shutdown();
	nvml_library_close(&real);
	free(gpus->xids.bytes);
	free(gpus);
}
