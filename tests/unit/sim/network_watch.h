/* SPDX-License-Identifier: MIT */
/*
 * A profiler plugin that is the test program itself (NCCL_PROFILER_PLUGIN=STATIC_PLUGIN): counts what NCCL tells of the
 * network, where the other ranks and the test can see it, and ends the rank when states come in a wrong order.
 */
#ifndef TEST_SIM_NETWORK_WATCH_H
#define TEST_SIM_NETWORK_WATCH_H

#include <stdatomic.h>

#include "ranks.h"

/* One rank's; the others and the test see it, too. */
struct watched {
	atomic_int steps_in[32]; /* now in this state of a step */
	atomic_int steps_started, steps_ended, most_open;
	atomic_int transfers_started, transfers_ended;
	atomic_int foreign; /* transfers with the pid of another process */
	atomic_int restarts;
	atomic_int peer_waits;
	atomic_int control_states[32];
	atomic_int nodes;
	atomic_int channels_announced, channels_started, channels_stopped, channels_stopped_again;
	atomic_llong bytes_sent, bytes_received;
	atomic_int go, ready; /* for the test's own use */
};

/* In the test before the ranks start: mask is what the plugin asks for. */
void network_watch(const char *hosts, int mask);
struct watched *watched(int rank);
/* False, and all numbers are shown, when the value has not come within 30 s. */
bool watched_reaches(const atomic_int *value, int wanted);

#endif
