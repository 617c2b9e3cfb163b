/* SPDX-License-Identifier: MIT */
/* How long each step of the run took, and where that changed for good: by Pettitt's test (which step parts the series
 * into two whose ranks differ most), again in both parts; by Mann and Kendall's where it creeps. One thread. */
#ifndef CONSOLE_HTML_STEP_SERIES_H
#define CONSOLE_HTML_STEP_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed = empty. */
struct step_series {
	uint64_t *starts; /* of step first + i; UINT64_MAX not known */
	uint64_t first;
	size_t count, room;
};

/* Steps beyond the first by more than this are left out: numbers of a damaged box. */
#define STEP_SERIES_MOST (UINT64_C(1) << 20)

/* A rank was in this step at at_ns; 0 is none. The earliest counts. */
void step_series_note(struct step_series *series, uint64_t step, uint64_t at_ns);
/* From the start of step first + i to the start of the next; 0 not known. */
uint64_t step_series_duration_ns(const struct step_series *series, size_t i);
void step_series_free(struct step_series *series);

/* A stretch of values that are alike, but for a slope. */
struct step_level {
	size_t begin, end; /* values [begin, end) */
	double median;     /* of them */
	double slope;      /* per value, where it creeps; else 0 */
};

enum { STEP_LEVELS = 32 };

/* Levels of a series of at most STEP_VALUES values, in order; changes of less than 5 % are none, nor what comes by
 * chance once in a thousand times. Returns how many: 0 without values or memory. */
enum { STEP_VALUES = 2048 };
size_t step_levels(const double *values, size_t count, struct step_level levels[STEP_LEVELS]);

#endif
