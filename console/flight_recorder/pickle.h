/* SPDX-License-Identifier: MIT */
/*
 * Writes Python objects as pickle.load() reads them: protocol 2, the opcodes of Python's pickletools. Nothing is ever
 * read. Errors are those of the stream: ferror().
 */
#ifndef CONSOLE_FLIGHT_RECORDER_PICKLE_H
#define CONSOLE_FLIGHT_RECORDER_PICKLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One object stands between these. */
void pickle_begin(FILE *out);
void pickle_end(FILE *out);

void pickle_none(FILE *out);
void pickle_bool(FILE *out, bool value);
void pickle_integer(FILE *out, int64_t value);
void pickle_text(FILE *out, const char *utf8);

/* Between begin and end: the elements of a list, keys and values by turns of a dict. */
void pickle_list_begin(FILE *out);
void pickle_list_end(FILE *out);
void pickle_dict_begin(FILE *out);
void pickle_dict_end(FILE *out);

#endif
