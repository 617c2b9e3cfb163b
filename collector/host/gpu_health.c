/* SPDX-License-Identifier: MIT */
#include "collector/host/gpu_health.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/machine/nvml_source.h"
#include "kernel_log/kernel_log.h"

enum { WHY = 192, POLL_MS = 100 };

struct gpu_health {
	struct analysis *analysis;
	struct nvml_source *nvml; /* NULL: see nvml_why */
	const char *log_path;	  /* NULL: /dev/kmsg */
	struct kernel_log *log;   /* NULL: see log_why */
	char nvml_why[WHY], log_why[WHY];
	uint64_t next_ns;
};

static void on_state(void *argument, const struct analysis_gpu_state *state)
{
	struct gpu_health *health = argument;

	analysis_add_gpu_state(health->analysis, state);
}

static void on_event(void *argument, const struct analysis_gpu_event *event)
{
	struct gpu_health *health = argument;

	analysis_add_gpu_event(health->analysis, event);
}

static void on_oom(void *argument, int32_t pid, uint64_t at_ns)
{
	struct gpu_health *health = argument;

	analysis_add_oom_kill(health->analysis, pid, at_ns);
}

int gpu_health_open(struct gpu_health **health, struct analysis *analysis, const char *kernel_log)
{
	struct gpu_health *made = calloc(1, sizeof(*made));

	*health = made;
	if (!made)
		return -ENOMEM;
	made->analysis = analysis;
	made->log_path = kernel_log;
	nvml_source_open(&made->nvml, "libnvidia-ml.so.1", made->nvml_why);
	if (!kernel_log_open_chosen(&made->log, kernel_log, made->log_why, sizeof(made->log_why)))
		kernel_log_hear_oom(made->log, on_oom, made);
	return 0;
}

void gpu_health_close(struct gpu_health *health)
{
	if (!health)
		return;
	nvml_source_close(health->nvml);
	kernel_log_close(health->log);
	free(health);
}

static void poll_log(struct gpu_health *health, uint64_t now_ns)
{
	int found = kernel_log_poll(health->log, now_ns, on_event, health);

	if (found >= 0)
		return;
	kernel_log_explain(health->log_path, found, health->log_why, sizeof(health->log_why));
	kernel_log_close(health->log);
	health->log = NULL;
}

static void poll_nvml(struct gpu_health *health, uint64_t now_ns)
{
	const struct nvml_source_events events = { .state = on_state, .event = on_event, .argument = health };

	if (!health->nvml || now_ns < health->next_ns)
		return;
	health->next_ns = now_ns + POLL_MS * UINT64_C(1000000);
	nvml_source_poll(health->nvml, &events);
	analysis_set_gpu_silence(health->analysis, nvml_source_in_call_since(health->nvml));
}

/* NVML's event set first: of one Xid it has the UUID, and the kernel log adds the words. The log each time: what it
 * says of a death has to be known before that death is judged. */
void gpu_health_poll(struct gpu_health *health, uint64_t now_ns)
{
	poll_nvml(health, now_ns);
	if (health->log)
		poll_log(health, now_ns);
}

void gpu_health_describe(const struct gpu_health *health, char text[GPU_HEALTH_TEXT])
{
	const char *nvml_why = health->nvml ? nvml_source_why(health->nvml) : health->nvml_why;

	if (!*nvml_why && health->log)
		snprintf(text, GPU_HEALTH_TEXT, "seen through NVML and the kernel log");
	else if (!*nvml_why)
		snprintf(text, GPU_HEALTH_TEXT, "seen through NVML, without the kernel log (%s)", health->log_why);
	else if (health->log)
		snprintf(text, GPU_HEALTH_TEXT, "seen through the kernel log alone (%s)", nvml_why);
	else
		snprintf(text, GPU_HEALTH_TEXT, "not seen (%s; %s)", nvml_why, health->log_why);
}
