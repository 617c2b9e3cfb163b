/* SPDX-License-Identifier: MIT */
/* Programs pace themselves: what sleeps in every step, on every rank, sleeps while it is late, too, and is not late for
 * that. */
#ifndef ANALYSIS_HOST_USUAL_SLEEP_H
#define ANALYSIS_HOST_USUAL_SLEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/explain/cause.h"
#include "analysis/known/job.h"

/* More than the others' by this share of the lateness, a sleep may be what it is late for. */
#define USUAL_SLEEP_SHARE 0.5

/* Did the rank's thread sleep, in windows that reach back to where all ranks were alike, hardly longer than most other
 * ranks did meanwhile? late_ns: how much of the windows it was late. By waits that were seen from beginning to end,
 * alone: false where they are not known of it, or of no other. */
bool usual_sleep(const struct intern *intern, const struct job *job, const struct rank *rank, uint32_t tid,
		 const struct cause_window *windows, uint32_t count, uint64_t late_ns);

#endif
