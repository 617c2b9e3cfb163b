/* SPDX-License-Identifier: MIT */
/* Removing black boxes of ended runs from memory. Who has one open for reading reads on. */
#ifndef CONSOLE_BOXES_BOX_REMOVAL_H
#define CONSOLE_BOXES_BOX_REMOVAL_H

#include <stdint.h>

#include "console/boxes/boxes.h"

/* Removes the file that the entry has open, and no other one that has its name by now: a process that makes its box at
 * this moment may have been given the same name. *bytes: what it held. 0; -EBUSY when another file has the name;
 * -errno. */
int box_remove(const struct box_entry *entry, uint64_t *bytes);
/* What box_remove() would free. */
int box_size(const struct box_entry *entry, uint64_t *bytes);
/* The box's directory, when no box is left in it: with the lock file of a collector that has ended, the run's
 * marks, and what was seen live. One that a collector uses stays. */
void box_remove_directory(const struct box_entry *entry);

#endif
