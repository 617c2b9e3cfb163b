/* SPDX-License-Identifier: MIT */
/*
 * Children of communicators that do not block: NCCL writes their handle when it has made them, long after the call
 * has returned. The program then asks NCCL how far it is, by the parent's handle or by the child's own: that is when
 * the child gets its membership. The last 64 are kept. Not on the path of a collective.
 */
#ifndef PLUGIN_PRELOAD_UNBORN_H
#define PLUGIN_PRELOAD_UNBORN_H

#include "plugin/preload/membership.h"

/* NCCL goes on with it, and has written no handle. */
void unborn_add(const struct creation *creation);
/* NCCL has answered of this communicator that it is not at work any more. True: a child has a membership now. Makes no
 * system call unless there is one of this parent, or one whose handle this could be. */
bool unborn_answered(nccl_comm asked);

#endif
