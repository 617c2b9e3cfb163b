/* SPDX-License-Identifier: MIT */
/* Faults before the first step: --fault-step has no meaning for them. */
#include <signal.h>
#include <unistd.h>

#include "sim/workload/faults/fault.h"

static void kill_self(struct fault *fault)
{
	if (fault->mine)
		kill(getpid(), SIGKILL);
}

static void stay_away(struct fault *fault)
{
	while (fault->mine)
		pause();
}

const struct fault_kind fault_init_kinds[] = {
	{ .name = "init-killed", .harms = true, .before_init = kill_self,
	  .doc = "it is killed before it joins the communicator" },
	{ .name = "init-never", .harms = true, .before_init = stay_away, .doc = "it never joins the communicator" },
	{ .name = "split-never", .harms = true, .before_splits = stay_away,
	  .doc = "it never comes to the first split of the world's communicator (with --eager)" },
	{ 0 },
};
