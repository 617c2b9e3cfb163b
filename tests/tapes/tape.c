/* SPDX-License-Identifier: MIT */
#include "tape.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <rankwatch/blackbox.h>

enum { PIECE = 1 << 16 };

static int unpack(gzFile file, struct buffer *content, const char *path, char why[256])
{
	char piece[PIECE];
	int got, code;

	while ((got = gzread(file, piece, sizeof(piece))) > 0 && content->used <= TAPE_MAX)
		put_bytes(content, piece, (size_t)got);
	if (content->used > TAPE_MAX) {
		snprintf(why, 256, "%s: unpacks to more than %d MiB", path, TAPE_MAX >> 20);
		return -EFBIG;
	}
	/* zlib hands on what is not packed as it is: then the first line is missing. */
	if (got < 0 || gzeof(file) == 0) {
		snprintf(why, 256, "%s: damaged: %s", path, gzerror(file, &code));
		return -EINVAL;
	}
	return 0;
}

static int read_streams(struct tape *tape, struct span rest, const char *path, char why[256])
{
	while (rest.at < rest.end) {
		const uint8_t *number = take_bytes(&rest, 1);
		uint64_t length = take_number(&rest);
		const uint8_t *at = length <= TAPE_MAX ? take_bytes(&rest, (size_t)length) : NULL;

		if (!number || !at) {
			snprintf(why, 256, "%s: damaged: a stream is longer than the tape", path);
			return -EINVAL;
		}
		tape->streams[*number] = (struct span){ .at = at, .end = at + length };
	}
	return 0;
}

static int read_header(struct tape *tape, size_t size, const char *path, char why[256])
{
	size_t first = strlen(TAPE_FIRST_LINE);
	const char *text = (const char *)tape->bytes;

	if (size < first || memcmp(text, TAPE_FIRST_LINE, first)) {
		snprintf(why, 256, "%s: not a tape, or of another version than \"%.16s\"", path, TAPE_FIRST_LINE);
		return -EINVAL;
	}
	const char *end = memchr(text + first, '\n', size - first);

	tape->header = end ? json_loadb(text + first, (size_t)(end - text) - first, 0, NULL) : NULL;
	if (!json_is_object(tape->header)) {
		snprintf(why, 256, "%s: damaged: its header is not a JSON object", path);
		return -EINVAL;
	}
	return read_streams(tape, (struct span){ .at = (const uint8_t *)end + 1, .end = tape->bytes + size }, path, why);
}

int tape_open(struct tape *tape, const char *path, char why[256])
{
	struct buffer content = { 0 };
	gzFile file = gzopen(path, "rb");
	int err;

	*tape = (struct tape){ 0 };
	if (!file) {
		err = errno ? -errno : -ENOMEM;
		snprintf(why, 256, "%s: %s", path, strerror(-err));
		return err;
	}
	err = unpack(file, &content, path, why);
	int closed = gzclose_r(file);

	if (!err && closed != Z_OK) {
		snprintf(why, 256, "%s: damaged: it ends too early", path);
		err = -EINVAL;
	}
	tape->bytes = content.bytes;
	if (!err)
		err = read_header(tape, content.used, path, why);
	if (err)
		tape_close(tape);
	return err;
}

bool tape_next(struct tape *tape, enum tape_record *record, int *err)
{
	const uint8_t *letter = take_bytes(&tape->streams[TAPE_ORDER], 1);

	*err = letter ? 0 : -EINVAL;
	if (letter)
		*record = (enum tape_record)*letter;
	return letter && *letter != TAPE_END;
}

int tape_text_stream(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && !strcmp(name, "/schedstat") ? TAPE_TIMES : TAPE_TEXT;
}

int tape_word_stream(const uint64_t *words, uint64_t index)
{
	const struct rw_box_header *header = (const struct rw_box_header *)words;
	uint64_t offset = index * 8;

	if (offset < sizeof(*header))
		return TAPE_OTHER_WORDS;
	if (offset - header->ring_offset < (uint64_t)header->ring_slots * sizeof(struct rw_operation))
		return TAPE_RING_WORDS + (int)((offset - header->ring_offset) / 8 % 32);
	if (offset - header->samples_offset < (uint64_t)header->sample_slots * sizeof(struct rw_host_sample))
		return TAPE_SAMPLE_WORDS + (int)((offset - header->samples_offset) / 8 % 8);
	return TAPE_OTHER_WORDS;
}

void tape_close(struct tape *tape)
{
	json_decref(tape->header);
	free(tape->bytes);
	*tape = (struct tape){ 0 };
}
