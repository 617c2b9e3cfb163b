/* SPDX-License-Identifier: MIT */
/*
 * Where the Python of ranks is that others wait for: looked at while they do, a few times, beside the event loop, and
 * reported to the analysis. A process is never stopped for it. One owner thread.
 */
#ifndef COLLECTOR_HOST_PYTHON_SOURCE_H
#define COLLECTOR_HOST_PYTHON_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "analysis/analysis.h"
#include "base/writer_process.h"

struct python_source;

/* NULL on lack of memory: all below accept that, and nothing is seen. ancestor: a descriptor for struct
 * ancestor_question, the caller's, or -1. */
struct python_source *python_source_open(uv_loop_t *loop, struct analysis *analysis, int ancestor);
/* False: a sample does not come back, and a thread still uses the loop. */
bool python_source_close(struct python_source *source);

/* The writer stays the caller's, until python_source_unwatch(). */
void python_source_watch(struct python_source *source, analysis_process_id process,
			 const struct writer_process *writer);
void python_source_unwatch(struct python_source *source, analysis_process_id process);
/* Begins a sample if one is due. Call 20 times a second. */
void python_source_poll(struct python_source *source, uint64_t now_ns);

#endif
