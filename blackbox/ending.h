/* SPDX-License-Identifier: MIT */
/* What a collector has noted in a black box of how its process ended: rankwatch/ending.h. */
#ifndef BLACKBOX_ENDING_H
#define BLACKBOX_ENDING_H

#include <rankwatch/ending.h>

#include "blackbox/reader.h"

/* 1: *ending is a whole copy; 0: nothing was noted, in a version that is known; -errno. */
int box_ending_read(const struct box_reader *reader, struct rw_ending *ending);
/* The status as wait(2) has it; -1 where nobody has noted one, or it is none with which a process can end. */
int box_ending_status(const struct box_reader *reader);

#endif
