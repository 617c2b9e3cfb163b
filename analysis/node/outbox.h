/* SPDX-License-Identifier: MIT */
/* Messages that wait to be sent, and the batches that carry them. */
#ifndef ANALYSIS_NODE_OUTBOX_H
#define ANALYSIS_NODE_OUTBOX_H

#include <stddef.h>
#include <stdint.h>

#include <rankwatch/message.h>

#include "analysis/node/sender.h"

enum {
	OUTBOX_MAX = 65536, /* most messages that wait; further messages are lost, and counted */
	OUTBOX_BATCH = (RW_BATCH_MAX - (int)sizeof(struct rw_batch)) / RW_MESSAGE_SIZE,
};

struct outbox {
	struct rw_batch header;
	struct rw_message *messages;
	uint32_t count, room;
	struct {
		struct rw_batch header;
		struct rw_message messages[OUTBOX_BATCH];
	} batch;
};

/* Initialises the outbox for this sender; the identity is copied. */
void outbox_begin(struct outbox *outbox, const struct node_identity *identity);
/* Queues a copy of the message. It is lost, and counted, where the outbox is full or there is no memory. */
void outbox_add(struct outbox *outbox, const struct rw_message *message);
/* Sends all waiting messages in as many batches as needed, the last with these flags. Where no message waits, it sends
 * an empty batch. */
void outbox_send(struct outbox *outbox, uint16_t flags, node_half_send *send, void *argument);
void outbox_free(struct outbox *outbox);

#endif
