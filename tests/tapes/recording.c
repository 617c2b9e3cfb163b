/* SPDX-License-Identifier: MIT */
#include "recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 4096 };

static void fail(const char *what)
{
	fprintf(stderr, "tape: %s\n", what);
	exit(EXIT_FAILURE);
}

static void write_out(struct recording *recording, const void *bytes, size_t count)
{
	if (count && gzwrite(recording->out, bytes, (unsigned int)count) != (int)count)
		fail("cannot be written");
}

void recording_note(struct recording *recording, enum tape_record record)
{
	const uint8_t letter = (uint8_t)record;

	put_bytes(&recording->streams[TAPE_ORDER], &letter, 1);
}

struct recording *recording_open(const char *path, const char *header)
{
	struct recording *recording = calloc(1, sizeof(*recording));

	if (!recording)
		fail("no memory");
	recording->frames = calloc(FRAMES, sizeof(*recording->frames));
	recording->out = gzopen(path, "wb9");
	if (!recording->frames || !recording->out)
		fail("cannot be made");
	write_out(recording, TAPE_FIRST_LINE, strlen(TAPE_FIRST_LINE));
	write_out(recording, header, strlen(header));
	write_out(recording, "\n", 1);
	return recording;
}

void recording_tick(struct recording *recording, uint64_t now_ns)
{
	put_number(&recording->streams[TAPE_TICK], now_ns - recording->tick_ns);
	recording_note(recording, TAPE_TICK);
	recording->tick_ns = now_ns;
}

static struct recorded_file *find(struct recording *recording, const char *path)
{
	for (size_t i = recording->file_count; i-- > 0;)
		if (!strcmp(recording->files[i].path, path))
			return &recording->files[i];
	return NULL;
}

static struct recorded_file *file(struct recording *recording, const char *path, enum tape_file_kind kind)
{
	struct recorded_file *found = find(recording, path);
	const uint8_t letter = (uint8_t)kind;

	if (found)
		return found;
	if (recording->file_count == TAPE_FILES || strlen(path) >= TAPE_PATH)
		fail("too many files, or too long a path");
	found = &recording->files[recording->file_count++];
	snprintf(found->path, sizeof(found->path), "%s", path);
	found->kind = kind;
	put_bytes(&recording->streams[TAPE_NAME], &letter, 1);
	put_bytes(&recording->streams[TAPE_NAME], path, strlen(path) + 1);
	recording_note(recording, TAPE_NAME);
	return found;
}

static size_t number_of(const struct recording *recording, const struct recorded_file *file)
{
	return (size_t)(file - recording->files);
}

static void set(struct recording *recording, struct recorded_file *file, const char *text, size_t size)
{
	size_t head = 0, tail = 0;

	if (file->there && size == file->size && !memcmp(text, file->text, size))
		return;
	while (head < size && head < file->size && text[head] == file->text[head])
		head++;
	while (tail < size - head && tail < file->size - head && text[size - tail - 1] == file->text[file->size - tail - 1])
		tail++;
	struct buffer *stream = &recording->streams[tape_text_stream(file->path)];

	put_number(&recording->streams[TAPE_TEXT], number_of(recording, file));
	put_number(stream, head);
	put_number(stream, tail);
	put_number(stream, size - head - tail);
	put_bytes(stream, text + head, size - head - tail);
	recording_note(recording, TAPE_TEXT);
	file->text = realloc(file->text, size + 1);
	if (!file->text)
		fail("no memory");
	memcpy(file->text, text, size);
	file->size = size;
	file->there = true;
}

void recording_text(struct recording *recording, const char *path, const char *text, size_t size)
{
	if (size <= TAPE_TEXT_MAX)
		set(recording, file(recording, path, TAPE_FILE_TEXT), text, size);
}

void recording_link(struct recording *recording, const char *path, const char *target)
{
	set(recording, file(recording, path, TAPE_FILE_LINK), target, strlen(target));
}

