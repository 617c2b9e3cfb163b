/* SPDX-License-Identifier: MIT */
#include "helper/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Before each record or answer in the queue. */
struct item {
	uint32_t kind, size; /* without this head */
};

void outbox_free(struct outbox *outbox)
{
	free(outbox->bytes);
	outbox->bytes = NULL;
	outbox->begin = outbox->end = 0;
}

static bool make_room(struct outbox *outbox, size_t size, size_t most)
{
	if (!outbox->bytes)
		outbox->bytes = malloc(OUTBOX_BYTES);
	if (!outbox->bytes || outbox->end - outbox->begin + size > most)
		return false;
	if (outbox->end + size > OUTBOX_BYTES) {
		memmove(outbox->bytes, outbox->bytes + outbox->begin, outbox->end - outbox->begin);
		outbox->end -= outbox->begin;
		outbox->begin = 0;
	}
	return true;
}

static void put(struct outbox *outbox, const void *bytes, size_t size)
{
	memcpy(outbox->bytes + outbox->end, bytes, size);
	outbox->end += size;
}

bool outbox_add_record(struct outbox *outbox, const struct rw_kernel_wait *wait, char (*names)[RW_HELPER_FRAME])
{
	size_t names_size = wait->stack_id > 0 ? (size_t)wait->stack_id * RW_HELPER_FRAME : 0;
	struct item item = { RW_HELPER_RECORDS, (uint32_t)(sizeof(*wait) + names_size) };

	if (!make_room(outbox, sizeof(item) + item.size, OUTBOX_BYTES - OUTBOX_ANSWERS)) {
		outbox->lost++;
		return false;
	}
	put(outbox, &item, sizeof(item));
	put(outbox, wait, sizeof(*wait));
	put(outbox, names, names_size);
	return true;
}

bool outbox_add_answer(struct outbox *outbox, const struct rw_helper_answer *answer)
{
	struct item item = { RW_HELPER_ANSWER, sizeof(*answer) };

	if (!make_room(outbox, sizeof(item) + item.size, OUTBOX_BYTES))
		return false;
	put(outbox, &item, sizeof(item));
	put(outbox, answer, sizeof(*answer));
	return true;
}

static struct item item_at(const struct outbox *outbox, size_t at)
{
	struct item item;

	memcpy(&item, outbox->bytes + at, sizeof(item));
	return item;
}

/* As many records as are next and fit. Returns the packet's size; *next: where the queue goes on. */
static size_t pack_records(const struct outbox *outbox, const struct rw_helper_loss *loss,
			   uint8_t packet[RW_HELPER_PACKET], size_t *next)
{
	struct rw_helper_records head = { .kind = RW_HELPER_RECORDS, .loss = *loss };
	size_t size = sizeof(head);

	for (*next = outbox->begin; *next < outbox->end; head.count++) {
		struct item item = item_at(outbox, *next);

		if (item.kind != RW_HELPER_RECORDS || size + item.size > RW_HELPER_PACKET)
			break;
		memcpy(packet + size, outbox->bytes + *next + sizeof(item), item.size);
		size += item.size;
		*next += sizeof(item) + item.size;
	}
	memcpy(packet, &head, sizeof(head));
	return size;
}

static size_t pack_answer(const struct outbox *outbox, const struct rw_helper_loss *loss,
			  uint8_t packet[RW_HELPER_PACKET], size_t *next)
{
	struct item item = item_at(outbox, outbox->begin);
	struct rw_helper_answer answer;

	memcpy(&answer, outbox->bytes + outbox->begin + sizeof(item), sizeof(answer));
	answer.loss = *loss;
	memcpy(packet, &answer, sizeof(answer));
	*next = outbox->begin + sizeof(item) + item.size;
	return sizeof(answer);
}

int outbox_send(struct outbox *outbox, int fd, const struct rw_helper_loss *loss)
{
	static uint8_t packet[RW_HELPER_PACKET];

	while (outbox->begin < outbox->end || memcmp(&outbox->reported, loss, sizeof(*loss)) != 0) {
		bool answer =
		    outbox->begin < outbox->end && item_at(outbox, outbox->begin).kind == RW_HELPER_ANSWER;
		size_t next, size = answer ? pack_answer(outbox, loss, packet, &next)
					   : pack_records(outbox, loss, packet, &next);

		if (send(fd, packet, size, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			return errno == EAGAIN || errno == EINTR || errno == ENOBUFS ? -EAGAIN : -errno;
		outbox->begin = next;
		outbox->reported = *loss;
	}
	outbox_free(outbox);
	return 0;
}
