/* SPDX-License-Identifier: MIT */
/* Reads how the process of a black box ended, as noted there by a collector: rankwatch/ending.h. */
#ifndef BLACKBOX_ENDING_H
#define BLACKBOX_ENDING_H

#include <rankwatch/ending.h>

#include "blackbox/reader.h"

/* Returns 1: *ending is a complete copy; 0: nothing was noted in a known version; or -errno. */
int box_ending_read(const struct box_reader *reader, struct rw_ending *ending);
/* The exit status as from wait(2); -1 where none was noted, or where no process can end with the noted one. */
int box_ending_status(const struct box_reader *reader);

#endif
