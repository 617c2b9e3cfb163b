/* SPDX-License-Identifier: MIT */
/* How many random cases a property test tries. */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_SEEDS_H
#define TESTS_UNIT_ANALYSIS_JOBS_SEEDS_H

#include <stdlib.h>

#include "tests/sanitized.h"

/* All in `scripts/test long`, an eighth else. A sanitizer is some ten times slower and looks for mistakes that show in
 * every case: a sixtieth. At least one. What a test expects of all cases together goes through this, too. */
static inline unsigned int seeds(unsigned int all)
{
	unsigned int part = getenv("RANKWATCH_TEST_LONG") ? 1 : SANITIZED ? 60 : 8;

	return all > part ? all / part : 1;
}

#endif
