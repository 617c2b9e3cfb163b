/* SPDX-License-Identifier: MIT */
/* Finds and opens the profiler plugin that NCCL_PROFILER_PLUGIN names, by NCCL 2.28.9's rules. */
#ifndef SIM_NCCL_PLUGIN_H
#define SIM_NCCL_PLUGIN_H

#include "profiler_abi.h"

/* NULL: none wanted or none found (logged). *library is for dlclose. */
const struct profiler_v5 *plugin_open(void **library);

/* Serves a version 4 plugin through a version 5 table; one plugin at a time. */
const struct profiler_v5 *adapter_v4(const struct profiler_v4 *plugin);

#endif
