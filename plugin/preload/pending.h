/* SPDX-License-Identifier: MIT */
/* Communicators whose creation a group contains: NCCL creates them when the outermost group ends, on threads of its
 * own. */
#ifndef PLUGIN_PRELOAD_PENDING_H
#define PLUGIN_PRELOAD_PENDING_H

#include "plugin/preload/membership.h"

/* The call that creates it has returned this, which is no error. Inside a group a copy is kept until pending_end(). */
void pending_add(const struct creation *creation, int result);
/* The outermost group of this thread has ended with this result of NCCL. Takes no lock unless the group contained the
 * creation of a communicator. */
void pending_end(int result);

#endif
