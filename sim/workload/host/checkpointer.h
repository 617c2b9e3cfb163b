/* SPDX-License-Identifier: MIT */
/* A thread that takes snapshots under a lock the training thread needs. */
#ifndef SIM_WORKLOAD_HOST_CHECKPOINTER_H
#define SIM_WORKLOAD_HOST_CHECKPOINTER_H

struct checkpointer;

/* Starts the thread "checkpointer"; each snapshot keeps the lock for held_ms. 0 or -errno. */
int checkpointer_start(struct checkpointer **checkpointer, unsigned int held_ms);
/* NULL is fine. */
void checkpointer_stop(struct checkpointer *checkpointer);
/* Asks for a snapshot, then wants the lock: returns once the snapshot has let go of it. */
void checkpointer_snapshot(struct checkpointer *checkpointer);

#endif
