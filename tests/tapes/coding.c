/* SPDX-License-Identifier: MIT */
#include "coding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void put_bytes(struct buffer *buffer, const void *bytes, size_t count)
{
	if (buffer->room - buffer->used < count) {
		buffer->room = 2 * buffer->room + count + 256;
		buffer->bytes = realloc(buffer->bytes, buffer->room);
		if (!buffer->bytes) {
			fputs("no memory for the tape\n", stderr);
			exit(EXIT_FAILURE);
		}
	}
	if (count)
		memcpy(buffer->bytes + buffer->used, bytes, count);
	buffer->used += count;
}

void put_number(struct buffer *buffer, uint64_t number)
{
	uint8_t bytes[10];
	size_t count = 0;

	for (; number >= 0x80; number >>= 7)
		bytes[count++] = (uint8_t)(number | 0x80);
	bytes[count++] = (uint8_t)number;
	put_bytes(buffer, bytes, count);
}

/* Small numbers of either sign are small. */
static uint64_t folded(uint64_t difference)
{
	return difference << 1 ^ (difference >> 63 ? ~UINT64_C(0) : 0);
}

static uint64_t unfolded(uint64_t number)
{
	return number >> 1 ^ (number & 1 ? ~UINT64_C(0) : 0);
}

void put_signed(struct buffer *buffer, int64_t number)
{
	put_number(buffer, folded((uint64_t)number));
}

/* The lowest bit tells which of the two distances it is. A word that is far from both follows a 0, "as before", which
 * is never coded. */
void put_word(struct buffer *buffer, uint64_t word, uint64_t old, uint64_t *time_ns)
{
	uint64_t from_old = folded(word - old), from_time = folded(word - *time_ns);
	bool near_time = from_time < from_old;
	uint64_t distance = near_time ? from_time : from_old;

	if (distance >> 63) {
		put_number(buffer, 0);
		put_number(buffer, word);
		return;
	}
	put_number(buffer, distance << 1 | near_time);
	if (near_time)
		*time_ns = word;
}

const uint8_t *take_bytes(struct span *span, size_t count)
{
	const uint8_t *at = span->at;

	if (span->bad || (size_t)(span->end - at) < count) {
		span->bad = true;
		return NULL;
	}
	span->at += count;
	return at;
}

uint64_t take_number(struct span *span)
{
	uint64_t number = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		const uint8_t *byte = take_bytes(span, 1);

		if (!byte)
			return 0;
		number |= (uint64_t)(*byte & 0x7f) << shift;
		if (!(*byte & 0x80))
			return number;
	}
	span->bad = true;
	return 0;
}

int64_t take_signed(struct span *span)
{
	return (int64_t)unfolded(take_number(span));
}

uint64_t take_word(struct span *span, uint64_t old, uint64_t *time_ns)
{
	uint64_t coded = take_number(span);

	if (coded == 0)
		return take_number(span);
	if (!(coded & 1))
		return old + unfolded(coded >> 1);
	*time_ns += unfolded(coded >> 1);
	return *time_ns;
}
