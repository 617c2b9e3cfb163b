/* SPDX-License-Identifier: MIT */
/* Memory that the plugin keeps until the process ends. Not malloc(): whose heap it would be is the job's choice. */
#ifndef PLUGIN_GUEST_MEMORY_H
#define PLUGIN_GUEST_MEMORY_H

#include <stddef.h>

/* Zeroed, and populated now, so that nothing faults on the path of a collective. NULL: no memory. Any thread. */
void *memory_populated(size_t size);
/* Zeroed, populated as it is touched. NULL: no memory. Any thread. */
void *memory_reserved(size_t size);

#endif
