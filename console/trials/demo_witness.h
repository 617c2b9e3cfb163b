/* SPDX-License-Identifier: MIT */
/* Listens to the collector of a demo: that nothing was found says something only when somebody looked. */
#ifndef CONSOLE_TRIALS_DEMO_WITNESS_H
#define CONSOLE_TRIALS_DEMO_WITNESS_H

#include <stdbool.h>

#include "console/client/collector_client.h"

struct demo_witness {
	struct collector_client client;
	bool saw_all; /* a collector watched all ranks to the end */
};

void demo_witness_open(struct demo_witness *witness);
/* Connects when a collector of `job` (which must outlive the witness) is there, and hears it. Never waits. Call about
 * ten times a second, and once more when the job has ended. */
void demo_witness_listen(struct demo_witness *witness, const char *job);
/* What the collector says; public for the test. */
void demo_witness_hear(struct demo_witness *witness, const json_t *message);
void demo_witness_close(struct demo_witness *witness);

#endif
