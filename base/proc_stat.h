/* SPDX-License-Identifier: MIT */
/* The line of /proc/PID/stat, whose fields proc_pid_stat(5) numbers. Pure. */
#ifndef BASE_PROC_STAT_H
#define BASE_PROC_STAT_H

#include <stdbool.h>
#include <stdint.h>

/* Fields by their numbers there. */
enum proc_stat_field {
	PROC_STAT_STATE = 3,
	PROC_STAT_PARENT = 4,
	PROC_STAT_USER_TICKS = 14,
	PROC_STAT_SYSTEM_TICKS = 15,
	PROC_STAT_ENDED_USER_TICKS = 16, /* of children that have ended and were waited for */
	PROC_STAT_ENDED_SYSTEM_TICKS = 17,
	PROC_STAT_START_TICKS = 22,
	PROC_STAT_EXIT_CODE = 52,
};

/* Where the field (from 3 on) begins in the line; NULL: the line ends before it. The name, field 2, may hold blanks and
 * brackets. */
const char *proc_stat_text(const char *line, enum proc_stat_field field);
/* The field as a number that is not negative. False: it is none, or not there. */
bool proc_stat_number(const char *line, enum proc_stat_field field, uint64_t *number);

#endif
