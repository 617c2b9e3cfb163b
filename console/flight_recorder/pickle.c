/* SPDX-License-Identifier: MIT */
#include "console/flight_recorder/pickle.h"

#include <string.h>

static void put_little_endian(FILE *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		putc((int)(value >> 8 * i & 0xff), out);
}

void pickle_begin(FILE *out)
{
	fputs("\x80\x02", out); /* PROTO 2 */
}

void pickle_end(FILE *out)
{
	putc('.', out); /* STOP */
}

void pickle_none(FILE *out)
{
	putc('N', out);
}

void pickle_bool(FILE *out, bool value)
{
	putc(value ? 0x88 : 0x89, out); /* NEWTRUE, NEWFALSE */
}

void pickle_integer(FILE *out, int64_t value)
{
	if (value >= INT32_MIN && value <= INT32_MAX) {
		putc('J', out); /* BININT */
		put_little_endian(out, (uint64_t)value, 4);
	} else {
		fputs("\x8a\x08", out); /* LONG1 of 8 bytes */
		put_little_endian(out, (uint64_t)value, 8);
	}
}

void pickle_text(FILE *out, const char *utf8)
{
	putc('X', out); /* BINUNICODE */
	put_little_endian(out, strlen(utf8), 4);
	fputs(utf8, out);
}

void pickle_list_begin(FILE *out)
{
	fputs("](", out); /* EMPTY_LIST, MARK */
}

void pickle_list_end(FILE *out)
{
	putc('e', out); /* APPENDS */
}

void pickle_dict_begin(FILE *out)
{
	fputs("}(", out); /* EMPTY_DICT, MARK */
}

void pickle_dict_end(FILE *out)
{
	putc('u', out); /* SETITEMS */
}
