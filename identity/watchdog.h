/* SPDX-License-Identifier: MIT */
/*
 * When the framework will kill a job that stands still (docs/environment.md). No variable carries it: it is on the
 * command line or a default. Where a file that is named there would say, it is not known: no file of the job's is
 * opened, because a mount that does not answer would hold up the job. Times in milliseconds. libc only; no state.
 */
#ifndef IDENTITY_WATCHDOG_H
#define IDENTITY_WATCHDOG_H

#include "identity/identity.h"

/* Fills the watchdog fields of *identity. command_line: NUL-separated, may be NULL. */
void watchdog_read(struct identity *identity, identity_get *get, void *argument, const char *command_line,
		   size_t command_line_size);
/* Number with an optional unit (ms, s, m, h) → milliseconds; 0 when it is none. unit_ms: of a bare number. */
uint64_t watchdog_duration_ms(const char *text, uint64_t unit_ms);

#endif
