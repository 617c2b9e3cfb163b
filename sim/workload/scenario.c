/* SPDX-License-Identifier: MIT */
#include "scenario.h"

#include <string.h>

#define ARGUMENTS(...) .arguments = (const char *const[]){ "--ranks=8", __VA_ARGS__, NULL }

const char *const scenario_environment[] = { "RANKWATCH_TIMEOUT=100", "RANKWATCH_MESH=fsdp=8", NULL };

const struct scenario scenarios[] = {
	{ .name = "io-rank0", .description = "rank 0's log writer thread is on a slow disk, as TensorBoard's can be",
	  ARGUMENTS("--steps=17", "--fault=io", "--fault-step=5", "--log-bytes=2097152"), .slow_disk = true,
	  .kind = "straggler", .cause = "io", .rank = 0, .duration_s = 32 },
	{ .name = "io-rank0-direct", .description = "rank 0's main thread itself syncs its log to a slow disk",
	  ARGUMENTS("--steps=17", "--fault=io-direct", "--log-bytes=1310720"), .slow_disk = true,
	  .kind = "straggler", .cause = "io", .rank = 0, .duration_s = 28 },
	{ .name = "hog", .description = "other processes crowd the CPU of rank 5's main thread",
	  ARGUMENTS("--steps=20", "--host-ms=15", "--fault=hog", "--fault-rank=5"),
	  .kind = "straggler", .cause = "cpu", .rank = 5, .duration_s = 22 },
	{ .name = "lock", .description = "rank 3's main thread waits for a lock that its checkpointer holds",
	  ARGUMENTS("--steps=17", "--fault=lock", "--fault-rank=3"),
	  .kind = "straggler", .cause = "lock", .rank = 3, .duration_s = 24 },
	{ .name = "stopped", .description = "rank 2 is stopped (SIGSTOP)",
	  ARGUMENTS("--steps=1000", "--fault=stop", "--fault-rank=2", "--fault-step=6", "--limit=16"),
	  .kind = "gone", .cause = "stopped", .rank = 2, .duration_s = 20, .status = 124 },
	{ .name = "killed", .description = "rank 6 is killed (SIGKILL)",
	  ARGUMENTS("--steps=1000", "--fault=kill", "--fault-rank=6", "--fault-step=6", "--grace=10"),
	  .kind = "gone", .cause = "gone", .rank = 6, .duration_s = 16, .status = 137 },
	{ .name = "never", .description = "rank 4's main thread waits for something that never comes",
	  ARGUMENTS("--steps=1000", "--fault=never", "--fault-rank=4", "--fault-step=6", "--limit=16"),
	  .kind = "hang", .cause = "lock", .rank = 4, .duration_s = 17, .status = 124 },
	{ .name = "exit", .description = "rank 1 leaves with status 3 while the others go on",
	  ARGUMENTS("--steps=1000", "--fault=exit", "--fault-rank=1", "--fault-step=6", "--grace=10"),
	  .kind = "gone", .cause = "gone", .rank = 1, .duration_s = 16, .status = 3 },
	{ .name = "healthy", .description = "nothing is wrong", ARGUMENTS("--steps=15"), .rank = -1, .duration_s = 12 },
	{ .name = "run-ahead", .description = "rank 1's host stalls, but its GPU has a second of work queued: nobody waits",
	  ARGUMENTS("--steps=24", "--step-ms=500", "--run-ahead=2", "--fault=run-ahead", "--fault-rank=1"),
	  .rank = -1, .duration_s = 14 },
	{ .name = "checkpoint", .description = "all ranks pause for a second every five steps",
	  ARGUMENTS("--steps=17", "--fault=checkpoint"), .rank = -1, .duration_s = 17 },
	{ .name = "jitter", .description = "every rank's computation varies from step to step",
	  ARGUMENTS("--steps=20", "--fault=jitter"), .rank = -1, .duration_s = 16 },
};

const size_t scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);

const struct scenario *scenario_find(const char *name)
{
	for (size_t i = 0; i < scenario_count; i++)
		if (!strcmp(scenarios[i].name, name))
			return &scenarios[i];
	return NULL;
}
