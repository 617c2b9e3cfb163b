/* SPDX-License-Identifier: MIT */
#include "collector/nats/letters.h"

#include <stdlib.h>
#include <string.h>

static size_t size_of(const struct letter *letter)
{
	return sizeof(*letter) + strlen(letter->subject) + letter->length + 2;
}

static struct letter *make(const char *subject, const void *bytes, size_t length)
{
	size_t name = strlen(subject) + 1;
	struct letter *letter = malloc(sizeof(*letter) + name + length + 1);

	if (!letter)
		return NULL;
	*letter = (struct letter){ .subject = (char *)(letter + 1), .length = length };
	letter->bytes = letter->subject + name;
	memcpy(letter->subject, subject, name);
	if (length)
		memcpy(letter->bytes, bytes, length);
	letter->bytes[length] = '\0';
	return letter;
}

void letters_put(struct letters *letters, const char *subject, const void *bytes, size_t length)
{
	struct letter *letter = length < letters->limit ? make(subject, bytes, length) : NULL;

	if (!letter || size_of(letter) > letters->limit) {
		free(letter);
		letters->dropped++;
		return;
	}
	while (letters->size + size_of(letter) > letters->limit) {
		free(letters_take(letters));
		letters->dropped++;
	}
	if (letters->last)
		letters->last->next = letter;
	else
		letters->first = letter;
	letters->last = letter;
	letters->count++;
	letters->size += size_of(letter);
}

struct letter *letters_take(struct letters *letters)
{
	struct letter *letter = letters->first;

	if (!letter)
		return NULL;
	letters->first = letter->next;
	if (!letters->first)
		letters->last = NULL;
	letters->count--;
	letters->size -= size_of(letter);
	letter->next = NULL;
	return letter;
}

void letters_clear(struct letters *letters)
{
	for (struct letter *letter; (letter = letters_take(letters));)
		free(letter);
}
