/* SPDX-License-Identifier: MIT */
/* Work that may crash, hang or end the process (loading somebody's library, starting somebody's interpreter), done in a
 * child with a time limit. */
#ifndef CONSOLE_DOCTOR_CHILD_H
#define CONSOLE_DOCTOR_CHILD_H

#include <stddef.h>

/* Calls work(argument, result, size) in a child and copies what it left in `result` (`size` bytes, zeroed before) back.
 * The child's output goes nowhere. 0; -ETIMEDOUT after `seconds`; -ECHILD when it crashed or left early; -errno. */
int child_call(void (*work)(const void *argument, void *result, size_t size), const void *argument, void *result,
	       size_t size, unsigned seconds);

#endif
