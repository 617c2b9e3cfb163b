/* SPDX-License-Identifier: MIT */
/* The scan kernel of a GPU that counts wrongly: the driver takes a program's own twin of a kernel before its own.
 * WRONG says what is wrong with it. */
#include <stdlib.h>
#include <string.h>

#include "plugin/scan/scan_kernel.h"
#include "sim/cuda/cpu_module.h"

void right_scan(void **params, const struct cpu_launch *launch); /* the stand-in's, under another name */
void rankwatch_scan__cpu(void **params, const struct cpu_launch *launch);

static void miss_a_nan(struct scan_launch *launch)
{
	launch->slots[launch->segments[0].slot].nan--;
}

/* A buffer that is not aligned is read as if it were. */
static void read_beside(struct scan_launch *launch)
{
	for (uint32_t i = 0; i < launch->segment_count; i++)
		if (launch->segments[i].address % 16)
			launch->slots[launch->segments[i].slot].digest++;
}

void rankwatch_scan__cpu(void **params, const struct cpu_launch *launch)
{
	struct scan_launch *scan = params[0];
	const char *wrong = getenv("WRONG");

	if (strcmp(wrong, "silent") == 0)
		return;
	right_scan(params, launch);
	if (strcmp(wrong, "miss") == 0)
		miss_a_nan(scan);
	else
		read_beside(scan);
}
