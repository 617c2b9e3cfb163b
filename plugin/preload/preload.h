/* SPDX-License-Identifier: MIT */
/* What all wrappers need: is the interposer wanted, and which function is the real one. */
#ifndef PLUGIN_PRELOAD_PRELOAD_H
#define PLUGIN_PRELOAD_PRELOAD_H

#include <stdbool.h>

#include "plugin/preload/caller.h"

#define PRELOAD_EXPORT __attribute__((visibility("default")))

/* False with RANKWATCH=off or RANKWATCH_PRELOAD=0: wrappers pass straight through. The environment is read once, at the
 * first NCCL call of the process. */
bool preload_is_on(void);

/* Inside a wrapper: declares `real`, the function behind ncclNAME for the wrapper's caller, and returns an error from
 * the wrapper when there is none, as a system without NCCL would give one. */
#define PRELOAD_REAL(NAME, PARAMETERS)                                                                                 \
	const struct caller *caller = caller_find(__builtin_return_address(0), NCCL_##NAME);                           \
	if (!caller)                                                                                                   \
		return NCCL_SYSTEM_ERROR;                                                                              \
	int(*real) PARAMETERS = (int(*) PARAMETERS)caller->functions[NCCL_##NAME]

#endif
