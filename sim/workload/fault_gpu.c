/* SPDX-License-Identifier: MIT */
/* Faults of the device: its host is in time. */
#include "fault.h"

enum { EXTRA_MS = 250 };

static int compute_longer(const struct fault *fault, int step)
{
	return fault_holds(fault, step) ? EXTRA_MS * 1000 : 0;
}

const struct fault_kind fault_gpu_kinds[] = {
	{ .name = "gpu", .harms = true, .extra_us = compute_longer, .doc = "its GPU computes 250 ms longer in each step" },
	{ 0 },
};
