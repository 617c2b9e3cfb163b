/* SPDX-License-Identifier: MIT */
/*
 * Writes one object of dicts, lists, text and numbers, as pickle.load() of Python reads it (protocol 2, the opcodes of
 * Python's pickletools) or as JSON. Nothing is ever read. Errors are those of the stream: ferror(). One thread.
 */
#ifndef CONSOLE_FLIGHT_RECORDER_PLAIN_DATA_H
#define CONSOLE_FLIGHT_RECORDER_PLAIN_DATA_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum plain_format { PLAIN_PICKLE, PLAIN_JSON };

enum { PLAIN_DEPTH = 8 }; /* lists and dicts inside each other, at most */

struct plain_data {
	FILE *out; /* not owned */
	enum plain_format format;
	unsigned depth;
	struct {
		bool is_dict;
		uint64_t items; /* so far: keys and values */
	} levels[PLAIN_DEPTH];
};

/* One object stands between these. */
void plain_begin(struct plain_data *data, FILE *out, enum plain_format format);
void plain_end(struct plain_data *data);

void plain_none(struct plain_data *data);
void plain_bool(struct plain_data *data, bool value);
void plain_integer(struct plain_data *data, int64_t value);
void plain_text(struct plain_data *data, const char *utf8);

/* Between begin and end: the elements of a list, keys (text) and values by turns of a dict. */
void plain_list_begin(struct plain_data *data);
void plain_list_end(struct plain_data *data);
void plain_dict_begin(struct plain_data *data);
void plain_dict_end(struct plain_data *data);

#endif
