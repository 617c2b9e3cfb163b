/* SPDX-License-Identifier: MIT */
/* The same system call has another number on another kind of machine, and a box may be read on another one than it was
 * written on. */
#ifndef BLACKBOX_SYSTEM_CALL_NUMBERS_H
#define BLACKBOX_SYSTEM_CALL_NUMBERS_H

#include <stdint.h>

/* What `number` of the machine that wrote a box (rw_box_header.machine) is here, as analysis/host/system_calls.h knows
 * it. -2, as of a thread of which nothing is known, where the table does not know the call; numbers of this machine and
 * negative ones stay as they are. Any thread. */
int32_t system_call_here(uint32_t machine, int32_t number);

#endif
