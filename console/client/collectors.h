/* SPDX-License-Identifier: MIT */
/* The collectors of this user that run on this machine, as they present themselves. */
#ifndef CONSOLE_CLIENT_COLLECTORS_H
#define CONSOLE_CLIENT_COLLECTORS_H

#include <stddef.h>

#include <jansson.h>

struct collector_answer {
	json_t *hello;    /* its body (docs/collector.md); "silent": true in one that did not answer */
	json_t *findings; /* array of those that were open when it was asked */
	json_t *snapshot; /* its body (docs/protocol.md); NULL: not asked for, or it did not come in time */
};

struct collectors {
	struct collector_answer *answers;
	size_t count;
};

/* Asks all at once, for at most `timeout_ms`. topics: JSON array of what a snapshot is wanted of, as in
 * docs/protocol.md; NULL: none is. 0 or -ENOMEM; free in both cases. */
int collectors_find(struct collectors *collectors, const char *topics, unsigned timeout_ms);
/* The same, of those that hear all nodes of a job; they are found by no other of these. */
int collectors_find_all_nodes(struct collectors *collectors, const char *topics, unsigned timeout_ms);
/* The hello of this job's collector; NULL: none answers. */
const json_t *collectors_of(const struct collectors *collectors, const char *job);
void collectors_free(struct collectors *collectors);

#endif
