/* SPDX-License-Identifier: MIT */
/* How long work on a stream takes, by events around it. */
#ifndef TESTS_GPU_TIMING_H
#define TESTS_GPU_TIMING_H

#include <stdbool.h>

#include "scan_gpu.h"

typedef void timing_work(void *argument);

/* Stream time of one call of `work`, us: the median of tries, after one to warm up; each try makes `calls` of it. The
 * stand-in is asked for one call once: there it only shows that the work can be done. */
double timing_us(const struct scan_gpu *gpu, int calls, timing_work *work, void *argument);

/* What tests/gpu/parts/programs.py reads: a number for the table, a claim that must hold, a remark. timing_claim()
 * returns `right`. */
void timing_number(double value, const char *unit, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool timing_claim(bool right, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* How the driver behaves, neither right nor wrong: for the recording that the stand-in is compared with. `value` is a
 * word or two. */
void timing_fact(const char *value, const char *format, ...) __attribute__((format(printf, 2, 3)));
void timing_remark(const char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
