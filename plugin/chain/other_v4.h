/* SPDX-License-Identifier: MIT */
/* Events of version 5 and later for a plugin of version 4, as NCCL's own adapter translates them. */
#ifndef PLUGIN_CHAIN_OTHER_V4_H
#define PLUGIN_CHAIN_OTHER_V4_H

#include "plugin/chain/other.h"
#include "plugin/nccl/profiler_v4.h"

/* The other's handle. The event is of a kind that version 4 knows. */
void *other_v4_start(const struct profiler_v4 *table, void *context, const struct other_event *event);

#endif
