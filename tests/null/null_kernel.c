/* SPDX-License-Identifier: MIT */
#include "tests/null/null_kernel.h"

#include "plugin/scan/scan_kernel.h"
#include "sim/cuda/kernels/scan_twin.h"

void null_kernel_answer(void **arguments)
{
	const struct scan_launch *launch = arguments[0];

	for (uint32_t i = 0; i < launch->segment_count && launch->slots; i++) {
		const struct scan_segment *segment = &launch->segments[i];
		struct scan_result *result = &launch->slots[segment->slot];

		*result = (struct scan_result){ .first_bad = SCAN_NO_INDEX };
		__atomic_store_n(&result->sequence, segment->sequence, __ATOMIC_RELEASE);
	}
}

void null_kernel(void **arguments, unsigned int blocks)
{
	struct cpu_launch launch = { .grid = { blocks, 1, 1 } };

	rankwatch_scan__cpu(arguments, &launch);
}
