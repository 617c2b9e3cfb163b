/* SPDX-License-Identifier: MIT */
#include "analysis/node/outbox.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 256 };

void outbox_begin(struct outbox *outbox, const struct node_identity *identity)
{
	struct rw_batch *header = &outbox->header;

	header->magic = RW_BATCH_MAGIC;
	header->version = RW_BATCH_VERSION;
	header->start = identity->start;
	memcpy(header->boot, identity->boot, sizeof(header->boot));
	snprintf(header->host, sizeof(header->host), "%s", identity->host);
	snprintf(header->job, sizeof(header->job), "%s", identity->job);
}

static bool has_room(struct outbox *outbox)
{
	if (outbox->count < outbox->room)
		return true;
	uint32_t room = outbox->room ? outbox->room * 2 : ROOM_FIRST;
	struct rw_message *more = room <= OUTBOX_MAX ? realloc(outbox->messages, room * sizeof(*more)) : NULL;
	if (!more)
		return false;
	outbox->messages = more;
	outbox->room = room;
	return true;
}

void outbox_add(struct outbox *outbox, const struct rw_message *message)
{
	if (has_room(outbox))
		outbox->messages[outbox->count++] = *message;
	else
		outbox->header.lost++;
}

void outbox_send(struct outbox *outbox, uint16_t flags, node_half_send *send, void *argument)
{
	uint32_t sent = 0;

	do {
		uint32_t left = outbox->count - sent, count = left < OUTBOX_BATCH ? left : OUTBOX_BATCH;
		outbox->header.flags = count == left ? flags : 0;
		outbox->header.count = count;
		outbox->batch.header = outbox->header;
		if (count)
			memcpy(outbox->batch.messages, &outbox->messages[sent], count * sizeof(*outbox->messages));
		send(argument, &outbox->batch, sizeof(outbox->header) + count * sizeof(*outbox->messages));
		outbox->header.number++;
		sent += count;
	} while (sent < outbox->count);
	outbox->count = 0;
}

void outbox_free(struct outbox *outbox)
{
	free(outbox->messages);
}
