/* SPDX-License-Identifier: MIT */
#include "console/doctor/check.h"

#include "console/doctor/child.h"
#include "console/doctor/libraries.h"

enum { SECONDS = 20 }; /* the first cuInit after boot is slow */

static void say_device(struct check_result *result, const struct library_answer *answer)
{
	if (answer->text[0] == '!') {
		check_say(result, VERDICT_WARNING, "%d × %s without 64-bit stream memory operations", answer->value,
			  answer->text + 1);
		check_advise(result, "lateness is measured on the host; a newer driver may have them");
		return;
	}
	check_say(result, VERDICT_OK, "%d × %s with stream memory operations: the GPU writes its own progress",
		  answer->value, answer->text);
}

static void gpu_run(struct check_context *context, struct check_result *result)
{
	static struct library_answer answer;
	int error = child_try(NULL, library_ask_gpu, "libcuda.so.1", &answer, sizeof(answer), SECONDS);

	if (error) {
		check_say(result, VERDICT_NO, "the CUDA driver: %s", child_error_text(error));
		check_advise(result, "look at nvidia-smi and the kernel log");
	} else if (answer.value < 0 && !check_has_gpu(context)) {
		check_say(result, VERDICT_NONE,
			  "this machine has no NVIDIA GPU; on one that has, this says whether the GPU "
			  "can write its progress");
	} else if (answer.value < 0) {
		check_say(result, VERDICT_NO, "no GPU here: no CUDA driver (libcuda.so.1)");
		check_advise(result, "install the driver, or give the container its libraries");
	} else if (answer.value == 0 || *answer.error) {
		check_say(result, VERDICT_NO, "no GPU here: %s",
			  *answer.error ? answer.error : "the driver counts none");
		check_advise(result,
			     "doctor asks without privileges, so it cannot load the driver's modules or make its "
			     "devices: if this machine has a GPU, run nvidia-smi once and try again");
	} else {
		say_device(result, &answer);
	}
}

const struct check gpu_check = { .name = "GPU progress", .run = gpu_run };
