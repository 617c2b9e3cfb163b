/* SPDX-License-Identifier: MIT */
/*
 * Work that the kernel can hold up for ever, as a write to a file on a mount that does not answer: done by a thread of
 * its own, and waited for with patience that ends.
 */
#ifndef PLUGIN_GUEST_PATIENCE_H
#define PLUGIN_GUEST_PATIENCE_H

#include <stdbool.h>
#include <stddef.h>

enum { PATIENCE_MS = 1000, PATIENCE_ARGUMENT = 4352 /* bytes of an argument at most */ };

/* Calls work with a copy of the argument on a thread that takes no signals and ends with it. True: it has been done.
 * False: it is not done after PATIENCE_MS; or it is not begun, because earlier work is not done or no thread can be
 * made (RLIMIT_NPROC, pids.max): the caller's thread never does what may not return. While earlier work is held up,
 * this returns at once. Any thread, also in a forked child; one piece of work at a time. */
bool patience_run(void (*work)(const void *argument), const void *argument, size_t size);

#endif
