/* SPDX-License-Identifier: MIT */
#include "console/report/job_share.h"

#include <inttypes.h>
#include <stdio.h>

char *job_share_text(char text[JOB_SHARE_TEXT], size_t seen, int64_t total)
{
	if (total > 0)
		snprintf(text, JOB_SHARE_TEXT, "%zu of %" PRId64 " rank%s", seen, total, total == 1 ? "" : "s");
	else
		snprintf(text, JOB_SHARE_TEXT, "%zu rank%s, of how many is not known", seen, seen == 1 ? "" : "s");
	return text;
}
