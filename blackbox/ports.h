/* SPDX-License-Identifier: MIT */
/* Reads the state of the host's network ports, as noted in a black box by a collector: rankwatch/ports.h. */
#ifndef BLACKBOX_PORTS_H
#define BLACKBOX_PORTS_H

#include <rankwatch/ports.h>

#include "blackbox/reader.h"

/* Returns 1: *ports is a complete copy with its count within bounds; 0: nothing was noted in a known version, or it is
 * being written right now; or -errno. */
int box_ports_read(const struct box_reader *reader, struct rw_ports *ports);

#endif
