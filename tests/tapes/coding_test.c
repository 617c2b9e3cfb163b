/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_coding.h"

static struct span reading(const struct buffer *buffer)
{
	/* A stream to which nothing was written has no bytes, and nothing may be added to their address. */
	return (struct span){ .at = buffer->bytes, .end = buffer->bytes ? buffer->bytes + buffer->used : NULL };
}

Test(tape_coding, words_come_back)
{
	static const uint64_t words[] = { 1, 0, UINT64_MAX, UINT64_C(1) << 63, 5000000000123, 5000000000999, 42, INT64_MAX };
	uint64_t old[8] = { 0, 1, 0, 7, 0, 0, UINT64_MAX, UINT64_C(1) << 63 }, time_ns = 5000000000000;
	struct buffer buffer = { 0 };

	for (size_t i = 0; i < 8; i++)
		put_word(&buffer, words[i], old[i], &time_ns);
	struct span span = reading(&buffer);

	time_ns = 5000000000000;
	for (size_t i = 0; i < 8; i++)
		cr_expect_eq(take_word(&span, old[i], &time_ns), words[i], "word %zu", i);
	cr_expect(!span.bad && span.at == span.end);
	free(buffer.bytes);
}

Test(tape_coding, signed_numbers_come_back)
{
	static const int64_t numbers[] = { 0, -1, 1, INT64_MIN, INT64_MAX, -4711 };
	struct buffer buffer = { 0 };

	for (size_t i = 0; i < 6; i++)
		put_signed(&buffer, numbers[i]);
	struct span span = reading(&buffer);

	for (size_t i = 0; i < 6; i++)
		cr_expect_eq(take_signed(&span), numbers[i]);
	free(buffer.bytes);
}

Test(tape_coding, nothing_is_read_behind_the_end)
{
	const uint8_t endless[] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f },
		      open[] = { 0x80 };
	struct span span = { endless, endless + sizeof(endless) };

	cr_expect_eq(take_number(&span), 0);
	cr_expect(span.bad, "a number of more than 64 bits");
	span = (struct span){ open, open + sizeof(open) };
	cr_expect_eq(take_number(&span), 0);
	cr_expect(span.bad, "a number that does not end");
	span = (struct span){ open, open + sizeof(open) };
	cr_expect_null(take_bytes(&span, 2));
	cr_expect(span.bad);
	cr_expect_null(take_bytes(&span, 1), "and nothing more after that");
}

static struct kernel_record wait_of(uint32_t tid, uint64_t start_ns, uint64_t length_ns)
{
	struct kernel_record record = { .wait = { .kind = RW_KERNEL_WAIT, .tgid = 7, .tid = tid, .start_ns = start_ns,
						  .end_ns = start_ns + length_ns, .blocked_ns = length_ns, .system_call = 202,
						  .fd = -1, .longest_ns = length_ns, .thread = "main" },
					.frames = { 3, 1 }, .frame_count = 2 };

	kernel_record_coarsen(&record);
	return record;
}

/* Not memcmp(3) of the whole: what lies between its members and behind them is anybody's. */
static bool is_same(const struct kernel_record *one, const struct kernel_record *other)
{
	return !memcmp(one->words, other->words, sizeof(one->words)) && one->frame_count == other->frame_count &&
	       !memcmp(one->frames, other->frames, one->frame_count * sizeof(one->frames[0]));
}

static struct buffer out[TAPE_STREAMS];
static struct span in[TAPE_STREAMS];

Test(tape_coding, kernel_records_come_back)
{
	struct kernel_memory *writing = calloc(1, sizeof(*writing)), *playing = calloc(1, sizeof(*playing));
	struct kernel_record records[4] = { wait_of(8, 1000000000, 20000000), wait_of(9, 1001000000, 30000000),
					    wait_of(8, 1040000000, 10000000), wait_of(8, 900000000, 990000000) };

	records[2].wait.kind = RW_KERNEL_RUN_QUEUE;
	records[3].wait.waker_tid = 9;
	records[3].frame_count = 0;
	memset(records[3].frames, 0, sizeof(records[3].frames));
	for (size_t i = 0; i < 4; i++)
		put_kernel(out, TAPE_KERNEL, writing, &records[i]);
	for (size_t i = 0; i < TAPE_STREAMS; i++)
		in[i] = reading(&out[i]);
	for (size_t i = 0; i < 4; i++) {
		const struct kernel_record *record = take_kernel(in, TAPE_KERNEL, playing);

		cr_assert_not_null(record);
		cr_expect(is_same(record, &records[i]), "record %zu", i);
	}
	cr_expect_null(take_kernel(in, TAPE_KERNEL, playing), "there are no more");
	free(writing);
	free(playing);
}
