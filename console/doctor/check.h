/* SPDX-License-Identifier: MIT */
/* One line of `rankwatch doctor`: a file in console/doctor/ that ends in one `const struct check`, and a line in the
 * table of console/commands/doctor.c. Checks run in the order of the table, on one thread. */
#ifndef CONSOLE_DOCTOR_CHECK_H
#define CONSOLE_DOCTOR_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "console/install/install.h"

enum verdict {
	VERDICT_OK,
	VERDICT_WARNING, /* works, with less than there could be */
	VERDICT_NO,      /* does not work, or is not there */
	VERDICT_NONE,    /* there is nothing here that it could work with, and nothing wrong with that */
};

struct check_result {
	enum verdict verdict;
	char text[1024];   /* what was found */
	char advice[1024]; /* what to do about it; "" nothing */
};

/* What the checks look at, and what one leaves for a later one. */
struct check_context {
	const char *root;                                     /* "" or a directory to look in instead of /: for tests */
	const char *(*get)(void *argument, const char *name); /* environment; as identity_get */
	void *get_argument;
	char *const *command; /* the command that is about to be run, ended by NULL; NULL none */
	const char *nats;     /* the address that was named on the command line, checked; NULL none */
	struct install install;
	uint32_t nccl_version; /* as ncclGetVersion; 0 unknown. Left by the check "nccl", as is … */
	bool nccl_is_hidden;   /* … whether it exports none of its functions */
};

struct check {
	const char *name;
	void (*run)(struct check_context *context, struct check_result *result);
};

extern const struct check nccl_check, abi_check, plugin_check, variable_check, interposer_check, kernel_check,
    gpu_check, scan_check, box_check, watchdog_check, collector_check, nvml_check, kernel_log_check, ports_check,
    defects_check, nats_check;

/* context->get with its argument; "" counts as not set. */
const char *check_get(const struct check_context *context, const char *name);

/* Does the PCI bus of this machine have an NVIDIA GPU? True where that cannot be known. */
bool check_has_gpu(const struct check_context *context);

/* Sets verdict and text (printf). Advice stays as it is. */
void check_say(struct check_result *result, enum verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void check_advise(struct check_result *result, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
