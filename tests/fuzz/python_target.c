/* SPDX-License-Identifier: MIT */
/* The memory of a process as the look at Python reads it, with whatever its owner may have put there. */
#include "tests/fuzz/box_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/python/python_lines.h"
#include "collector/sources/python/python_view.h"
#include "tests/fuzz/python_input.h"

enum { TID = 4711 };

struct bytes {
	const uint8_t *at;
	size_t size;
};

static bool take(struct bytes *bytes, void *to, size_t size)
{
	if (bytes->size < size)
		return false;
	memcpy(to, bytes->at, size);
	bytes->at += size;
	bytes->size -= size;
	return true;
}

static bool next_line(void *argument, char *line, size_t room)
{
	struct bytes *maps = argument;
	const uint8_t *end = memchr(maps->at, '\n', maps->size);
	size_t length = end ? (size_t)(end - maps->at) : maps->size;

	if (!maps->size)
		return false;
	snprintf(line, room, "%.*s", (int)length, (const char *)maps->at);
	length += end != NULL;
	maps->at += length;
	maps->size -= length;
	return true;
}

static bool read_piece(void *argument, uint64_t address, void *to, size_t size)
{
	struct bytes left = *(const struct bytes *)argument;
	struct python_input_piece piece;

	while (take(&left, &piece, sizeof(piece))) {
		size_t length = piece.size < left.size ? piece.size : left.size;

		if (address >= piece.address && size <= length && address - piece.address <= length - size) {
			memcpy(to, left.at + (address - piece.address), size);
			return true;
		}
		left.at += length;
		left.size -= length;
	}
	return false;
}

static void check_place(const struct python_place *place)
{
	if (!memchr(place->function, '\0', sizeof(place->function)) || !memchr(place->file, '\0', sizeof(place->file)) ||
	    place->line < 0 || !*place->function != !*place->file)
		abort();
}

static void check(const struct python_view *view)
{
	if (view->thread_count > PYTHON_VIEW_THREADS)
		abort();
	for (uint32_t i = 0; i < view->thread_count; i++) {
		check_place(&view->threads[i].inner);
		check_place(&view->threads[i].own);
	}
}

static void look(struct bytes maps, struct bytes pieces)
{
	static struct python_view view, again;
	struct remote_memory memory = { .read = read_piece, .argument = &pieces, .reads_left = 4000 };
	struct python_image image;

	if (python_image_find(&memory, next_line, &maps, &image))
		return;
	python_view_read(&memory, &image, TID, &view);
	check(&view);
	/* The same with less luck: what comes is less, and as sound. */
	memory.reads_left = view.thread_count * 40 + 10;
	python_view_read(&memory, &image, TID, &again);
	check(&again);
	python_view_agree(&view, &again);
	check(&view);
}

static void find_line(const uint8_t *data, size_t size)
{
	uint8_t *table = malloc(size ? size : 1); /* of the exact size: a read behind the end is seen */

	if (!table)
		return;
	memcpy(table, data, size);
	if (python_lines_find(table, size, 17, 3) < 0)
		abort();
	free(table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes all = { data, size }, maps;
	uint32_t length;

	find_line(data, size);
	if (!take(&all, &length, sizeof(length)))
		return 0;
	maps = (struct bytes){ all.at, length < all.size ? length : all.size };
	look(maps, (struct bytes){ all.at + maps.size, all.size - maps.size });
	return 0;
}
