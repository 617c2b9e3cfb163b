/* SPDX-License-Identifier: MIT */
/* The library that RANKWATCH_CHAIN names, found by the rules by which NCCL (2.27.5 and later) finds a profiler plugin.
 */
#ifndef PLUGIN_CHAIN_LIBRARY_H
#define PLUGIN_CHAIN_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* Unset, empty and "none" name none. */
bool chain_library_is_named(const char *name);
/* NULL: `why` has the reason. Never closed: the other's threads may outlive its last communicator. */
void *chain_library_open(const char *name, char *why, size_t room);

#endif
