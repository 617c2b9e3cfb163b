/* SPDX-License-Identifier: MIT */
/* An operation as it was at an earlier moment: a finished slot with what came later taken back. */
#ifndef FEED_OPERATION_VIEW_H
#define FEED_OPERATION_VIEW_H

#include <stdint.h>

#include <rankwatch/blackbox.h>

/* A time beyond this is damage, no clock has it: it is never reached. */
#define OPERATION_TIME_MAX ((uint64_t)INT64_MAX)

/* Removes the known bits (and puts back the pending bits) of everything after until_ns. Returns the time of the next
 * thing that is hidden, UINT64_MAX when nothing is. until_ns: at most OPERATION_TIME_MAX, which hides damage alone. */
uint64_t operation_view(struct rw_operation *operation, uint64_t until_ns);
/* Latest time in it, 0 when none is known. */
uint64_t operation_last_ns(const struct rw_operation *operation);

#endif
