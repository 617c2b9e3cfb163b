/* SPDX-License-Identifier: MIT */
/* The scan kernel of a GPU that counts wrongly: the driver takes a program's own twin of a kernel before its own.
 * WRONG says what is wrong with it. */
#include <cuda.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/scan/scan_kernel.h"
#include "plugin/scan/scan_value.h"
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

/* Each block takes one tile of a buffer and does not go round its loop. */
static void scan_one_round(const struct scan_launch *launch, const struct cpu_launch *cpu)
{
	struct scan_launch cut = *launch;
	void *params[] = { &cut };

	for (uint32_t i = 0; i < cut.segment_count; i++) {
		const uint32_t width = scan_format_of(cut.segments[i].dtype).width / 8;
		const uint64_t most = (uint64_t)cpu->grid[0] * SCAN_TILE_BYTES / width;

		if (cut.segments[i].elements > most)
			cut.segments[i].elements = most;
	}
	right_scan(params, cpu);
}

/* What lies in memory of the device is read wrongly, what lies in that of the host rightly. */
static void misread_device(struct scan_launch *launch)
{
	for (uint32_t i = 0; i < launch->segment_count; i++) {
		unsigned int type = 0;

		if (cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, launch->segments[i].address) == CUDA_SUCCESS &&
		    type == CU_MEMORYTYPE_DEVICE)
			launch->slots[launch->segments[i].slot].lane_sum--;
	}
}

void rankwatch_scan__cpu(void **params, const struct cpu_launch *launch)
{
	struct scan_launch *scan = params[0];
	const char *wrong = getenv("WRONG");

	if (strcmp(wrong, "silent") == 0)
		return;
	if (strcmp(wrong, "loop") == 0) {
		scan_one_round(scan, launch);
		return;
	}
	right_scan(params, launch);
	if (strcmp(wrong, "miss") == 0)
		miss_a_nan(scan);
	else if (strcmp(wrong, "memory") == 0)
		misread_device(scan);
	else
		read_beside(scan);
}
