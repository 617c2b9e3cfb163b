/* SPDX-License-Identifier: MIT */
/* Notes what this machine's network ports showed in a process's black box, for those who ask when no collector is
 * left. */
#ifndef COLLECTOR_BOXES_PORT_NOTE_H
#define COLLECTOR_BOXES_PORT_NOTE_H

#include <stdint.h>

#include <rankwatch/ports.h>

#include "blackbox/reader.h"

/* The numbers of *record are set here. Nothing before there is anything to note; *number counts what was noted. A box
 * that is another user's is left as it is. */
void port_note_write(struct rw_ports *record, const struct box_reader *reader, uint32_t *number);

#endif
