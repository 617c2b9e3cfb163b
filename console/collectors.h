/* SPDX-License-Identifier: MIT */
/* The collectors of this user that run on this machine, as they present themselves. */
#ifndef CONSOLE_COLLECTORS_H
#define CONSOLE_COLLECTORS_H

#include <stddef.h>

#include <jansson.h>

struct collectors {
	json_t **hellos; /* body of each one's hello (docs/collector.md); "silent": true in one that did not answer */
	size_t count;
};

/* Asks all at once, for at most `timeout_ms`. 0 or -ENOMEM; free in both cases. */
int collectors_find(struct collectors *collectors, unsigned timeout_ms);
/* The collector of this job; NULL: none answers. */
const json_t *collectors_of(const struct collectors *collectors, const char *job);
void collectors_free(struct collectors *collectors);

#endif
