/* SPDX-License-Identifier: MIT */
/*
 * Hosts whose messages cannot be of the job that is judged, although it has the same name: they have living ranks that
 * other hosts have, or ranks of a job of another size, and share no communicator with them. Those who came first are
 * judged; what the others send is left out, and said once. docs/messages.md, "Two jobs of one name". One thread, that
 * of the job half.
 */
#ifndef ANALYSIS_JOB_STRANGERS_H
#define ANALYSIS_JOB_STRANGERS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/job/world.h"

#define STRANGERS_LASTS_NS                                                                                             \
	8000000000u /* for so long they must contradict each other: a rank may move, and its end be told late */
#define STRANGERS_BEHIND_NS                                                                                            \
	30000000000u /* so long after a later start of the job began, hosts are still in an earlier one */
#define STRANGERS_SAY_NS 5000000000u /* those that are found within this time are said together */

enum { STRANGERS_LINE = 640, STRANGERS_WHY = 256 };

struct strangers {
	uint64_t due_ns; /* when there is something to be said; 0: nothing is */
	uint32_t count;
	char names[160], why[STRANGERS_WHY];
};

/* A batch of host `host` has come, and is about to be taken. Returns whether it turns out that the host is a stranger
 * from which ranks were taken: then what is known is of two jobs, and is to be begun anew. */
bool strangers_note(struct strangers *strangers, struct world *world, uint32_t host, const struct rw_batch *header,
		    const void *bytes, uint64_t now_ns);
/* The next sentence that people should read, without a full stop. Not escaped. False: there is none. */
bool strangers_say(struct strangers *strangers, struct world *world, uint64_t now_ns, char line[STRANGERS_LINE]);

#endif
