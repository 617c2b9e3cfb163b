/* SPDX-License-Identifier: MIT */
/* In place of two answers of the kernel, which the linker's --wrap leads here: the tape's machine was started when its
 * boxes say, and its clock stands at the tick that is played. A tape is played on machines that were started later, or
 * a minute ago; what compares boots, or times with the present, must not find that out. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rankwatch/blackbox.h>

#include "blackbox/process.h"
#include "played.h"

void __wrap_process_boot_id(char boot_id[40]);
int __wrap_clock_gettime(clockid_t clock, struct timespec *time);
int __real_clock_gettime(clockid_t clock, struct timespec *time);

void __wrap_process_boot_id(char boot_id[40])
{
	const struct rw_box_header *header = tree_any_box(&played->tree);

	snprintf(boot_id, 40, "%.39s", header ? header->boot_id : "");
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	if (clock != CLOCK_MONOTONIC || !played)
		return __real_clock_gettime(clock, time);
	*time = (struct timespec){ (time_t)(played->now_ns / 1000000000), (long)(played->now_ns % 1000000000) };
	return 0;
}
