/* SPDX-License-Identifier: MIT */
/* How messages of a host become batches. */
#include <criterion/criterion.h>

#include <string.h>

#include "analysis/node/outbox.h"

static const struct node_identity identity = { .job = "j", .host = "h", .start = 7 };

/* What a receiver makes of the batches: they must come in order, with messages whose ranks go on from the last one. */
static struct {
	uint64_t batches, lost;
	uint16_t flags; /* of the last one */
	uint32_t messages;
} got;

static void receive(void *argument, const void *bytes, size_t length)
{
	struct rw_batch header;

	(void)argument;
	memcpy(&header, bytes, sizeof(header));
	cr_expect_eq(length, sizeof(header) + header.count * sizeof(struct rw_message), "%zu bytes of %u messages",
		     length, header.count);
	cr_expect_leq(length, RW_BATCH_MAX);
	cr_expect_eq(header.number, got.batches, "batch %lu is the next one", header.number);
	cr_expect_eq(got.flags, 0, "only the last one says that it is the last");
	for (uint32_t i = 0; i < header.count; i++) {
		struct rw_message message;
		memcpy(&message, (const char *)bytes + sizeof(header) + i * sizeof(message), sizeof(message));
		cr_assert_eq(message.rank, (int32_t)got.messages, "rank %d", message.rank);
		got.messages++;
	}
	got.batches++;
	got.flags = header.flags;
	got.lost = header.lost;
}

static void send_messages(uint32_t count)
{
	static struct outbox outbox;

	memset(&outbox, 0, sizeof(outbox));
	memset(&got, 0, sizeof(got));
	outbox_begin(&outbox, &identity);
	for (uint32_t i = 0; i < count; i++)
		outbox_add(&outbox, &(struct rw_message){ .type = RW_MESSAGE_RANK, .rank = (int32_t)i });
	outbox_send(&outbox, RW_BATCH_LAST, receive, NULL);
	cr_expect_eq(outbox.count, 0, "nothing waits any more");
	outbox_free(&outbox);
}

Test(outbox, what_waits_is_sent_once_in_as_many_batches_as_it_needs)
{
	static const struct {
		uint32_t messages, batches;
	} cases[] = { { 0, 1 },
		      { 1, 1 },
		      { OUTBOX_BATCH, 1 },
		      { OUTBOX_BATCH + 1, 2 },
		      { 2 * OUTBOX_BATCH, 2 },
		      { 2 * OUTBOX_BATCH + 1, 3 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		send_messages(cases[i].messages);
		cr_expect_eq(got.messages, cases[i].messages, "%u of %u messages", got.messages, cases[i].messages);
		cr_expect_eq(got.batches, cases[i].batches, "%u messages in %lu batches", cases[i].messages, got.batches);
		cr_expect_eq(got.flags, RW_BATCH_LAST);
	}
}

Test(outbox, what_finds_no_room_is_counted)
{
	static const uint32_t beyond[] = { 0, 1, 3 };

	for (size_t i = 0; i < sizeof(beyond) / sizeof(*beyond); i++) {
		send_messages(OUTBOX_MAX + beyond[i]);
		cr_expect_eq(got.messages, OUTBOX_MAX, "%u messages", got.messages);
		cr_expect_eq(got.lost, beyond[i], "%lu of %u are lost", got.lost, beyond[i]);
	}
}
