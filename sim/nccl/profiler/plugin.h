/* SPDX-License-Identifier: MIT */
/* Finds and opens the profiler plugin that NCCL_PROFILER_PLUGIN names, by the rules of the release. */
#ifndef SIM_NCCL_PROFILER_PLUGIN_H
#define SIM_NCCL_PROFILER_PLUGIN_H

#include "sim/nccl/profiler/adapter.h"

struct plugin {
	void *library;
	const struct adapter *adapter;
	const struct profiler_table *table; /* NULL: is not called */
};

/* False: none wanted or none found (logged). */
bool plugin_open(struct plugin *plugin);
void plugin_close(struct plugin *plugin);

#endif
