/* SPDX-License-Identifier: MIT */
/* An operation as it was at an earlier time: a finished slot from which everything later is removed. */
#ifndef FEED_OPERATION_VIEW_H
#define FEED_OPERATION_VIEW_H

#include <stdint.h>

#include <rankwatch/blackbox.h>

/* A time beyond this is damage, because no clock has it. It is never reached. */
#define OPERATION_TIME_MAX ((uint64_t)INT64_MAX)

/* Clears the known bits, and sets the pending bits, of everything after until_ns. Returns the time of the next event
 * that is hidden, UINT64_MAX when none is. until_ns is at most OPERATION_TIME_MAX, which hides only damage. */
uint64_t operation_view(struct rw_operation *operation, uint64_t until_ns);
/* The latest time in the operation; 0 when none is known. */
uint64_t operation_last_ns(const struct rw_operation *operation);

#endif
