/* SPDX-License-Identifier: MIT */
/* Whoever keeps the contract of scan_kernel.h: the stand-in's twin (scan_twin_runner.c), or the kernel's own text
 * (scan_kernel_runner.cc). */
#ifndef TESTS_UNIT_PLUGIN_SCAN_RUNNER_H
#define TESTS_UNIT_PLUGIN_SCAN_RUNNER_H

#include "plugin/scan/scan_kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const int scan_runner_rounds; /* how much of it a test can take */

void scan_run(const struct scan_launch *launch, uint32_t blocks);

/* What the last launch executed to order its stores, over all threads; -1 where there is no such thing. */
struct scan_runner_fences {
	long device, system, releases;
};
struct scan_runner_fences scan_runner_fences(void);

#ifdef __cplusplus
}
#endif

#endif
