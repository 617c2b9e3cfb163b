/* SPDX-License-Identifier: MIT */
#include "sim/cuda/streams/hardware_queue.h"

#include <stdlib.h>

unsigned int hardware_queue_count(void)
{
	const char *text = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
	char *end;
	long count = text ? strtol(text, &end, 10) : 0;

	return text && end != text && !*end && count >= 1 && count <= HARDWARE_QUEUES_MAX ? (unsigned int)count
											  : HARDWARE_QUEUES_DEFAULT;
}

void hardware_queue_open(struct hardware_queue *queue)
{
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->moved, NULL);
	queue->end = &queue->first;
}

static void take_first(struct hardware_queue *queue)
{
	struct queue_entry *entry = queue->first;

	entry->passed = true;
	queue->first = entry->next;
	if (!queue->first)
		queue->end = &queue->first;
}

/* Whatever does not wait goes through. Called with the lock held. */
static void look(struct hardware_queue *queue)
{
	while (queue->first && !queue->first->holds)
		take_first(queue);
	pthread_cond_broadcast(&queue->moved);
}

void hardware_queue_add(struct hardware_queue *queue, struct queue_entry *entry, bool holds)
{
	pthread_mutex_lock(&queue->lock);
	*entry = (struct queue_entry){ .holds = holds };
	*queue->end = entry;
	queue->end = &entry->next;
	if (queue->first == entry)
		look(queue);
	pthread_mutex_unlock(&queue->lock);
}

void hardware_queue_reach(struct hardware_queue *queue, struct queue_entry *entry)
{
	pthread_mutex_lock(&queue->lock);
	while (!entry->passed && queue->first != entry)
		pthread_cond_wait(&queue->moved, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
}

void hardware_queue_pass(struct hardware_queue *queue, struct queue_entry *entry)
{
	pthread_mutex_lock(&queue->lock);
	if (!entry->passed) {
		take_first(queue);
		look(queue);
	}
	pthread_mutex_unlock(&queue->lock);
}