static void go(struct recording *recording, struct recorded_file *file)
{
	if (!file->there)
		return;
	put_number(&recording->streams[TAPE_GONE], number_of(recording, file));
	recording_note(recording, TAPE_GONE);
	file->there = false;
	file->size = 0;
}

void recording_gone(struct recording *recording, const char *path)
{
	struct recorded_file *file = find(recording, path);

	if (file)
		go(recording, file);
}

void recording_all_gone(struct recording *recording, const char *prefix)
{
	for (size_t i = 0; i < recording->file_count; i++)
		if (!strncmp(recording->files[i].path, prefix, strlen(prefix)))
			go(recording, &recording->files[i]);
}

struct recorded_file *recording_box(struct recording *recording, const char *path, size_t size)
{
	struct recorded_file *box = file(recording, path, TAPE_FILE_BOX);

	if (!box->text) {
		box->text = calloc(1, size);
		box->size = size;
		box->there = true;
	}
	if (!box->text)
		fail("no memory");
	return box;
}

void recording_box_begin(struct recording *recording, struct recorded_file *box)
{
	box->runs.used = 0;
	box->run_count = box->coded = 0;
	box->time_ns = recording->tick_ns;
}

static void put_run(struct recording *recording, struct recorded_file *box, size_t first, const uint64_t *words,
		    size_t count)
{
	uint64_t *old = (uint64_t *)box->text;

	put_signed(&box->runs, (int64_t)first - (int64_t)box->coded);
	put_number(&box->runs, count);
	for (size_t i = first; i < first + count; i++) {
		put_word(&recording->streams[tape_word_stream(old, i)], words[i - first], old[i], &box->time_ns);
		old[i] = words[i - first];
	}
	box->coded = first + count;
	box->run_count++;
}

void recording_box_words(struct recording *recording, struct recorded_file *box, size_t first, const uint64_t *words,
			 size_t count)
{
	const uint64_t *old = (const uint64_t *)box->text + first;

	for (size_t i = 0; i < count;) {
		size_t length = 0;

		while (i + length < count && words[i + length] != old[i + length])
			length++;
		if (length)
			put_run(recording, box, first + i, words + i, length);
		i += length + 1;
	}
}

void recording_box_end(struct recording *recording, struct recorded_file *box)
{
	struct buffer *stream = &recording->streams[TAPE_BOX];

	if (!box->run_count)
		return;
	put_number(stream, number_of(recording, box));
	put_number(stream, box->size);
	put_number(stream, box->run_count);
	put_bytes(stream, box->runs.bytes, box->runs.used);
	recording_note(recording, TAPE_BOX);
}

uint32_t recording_frame(struct recording *recording, const char *name)
{
	for (size_t i = 0; i < recording->frame_count; i++)
		if (!strcmp(recording->frames[i], name))
			return (uint32_t)i;
	if (recording->frame_count == FRAMES)
		fail("too many kernel functions");
	snprintf(recording->frames[recording->frame_count], sizeof(*recording->frames), "%s", name);
	put_bytes(&recording->streams[TAPE_FRAME], name, strlen(name) + 1);
	recording_note(recording, TAPE_FRAME);
	return (uint32_t)recording->frame_count++;
}

static void write_stream(struct recording *recording, int number)
{
	struct buffer *stream = &recording->streams[number], head = { 0 };
	const uint8_t byte = (uint8_t)number;

	if (!stream->used)
		return;
	put_bytes(&head, &byte, 1);
	put_number(&head, stream->used);
	write_out(recording, head.bytes, head.used);
	write_out(recording, stream->bytes, stream->used);
	free(head.bytes);
	free(stream->bytes);
}

void recording_close(struct recording *recording)
{
	recording_note(recording, TAPE_END);
	for (int i = 0; i < TAPE_STREAMS; i++)
		write_stream(recording, i);
	if (gzclose_w(recording->out) != Z_OK)
		fail("cannot be written");
	for (size_t i = 0; i < recording->file_count; i++) {
		free(recording->files[i].text);
		free(recording->files[i].runs.bytes);
	}
	free(recording->frames);
	free(recording);
}
