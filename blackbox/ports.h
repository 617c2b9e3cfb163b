/* SPDX-License-Identifier: MIT */
/* What a collector has noted in a black box of its host's network ports: rankwatch/ports.h. */
#ifndef BLACKBOX_PORTS_H
#define BLACKBOX_PORTS_H

#include <rankwatch/ports.h>

#include "blackbox/reader.h"

/* 1: *ports is a whole copy, its count within bounds; 0: nothing was noted, in a version that is known, or just now it is being written;
 * -errno. */
int box_ports_read(const struct box_reader *reader, struct rw_ports *ports);

#endif
