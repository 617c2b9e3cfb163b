/* SPDX-License-Identifier: MIT */
/* How many files this process may have open: a command that reads the boxes of hundreds of ranks has them all open. */
#ifndef CONSOLE_DESCRIPTOR_LIMIT_H
#define CONSOLE_DESCRIPTOR_LIMIT_H

/* Raises the limit as far as it may be raised. Not in a process that starts a job: that one would inherit it, and
 * programs that use select(2) break above 1024. */
void descriptor_limit_raise(void);

#endif
