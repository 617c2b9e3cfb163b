/* SPDX-License-Identifier: MIT */
/* How the ranks of a job agree on NCCL's unique id: rank 0 serves it at MASTER_ADDR:MASTER_PORT. */
#ifndef WORKLOAD_RENDEZVOUS_H
#define WORKLOAD_RENDEZVOUS_H

#include <stddef.h>

/* On rank 0 hands `data` to each of the other ranks; elsewhere fills it. Waits at most a minute. 0 or -errno;
 * -EDESTADDRREQ when the launcher has set no address. */
int rendezvous_share(int rank, int world_size, void *data, size_t size);

#endif
