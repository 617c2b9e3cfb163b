/* SPDX-License-Identifier: MIT */
/*
 * What this machine reports of its GPUs, for the analysis: NVML's readings and Xids, and the Xids of the kernel log, as
 * far as they are there and rights allow. One owner thread; nothing here waits for the driver.
 */
#ifndef COLLECTOR_HOST_GPU_HEALTH_H
#define COLLECTOR_HOST_GPU_HEALTH_H

#include <stdint.h>

#include "analysis/analysis.h"

enum { GPU_HEALTH_TEXT = 512 };

struct gpu_health;

/* 0 or -ENOMEM; what cannot be opened is left out, and gpu_health_describe() says why. kernel_log: a
 * file with records as in /dev/kmsg, which stays the caller's; NULL: /dev/kmsg itself. */
int gpu_health_open(struct gpu_health **health, struct analysis *analysis, const char *kernel_log);
void gpu_health_close(struct gpu_health *health); /* accepts NULL */

/* Hands over what has come. Call it several times a second. */
void gpu_health_poll(struct gpu_health *health, uint64_t now_ns);
/* "seen through NVML and the kernel log", or what is missing and why. */
void gpu_health_describe(const struct gpu_health *health, char text[GPU_HEALTH_TEXT]);

#endif
