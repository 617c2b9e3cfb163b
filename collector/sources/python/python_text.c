/* SPDX-License-Identifier: MIT */
#include "collector/sources/python/python_text.h"

#include <string.h>

/* PyObject, PyTypeObject and PyASCIIObject: Include/object.h, Include/cpython/object.h and unicodeobject.h, 3.11
 * to 3.15. */
enum { TYPE = 8, TYPE_NAME = 24, LENGTH = 16, STATE = 32 };
enum { KIND_SHIFT = 2, KIND = 7, COMPACT = 1 << 5, ASCII = 1 << 6 };
enum { CHARACTERS = 96, LONGEST = 1 << 20 };

bool python_text_is_type(struct remote_memory *memory, uint64_t object, const char *name, uint64_t *type)
{
	uint64_t found = object % 8 ? 0 : remote_memory_word(memory, object + TYPE);

	if (found && found == *type)
		return true;
	if (!found || !remote_memory_is_text(memory, remote_memory_word(memory, found + TYPE_NAME), name))
		return false;
	*type = found;
	return true;
}

/* Bytes that it took; 0: there is no more room. What is no character becomes '?'. */
static size_t put_character(char *text, size_t room, uint32_t character)
{
	if (character > 0x10ffff || (character >= 0xd800 && character < 0xe000) || !character)
		character = '?';
	size_t size = character < 0x80 ? 1 : character < 0x800 ? 2 : character < 0x10000 ? 3 : 4;

	if (size >= room)
		return 0;
	static const unsigned char heads[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	for (size_t i = size; i-- > 1; character >>= 6)
		text[i] = (char)(0x80 | (character & 0x3f));
	text[0] = (char)(heads[size] | character);
	return size;
}

static uint32_t character_at(const unsigned char *raw, unsigned kind, size_t index)
{
	uint32_t character = 0;

	memcpy(&character, raw + index * kind, kind); /* little endian */
	return character;
}

static void put_text(const unsigned char *raw, unsigned kind, size_t count, char *text, size_t room)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		size_t size = put_character(text + used, room - used, character_at(raw, kind, i));

		if (!size)
			break;
		used += size;
	}
	text[used] = '\0';
}

bool python_text_read(struct remote_memory *memory, const struct python_layout *layout, uint64_t object,
		      enum python_text_part part, char *text, size_t room)
{
	unsigned char raw[4 * CHARACTERS];
	uint64_t type = 0, length, begin = 0;

	*text = '\0';
	if (!python_text_is_type(memory, object, "str", &type))
		return false;
	uint32_t state = remote_memory_half(memory, object + STATE);
	unsigned kind = state >> KIND_SHIFT & KIND;

	length = remote_memory_word(memory, object + LENGTH);
	if (!(state & COMPACT) || (kind != 1 && kind != 2 && kind != 4) || !length || length > LONGEST)
		return false;
	uint64_t count = length < room ? length : room - 1;

	count = count < CHARACTERS ? count : CHARACTERS;
	if (part == PYTHON_TEXT_TAIL)
		begin = length - count;
	uint64_t characters = object + (state & ASCII ? layout->ascii_text : layout->compact_text);

	if (!remote_memory_read(memory, characters + begin * kind, raw, count * kind))
		return false;
	put_text(raw, kind, count, text, room);
	return true;
}
