/* SPDX-License-Identifier: MIT */
/* Errors that say nothing of what was asked for, and do not last: whoever gets one says so and tries again later. */
#ifndef BASE_SHORTAGE_H
#define BASE_SHORTAGE_H

#include <stdbool.h>

/* err: -errno. True: this process or the system has no descriptor (EMFILE, ENFILE) or no memory (ENOMEM) left. */
bool shortage_is(int err);

#endif
