/* SPDX-License-Identifier: MIT */
/* A str of another process's Python, as UTF-8. */
#ifndef COLLECTOR_SOURCES_PYTHON_PYTHON_TEXT_H
#define COLLECTOR_SOURCES_PYTHON_PYTHON_TEXT_H

#include "collector/sources/python/python_layout.h"

/* Where a str is that is too long: its beginning or its end is what counts. */
enum python_text_part { PYTHON_TEXT_HEAD, PYTHON_TEXT_TAIL };

/* Is the object at this address of a type of this name? *type: the last type that was, saves asking again; 0 at
 * first. */
bool python_text_is_type(struct remote_memory *memory, uint64_t object, const char *name, uint64_t *type);
/* False, and "": it is no str, or cannot be read. */
bool python_text_read(struct remote_memory *memory, const struct python_layout *layout, uint64_t object,
		      enum python_text_part part, char *text, size_t room);

#endif
