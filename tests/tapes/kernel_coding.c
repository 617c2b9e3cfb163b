/* SPDX-License-Identifier: MIT */
#include "kernel_coding.h"

#include <string.h>

#define WORD(field) (offsetof(struct rw_kernel_wait, field) / 8)

struct kernel_record *kernel_memory_of(struct kernel_memory *memory, bool look, uint32_t tid)
{
	for (size_t i = 0; i < memory->count; i++) {
		struct kernel_record *record = &memory->records[i];

		if (record->wait.tid == tid && (record->wait.kind == RW_KERNEL_NOW) == look)
			return record;
	}
	if (memory->count == KERNEL_THREADS)
		return NULL;
	struct kernel_record *made = &memory->records[memory->count++];

	memset(made, 0, sizeof(*made));
	made->wait.tid = tid;
	made->wait.kind = look ? RW_KERNEL_NOW : RW_KERNEL_WAIT;
	return made;
}

static bool is_time(size_t index)
{
	return index >= WORD(start_ns) && index <= WORD(cpu_ns);
}

void kernel_record_coarsen(struct kernel_record *record)
{
	for (size_t i = 0; i < KERNEL_WORDS; i++)
		if (is_time(i))
			record->words[i] = kernel_coarse(record->words[i]);
}

static unsigned int grain_of(size_t index)
{
	return is_time(index) ? KERNEL_GRAIN_BITS : 0;
}

/* What a word is likely to be: a wait begins soon after the last one's end, and is blocked for nearly all of it; who
 * sleeps now has done so since then. */
static uint64_t guess(const uint64_t *words, const uint64_t *before, size_t index)
{
	uint64_t length = words[WORD(end_ns)] - words[WORD(start_ns)];

	switch (index) {
	case WORD(start_ns):
		return before[WORD(start_ns)] ? before[WORD(end_ns)] : 0;
	case WORD(end_ns):
		return words[WORD(start_ns)] + before[WORD(end_ns)] - before[WORD(start_ns)];
	case WORD(blocked_ns):
		return length;
	case WORD(longest_ns):
		return words[WORD(blocked_ns)] ? words[WORD(blocked_ns)] : length;
	default:
		return before[index];
	}
}

static bool is_guessed(const struct kernel_record *record, size_t index)
{
	if (record->wait.kind == RW_KERNEL_NOW)
		return index == WORD(longest_ns);
	return record->wait.kind == RW_KERNEL_WAIT &&
	       (index == WORD(start_ns) || index == WORD(end_ns) || index == WORD(blocked_ns) || index == WORD(longest_ns));
}

static uint64_t expected(const struct kernel_record *record, const struct kernel_record *before, size_t index)
{
	return is_guessed(record, index) ? guess(record->words, before->words, index) : before->words[index];
}

static int words_of(int stream)
{
	return stream == TAPE_LOOK ? TAPE_LOOK_WORDS : TAPE_KERNEL_WORDS;
}

void put_kernel(struct buffer *streams, int stream, struct kernel_memory *memory, const struct kernel_record *record)
{
	struct kernel_record *before = kernel_memory_of(memory, stream == TAPE_LOOK, record->wait.tid);
	uint64_t changed = 0;

	if (!before)
		return;
	for (size_t i = 0; i < KERNEL_WORDS; i++)
		changed |= (uint64_t)(record->words[i] != expected(record, before, i)) << i;
	put_number(&streams[stream], record->wait.tid);
	put_number(&streams[stream], changed);
	for (size_t i = 0; i < KERNEL_WORDS; i++)
		if (changed >> i & 1)
			put_signed(&streams[words_of(stream) + (int)i],
				   (int64_t)(record->words[i] - expected(record, before, i)) >> grain_of(i));
	put_number(&streams[stream], record->frame_count);
	for (uint32_t i = 0; i < record->frame_count; i++)
		put_number(&streams[stream], record->frames[i]);
	*before = *record;
}

static bool take_words(struct span *streams, int stream, const struct kernel_record *before, uint64_t changed,
		       struct kernel_record *record)
{
	for (size_t i = 0; i < KERNEL_WORDS; i++) { /* the first one holds the kind, which decides what is guessed */
		struct span *words = &streams[words_of(stream) + (int)i];

		record->words[i] = expected(record, before, i);
		if (changed >> i & 1)
			record->words[i] += (uint64_t)take_signed(words) << grain_of(i);
		if (words->bad)
			return false;
	}
	return true;
}

const struct kernel_record *take_kernel(struct span *streams, int stream, struct kernel_memory *memory)
{
	struct span *span = &streams[stream];
	struct kernel_record record = { 0 };
	uint64_t tid = take_number(span), changed = take_number(span);
	struct kernel_record *before =
	    span->bad || tid > UINT32_MAX ? NULL : kernel_memory_of(memory, stream == TAPE_LOOK, (uint32_t)tid);

	if (!before || !take_words(streams, stream, before, changed, &record))
		return NULL;
	record.frame_count = (uint32_t)take_number(span);
	if (record.frame_count > KERNEL_FRAMES || record.wait.tid != tid ||
	    (record.wait.kind == RW_KERNEL_NOW) != (stream == TAPE_LOOK))
		return NULL;
	for (uint32_t i = 0; i < record.frame_count; i++)
		record.frames[i] = (uint32_t)take_number(span);
	if (span->bad)
		return NULL;
	*before = record;
	return before;
}
