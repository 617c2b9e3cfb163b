/* SPDX-License-Identifier: MIT */
/*
 * One clock for boxes of several machines. CLOCK_MONOTONIC of two boots cannot be compared, and wall clocks are not
 * exact enough to say who was late. But no rank leaves an AllReduce, AllGather, AllToAll or ReduceScatter before the
 * last one has come, so all leave it at nearly the same moment: when two machines saw the same operations end tells how
 * far apart their clocks are, whoever was late. Of many operations the median counts, since each end is seen some
 * milliseconds late; over a minute and more, also by how much one clock gains on the other. docs/report.md, "Boxes of
 * several machines".
 */
#ifndef CONSOLE_REPLAY_COMMON_CLOCK_H
#define CONSOLE_REPLAY_COMMON_CLOCK_H

#include "console/boxes/boxes.h"

/* Brings the boxes of all boots that can be compared to the clock of the first one of them: sets their readers' clocks.
 * groups[i]: the number of entry i's clock, equal for those that have one in common; numbered from 0 in the order of
 * their first entries. Returns 0 or -ENOMEM; then each boot has a clock of its own or no number is set. One thread. */
int common_clock_find(struct box_entry *entries, size_t count, size_t *groups);

#endif
