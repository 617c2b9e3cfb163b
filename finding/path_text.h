/* SPDX-License-Identifier: MIT */
/* A path in the room that a line leaves for it. */
#ifndef FINDING_PATH_TEXT_H
#define FINDING_PATH_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Columns that UTF-8 text takes, wide characters aside. */
size_t path_text_columns(const char *text);
/* Prints `path`, shortened when it takes more than `room` columns. The file's name says most: directories go first,
 * then the middle of a name that is itself too long; what is left may still take more than `room`. */
void path_text_print(FILE *out, const char *path, size_t room);

#endif
