/* SPDX-License-Identifier: MIT */
#include "base/descriptor_limit.h"

#include <sys/resource.h>

static rlim_t before;

void descriptor_limit_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= limit.rlim_max)
		return;
	rlim_t was = limit.rlim_cur;

	limit.rlim_cur = limit.rlim_max;
	if (!setrlimit(RLIMIT_NOFILE, &limit))
		before = was;
}

unsigned long long descriptor_limit_before(void)
{
	return before;
}
