/* SPDX-License-Identifier: MIT */
/* NCCL releases with defects that look like somebody's fault: only those with a public source. */
#include "console/doctor/check.h"

#include <stdio.h>
#include <string.h>

/* As ncclGetVersion counts; from `first` to `last`, both with it. `first` and `last` are what the source says,
 * where it speaks of a fix, the release before it. */
static const struct {
	uint32_t first, last;
	const char *defect, *source;
} defects[] = {
	{ 22602, 22602, "asking RAS (ncclras) while NCCL starts can crash the job", "NVIDIA/nccl#1669" },
	{ 22705, 22707, "an AlltoAll failed with a profiler plugin: \"Proxy append out of bounds\"",
	  "NVIDIA/nccl#2039" },
	{ 22707, 22707, "RAS can crash the job; NCCL_RAS_ENABLE=0 avoids it", "NVIDIA/nccl#1996" },
	{ 22809, 22809, "NCCL's own Inspector plugin can crash the job", "NVIDIA/nccl#1992, #2000" },
	{ 22803, 23006, "symmetric collectives can read their input before it is ready: wrong results",
	  "release notes of 2.30.7; sgl-project/sglang#37768" },
	{ 23003, 23007, "several symmetric windows in one allocation can corrupt data", "NVIDIA/nccl#2198" },
	{ 23003, 23007, "the first copy-engine collective of two ranks can hang", "NVIDIA/nccl#2241" },
	{ 22907, 22907, "small AllReduces were measured slower than with 2.28", "NVIDIA/nccl#2094" },
	{ 23003, 23003, "crashes with a profiler plugin were reported", "NVIDIA/nccl#2112" },
	{ 23102, 23102, "RANKWATCH_KERNELCH=1 costs small collectives up to 13 %", "NVIDIA/nccl#2355" },
};

static void defects_run(struct check_context *context, struct check_result *result)
{
	uint32_t version = context->nccl_version;
	char text[sizeof(result->text)] = "";
	size_t used = 0;

	for (size_t i = 0; i < sizeof(defects) / sizeof(*defects) && used < sizeof(text); i++)
		if (version >= defects[i].first && version <= defects[i].last)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s (%s)", used ? "; " : "",
						 defects[i].defect, defects[i].source);
	if (!version)
		check_say(result, VERDICT_WARNING, "not known without NCCL's version");
	else if (!used)
		check_say(result, VERDICT_OK, "none of %u.%u.%u in rankwatch's list", version / 10000,
			  version / 100 % 100, version % 100);
	else
		check_say(result, VERDICT_WARNING, "%u.%u.%u: %s", version / 10000, version / 100 % 100, version % 100,
			  text);
	if (used)
		check_advise(result, "keep them in mind when a finding looks like one of them, or change the release");
}

const struct check defects_check = { .name = "NCCL defects", .run = defects_run };
