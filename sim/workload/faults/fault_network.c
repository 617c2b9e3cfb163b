/* SPDX-License-Identifier: MIT */
/* Faults between hosts: run these under slow-link, with --hosts 2. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/workload/faults/fault.h"
#include "sim/workload/faults/host_link.h"

enum { SLOW_BITS_PER_SECOND = 300000000 };

static int check_link(char *reason, size_t size)
{
	if (link_device())
		return 0;
	snprintf(reason, size, "there is no link between hosts; run it under slow-link, with --hosts 2");
	return -ENODEV;
}

static void slow_link(struct fault *fault, int step)
{
	int err = fault_begins(fault, step) ? link_slow_down(SLOW_BITS_PER_SECOND) : 0;

	if (err) {
		fprintf(stderr, "workload: link: tc: %s\n", strerror(-err));
		exit(1);
	}
}

const struct fault_kind fault_network_kinds[] = {
	{ .name = "link", .harms = true, .check = check_link, .between_steps = slow_link,
	  .doc = "the link from its host to the other becomes slow (use slow-link and --hosts)" },
	{ 0 },
};
