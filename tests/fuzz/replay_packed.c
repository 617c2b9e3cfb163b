/* SPDX-License-Identifier: MIT */
/*
 * Many small inputs that are kept in one file: each with its length before it, in two bytes, the lower first.
 *
 *   replay_packed FILE NUMBERS plays each, and compares what is made of it (told.h) with its line of NUMBERS;
 *   NUMBERS_WRITE=1 writes them replay_packed --print NUMBER FILE shows what one of them is, and all that is made of it
 *   replay_packed --pack FILE DIRECTORY makes FILE of the inputs in a directory, the shortest first replay_packed
 *   --unpack FILE DIRECTORY
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/box_target.h"
#include "tests/fuzz/heard.h"
#include "tests/fuzz/told.h"
#include "tests/sanitized.h"

enum { MOST_BYTES = 1 << 12, MOST_INPUTS = 1 << 14, PART_SANITIZED = 16 };

struct input {
	size_t size;
	uint8_t bytes[MOST_BYTES];
};

static FILE *open_file(const char *path, const char *how)
{
	FILE *file = fopen(path, how);

	if (!file) {
		perror(path);
		exit(2);
	}
	return file;
}

static bool read_input(FILE *file, struct input *input)
{
	int low = fgetc(file), high = fgetc(file);

	if (low == EOF || high == EOF)
		return false;
	input->size = (size_t)low | (size_t)high << 8;
	if (input->size > MOST_BYTES || fread(input->bytes, 1, input->size, file) != input->size) {
		fprintf(stderr, "a kept input is cut off\n");
		exit(2);
	}
	return true;
}

static unsigned long long number_of(const struct input *input)
{
	told_number();
	LLVMFuzzerTestOneInput(input->bytes, input->size);
	return told_number();
}

static bool is_same(FILE *numbers, const char *path, unsigned int at, unsigned long long is)
{
	unsigned long long was = 0;

	if (fscanf(numbers, "%llx", &was) == 1 && was == is)
		return true;
	fprintf(stderr,
		"of input %u in %s %016llx was kept; it is %016llx now. --print %u shows it, here and in the tree "
		"before. If that is meant: NUMBERS_WRITE=1\n",
		at, path, was, is, at);
	return false;
}

/* A sanitizer is some ten times slower and looks for mistakes that show in most inputs: it sees one in sixteen. */
static int replay(const char *path, const char *numbers_path)
{
	bool write = getenv("NUMBERS_WRITE"), same = true;
	FILE *file = open_file(path, "rbe"), *numbers = open_file(numbers_path, write ? "we" : "re");
	static struct input input;
	unsigned int at = 0;

	for (; read_input(file, &input); at++) {
		if (write)
			fprintf(numbers, "%016llx\n", number_of(&input));
		else if (SANITIZED && at % PART_SANITIZED)
			same &= fscanf(numbers, "%*x") != EOF;
		else
			same &= is_same(numbers, numbers_path, at, number_of(&input));
	}
	fclose(file);
	fclose(numbers);
	printf("%u inputs\n", at);
	return !same || !at;
}

static int print(const char *number, const char *path)
{
	FILE *file = open_file(path, "rbe");
	unsigned long at = strtoul(number, NULL, 10);
	static struct input input;
	bool found = true;

	for (unsigned long i = 0; found && i <= at; i++)
		found = read_input(file, &input);
	fclose(file);
	heard_prints = true;
	if (found)
		LLVMFuzzerTestOneInput(input.bytes, input.size);
	return !found;
}

static int by_size(const void *left, const void *right)
{
	const struct input *a = *(struct input *const *)left, *b = *(struct input *const *)right;
	size_t common = a->size < b->size ? a->size : b->size;
	int order = (a->size > b->size) - (a->size < b->size);

	return order ? order : memcmp(a->bytes, b->bytes, common);
}

static struct input *load(const char *directory, const char *name)
{
	struct input *input = calloc(1, sizeof(*input));
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	FILE *file = open_file(path, "rbe");
	if (!input)
		abort();
	input->size = fread(input->bytes, 1, sizeof(input->bytes), file);
	fclose(file);
	return input;
}

static int pack(const char *path, const char *directory)
{
	static struct input *inputs[MOST_INPUTS];
	const struct dirent *entry;
	DIR *entries = opendir(directory);
	size_t count = 0;

	while (entries && count < MOST_INPUTS && (entry = readdir(entries)))
		if (entry->d_name[0] != '.')
			inputs[count++] = load(directory, entry->d_name);
	if (!count)
		return 2;
	closedir(entries);
	qsort(inputs, count, sizeof(*inputs), by_size);
	FILE *file = open_file(path, "wbe");
	for (size_t i = 0; i < count; i++) {
		fputc((int)(inputs[i]->size & 0xff), file);
		fputc((int)(inputs[i]->size >> 8), file);
		fwrite(inputs[i]->bytes, 1, inputs[i]->size, file);
		free(inputs[i]);
	}
	return fclose(file) != 0;
}

static int unpack(const char *path, const char *directory)
{
	FILE *file = open_file(path, "rbe");
	static struct input input;
	char name[4096];

	for (unsigned int at = 0; read_input(file, &input); at++) {
		snprintf(name, sizeof(name), "%s/%u", directory, at);
		FILE *one = open_file(name, "wbe");
		fwrite(input.bytes, 1, input.size, one);
		fclose(one);
	}
	return fclose(file) != 0;
}

int main(int count, char **arguments)
{
	if (count == 4 && !strcmp(arguments[1], "--print"))
		return print(arguments[2], arguments[3]);
	if (count == 4 && !strcmp(arguments[1], "--pack"))
		return pack(arguments[2], arguments[3]);
	if (count == 4 && !strcmp(arguments[1], "--unpack"))
		return unpack(arguments[2], arguments[3]);
	if (count == 3)
		return replay(arguments[1], arguments[2]);
	fprintf(
	    stderr,
	    "usage: replay_packed FILE NUMBERS, --print NUMBER FILE, --pack FILE DIRECTORY, --unpack FILE DIRECTORY\n");
	return 2;
}
