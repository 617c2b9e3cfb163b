/* SPDX-License-Identifier: MIT */
/* How long each step of the run took. Where that changed for good: analysis/explain/levels.h. One thread. */
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

#endif
