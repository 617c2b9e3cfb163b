/* SPDX-License-Identifier: MIT */
#include "kernel_log/oom_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FACILITY_SHIFT = 3 /* the prefix is facility × 8 + level */ };

/* "Memory cgroup out of memory: Killed process 12 (python) total-vm:…", "Out of memory: Killed …", before 5.1
 * "Killed process 12 (python), UID 0, total-vm:…". The program chose the name, which comes behind the number. */
int oom_line_parse(const char *line, int32_t *pid, uint64_t *stamp_us)
{
	static const char *const begins[] = { "Memory cgroup out of memory", "Out of memory", "Killed process " };
	static const char killed[] = "Killed process ";
	const char *text = strchr(line, ';');
	uint32_t prefix;

	if (!text || sscanf(line, "%" SCNu32 ",%*u,%" SCNu64 ",", &prefix, stamp_us) != 2 || prefix >> FACILITY_SHIFT)
		return -ENOENT;
	text++;
	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++) {
		const char *at = strncmp(text, begins[i], strlen(begins[i])) ? NULL : strstr(text, killed);

		if (at && sscanf(at + strlen(killed), "%" SCNd32 " (", pid) == 1 && *pid > 0)
			return 0;
	}
	return -ENOENT;
}
