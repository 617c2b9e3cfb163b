/* SPDX-License-Identifier: MIT */
#include "console/flight_recorder/plain_data.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

static void put_little_endian(FILE *out, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		putc((int)(value >> 8 * i & 0xff), out);
}

/* What stands before an item of JSON. A pickle has no separators. */
static void separate(struct plain_data *data)
{
	if (data->format == PLAIN_PICKLE || !data->depth)
		return;

	bool is_dict = data->levels[data->depth - 1].is_dict;
	uint64_t items = data->levels[data->depth - 1].items++;

	if (items)
		putc(is_dict && items % 2 ? ':' : ',', data->out);
}

static void open_level(struct plain_data *data, bool is_dict)
{
	separate(data);
	assert(data->depth < PLAIN_DEPTH);
	data->levels[data->depth].is_dict = is_dict;
	data->levels[data->depth++].items = 0;
}

void plain_begin(struct plain_data *data, FILE *out, enum plain_format format)
{
	*data = (struct plain_data){ .out = out, .format = format };
	if (format == PLAIN_PICKLE)
		fputs("\x80\x02", out); /* PROTO 2 */
}

void plain_end(struct plain_data *data)
{
	putc(data->format == PLAIN_PICKLE ? '.' : '\n', data->out); /* STOP */
}

void plain_none(struct plain_data *data)
{
	separate(data);
	fputs(data->format == PLAIN_PICKLE ? "N" : "null", data->out);
}

void plain_bool(struct plain_data *data, bool value)
{
	separate(data);
	if (data->format == PLAIN_PICKLE)
		putc(value ? 0x88 : 0x89, data->out); /* NEWTRUE, NEWFALSE */
	else
		fputs(value ? "true" : "false", data->out);
}

void plain_integer(struct plain_data *data, int64_t value)
{
	separate(data);
	if (data->format == PLAIN_JSON) {
		fprintf(data->out, "%" PRId64, value);
	} else if (value >= INT32_MIN && value <= INT32_MAX) {
		putc('J', data->out); /* BININT */
		put_little_endian(data->out, (uint64_t)value, 4);
	} else {
		fputs("\x8a\x08", data->out); /* LONG1 of 8 bytes */
		put_little_endian(data->out, (uint64_t)value, 8);
	}
}

static void put_json_text(FILE *out, const char *utf8)
{
	json_t *text = json_string(utf8);

	if (!text || json_dumpf(text, out, JSON_ENCODE_ANY | JSON_COMPACT))
		fputs("\"\"", out);
	json_decref(text);
}

void plain_text(struct plain_data *data, const char *utf8)
{
	separate(data);
	if (data->format == PLAIN_JSON) {
		put_json_text(data->out, utf8);
		return;
	}
	putc('X', data->out); /* BINUNICODE */
	put_little_endian(data->out, strlen(utf8), 4);
	fputs(utf8, data->out);
}

void plain_list_begin(struct plain_data *data)
{
	open_level(data, false);
	fputs(data->format == PLAIN_PICKLE ? "](" : "[", data->out); /* EMPTY_LIST, MARK */
}

void plain_list_end(struct plain_data *data)
{
	data->depth--;
	putc(data->format == PLAIN_PICKLE ? 'e' : ']', data->out); /* APPENDS */
}

void plain_dict_begin(struct plain_data *data)
{
	open_level(data, true);
	fputs(data->format == PLAIN_PICKLE ? "}(" : "{", data->out); /* EMPTY_DICT, MARK */
}

void plain_dict_end(struct plain_data *data)
{
	data->depth--;
	putc(data->format == PLAIN_PICKLE ? 'u' : '}', data->out); /* SETITEMS */
}
