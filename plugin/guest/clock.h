/* SPDX-License-Identifier: MIT */
/* The plugin's one clock: CLOCK_MONOTONIC, as in the black box. */
#ifndef PLUGIN_GUEST_CLOCK_H
#define PLUGIN_GUEST_CLOCK_H

#include <stdint.h>

/* Nanoseconds. Any thread; enters the kernel only where the kernel's own library (vDSO) does. */
uint64_t clock_ns(void);
/* From now on the kernel's library is called itself, not through libc's function of the same name; where it is not to
 * be had that goes on. Not on the path of a collective: takes the loader's lock. Idempotent. */
void clock_open(void);
/* Sleeps for a turn of so many nanoseconds, less than a second, and returns how many it took: more where others want
 * the processor, but a tenth of a second at most, so that a process that is stopped meanwhile has not waited. For waits
 * of a stated length. Any thread. */
uint64_t clock_rest(uint64_t ns);

#endif
