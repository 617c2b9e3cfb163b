/* SPDX-License-Identifier: MIT */
/* What will be seen of the GPUs' health: docs/gpu-health.md. */
#include "console/doctor/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector/sources/machine/nvml_library.h"
#include "console/doctor/child.h"

enum { SECONDS = 20 };

struct nvml_answer {
	char error[160]; /* "" it works */
	unsigned int gpus;
	char without[160]; /* what this driver's NVML lacks; "" nothing that is used */
};

static void name_missing(const struct nvml_library *nvml, char *text, size_t room)
{
	const struct {
		const char *name;
		bool there;
	} parts[] = {
		{ "clock reasons", nvml->clock_reasons },
		{ "ECC counts", nvml->ecc },
		{ "remapped rows", nvml->remapped_rows },
		{ "NVLink errors", nvml->fields },
		{ "Xid events", nvml->event_set && nvml->event_register && nvml->event_wait },
	};
	size_t used = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && used < room; i++)
		if (!parts[i].there)
			used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", parts[i].name);
}

/* In a child: the driver may not answer. */
static void ask_nvml(const void *argument, void *answer, size_t size)
{
	struct nvml_answer *reported = answer;
	struct nvml_library nvml;

	(void)size;
	if (nvml_library_open(&nvml, argument, reported->error, sizeof(reported->error)))
		return;
	int result = nvml.init();

	if (!result)
		result = nvml.device_count(&reported->gpus);
	if (result)
		snprintf(reported->error, sizeof(reported->error), "NVML: %s", nvml.error_string(result));
	name_missing(&nvml, reported->without, sizeof(reported->without));
}

static void nvml_run(struct check_context *context, struct check_result *result)
{
	static struct nvml_answer answer;
	int error = child_try(NULL, ask_nvml, "libnvidia-ml.so.1", &answer, sizeof(answer), SECONDS);

	if (error) {
		check_say(result, VERDICT_NO, "NVML: %s%s", child_error_text(error),
			  error == -ETIMEDOUT ? "; a GPU may be sick" : "");
		check_advise(result, "look at nvidia-smi and the kernel log");
	} else if (*answer.error && !check_has_gpu(context)) {
		check_say(result, VERDICT_NONE,
			  "this machine has no NVIDIA GPU whose clocks, ECC and Xids could be watched");
	} else if (*answer.error) {
		check_say(result, VERDICT_NO, "%s", answer.error);
		check_advise(result,
			     "with it, clocks, ECC and Xids of a late rank's GPU are in its finding; containers need "
			     "NVIDIA_DRIVER_CAPABILITIES=utility");
	} else if (*answer.without) {
		check_say(result, VERDICT_WARNING, "%u GPU%s through NVML, without %s", answer.gpus,
			  answer.gpus == 1 ? "" : "s", answer.without);
	} else {
		check_say(result, VERDICT_OK, "%u GPU%s through NVML: clocks, ECC, remapped rows, NVLink, memory, Xids",
			  answer.gpus, answer.gpus == 1 ? "" : "s");
	}
}

const struct check nvml_check = { .name = "GPU health", .run = nvml_run };

static void kernel_log_run(struct check_context *context, struct check_result *result)
{
	char path[INSTALL_PATH];

	snprintf(path, sizeof(path), "%s/dev/kmsg", context->root);
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

	if (fd >= 0) {
		close(fd);
		check_say(result, VERDICT_OK, "%s can be read: Xids are seen with the driver's words", path);
		return;
	}
	check_say(result, VERDICT_WARNING, "%s: %s", path, strerror(errno));
	check_advise(result,
		     "Xids come from NVML alone, the last of a burst only; the log needs root or CAP_SYSLOG, and in a "
		     "container the device");
}

const struct check kernel_log_check = { .name = "kernel log", .run = kernel_log_run };
