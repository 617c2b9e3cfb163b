/* SPDX-License-Identifier: MIT */
/* Strings that evidence repeats thousands of times (paths, thread names, kernel symbols), each kept once and for as
 * long as the analysis lives. Bounded: when the room is used up, new strings become "". */
#ifndef ANALYSIS_NUMBERS_INTERN_H
#define ANALYSIS_NUMBERS_INTERN_H

#include <stddef.h>
#include <stdint.h>

/* 0 is "". */
typedef uint32_t intern_id;

struct intern {
	char *text;
	size_t used, room;
	intern_id *slots; /* open addressing; offsets into text */
	size_t slot_count, string_count;
};

/* Adds at most `size` bytes of `text`, up to its terminator. Returns its id; 0 when it is empty or there is no room. */
intern_id intern_add(struct intern *intern, const char *text, size_t size);
/* The string of an id, never NULL, valid until the next intern_add(). */
const char *intern_text(const struct intern *intern, intern_id id);
void intern_free(struct intern *intern);

#endif
