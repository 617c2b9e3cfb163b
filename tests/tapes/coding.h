/* SPDX-License-Identifier: MIT */
/* Numbers and words of a tape. Writing appends to a buffer; reading never leaves it: `bad` says that it tried to. */
#ifndef TESTS_TAPES_CODING_H
#define TESTS_TAPES_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *bytes;
	size_t used, room;
};

struct span {
	const uint8_t *at, *end;
	bool bad;
};

/* All of them end the program on lack of memory. */
void put_bytes(struct buffer *buffer, const void *bytes, size_t count);
void put_number(struct buffer *buffer, uint64_t number); /* seven bits a byte, the lowest first */
void put_signed(struct buffer *buffer, int64_t number);
/* A word that was `old`: as its distance from there, or, where that is nearer, from the last time that was coded. */
void put_word(struct buffer *buffer, uint64_t word, uint64_t old, uint64_t *time_ns);

/* NULL, and bad, when there are fewer. */
const uint8_t *take_bytes(struct span *span, size_t count);
uint64_t take_number(struct span *span);
int64_t take_signed(struct span *span);
uint64_t take_word(struct span *span, uint64_t old, uint64_t *time_ns);

#endif
