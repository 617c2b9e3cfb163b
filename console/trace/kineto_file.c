/* SPDX-License-Identifier: MIT */
#include "console/trace/kineto_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

enum { CHUNK = 1 << 16 };

struct file {
	gzFile packed;
	char chunk[CHUNK];
	size_t at, have;
	char *value; /* that is being read */
	size_t length, room;
	uint64_t events;
	struct kineto_head *head;
	kineto_visit *visit;
	void *argument;
	char *why;
};

__attribute__((format(printf, 2, 3))) static int bad(struct file *file, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(file->why, KINETO_WHY, format, arguments);
	va_end(arguments);
	return -EBADMSG;
}

static int bad_end(struct file *file)
{
	int error = Z_OK;

	gzerror(file->packed, &error);
	if (error == Z_ERRNO)
		return -errno;
	if (error != Z_OK && error != Z_BUF_ERROR)
		return bad(file, "it cannot be unpacked behind event %" PRIu64, file->events);
	return bad(file, "it ends in the middle, behind event %" PRIu64, file->events);
}

/* The next byte, which stays the next one; -1: there is none. */
static int peek(struct file *file)
{
	if (file->at == file->have) {
		int got = gzread(file->packed, file->chunk, CHUNK);

		file->at = 0;
		file->have = got > 0 ? (size_t)got : 0;
	}
	return file->at < file->have ? (unsigned char)file->chunk[file->at] : -1;
}

static bool is_space(int byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static int skip_space(struct file *file)
{
	int byte = peek(file);

	while (is_space(byte)) {
		file->at++;
		byte = peek(file);
	}
	return byte;
}

static int expect(struct file *file, char wanted)
{
	int byte = skip_space(file);

	if (byte < 0)
		return bad_end(file);
	if (byte != wanted)
		return bad(file, "it is no JSON: '%c' is missing behind event %" PRIu64, wanted, file->events);
	file->at++;
	return 0;
}

static int keep(struct file *file, int byte)
{
	if (file->length == KINETO_EVENT_MOST)
		return bad(file, "event %" PRIu64 " is larger than %d MiB", file->events + 1, KINETO_EVENT_MOST >> 20);
	if (file->length == file->room) {
		size_t room = file->room ? 2 * file->room : 4096;
		char *value = realloc(file->value, room);

		if (!value)
			return -ENOMEM;
		file->value = value;
		file->room = room;
	}
	file->value[file->length++] = (char)byte;
	return 0;
}

/* One value, from its first byte to its last; its text is kept where somebody wants it. Whether it is one, the parser
 * says. */
static int take_value(struct file *file, bool wanted)
{
	size_t depth = 0;
	bool in_text = false, escaped = false, any = false;

	skip_space(file);
	for (file->length = 0;; any = true) {
		int byte = peek(file);

		if (byte < 0)
			return bad_end(file);
		if (!in_text && !depth && (is_space(byte) || strchr(",]}:", byte)))
			return any ? 0
				   : bad(file, "it is no JSON: a value is missing behind event %" PRIu64, file->events);
		file->at++;
		int err = wanted ? keep(file, byte) : 0;
		if (err)
			return err;
		if (in_text) {
			in_text = escaped || byte != '"';
			escaped = !escaped && byte == '\\';
		} else {
			in_text = byte == '"';
			depth += byte == '{' || byte == '[';
			depth -= byte == '}' || byte == ']';
		}
		if (!in_text && !depth && strchr("\"}]", byte))
			return 0;
	}
}

/* NULL: it is none, and `why` says so. */
static json_t *parse(struct file *file, const char *what)
{
	json_error_t error;
	json_t *value = json_loadb(file->value, file->length, JSON_DECODE_ANY, &error);

	if (!value)
		bad(file, "%s %" PRIu64 ": %s", what, file->events, error.text);
	return value;
}

static int take_event(struct file *file)
{
	int err = take_value(file, true);

	if (err)
		return err;
	file->events++;
	json_t *event = parse(file, "event");
	if (!event)
		return -EBADMSG;
	err = json_is_object(event) ? file->visit(file->argument, event)
				    : bad(file, "event %" PRIu64 " is no object", file->events);
	json_decref(event);
	return err;
}

static int take_events(struct file *file)
{
	int err = expect(file, '[');

	for (bool first = true; !err; first = false) {
		int byte = skip_space(file);

		if (byte == ']') {
			file->at++;
			return 0;
		}
		if (!first)
			err = expect(file, ',');
		if (!err)
			err = take_event(file);
	}
	return err;
}

/* No clock is beyond this; differences to other clocks have room. */
static int64_t sane_base(json_int_t base_ns)
{
	return base_ns > 0 && base_ns <= INT64_MAX / 2 ? base_ns : 0;
}

static int take_head(struct file *file, const char *key)
{
	int err = take_value(file, true);
	json_t *value = err ? NULL : parse(file, "what is said of the trace, behind event");
	const json_t *rank = json_object_get(value, "rank");

	if (!value)
		return err ? err : -EBADMSG;
	if (!strcmp(key, "baseTimeNanoseconds"))
		file->head->base_ns = sane_base(json_integer_value(value));
	else if (json_is_integer(rank) && json_integer_value(rank) >= 0 && json_integer_value(rank) <= INT32_MAX)
		file->head->rank = (int32_t)json_integer_value(rank);
	json_decref(value);
	return 0;
}

static int take_member(struct file *file, bool *has_events)
{
	char key[32];
	int err = take_value(file, true);

	if (err)
		return err;
	/* Names that are longer are none that matter here. */
	snprintf(key, sizeof(key), "%.*s", (int)(file->length < sizeof(key) ? file->length : sizeof(key)), file->value);
	err = expect(file, ':');
	if (err)
		return err;
	if (!strcmp(key, "\"traceEvents\"")) {
		*has_events = true;
		return take_events(file);
	}
	if (!strcmp(key, "\"baseTimeNanoseconds\""))
		return take_head(file, "baseTimeNanoseconds");
	if (!strcmp(key, "\"distributedInfo\""))
		return take_head(file, "distributedInfo");
	return take_value(file, false);
}

static int take_document(struct file *file)
{
	bool has_events = false;
	int err = 0;

	if (skip_space(file) != '{')
		return peek(file) < 0 ? bad_end(file)
				      : bad(file, "it is no trace of PyTorch's profiler, which is a JSON object");
	file->at++;
	for (bool first = true; !err; first = false) {
		if (skip_space(file) == '}')
			break;
		if (!first)
			err = expect(file, ',');
		if (!err)
			err = take_member(file, &has_events);
	}
	return err || has_events
		   ? err
		   : bad(file, "it is no trace of PyTorch's profiler: there are no \"traceEvents\" in it");
}

int kineto_read(const char *path, struct kineto_head *head, kineto_visit *visit, void *argument, char why[KINETO_WHY])
{
	struct file *file = calloc(1, sizeof(*file));
	int err = file ? 0 : -ENOMEM;

	*head = (struct kineto_head){ .rank = -1 };
	*why = '\0';
	if (file) {
		file->head = head;
		file->visit = visit;
		file->argument = argument;
		file->why = why;
		errno = 0;
		file->packed = gzopen(path, "rbe");
		err = file->packed ? take_document(file) : errno ? -errno : -ENOMEM;
		if (file->packed)
			gzclose(file->packed);
		free(file->value);
	}
	free(file);
	return err;
}
