/* SPDX-License-Identifier: MIT */
/*
 * The queues through which a GPU takes work: fewer than there may be streams, so that streams share them. A queue looks
 * only at its first entry. Work that has to wait for earlier work of its stream waits there, and holds up everything
 * that was put into the queue behind it, of whatever stream. Once it has begun the queue looks at the next.
 */
#ifndef SIM_CUDA_STREAMS_HARDWARE_QUEUE_H
#define SIM_CUDA_STREAMS_HARDWARE_QUEUE_H

#include <pthread.h>
#include <stdbool.h>

#define HARDWARE_QUEUES_MAX     32
#define HARDWARE_QUEUES_DEFAULT 8

/* How a task goes through its stream's queue. */
enum queue_passage {
	QUEUE_WHEN_IT_BEGINS, /* a kernel: holds up what is behind it until all before it in its stream is done */
	QUEUE_WHEN_IT_ENDS,   /* a wait for a value in memory: until that is there */
	/* a record or a write: the GPU makes it when the work before it is done, and nobody waits for it */
	QUEUE_AT_ONCE,
	QUEUE_NOT,            /* not through this queue: what waits for it is held up behind it */
};

struct queue_entry {
	struct queue_entry *next;
	bool holds, passed; /* under the queue's lock */
};

struct hardware_queue {
	pthread_mutex_t lock;
	pthread_cond_t moved;
	struct queue_entry *first, **end;
};

/* CUDA_DEVICE_MAX_CONNECTIONS, 1 to 32; anything else: 8. */
unsigned int hardware_queue_count(void);
void hardware_queue_open(struct hardware_queue *queue);
/* Puts it in as the last. holds: it waits at the front until hardware_queue_pass(), else it goes through by itself. */
void hardware_queue_add(struct hardware_queue *queue, struct queue_entry *entry, bool holds);
/* Waits until it is the first, or has gone through. */
void hardware_queue_reach(struct hardware_queue *queue, struct queue_entry *entry);
/* Of one that holds, and is the first: it goes through. */
void hardware_queue_pass(struct hardware_queue *queue, struct queue_entry *entry);

#endif
