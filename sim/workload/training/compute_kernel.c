/* SPDX-License-Identifier: MIT */
#include "sim/workload/training/compute_kernel.h"

#include "sim/workload/job/clock.h"

const char compute_kernel_ptx[] = ".version 6.0\n"
				  ".target sm_50\n"
				  ".address_size 64\n"
				  ".visible .entry " COMPUTE_KERNEL_NAME "(.param .u64 nanoseconds)\n"
				  "{\n"
				  "	.reg .u64 %duration, %end, %now;\n"
				  "	.reg .pred %early;\n"
				  "	ld.param.u64 %duration, [nanoseconds];\n"
				  "	mov.u64 %end, %globaltimer;\n"
				  "	add.u64 %end, %end, %duration;\n"
				  "again:\n"
				  "	mov.u64 %now, %globaltimer;\n"
				  "	setp.lt.u64 %early, %now, %end;\n"
				  "	@%early bra again;\n"
				  "	ret;\n"
				  "}\n";

void workload_compute__cpu(void **parameters, const struct cpu_launch *launch)
{
	(void)launch;
	clock_sleep_until_ns(clock_now_ns(CLOCK_MONOTONIC) + *(const uint64_t *)parameters[0]);
}
