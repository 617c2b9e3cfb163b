/* SPDX-License-Identifier: MIT */
/* Bytes from a socket → whole lines, however they were cut on the way. Used by the collector and by its clients. */
#ifndef PROTOCOL_LINE_BUFFER_H
#define PROTOCOL_LINE_BUFFER_H

#include <stddef.h>

struct line_buffer {
	char *bytes;
	size_t used, room;
	size_t limit; /* longest line that is believed, without the newline */
};

/* `line` is terminated and without its newline; valid during the call. */
typedef void line_buffer_line(void *argument, char *line, size_t length);

/* Calls `line` for every line that is complete now. 0, -ENOMEM or -EMSGSIZE: a line above the limit; the peer is not
 * one of ours and the buffer is of no more use. */
int line_buffer_add(struct line_buffer *buffer, const char *bytes, size_t count, line_buffer_line *line,
		    void *argument);
void line_buffer_free(struct line_buffer *buffer);

#endif
