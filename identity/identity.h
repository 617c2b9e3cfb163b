/* SPDX-License-Identifier: MIT */
/*
 * Who this process is, from its environment, by one fixed order of look-up (docs/environment.md). Pure: everything
 * comes through `get`, so that the plugin passes getenv, the command an environment it is about to start, and a test a
 * table. libc only: it is linked into the plugin and into the command.
 */
#ifndef IDENTITY_IDENTITY_H
#define IDENTITY_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef const char *identity_get(void *argument, const char *name); /* NULL = not set */

struct identity {
	int32_t world_rank; /* -1 = take the rank in the largest communicator */
	char rank_from[32];
	int32_t world_size; /* -1 */
	int32_t local_rank; /* -1 */
	int32_t local_size; /* -1 */
	int32_t generation; /* 0 */
	char host[64];
	char job[64]; /* "local" when nothing names it */
	char job_from[32];
	uint64_t watchdog_ms, watchdog_init_ms; /* 0 = unknown */
	char watchdog_from[32];
};

/* largest_comm: size of the largest communicator seen so far (decides about SLURM_PROCID), 0 = none yet.
 * command_line: NUL-separated arguments as in /proc/PID/cmdline, may be NULL. */
void identity_read(struct identity *identity, identity_get *get, void *argument, int32_t largest_comm,
		   const char *command_line, size_t command_line_size);

#endif
