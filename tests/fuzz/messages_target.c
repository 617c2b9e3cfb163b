/* SPDX-License-Identifier: MIT */
/*
 * What collectors of other hosts send, as the job half takes and judges it. The input is pieces: a byte of flags, a
 * byte for how much time goes by behind it (in 100 ms), two bytes for its length, and so many bytes. PIECE_WHOLE: they
 * are a batch as it came; else messages, for which a header is made: of host flags & 3, with the number of the piece.
 */
#include "tests/fuzz/box_target.h"

#include <stdlib.h>
#include <string.h>

#include <rankwatch/message.h>

#include "analysis/batch.h"
#include "analysis/job/job_half.h"
#include "analysis/job/job_view.h"
#include "tests/fuzz/printed_finding.h"

enum { PIECE_WHOLE = 0x80, PIECE_LAST = 0x40, PIECE_HEAD = 4, TICKS_MAX = 4 };

static void emit(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	if (!finding->text[0])
		abort();
	for (size_t i = 0; i < finding->rank_count; i++)
		if (finding->ranks[i] < 0 || (i && finding->ranks[i] <= finding->ranks[i - 1]))
			abort();
	printed_finding(NULL, finding);
}

static void ask(void *argument, const char *host, const void *bytes, size_t length)
{
	struct rw_batch header;

	(void)argument;
	if (batch_refuse(bytes, length, &header) || strcmp(header.host, host) != 0)
		abort();
}

static void take(struct job_half *half, uint64_t number, uint8_t flags, const uint8_t *data, size_t size,
		 uint64_t now_ns)
{
	static uint8_t bytes[RW_BATCH_MAX];
	const char *why = NULL;
	size_t count = size / RW_MESSAGE_SIZE;
	struct rw_batch header = {
		.magic = RW_BATCH_MAGIC,
		.version = RW_BATCH_VERSION,
		.flags = flags & PIECE_LAST ? RW_BATCH_LAST : 0,
		.count = (uint32_t)count,
		.number = number,
		.start = flags >> 2 & 3,
		.host = { 'h', (char)('0' + (flags & 3)) },
		.job = "j",
	};

	if (flags & PIECE_WHOLE) {
		if (job_half_take(half, data, size, now_ns, &why) && !why)
			abort();
		return;
	}
	if (sizeof(header) + count * RW_MESSAGE_SIZE > sizeof(bytes))
		return;
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), data, count * RW_MESSAGE_SIZE);
	if (job_half_take(half, bytes, sizeof(header) + count * RW_MESSAGE_SIZE, now_ns, &why))
		abort();
}

static void read_rank(void *argument, const struct analysis_rank_view *rank)
{
	*(uint64_t *)argument +=
	    strlen(rank->host) + strlen(rank->why) + strlen(rank->reason) + strlen(rank->comm_name) + rank->lost_ns;
}

static void read_communicator(void *argument, const struct analysis_communicator_view *communicator)
{
	for (uint32_t i = 0; i < communicator->member_count; i++)
		*(uint64_t *)argument += communicator->calls[i] + (uint64_t)communicator->ranks[i];
}

static void read_flight(void *argument, const struct analysis_flight *flight)
{
	for (size_t i = 0; i < flight->joined_count; i++)
		*(uint64_t *)argument += strlen(flight->joined_phase[i]);
	for (size_t i = 0; i < flight->missing_count; i++)
		*(uint64_t *)argument += (uint64_t)flight->missing[i];
}

static void look_at_all(const struct job_view *view)
{
	struct analysis_deadline deadline;
	struct analysis_summary seen;
	volatile uint64_t kept;
	uint64_t sum = 0;

	job_view_ranks(view, read_rank, &sum);
	job_view_communicators(view, read_communicator, &sum);
	job_view_flights(view, read_flight, &sum);
	job_view_deadline(view, &deadline);
	job_view_summary(view, &seen);
	kept = sum + deadline.since_ns + seen.operations + job_view_cells(view)->count;
	(void)kept;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct job_half *half = job_half_new("j", emit, NULL);
	struct job_half_summary summary;
	struct job_view view;
	uint64_t now_ns = 1000000000, number = 0;

	if (half)
		job_half_keep_course(half);

	for (; half && size >= PIECE_HEAD; number++) {
		size_t length = data[2] | (size_t)data[3] << 8;
		length = length < size - PIECE_HEAD ? length : size - PIECE_HEAD;
		take(half, number, data[0], data + PIECE_HEAD, length, now_ns);
		for (int i = 0; i < TICKS_MAX; i++) {
			now_ns += data[1] * UINT64_C(100000000) / TICKS_MAX;
			job_half_tick(half, now_ns);
			job_half_ask_why(half, now_ns, ask, NULL);
		}
		data += PIECE_HEAD + length;
		size -= PIECE_HEAD + length;
	}
	if (!half)
		return 0;
	job_half_replay_open(half, now_ns);
	job_half_look(half, &view);
	look_at_all(&view);
	job_half_summarise(half, &summary);
	if (summary.batches + summary.bad != number)
		abort();
	job_half_free(half);
	return 0;
}
