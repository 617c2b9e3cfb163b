/* SPDX-License-Identifier: MIT */
/*
 * Which NCCL a caller means. Several libnccl can be in one process, and under PyTorch none is in the global scope:
 * RTLD_NEXT finds nothing there. So the real function is looked up once per calling object, in the order in which the
 * loader would have bound the call without us.
 */
#ifndef PLUGIN_PRELOAD_CALLER_H
#define PLUGIN_PRELOAD_CALLER_H

#include "plugin/nccl/nccl.h"

struct caller {
	nccl_any_function *functions[NCCL_FUNCTION_COUNT]; /* NULL: this NCCL has none */
};

/* The caller whose code the return address is in; NULL, and one message for the process, when no NCCL with this
 * function is found. A result is remembered, and its NCCL is never unloaded. Any thread. Takes a few ns after an
 * object's first call. */
const struct caller *caller_find(const void *return_address, enum nccl_function wanted);
/* If any object was unloaded since the last review, forgets which object has which caller: another one may be mapped at
 * the same address now. Called before a communicator is created, with which all use of a NCCL begins. Takes the
 * loader's lock. */
void caller_review(void);

#endif
