/* SPDX-License-Identifier: MIT */
/* The times in which evidence about the host's threads was lost: a cause that was searched in such a time is not
 * certain. */
#ifndef ANALYSIS_MEASURE_LOSSES_H
#define ANALYSIS_MEASURE_LOSSES_H

#include <stdint.h>

#include "analysis/explain/cause.h"

enum { LOSSES_KEPT = 64 };

struct losses {
	struct {
		uint64_t from_ns, to_ns, count;
	} stretches[LOSSES_KEPT]; /* stretch i is at i % LOSSES_KEPT */
	uint64_t stretch_count;   /* ever */
};

/* Notes that `count` events were lost between two times. Call it in the order of time. */
void losses_add(struct losses *losses, uint64_t from_ns, uint64_t to_ns, uint64_t count);
/* Number of lost events that may have belonged to one of the windows. A wait is reported when it ends, so its loss is
 * noticed up to 100 ms after it. */
uint64_t losses_in(const struct losses *losses, const struct cause_window *windows, uint32_t count);

#endif
