/* SPDX-License-Identifier: MIT */
#include "console/top/finding_time.h"

#include <stdlib.h>
#include <time.h>

double finding_time_ms(const json_t *time)
{
	const char *text = json_string_value(time);
	struct tm fields = { 0 };
	const char *rest = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &fields) : NULL;
	double fraction = rest && *rest == '.' ? strtod(rest, NULL) : 0;

	if (!rest || fraction < 0 || fraction >= 1)
		return 0;
	return ((double)timegm(&fields) + fraction) * 1e3;
}
