/* SPDX-License-Identifier: MIT */
/* Work that may crash, hang or end the process (loading somebody's library, starting somebody's interpreter), done in a
 * child with a time limit. */
#ifndef CONSOLE_DOCTOR_CHILD_H
#define CONSOLE_DOCTOR_CHILD_H

#include <stddef.h>

typedef void child_work(const void *argument, void *result, size_t size);

/* Calls work(argument, result, size) in a child and copies what it left in `result` (`size` bytes, zeroed before) back.
 * The child's output goes nowhere. 0; -ETIMEDOUT after `seconds`; -ECHILD when it crashed or left early; -errno. */
int child_call(child_work *work, const void *argument, void *result, size_t size, unsigned seconds);
/* The same for work that loads or runs `file`, which somebody else wrote: without privileges (privileges_drop()).
 * -EPERM: they could not be given up, nothing was tried. */
int child_try(const char *file, child_work *work, const void *argument, void *result, size_t size, unsigned seconds);
/* Of either's error: "it crashed". */
const char *child_error_text(int error);

#endif
