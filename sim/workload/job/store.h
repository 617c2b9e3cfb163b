/* SPDX-License-Identifier: MIT */
/*
 * How ranks exchange small things before NCCL can, as PyTorch's TCPStore: rank 0 keeps them, in a thread, at
 * MASTER_ADDR:MASTER_PORT. One thread of a process at a time.
 */
#ifndef SIM_WORKLOAD_JOB_STORE_H
#define SIM_WORKLOAD_JOB_STORE_H

#include <stddef.h>

enum { STORE_KEY_MAX = 64, STORE_VALUE_MAX = 256 };

struct store;

/* Waits at most a minute for rank 0. 0 or -errno; -EDESTADDRREQ when the launcher has set no address. */
int store_open(struct store **store, int rank, int ranks);
/* NULL is fine. On rank 0 the others can ask no more. */
void store_close(struct store *store);

/* 0 or -errno. */
int store_set(struct store *store, const char *key, const void *value, size_t size);
/* Waits until somebody has set the key, for as long as it takes. 0 or -errno. */
int store_get(struct store *store, const char *key, void *value, size_t size);

#endif
