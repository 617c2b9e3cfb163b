/* SPDX-License-Identifier: MIT */
/* What a stress program writes into an operation: every field follows from the ticket, so that a reader can tell. */
#ifndef TESTS_STRESS_PATTERN_H
#define TESTS_STRESS_PATTERN_H

#include <stdbool.h>

#include <rankwatch/blackbox.h>

/* The fields that come with these known bits (API, LAUNCH, RETURN, DONE). */
void pattern_fill(struct rw_operation *slot, uint64_t ticket, uint32_t known);
/* Does every known field of a copy belong to its ticket? */
bool pattern_holds(const struct rw_operation *slot);

#endif
