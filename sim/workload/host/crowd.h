/* SPDX-License-Identifier: MIT */
/* Threads that do nothing: data loaders', OpenMP's, gRPC's. A rank of a real job has hundreds. */
#ifndef SIM_WORKLOAD_HOST_CROWD_H
#define SIM_WORKLOAD_HOST_CROWD_H

struct crowd;

/* Half of them sleep on a lock, half in poll(2), as pools and event loops do. 0 or -errno; NULL for no threads. */
int crowd_start(struct crowd **crowd, int threads);
void crowd_stop(struct crowd *crowd);

#endif
