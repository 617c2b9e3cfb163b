/* SPDX-License-Identifier: MIT */
/* Which boxes share a clock: those of one boot of one machine. One thread. */
#ifndef CONSOLE_BOX_BOOTS_H
#define CONSOLE_BOX_BOOTS_H

#include "console/boxes.h"

bool box_boots_are_same(const struct box_entry *a, const struct box_entry *b);
/* Moves the entries of the first one's boot to the front; both parts keep their order. Returns how many these are; 0 without
 * entries. */
size_t box_boots_gather(struct box_entry *entries, size_t count);

#endif
