/* SPDX-License-Identifier: MIT */
#include "protocol/line_buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int reserve(struct line_buffer *buffer, size_t wanted)
{
	if (wanted <= buffer->room)
		return 0;

	size_t room = wanted < 512 ? 512 : wanted * 2;
	char *bytes = realloc(buffer->bytes, room);

	if (!bytes)
		return -ENOMEM;
	buffer->bytes = bytes;
	buffer->room = room;
	return 0;
}

int line_buffer_add(struct line_buffer *buffer, const char *bytes, size_t count, line_buffer_line *line, void *argument)
{
	while (count) {
		const char *newline = memchr(bytes, '\n', count);
		size_t part = newline ? (size_t)(newline - bytes) : count;
		int err;

		if (part > buffer->limit - buffer->used)
			return -EMSGSIZE;
		err = reserve(buffer, buffer->used + part + 1);
		if (err)
			return err;
		memcpy(buffer->bytes + buffer->used, bytes, part);
		buffer->used += part;
		if (!newline)
			return 0;
		buffer->bytes[buffer->used] = '\0';
		size_t length = buffer->used;

		buffer->used = 0;
		line(argument, buffer->bytes, length);
		bytes += part + 1;
		count -= part + 1;
	}
	return 0;
}

void line_buffer_free(struct line_buffer *buffer)
{
	free(buffer->bytes);
	*buffer = (struct line_buffer){ .limit = buffer->limit };
}
