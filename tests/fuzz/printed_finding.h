/* SPDX-License-Identifier: MIT */
/* A finding on all of its ways to people and machines; aborts where one is closed to it. An analysis_emit. */
#ifndef TESTS_FUZZ_PRINTED_FINDING_H
#define TESTS_FUZZ_PRINTED_FINDING_H

#include <rankwatch/finding.h>

void printed_finding(void *argument, const struct rw_finding *finding);

#endif
