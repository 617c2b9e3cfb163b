/* SPDX-License-Identifier: MIT */
#include "analysis/numbers/intern.h"

#include <stdlib.h>
#include <string.h>

enum {
	ROOM_MAX = 4 << 20,
	ROOM_FIRST = 4096,
	SLOTS_FIRST = 256,
};

static uint64_t hash_bytes(const char *text, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
	return hash ^ (hash >> 32);
}

static size_t find_slot(const struct intern *intern, const char *text, size_t length)
{
	size_t at = hash_bytes(text, length) & (intern->slot_count - 1);
	while (intern->slots[at]) {
		const char *kept = intern->text + intern->slots[at];
		if (!strncmp(kept, text, length) && !kept[length])
			break;
		at = (at + 1) & (intern->slot_count - 1);
	}
	return at;
}

static int grow_slots(struct intern *intern)
{
	size_t old_count = intern->slot_count;
	intern_id *old = intern->slots;
	size_t count = old_count ? old_count * 2 : SLOTS_FIRST;
	intern_id *slots = calloc(count, sizeof(*slots));
	if (!slots)
		return -1;
	intern->slots = slots;
	intern->slot_count = count;
	for (size_t i = 0; i < old_count; i++) {
		if (!old[i])
			continue;
		const char *kept = intern->text + old[i];
		slots[find_slot(intern, kept, strlen(kept))] = old[i];
	}
	free(old);
	return 0;
}

static int grow_text(struct intern *intern, size_t need)
{
	size_t room = intern->room ? intern->room : ROOM_FIRST;
	while (room < need)
		room *= 2;
	if (room > ROOM_MAX)
		return -1;
	char *text = realloc(intern->text, room);
	if (!text)
		return -1;
	if (!intern->used) {
		text[0] = '\0'; /* id 0 */
		intern->used = 1;
	}
	intern->text = text;
	intern->room = room;
	return 0;
}

intern_id intern_add(struct intern *intern, const char *text, size_t size)
{
	size_t length = strnlen(text, size);
	if (!length)
		return 0;
	if (intern->string_count * 2 >= intern->slot_count && grow_slots(intern))
		return 0;
	size_t at = find_slot(intern, text, length);
	if (intern->slots[at])
		return intern->slots[at];
	size_t need = (intern->used ? intern->used : 1) + length + 1;
	if (need > intern->room && grow_text(intern, need))
		return 0;
	intern_id id = (intern_id)intern->used;
	memcpy(intern->text + id, text, length);
	intern->text[id + length] = '\0';
	intern->used += length + 1;
	intern->slots[at] = id;
	intern->string_count++;
	return id;
}

const char *intern_text(const struct intern *intern, intern_id id)
{
	return id && id < intern->used ? intern->text + id : "";
}

void intern_free(struct intern *intern)
{
	free(intern->text);
	free(intern->slots);
	*intern = (struct intern){ 0 };
}
