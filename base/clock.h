/* SPDX-License-Identifier: MIT */
/* The clocks. May be called from any thread, and after fork(). */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC: what black boxes and kernel records go by. */
uint64_t clock_monotonic_ns(void);
uint64_t clock_monotonic_ms(void);
/* CLOCK_REALTIME, since 1970: what people and files go by. */
uint64_t clock_realtime_ns(void);
double clock_unix_ms(void); /* the same in milliseconds, with their fraction */
/* CPU time that the calling thread has used. */
uint64_t clock_thread_cpu_ns(void);
/* What is to be added now to a time of the first to make it one of the second. */
int64_t clock_realtime_offset_ns(void);

#endif
