/* SPDX-License-Identifier: MIT */
#include "console/html/page.h"

#include <errno.h>
#include <stdlib.h>

#include "base/foreign_text.h"
#include "page_parts.h"

/* Text of a job may hold what reorders or hides what stands beside it. Keys are ours, but for those of names and ranks,
 * which are numbers. */
static int escape_texts(json_t *value)
{
	const char *key;
	json_t *part;
	size_t i;
	int err = 0;

	if (json_is_string(value)) {
		char *escaped = foreign_text(json_string_value(value));

		err = !escaped || json_string_set(value, escaped) ? -ENOMEM : 0;
		free(escaped);
		return err;
	}
	json_array_foreach(value, i, part) if (!err) err = escape_texts(part);
	json_object_foreach(value, key, part) if (!err) err = escape_texts(part);
	return err;
}

/* "<" could end the script that the data lie in, or begin a comment there. In JSON it stands in texts alone. */
static int write_inert(const char *text, size_t size, void *argument)
{
	FILE *out = argument;

	for (size_t i = 0; i < size; i++) {
		if (text[i] == '<' || text[i] == '>' || text[i] == '&')
			fprintf(out, "\\u%04x", text[i]);
		else
			putc(text[i], out);
	}
	return 0;
}

int page_write(FILE *out, json_t *data)
{
	int err = escape_texts(data);

	if (err)
		return err;
	fwrite(page_before, 1, sizeof(page_before), out);
	/* ASCII alone: U+2028 and its kin end lines for some. */
	if (json_dump_callback(data, write_inert, out, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(7)) != 0)
		return -ENOMEM;
	fwrite(page_after, 1, sizeof(page_after), out);
	return 0;
}
