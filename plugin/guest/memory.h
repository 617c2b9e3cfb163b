/* SPDX-License-Identifier: MIT */
/* Memory of the process. What the plugin has it keeps until the process ends: not malloc(), whose heap it would be is
 * the job's choice. */
#ifndef PLUGIN_GUEST_MEMORY_H
#define PLUGIN_GUEST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed, and populated now, so that nothing faults on the path of a collective. NULL: no memory. Any thread. */
void *memory_populated(size_t size);
/* Zeroed, populated as it is touched. NULL: no memory. Any thread. */
void *memory_reserved(size_t size);

/* Maps every page of the file that this code is in: it may lie on a server that goes away while the job runs, and a
 * page that was never touched would then end the job (SIGBUS) or hold it. Linux 5.14 or later; before, it does nothing.
 * Some system calls. Any thread. */
void memory_populate_own_file(void);

/* Copies what lies in this process at an address that may not be mapped. False: it is not, or the system forbids the
 * question. One system call. Any thread. */
bool memory_read(const void *at, void *into, size_t size);

#endif
