/* SPDX-License-Identifier: MIT */
/* Communicators that a group is to make: NCCL makes them when the outermost group ends, on threads of its own. */
#ifndef PLUGIN_PRELOAD_BIRTHS_H
#define PLUGIN_PRELOAD_BIRTHS_H

#include "plugin/preload/membership.h"

/* The call that makes it has returned well; copied. Inside a group it waits for births_end(). */
void births_add(const struct birth *birth);
/* The outermost group of this thread has ended with this result of NCCL. One load and no lock while no thread waits for
 * a communicator. */
void births_end(int result);

#endif
