/* SPDX-License-Identifier: MIT */
/* Messages that wait to be sent, and the batches that they go in. */
#ifndef ANALYSIS_NODE_OUTBOX_H
#define ANALYSIS_NODE_OUTBOX_H

#include <stddef.h>
#include <stdint.h>

#include <rankwatch/message.h>

#include "analysis/node/node_half.h"

enum {
	OUTBOX_MAX = 65536, /* messages that wait; what comes beyond is lost, and counted */
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

void outbox_begin(struct outbox *outbox, const struct node_identity *identity);
void outbox_add(struct outbox *outbox, const struct rw_message *message);
/* All that wait, in as many batches as it takes, the last of them with these flags; one of no messages where none wait. */
void outbox_send(struct outbox *outbox, uint16_t flags, node_half_send *send, void *argument);
void outbox_free(struct outbox *outbox);

#endif
