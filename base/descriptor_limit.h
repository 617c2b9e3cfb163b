/* SPDX-License-Identifier: MIT */
/* How many files this process may have open: a command that reads the boxes of hundreds of ranks has them all open, and
 * so has the collector, with some descriptors more for each rank. */
#ifndef BASE_DESCRIPTOR_LIMIT_H
#define BASE_DESCRIPTOR_LIMIT_H

/* Raises the limit as far as it may be raised. Not in a process that starts a job: that one would inherit it, and
 * programs that use select(2) break above 1024. One thread at a time. */
void descriptor_limit_raise(void);
/* What the limit was before it was raised, for programs that this process starts; 0: it is as it was. */
unsigned long long descriptor_limit_before(void);

#endif
