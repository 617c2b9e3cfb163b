/* SPDX-License-Identifier: MIT */
#include "sim/workload/job/argument.h"

#include <errno.h>
#include <stdlib.h>

long argument_number(const char *text, long low, long high, const struct argp_state *state)
{
	char *end;

	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < low || value > high)
		argp_error(state, "'%s' is not a number from %ld to %ld", text, low, high);
	return value;
}
