/* SPDX-License-Identifier: MIT */
/* Whether the job has ranks on other hosts, as its launcher says: `rankwatch run` without a NATS server sees only this
 * host's. */
#ifndef CONSOLE_RUN_OTHER_HOSTS_H
#define CONSOLE_RUN_OTHER_HOSTS_H

#include <stdbool.h>
#include <stdio.h>

#include "identity/identity.h"

struct other_hosts {
	int hosts;      /* of the job; 0: not known, but there are others */
	const char *by; /* what says so: the name of an option or of a variable, valid for ever */
};

/* Whether that is certain. command: NULL-terminated, as it is about to be run. get: the environment. */
bool other_hosts_find(struct other_hosts *found, char *const *command, identity_get *get, void *argument);
/* Says in one sentence what will not be seen, and how to get it. Broken at a space behind START_LINE_COLUMNS, or
 * `width` columns where that is less; 0: not a terminal. */
void other_hosts_print(FILE *out, const struct other_hosts *hosts, int width);

#endif
