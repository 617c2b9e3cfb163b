/* SPDX-License-Identifier: MIT */
/*
 * Every kept input once, without libFuzzer: replay_corpus DIRECTORY [NUMBERS]. NUMBERS: a file with what each input is
 * made of (told.h), by name: nothing must change unnoticed. After a change that is meant: NUMBERS_WRITE=1.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/box_target.h"
#include "tests/fuzz/told.h"

enum { NAME_MAX_KEPT = 255 };

static int replay(const char *directory, const char *name)
{
	static uint8_t data[1 << 16];
	char path[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "rb");
	if (!file) {
		perror(path);
		return 1;
	}

	size_t size = fread(data, 1, sizeof(data), file);

	fclose(file);
	told_number();
	return LLVMFuzzerTestOneInput(data, size);
}

/* Both come in the same order. */
static int compare(FILE *numbers, const char *path, const char *name, unsigned long long is)
{
	char kept[NAME_MAX_KEPT + 1] = "";
	unsigned long long was = 0;

	if (fscanf(numbers, "%255s %llx", kept, &was) == 2 && strcmp(kept, name) == 0 && was == is)
		return 0;
	fprintf(stderr, "%s: of %s, %s %016llx was kept; it is %016llx now. If that is meant: NUMBERS_WRITE=1\n", path,
		name, kept, was, is);
	return 1;
}

static int is_shown(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int by_bytes(const struct dirent **left, const struct dirent **right)
{
	return strcmp((*left)->d_name, (*right)->d_name);
}

int main(int count, char **arguments)
{
	const char *path = count == 3 ? arguments[2] : NULL;
	bool write = path && getenv("NUMBERS_WRITE");
	FILE *numbers = path ? fopen(path, write ? "we" : "re") : NULL;
	struct dirent **entries = NULL;
	int inputs = count >= 2 ? scandir(arguments[1], &entries, is_shown, by_bytes) : -1, failed = 0;

	if (inputs < 0 || (path && !numbers)) {
		fprintf(stderr, "usage: replay_corpus DIRECTORY [NUMBERS]\n");
		return 2;
	}
	for (int i = 0; i < inputs; i++) {
		failed |= replay(arguments[1], entries[i]->d_name);
		if (write)
			fprintf(numbers, "%s %016llx\n", entries[i]->d_name, (unsigned long long)told_number());
		else if (numbers && !failed)
			failed |= compare(numbers, path, entries[i]->d_name, told_number());
		free(entries[i]);
	}
	free(entries);
	if (numbers)
		fclose(numbers);
	printf("%d inputs\n", inputs);
	return failed || !inputs;
}
