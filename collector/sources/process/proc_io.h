/* SPDX-License-Identifier: MIT */
/* What a process has read and written so far, by /proc/PID/io. Any thread. */
#ifndef COLLECTOR_SOURCES_PROCESS_PROC_IO_H
#define COLLECTOR_SOURCES_PROCESS_PROC_IO_H

#include <stdbool.h>
#include <stdint.h>

/* process: the open directory /proc/PID. *bytes: rchar + wchar, of all its threads. False: the file is not there, or
 * the reading thread may not read it. */
bool proc_io_bytes(int process, uint64_t *bytes);

#endif
