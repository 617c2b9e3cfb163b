/* SPDX-License-Identifier: MIT */
/*
 * The machine's network ports, read every two seconds on a thread of its own: an adapter whose firmware does not answer
 * keeps whoever reads its counters waiting, for a minute or for ever. The owner's thread only takes what has come.
 */
#ifndef COLLECTOR_SOURCES_MACHINE_PORT_SOURCE_H
#define COLLECTOR_SOURCES_MACHINE_PORT_SOURCE_H

#include "analysis/analysis.h"

struct port_source;

typedef void port_source_visit(void *argument, const struct analysis_port_state *state);

/* 0 or -errno. root: "", or where a recorded machine has its /sys: that is read without a thread, when it is polled. */
int port_source_open(struct port_source **source, const char *root);
/* Accepts NULL. Waits at most a second for a thread that reads; it then stays with what belongs to it until the process
 * ends. */
void port_source_close(struct port_source *source);

/* Visits what was read since, if anything. */
void port_source_poll(struct port_source *source, uint64_t now_ns, port_source_visit *visit, void *argument);

#endif
