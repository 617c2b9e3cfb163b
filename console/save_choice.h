/* SPDX-License-Identifier: MIT */
/* Where boxes are saved and how much may lie there: --save and --save-limit. A child of the command's argp, whose
 * ARGP_KEY_INIT sets child_inputs to a zeroed save_choice. */
#ifndef CONSOLE_SAVE_CHOICE_H
#define CONSOLE_SAVE_CHOICE_H

#include <argp.h>
#include <stdint.h>

struct save_choice {
	const char *directory; /* NULL: boxes are not saved */
	const char *limit;     /* as typed; NULL: the default */
	uint64_t limit_bytes;
};

extern const struct argp save_choice_argp;

#endif
