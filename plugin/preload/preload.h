/* SPDX-License-Identifier: MIT */
/* What all wrappers need: is the interposer wanted, and which function is the real one. */
#ifndef PLUGIN_PRELOAD_PRELOAD_H
#define PLUGIN_PRELOAD_PRELOAD_H

#include <stdbool.h>

#include "plugin/operations/call.h"
#include "plugin/preload/membership.h"

#define PRELOAD_EXPORT __attribute__((visibility("default")))

/* False with RANKWATCH=off or RANKWATCH_PRELOAD=0: wrappers pass straight through. The environment is read once, at the
 * first NCCL call of the process. */
bool preload_is_on(void);

static inline enum call_result preload_result(int result)
{
	return result == NCCL_SUCCESS ? CALL_DONE : result == NCCL_IN_PROGRESS ? CALL_GOES_ON : CALL_FAILED;
}

/* The NCCL that made the communicator; NULL or not known: the one that the return address's object means. NULL,
 * reported once: none that has the function. */
static inline const struct caller *preload_caller(const struct membership *membership, const void *return_address,
						  enum nccl_function wanted)
{
	const struct caller *caller =
	    membership ? atomic_load_explicit(&membership->caller, memory_order_relaxed) : NULL;

	return caller && caller->functions[wanted] ? caller : caller_find(return_address, wanted);
}

/* Inside a wrapper: declares `caller` and `real`, its function behind ncclNAME, and returns an error from the wrapper
 * when there is none, as a system without NCCL would give one. */
#define PRELOAD_REAL(NAME, PARAMETERS, MEMBERSHIP)                                                                     \
	const struct caller *caller = preload_caller(MEMBERSHIP, __builtin_return_address(0), NCCL_##NAME);            \
	if (!caller)                                                                                                   \
		return NCCL_SYSTEM_ERROR;                                                                              \
	int(*real) PARAMETERS = (int(*) PARAMETERS)caller->functions[NCCL_##NAME]

#endif
