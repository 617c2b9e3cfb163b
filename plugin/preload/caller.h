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

/* The caller that the return address lies in; NULL, said once, when no NCCL with this function is to be found. What was
 * found is remembered and kept from being unloaded. Any thread. A few ns after the first call of an object. */
const struct caller *caller_find(const void *return_address, enum nccl_function wanted);
/* Another object may lie where a caller was that has been unloaded: forgets callers if any was. Before a communicator
 * is made, with which all use of a NCCL begins. Takes the loader's lock. */
void caller_review(void);

#endif
